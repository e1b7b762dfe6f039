//! Pins: which versions of a package another one accepts, from the version policy.

use crate::arch::{KernelAbiTag, Version, VersionPolicy};

/// Version of the package that ties kernels to a core: the schema of the tag, not the simulator's.
pub(super) const KERNEL_ABI_VERSION: u32 = 1;

/// `volley-core >=1.0.0,<2.0a0`: everything from this version on that keeps the policy's promise.
/// The bound ends in `a0` because conda sorts pre-releases of 2.0 below it: without it `2.0rc1`
/// would pass. An exact policy accepts this version only.
pub(super) fn compatible(name: &str, version: Version, policy: VersionPolicy) -> String {
    match policy {
        VersionPolicy::Major | VersionPolicy::MajorMinor => {
            let bound = policy.upper_bound(version).unwrap_or_default();
            format!("{name} >={version},<{bound}.0a0")
        }
        VersionPolicy::Capability => format!("{name} =={version}"),
    }
}

/// The package that ties kernels to a core. Its build string is the tag, and an environment holds
/// one build of a package: so core and kernels that name different tags cannot be installed
/// together, and the solver says so before anything is downloaded.
pub(super) fn kernel_abi(simulator: &str, tag: &KernelAbiTag) -> String {
    format!("{} {KERNEL_ABI_VERSION}.* {tag}", kernel_abi_name(simulator))
}

pub(super) fn kernel_abi_name(simulator: &str) -> String {
    format!("{simulator}-kernel-abi")
}

/// Version of the package by which sliced libraries exclude each other.
pub(super) const SLOT_VERSION: u32 = 1;

/// The package by which sliced libraries exclude each other, for one of them: its build string is the target's word.
pub(super) fn slot(simulator: &str, word: &str) -> String {
    format!("{} {SLOT_VERSION}.* {word}", slot_name(simulator))
}

pub(super) fn slot_name(simulator: &str) -> String {
    format!("{simulator}-slice")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_follow_the_policy() {
        let version: Version = "1.2.3".parse().unwrap();
        assert_eq!(compatible("x", version, VersionPolicy::Major), "x >=1.2.3,<2.0a0");
        assert_eq!(compatible("x", version, VersionPolicy::MajorMinor), "x >=1.2.3,<1.3.0a0");
        assert_eq!(compatible("x", version, VersionPolicy::Capability), "x ==1.2.3");
    }
}
