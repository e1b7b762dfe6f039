//! What comes out of a build: packages in `dist/`, and what is said of them.

pub(super) mod dist;
pub(super) mod packages;
pub(super) mod provenance;
pub(super) mod vendors;
