//! Slicing files: a plan of [`crate::gpu::slice`] carried out in pieces, and the result read back.
//!
//! What is planned is a few headers; the code itself is copied by the kernel from file to file, so that
//! memory does not depend on the size of a library.

mod conda;
mod readback;
mod tree;
mod wheel;
mod write;

use std::path::PathBuf;

pub use conda::{Conda, CondaLabel};
pub use readback::read_back;
pub use tree::tree_members;
pub use wheel::{Wheel, wheel_name};
pub use write::write_slice;

/// A file of a package or directory that may hold device code.
pub struct Member {
    /// Its name there.
    pub name: String,
    /// Its content.
    pub file: PathBuf,
}

/// First bytes of files that are looked into: ELF files and static archives.
const MAGICS: [&[u8]; 2] = [b"\x7fELF", b"!<arch>\n"];
