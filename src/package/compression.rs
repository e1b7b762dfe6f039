//! How hard archives are compressed.

use super::Package;
use crate::bundle::ArtifactKind;

/// Payload up to which the strongest level is used, in bytes.
pub const SMALL_PAYLOAD: u64 = 32 << 20;

/// zstd level for a package's archives, from the size of its files alone.
///
/// Packages are written once and downloaded often, so small ones get level 19. Large ones hold
/// device code that is compressed already, where 19 costs much and gains little. One thread,
/// zstd 1.5.4, seconds and bytes:
///
/// | payload | level 3 | level 9 | level 16 | level 19 |
/// |---|---|---|---|---|
/// | 8 cubins, 348 kB | 0.00, 23.5 k | 0.00, 21.3 k | 0.02, 19.9 k | 0.07, 19.2 k |
/// | host libraries, 6.9 MB | 0.04, 2.71 M | 0.16, 2.54 M | 1.5, 2.44 M | 2.8, 2.26 M |
/// | libnvrtc, 109 MB | 0.62, 42.8 M | 2.8, 38.4 M | 39, 36.5 M | 76, 34.1 M |
///
/// Level 22 gave under 0.3 % more.
pub fn level(package: &Package) -> i32 {
    let sizes = package.manifest.artifacts.iter().map(|artifact| match artifact.kind {
        ArtifactKind::File { size, .. } => size,
        ArtifactKind::Link { .. } => 0,
    });
    let payload = sizes.fold(0, u64::saturating_add);
    level_of(payload)
}

/// The same for a payload of so many bytes.
pub fn level_of(payload: u64) -> i32 {
    if payload <= SMALL_PAYLOAD { 19 } else { 9 }
}
