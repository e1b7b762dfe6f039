//! Floors 0 to 2 of simpack (`ARCHITECTURE.md`): values, files and formats. A crate of its own, because cargo compiles it while
//! the crates that only the upper floors use are compiled.
#![warn(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::exit,
    clippy::dbg_macro,
    clippy::unwrap_used,
    clippy::missing_errors_doc
)]

// Floor 0
pub mod amount;
pub mod budget;
pub mod config;
pub mod data;
pub mod error;
pub mod fs;
pub mod near;
pub mod parallel;
pub mod printable;
pub mod process;
pub mod table;
pub mod ui;
pub mod wrap;

#[cfg(test)]
#[path = "../../tests/suite/support/skip.rs"]
mod skip;

// Floor 1
pub mod arch;
pub mod container;
pub mod index_page;
pub mod report;

// Floor 2
pub mod build_system;
pub mod bundle;
pub mod elf;
pub mod gpu;
pub mod lastrun;
pub mod layout;
pub mod lock;
pub mod machine;
pub mod manifest;
pub mod recipe;
