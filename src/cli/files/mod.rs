//! Verbs over files that are there: look into them, compare, change, cut.

pub(super) mod abi;
pub(super) mod inspect;
pub(super) mod patch;
pub(super) mod resolve;
pub(super) mod slice;
pub(super) mod verify;
