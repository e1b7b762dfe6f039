//! The command line: clap's types, turned into plain values for `ops`.

mod build;
mod root;
mod toolchain;

pub use root::{command, run};
