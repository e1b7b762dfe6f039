//! The files of a wheel's `.dist-info`.

pub(super) mod describe;
pub(super) mod record;
pub(super) mod requires;
