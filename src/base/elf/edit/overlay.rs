//! What an edit writes over a file, collected before anything is written.

use std::collections::BTreeMap;

use super::patch_plan::Write;
use crate::elf::bytes::Bytes;

/// So many equal bytes are written along with those around them.
const EQUAL: u64 = 64;

/// Bytes written over the file's own, in the order of the calls: later ones win. Runs do not overlap.
#[derive(Default)]
pub(super) struct Overlay(BTreeMap<u64, Vec<u8>>);

impl Overlay {
    pub(super) fn put(&mut self, at: u64, bytes: &[u8]) {
        let end = at + bytes.len() as u64;
        let before = self.0.range(..at).next_back().map(|(start, run)| (*start, run.len() as u64));
        if let Some((start, length)) = before.filter(|(start, length)| start + length > at)
            && let Some(run) = self.0.get_mut(&start)
        {
            let behind = if start + length > end { run.split_off((end - start) as usize) } else { Vec::new() };
            run.truncate((at - start) as usize);
            if !behind.is_empty() {
                self.0.insert(end, behind);
            }
        }
        let covered: Vec<u64> = self.0.range(at..end).map(|(start, _)| *start).collect();
        for start in covered {
            let Some(mut run) = self.0.remove(&start) else { continue };
            if start + run.len() as u64 > end {
                self.0.insert(end, run.split_off((end - start) as usize));
            }
        }
        if !bytes.is_empty() {
            self.0.insert(at, bytes.to_vec());
        }
    }

    /// `size` bytes from `at` as they will be.
    pub(super) fn read(&self, file: &[u8], at: u64, size: u64) -> Vec<u8> {
        let mut bytes = Bytes(file).get(at, size).unwrap_or_default().to_vec();
        let end = at + bytes.len() as u64;
        for (start, run) in self.0.range(..end).rev() {
            let (from, to) = ((*start).max(at), (start + run.len() as u64).min(end));
            if from >= to {
                break;
            }
            bytes[(from - at) as usize..(to - at) as usize]
                .copy_from_slice(&run[(from - start) as usize..(to - start) as usize]);
        }
        bytes
    }

    /// Everything that was written, in runs.
    pub(super) fn into_runs(self) -> Vec<Write> {
        self.0.into_iter().map(|(at, bytes)| Write { at, bytes }).collect()
    }

    /// What differs from the file, below `end`, in runs; over a few equal bytes it is one run, because
    /// each costs a call of the kernel.
    pub(super) fn into_writes(self, file: &[u8], end: u64) -> Vec<Write> {
        let mut writes: Vec<Write> = Vec::new();
        for (start, run) in self.0 {
            for (at, byte) in (start..end).zip(run) {
                if file.get(at as usize) == Some(&byte) {
                    continue;
                }
                if let Some(last) = writes.last_mut()
                    && let behind = last.at + last.bytes.len() as u64
                    && at - behind <= EQUAL
                    && let Some(between) = Bytes(file).get(behind, at - behind)
                {
                    last.bytes.extend_from_slice(between);
                    last.bytes.push(byte);
                } else {
                    writes.push(Write { at, bytes: vec![byte] });
                }
            }
        }
        writes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn an_overlay_is_what_writing_in_order_gives(
            puts in proptest::collection::vec((0u64..40, proptest::collection::vec(1u8..9, 0..12)), 0..12),
            at in 0u64..50,
            size in 0u64..14,
        ) {
            let file = [0; 64];
            let mut written = file;
            let mut overlay = Overlay::default();
            for (at, bytes) in &puts {
                written[*at as usize..*at as usize + bytes.len()].copy_from_slice(bytes);
                overlay.put(*at, bytes);
            }
            assert_eq!(overlay.read(&file, at, size), &written[at as usize..(at + size) as usize]);
            let mut applied = file;
            for write in overlay.into_writes(&file, 64) {
                applied[write.at as usize..write.at as usize + write.bytes.len()].copy_from_slice(&write.bytes);
            }
            assert_eq!(applied, written);
        }
    }
}
