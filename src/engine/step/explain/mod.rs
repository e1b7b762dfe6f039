//! Why a program failed, in words.

pub(in crate::engine) mod diagnose;
pub(super) mod told;
pub(super) mod undeclared;
