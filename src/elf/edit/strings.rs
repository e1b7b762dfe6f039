//! Room in `.dynstr`. Linkers merge equal endings, so a text may share its bytes with any other:
//! only bytes that no reference reaches are ever cleared or written.

use std::collections::BTreeSet;

/// A string table while it is edited.
pub(super) struct Strings {
    bytes: Vec<u8>,
    references: BTreeSet<u64>,
}

impl Strings {
    /// The table with the references that stay.
    pub(super) fn new(bytes: &[u8], references: BTreeSet<u64>) -> Self {
        Self { bytes: bytes.to_vec(), references }
    }

    /// The table as it is now.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Clears the text at `at`, as far as no other text needs its bytes.
    pub(super) fn clear(&mut self, at: u64) {
        let Ok(start) = usize::try_from(at) else { return };
        let Some(length) = self.bytes.get(start..).and_then(|rest| rest.iter().position(|byte| *byte == 0)) else {
            return;
        };
        let whole = self.bytes[..start].iter().rposition(|byte| *byte == 0).map_or(0, |nul| nul + 1);
        // A longer text that ends in this one keeps all of it.
        if self.references.range(whole as u64..=at).next().is_some() {
            return;
        }
        let end = (start + length) as u64;
        let kept = self.references.range(at..end).next().copied().unwrap_or(end);
        self.bytes[start..kept as usize].fill(0);
    }

    /// Drops everything behind the last referenced text, for a table that can grow again.
    pub(super) fn trim(&mut self) {
        let end = self.references.iter().filter_map(|at| self.end_of(*at)).max().unwrap_or(1);
        self.bytes.truncate(end);
        if self.bytes.is_empty() {
            self.bytes.push(0);
        }
    }

    fn end_of(&self, at: u64) -> Option<usize> {
        let start = usize::try_from(at).ok()?;
        Some(start + self.bytes.get(start..)?.iter().position(|byte| *byte == 0)? + 1)
    }

    /// Position of `text`: where it is already, else in the first room that is wide enough.
    pub(super) fn place(&mut self, text: &str) -> Option<u64> {
        let at = self.find(text).or_else(|| self.write_into_room(text))?;
        self.references.insert(at);
        Some(at)
    }

    /// As [`Strings::place`], at the end when there is no room.
    pub(super) fn place_or_append(&mut self, text: &str) -> u64 {
        if let Some(at) = self.place(text) {
            return at;
        }
        let at = self.bytes.len() as u64;
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.push(0);
        self.references.insert(at);
        at
    }

    fn find(&self, text: &str) -> Option<u64> {
        let mut start = 0;
        while let Some(length) = self.bytes.get(start..)?.iter().position(|byte| *byte == 0) {
            if length >= text.len() && self.bytes[start..start + length].ends_with(text.as_bytes()) {
                return Some((start + length - text.len()) as u64);
            }
            start += length + 1;
        }
        None
    }

    /// Room is a run of NULs behind the one that ends the text before it; an empty text that is
    /// referred to keeps its NUL.
    fn write_into_room(&mut self, text: &str) -> Option<u64> {
        let wanted = text.len() + 2;
        let mut run = 0;
        let mut found = None;
        for (at, byte) in self.bytes.iter().enumerate() {
            run = match *byte {
                0 if run > 0 && self.references.contains(&(at as u64)) => 1,
                0 => run + 1,
                _ => 0,
            };
            if run == wanted {
                found = Some(at + 2 - wanted);
                break;
            }
        }
        let at = found?;
        self.bytes[at..at + text.len()].copy_from_slice(text.as_bytes());
        Some(at as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(text: &[u8], references: &[u64]) -> Strings {
        Strings::new(text, references.iter().copied().collect())
    }

    #[test]
    fn shared_endings_survive() {
        // `libfoo.so` is the end of `/opt/libfoo.so`, and `foo.so` a name of its own.
        let mut table = strings(b"\0/opt/libfoo.so\0x\0", &[0, 6, 16]);
        table.clear(1);
        assert_eq!(table.bytes(), b"\0\0\0\0\0\0libfoo.so\0x\0");
        let mut table = strings(b"\0/opt/libfoo.so\0x\0", &[0, 1, 16]);
        table.clear(6);
        assert_eq!(table.bytes(), b"\0/opt/libfoo.so\0x\0");
    }

    #[test]
    fn texts_go_where_they_are_or_where_room_is() {
        let mut table = strings(b"\0/opt/libfoo.so\0x\0", &[0, 16]);
        assert_eq!(table.place("foo.so"), Some(9));
        let mut table = strings(b"\0/opt/libfoo.so\0x\0", &[0, 16]);
        table.clear(1);
        assert_eq!(table.place("fourteen bytes"), Some(1));
        assert_eq!(table.place("y"), None);
        assert_eq!(table.place_or_append("y"), 18);
        assert_eq!(table.bytes(), b"\0fourteen bytes\0x\0y\0");
    }

    #[test]
    fn an_empty_text_keeps_its_nul() {
        let mut table = strings(b"\0\0\0\0\0a\0", &[0, 3, 5]);
        assert_eq!(table.place("b"), Some(1));
        assert_eq!(table.place("c"), None);
    }

    #[test]
    fn trimming_keeps_what_is_referenced() {
        let mut table = strings(b"\0a\0bc\0d\0", &[0, 4]);
        table.trim();
        assert_eq!(table.bytes(), b"\0a\0bc\0");
    }
}
