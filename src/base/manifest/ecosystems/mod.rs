//! What other packagers have, and what they ask for.

pub(super) mod debian;
pub(super) mod easybuild;
pub(super) mod foreign;
pub(super) mod forge;
