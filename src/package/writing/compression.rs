//! How hard the files of a package are compressed: each file by itself, under a target for the whole package. Device code
//! is often compressed already, and then all effort is for nothing; the strongest level is worth its time while there is
//! not much to compress.

use std::collections::BTreeMap;

use super::writer::staged;
use crate::bundle::ArtifactKind;
use crate::error::Result;
use crate::fs::Content;
use crate::package::Package;

/// What is done with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effort {
    /// Its bytes as they are, or nearly so: they would not shrink.
    Store,
    /// A level at which compression takes a few times as long as reading.
    Fast,
    /// The strongest level.
    Strong,
}

/// The target: at most so many bytes of a package are compressed as strongly as can be, in bytes. One core takes about
/// twenty seconds for them, whatever else the package holds. `cargo bench --bench pack` prints the curve.
pub const STRONG_BYTES: u64 = 32 << 20;

/// Smaller files are never stored: what is known of them is too little. In bytes.
const SMALL: u64 = 1 << 20;
/// Bytes of each sample, and how many are taken, at equal distances.
const SAMPLE: usize = 64 << 10;
const SAMPLES: u64 = 8;
/// Below this saving, in percent, a file is stored.
const LEAST_SAVING: u64 = 3;

impl Effort {
    /// For a file by itself, in an archive whose members are compressed one by one; it follows from the bytes alone.
    pub fn of(bytes: &[u8]) -> Self {
        match bytes.len() as u64 <= SMALL {
            true => Self::Strong,
            false if shrinks(bytes) => Self::Fast,
            false => Self::Store,
        }
    }

    /// For what is one file of so many bytes.
    pub fn for_size(bytes: u64) -> Self {
        if bytes <= STRONG_BYTES { Self::Strong } else { Self::Fast }
    }

    /// The level of deflate; none for what is stored.
    pub fn deflate(self) -> Option<i64> {
        match self {
            Self::Store => None,
            Self::Fast => Some(5),
            Self::Strong => Some(9),
        }
    }

    /// The level of zstd. Its lowest leaves blocks that do not shrink as they are.
    pub fn zstd(self) -> i32 {
        match self {
            Self::Store => 1,
            Self::Fast => 9,
            Self::Strong => 19,
        }
    }
}

/// What is done with each file of a package.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Efforts(BTreeMap<String, Effort>);

impl Efforts {
    /// What does not shrink is stored; of the rest the smallest files get the strongest level, up to the target. It
    /// follows from sizes and bytes alone.
    ///
    /// # Errors
    /// A file of the staged tree cannot be read.
    pub fn of(package: &Package) -> Result<Self> {
        let sizes = package.manifest.artifacts.iter().filter_map(|artifact| match artifact.kind {
            ArtifactKind::File { size, .. } => Some((size, artifact.path.as_str())),
            ArtifactKind::Link { .. } => None,
        });
        let shrinks_at = |path: &str| Ok(shrinks(Content::map(&staged(package, path)?)?.bytes()));
        Self::share_out(sizes.collect(), &shrinks_at)
    }

    /// The same for files of these sizes; of larger ones it asks whether they shrink.
    fn share_out(mut sizes: Vec<(u64, &str)>, shrinks: &dyn Fn(&str) -> Result<bool>) -> Result<Self> {
        sizes.sort_unstable();
        let (mut left, mut efforts) = (STRONG_BYTES, BTreeMap::new());
        for (size, path) in sizes {
            let effort = match size <= SMALL || shrinks(path)? {
                false => Effort::Store,
                true if size <= left => Effort::Strong,
                true => Effort::Fast,
            };
            left -= if effort == Effort::Strong { size } else { 0 };
            efforts.insert(path.to_owned(), effort);
        }
        Ok(Self(efforts))
    }

    /// For the file at `path`; texts that formats add are small.
    pub fn get(&self, path: &str) -> Effort {
        self.0.get(path).copied().unwrap_or(Effort::Strong)
    }

    /// Whether some file is worth less than the strongest level: for formats that have one level for all.
    pub fn is_mixed(&self) -> bool {
        self.0.values().any(|effort| *effort != Effort::Strong)
    }
}

/// Whether samples of a file shrink.
fn shrinks(bytes: &[u8]) -> bool {
    let (mut given, mut got) = (0, 0);
    for sample in samples(bytes) {
        given += sample.len() as u64;
        got += shrunk(sample);
    }
    got * 100 <= given * (100 - LEAST_SAVING)
}

/// Pieces at equal distances over the whole.
fn samples(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let distance = usize::try_from(bytes.len() as u64 / SAMPLES).unwrap_or(usize::MAX).max(1);
    bytes.chunks(distance).take(SAMPLES as usize).map(|piece| &piece[..piece.len().min(SAMPLE)])
}

/// Bytes of a sample when it is compressed.
fn shrunk(sample: &[u8]) -> u64 {
    let mut compressor = flate2::Compress::new(flate2::Compression::fast(), false);
    // What does not shrink grows by a few bytes for each block.
    let mut out = Vec::with_capacity(sample.len() + (sample.len() >> 3) + 64);
    match compressor.compress_vec(sample, &mut out, flate2::FlushCompress::Finish) {
        Ok(flate2::Status::StreamEnd) => compressor.total_out(),
        _ => sample.len() as u64,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Bytes that nothing shrinks: a generator's.
    pub(in super::super) fn noise(count: usize) -> Vec<u8> {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        std::iter::repeat_with(|| next().to_le_bytes()).flatten().take(count).collect()
    }

    #[test]
    fn what_is_compressed_already_is_stored() {
        let large = 2 << 20;
        assert_eq!(Effort::of(&noise(large)), Effort::Store);
        assert_eq!(Effort::of(&vec![7; large]), Effort::Fast);
        assert_eq!(Effort::of(&noise(1000)), Effort::Strong);
        assert_eq!(Effort::of(&[]), Effort::Strong);
        // Half of it shrinks.
        let half = [noise(large), vec![0; large]].concat();
        assert_eq!(Effort::of(&half), Effort::Fast);
    }

    #[test]
    fn the_strongest_level_goes_to_the_smallest_files_up_to_the_target() {
        let sizes =
            vec![(20 << 20, "c"), (500, "b"), (14 << 20, "a"), (90 << 20, "code"), (10 << 20, "d"), (12 << 20, "e")];
        let efforts = Efforts::share_out(sizes, &|path| Ok(path != "code" && path != "b")).unwrap();
        let of = |path| efforts.get(path);
        // 10 and 12 MiB leave 10 of 32: too few for 14, and for 20.
        assert_eq!([of("b"), of("d"), of("e")], [Effort::Strong; 3]);
        assert_eq!(([of("a"), of("c")], of("code")), ([Effort::Fast; 2], Effort::Store));
        assert_eq!(of("share/simpack/a/simpack.json"), Effort::Strong);
        assert!(efforts.is_mixed() && !Efforts::default().is_mixed());
    }
}
