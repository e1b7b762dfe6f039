//! The command line: clap's types, turned into plain values for `ops`.

mod build;
mod root;
mod toolchain;
mod verify;

pub use root::{command, run};
