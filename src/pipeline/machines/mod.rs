//! One build over several machines.

pub(super) mod cluster;
pub(super) mod parts;
pub(super) mod shards;
