//! All tests that go through the seams: the floors, the command line, real compilers and clients.

mod support;

mod abi;
mod abi_release;
mod cache;
mod commands;
mod consumers;
mod contract;
mod drivers;
mod failing;
mod failures;
mod floors;
mod gate;
mod growing;
mod headers;
mod hermetic;
mod host_compiler;
mod installing;
mod line;
mod loading;
mod patching;
mod patching_corpus;
mod runtime_compilation;
mod second_release;
mod selecting;
mod simulating;
mod source;
mod toolchain;
mod verifying;
