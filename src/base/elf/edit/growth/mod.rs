//! Room for what does not fit in place.

pub(super) mod grow;
pub(super) mod headers;
pub(super) mod tail;
