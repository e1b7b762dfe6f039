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

// Floors 0 to 2
pub use simpack_base::{
    amount, arch, budget, build_system, bundle, config, container, data, elf, error, fs, gpu, index_page, lastrun,
    layout, lock, machine, manifest, near, parallel, printable, process, recipe, report, table, ui, wrap,
};

#[cfg(test)]
#[path = "../tests/suite/support/skip.rs"]
mod skip;

// Its files would have to be in the crate below for everybody, were they not compiled here once more.
#[cfg(test)]
#[allow(dead_code)]
#[path = "base/elf/fixture.rs"]
mod elf_fixture;
#[cfg(test)]
#[allow(dead_code)]
#[path = "base/gpu/fixture.rs"]
mod gpu_fixture;

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
