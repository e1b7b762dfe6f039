//! The crates that this program is made of, by its own lock file: they can have an influence on what it writes.

use serde::{Deserialize, Serialize};

/// The lock that this program was compiled with. It lists the crates of its tests, too.
const LOCK: &str = include_str!("../../Cargo.lock");

/// A crate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Crate {
    pub name: String,
    pub version: String,
    /// SHA-256 of its archive; none of this program itself.
    pub checksum: Option<String>,
}

/// All crates that come from a registry, sorted by name.
pub(super) fn crates() -> Vec<Crate> {
    #[derive(Deserialize)]
    struct Lock {
        package: Vec<Crate>,
    }
    let lock: Lock = toml::from_str(LOCK).expect("cargo wrote it");
    lock.package.into_iter().filter(|package| package.checksum.is_some()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::Digest;

    #[test]
    fn each_crate_has_a_digest() {
        let all = crates();
        assert!(
            all.iter().any(|package| package.name == "serde") && all.iter().all(|package| package.name != "simpack")
        );
        assert!(all.iter().all(|package| package.checksum.as_ref().unwrap().parse::<Digest>().is_ok()));
    }
}
