//! Where things lie in a package of Debian.

/// Where dpkg's own files of an unpacked package lie, as `dpkg-deb --raw-extract` lays them out.
pub const CONTROL_DIRECTORY: &str = "DEBIAN";

/// The file of them that says name, version and relations.
pub const CONTROL: &str = "DEBIAN/control";

/// The prefix of what packages install.
pub const PREFIX: &str = "usr";
