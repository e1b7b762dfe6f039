//! Jobs of CI systems, one for each part of a build.

pub(super) mod github;
pub(super) mod gitlab;
