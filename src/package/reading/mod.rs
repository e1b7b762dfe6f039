//! What packages say of themselves, as archives and where they are installed.

pub(super) mod beside;
pub(super) mod inside;
pub(super) mod installed;
pub(super) mod kept;
pub(super) mod package_format;
