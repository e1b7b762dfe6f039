//! How the bytes of packages come about.

pub(super) mod compression;
pub(super) mod epoch;
pub(super) mod frame;
pub(super) mod packed_tar;
pub(super) mod sbom;
pub(super) mod write;
pub(super) mod writer;
