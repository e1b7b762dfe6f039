//! All tests that go through the seams: the floors, the command line, real compilers and clients.

mod support;

mod consumers;
mod contract;
mod failing;
mod floors;
mod gate;
mod growing;
mod installing;
mod line;
mod loading;
mod runtime_compilation;
mod selecting;
mod simulating;
mod toolchain;
