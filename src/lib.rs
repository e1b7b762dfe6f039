//! simpack turns one recipe of a GPU simulator into a distribution.
//!
//! The floors, lowest first; imports only go down (`ARCHITECTURE.md`, held by `tests/floors`).
#![warn(clippy::print_stdout, clippy::print_stderr, clippy::exit, clippy::dbg_macro, clippy::unwrap_used)]

// Floor 0
pub mod data;
pub mod error;
pub mod fs;
pub mod process;
pub mod ui;

#[cfg(test)]
#[path = "../tests/suite/support/skip.rs"]
mod skip;

// Floor 1
pub mod report;
pub mod target;

// Floor 2
pub mod bundle;
pub mod elf;
pub mod gpu;
pub mod manifest;
pub mod recipe;

// Floor 3
pub mod lint;
pub mod plan;
pub mod toolchain;

// Floor 4
pub mod build;
pub mod pack;
pub mod patch;
pub mod verify;

// Floor 5
pub mod ops;

// Floor 6
pub mod cli;
