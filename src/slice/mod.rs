//! Slicing files: a plan of [`crate::gpu::slice`] carried out in pieces, and the result read back.
//!
//! What is planned is a few headers; the code itself is copied by the kernel from file to file, so that
//! memory does not depend on the size of a library.

mod readback;
mod wheel;
mod write;

pub use readback::read_back;
pub use wheel::{Member, Wheel, wheel_name};
pub use write::write_slice;
