//! The command line: clap's types, turned into plain values for `ops`.

mod build;
mod root;

pub use root::{command, run};
