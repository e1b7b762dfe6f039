//! One build over several machines.

pub(super) mod parts;
pub(super) mod shards;
pub(super) mod slurm;
