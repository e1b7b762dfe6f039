//! What a package is, in no format's words, and the formats that write it.
//!
//! [`Package`] holds names, versions, typed dependencies and typed conditions. Whatever is said in the words of one
//! package manager is made in the module of that format, and nowhere else.

mod value;

pub use value::{Package, PackageKind};
