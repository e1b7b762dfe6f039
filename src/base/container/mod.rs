//! Containers of files: zip archives and wheels, `.conda` packages, tar archives with their compressions. One reader of
//! each for everything that opens them, within one set of limits; what would land outside, or cannot be told by a file
//! and its bytes, is refused by name and never passed over.
//!
//! Members come one after another as values with a reader; what to do with them is the caller's: look at them, write
//! them into an [`Extraction`], pack them again. Directories need no reader of their own: [`crate::fs::walk`] lists them.

mod entry;
mod extraction;
mod form;
mod limits;
mod read;
mod unpack;

pub use entry::{ContainerError, Entry, Kind, Refusal, Stop};
pub use extraction::{Extraction, links_stay_inside};
pub use form::{Form, Packing};
pub use limits::{Limits, Quota};
pub use read::{Visitor, read, read_tar};
pub use unpack::unpack;
