//! How hard single files are compressed: device code is often compressed already, and then all effort is for nothing.

/// What is done with a file in an archive whose members are compressed one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// Its bytes as they are: they would not shrink.
    Store,
    /// A usual level.
    Fast,
    /// The strongest level: small files cost nothing.
    Strong,
}

/// Files up to this size get the strongest level, in bytes.
const SMALL: u64 = 1 << 20;
/// Bytes of each sample, and how many are taken, at equal distances.
const SAMPLE: usize = 64 << 10;
const SAMPLES: u64 = 8;
/// Below this saving, in percent, a file is stored.
const LEAST_SAVING: u64 = 3;

impl Effort {
    /// For a file with these bytes; it follows from them alone.
    pub fn of(bytes: &[u8]) -> Self {
        if bytes.len() as u64 <= SMALL {
            return Self::Strong;
        }
        let (mut given, mut got) = (0, 0);
        for sample in samples(bytes) {
            given += sample.len() as u64;
            got += shrunk(sample);
        }
        match got * 100 > given * (100 - LEAST_SAVING) {
            true => Self::Store,
            false => Self::Fast,
        }
    }

    /// The level of deflate; none for what is stored.
    pub fn deflate(self) -> Option<i64> {
        match self {
            Self::Store => None,
            Self::Fast => Some(6),
            Self::Strong => Some(9),
        }
    }
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
mod tests {
    use super::*;

    /// Bytes that nothing shrinks: a generator's.
    fn noise(count: usize) -> Vec<u8> {
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
}
