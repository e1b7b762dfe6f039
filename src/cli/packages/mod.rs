//! Verbs about finished packages.

pub(super) mod compose;
pub(super) mod merge;
pub(super) mod publish;
pub(super) mod rebuild;
pub(super) mod sign;
pub(super) mod vendor;
