//! The command line: clap's types, turned into plain values for `ops`.

mod abi;
mod build;
mod cache;
mod check;
mod config;
mod doctor;
mod forms;
mod generate;
mod init;
mod inspect;
mod lock;
mod patch;
mod rebuild;
mod resolve;
mod root;
mod schema;
mod select;
mod slice;
mod toolchain;
mod verify;

pub use forms::FORMS;
pub use root::{command, run};

/// This program, also where its file was moved or removed meanwhile.
const OWN_PROGRAM: &str = "/proc/self/exe";
