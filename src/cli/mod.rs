//! The command line: clap's types, turned into plain values for `ops`.

mod build;
mod cache;
mod check;
mod compile;
mod completions;
mod compose;
mod config;
mod doctor;
mod files;
mod forms;
mod generate;
mod help;
mod init;
mod lock;
mod merge;
mod patch_source;
mod publish;
mod rebuild;
mod root;
mod schema;
mod select;
mod sign;
mod toolchain;
mod vendor;

pub use forms::FORMS;
pub use root::{command, run};

/// This program, also where its file was moved or removed meanwhile.
const OWN_PROGRAM: &str = "/proc/self/exe";
