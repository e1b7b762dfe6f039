//! What machines have: drivers, loaders, levels of glibc.

pub(super) mod drivers;
pub(super) mod environment;
pub(super) mod glibc;
pub(super) mod loaders;
pub(super) mod opened;
