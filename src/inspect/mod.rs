//! What is inside files, trees and packages: device code, kernels, ELF facts; and how far that reaches.
//!
//! [`collect`] finds files on disk, [`archive`] those inside packages; [`examine`] turns the bytes of one into
//! [`facts`]; [`coverage`] makes the matrix of them, [`page`] the words, [`reach`] says what it serves.

mod archive;
mod collect;
mod coverage;
mod examine;
mod facts;
mod location;
mod page;
mod reach;

pub use archive::package;
pub use collect::look;
pub use coverage::Coverage;
pub use facts::Inspected;
pub use page::page;
pub use reach::{reach, reaches};
