//! simpack turns one recipe of a GPU simulator into a distribution.
//!
//! The floors, lowest first; imports only go down (`ARCHITECTURE.md`, held by `tests/suite/floors.rs`).
//! Without the feature `tool`, only what reads and edits bytes is here: what fuzz targets need.
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
mod printable;
pub mod process;
pub mod table;
pub mod ui;
pub mod wrap;

#[cfg(test)]
#[path = "../tests/suite/support/skip.rs"]
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
pub mod lock;
pub mod machine;
pub mod manifest;
pub mod recipe;

// Floor 3
pub mod abi;
pub mod fit;
pub mod lint;
pub mod package;
pub mod plan;
pub mod probe;
pub mod toolchain;

// Floor 4
pub mod attest;
pub mod doctor;
pub mod engine;
pub mod generate;
pub mod inspect;
pub mod pack;
pub mod patch;
mod project;
pub mod slice;
pub mod verify;

// Floor 5
pub mod offers;
pub mod pipeline;

// Floor 6
pub mod ops;

// Floor 7
pub mod cli;
