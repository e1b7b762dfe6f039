//! The command line: clap's types, turned into plain values for `ops`.

mod build;
mod cache;
mod completions;
mod config;
mod files;
mod forms;
mod help;
mod machine;
mod packages;
mod recipe;
mod root;
mod toolchain;

pub use forms::FORMS;
pub use root::{command, run};

/// This program, also where its file was moved or removed meanwhile.
const OWN_PROGRAM: &str = "/proc/self/exe";
