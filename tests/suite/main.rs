//! All tests that go through the seams: the floors, the command line, real compilers and clients.

mod floors;
mod source;
mod toolchain;
