//! Bounds-checked little-endian reads at 64-bit positions: foreign files lie about offsets.

use std::borrow::Cow;

use crate::budget::Budget;

/// Bytes of a file or a part of one.
#[derive(Clone, Copy)]
pub struct Bytes<'a>(pub(crate) &'a [u8]);

impl<'a> Bytes<'a> {
    /// Length in bytes.
    pub(crate) fn len(self) -> u64 {
        self.0.len() as u64
    }

    /// `size` bytes from `at`, if all of them are there.
    pub(crate) fn get(self, at: u64, size: u64) -> Option<&'a [u8]> {
        let end = at.checked_add(size)?;
        self.0.get(usize::try_from(at).ok()?..usize::try_from(end).ok()?)
    }

    fn array<const N: usize>(self, at: u64) -> Option<[u8; N]> {
        self.get(at, N as u64)?.try_into().ok()
    }

    pub(crate) fn u8(self, at: u64) -> Option<u8> {
        self.array::<1>(at).map(|[byte]| byte)
    }

    pub(crate) fn u16(self, at: u64) -> Option<u16> {
        self.array(at).map(u16::from_le_bytes)
    }

    pub(crate) fn u32(self, at: u64) -> Option<u32> {
        self.array(at).map(u32::from_le_bytes)
    }

    pub(crate) fn u64(self, at: u64) -> Option<u64> {
        self.array(at).map(u64::from_le_bytes)
    }

    /// The bytes from `at` up to the next NUL, which must be there.
    pub(crate) fn text(self, at: u64) -> Option<&'a [u8]> {
        let rest = self.0.get(usize::try_from(at).ok()?..)?;
        memchr::memchr(0, rest).map(|end| &rest[..end])
    }

    /// The text at `at`; bytes that are not UTF-8 become replacement characters. Many positions may share one long
    /// text, so the search for its end is paid for.
    pub(crate) fn name(self, at: u64, budget: &Budget) -> Option<Cow<'a, str>> {
        // Once the budget is spent, nothing is searched any more.
        budget.finish().ok()?;
        let text = self.text(at);
        let seen = text.map_or_else(|| self.len().saturating_sub(at), |text| text.len() as u64);
        budget.work(seen + 4)?;
        let name = String::from_utf8_lossy(text?);
        if let Cow::Owned(name) = &name {
            budget.keep_text(name.len())?;
        }
        Some(name)
    }

    /// As [`Bytes::name`], to be kept.
    pub(crate) fn string(self, at: u64, budget: &Budget) -> Option<String> {
        let name = self.name(at, budget)?;
        budget.keep_text(name.len())?;
        Some(name.into_owned())
    }
}

/// `value` rounded up to a multiple of `step`, which is a power of two or zero (no rounding).
pub(crate) fn round_up(value: u64, step: u64) -> Option<u64> {
    if step <= 1 {
        return Some(value);
    }
    Some(value.checked_add(step - 1)? & !(step - 1))
}

/// Position of the first `word` in `data`, by Horspool's skips: most bytes are never looked at.
pub(crate) fn find(data: &[u8], word: &[u8]) -> Option<usize> {
    let last = word.len().checked_sub(1)?;
    let mut skips = [word.len(); 256];
    for (index, byte) in word[..last].iter().enumerate() {
        skips[usize::from(*byte)] = last - index;
    }
    let mut at = 0;
    while let Some(window) = data.get(at..at + word.len()) {
        if window == word {
            return Some(at);
        }
        at += skips[usize::from(window[last])];
    }
    None
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn words_are_found_wherever_they_stand() {
        for (data, at) in [("libcuda.so", Some(0)), ("liblibcuda.so", Some(3)), ("libcuda.s", None), ("", None)] {
            assert_eq!(find(data.as_bytes(), b"libcuda.so"), at, "{data}");
        }
        assert_eq!(find(b"abc", b""), None);
    }
}
