//! Files that hold device code for several targets.

pub(super) mod fatbin;
pub(super) mod in_data;
pub(super) mod members;
pub(super) mod offload;
