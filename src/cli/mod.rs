//! The command line: clap's types, turned into plain values for `ops`.

mod abi;
mod build;
mod cache;
mod check;
mod init;
mod patch;
mod root;
mod toolchain;
mod verify;

pub use root::{command, run};
