//! What is inside files, trees and packages: device code, kernels, ELF facts; and how far that reaches.
//!
//! [`collect`] finds files on disk, [`archive`] those inside packages; [`examine`] turns the bytes of one into
//! [`facts`]; [`coverage`] makes the matrix of them, [`page`] the words, [`reach`] says what it serves.

mod archive;
mod collect;
mod coverage;
mod examine;
mod facts;
mod page;
mod reach;

use std::path::Path;

use crate::budget::Budget;
use crate::container::Form;
use crate::error::Result;
use crate::gpu::Look;
use crate::ui::Ui;

pub use coverage::Coverage;
pub use facts::Inspected;
pub use page::page;
pub use reach::{reach, reaches};

/// What a path holds, without printing it.
///
/// # Errors
/// The path does not exist or cannot be opened.
pub fn look(path: &Path, look: Look, ui: &Ui) -> Result<Inspected> {
    collect::inspect(path, look, ui)
}

/// What the package or archive called `name` holds, by its bytes; `None` for a file that is none.
pub fn package(name: &str, bytes: &[u8], look: Look) -> Option<Inspected> {
    Form::of_name(name).map(|form| archive::archive("", form, bytes, look, &Budget::of(bytes)))
}
