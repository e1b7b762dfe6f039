//! Room in `.dynstr`. Linkers merge equal endings, so a text may share its bytes with any other:
//! only bytes that no reference reaches are ever cleared or written.
//!
//! Where a text goes depends on what no edit changes and on the other texts, never on where they were:
//! all editable texts are taken out first, then placed anew, the longest first.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A string table without its editable texts, or with all of them in their places.
#[derive(Clone)]
pub(super) struct Strings {
    bytes: Vec<u8>,
    /// Texts that are referred to, without their NUL: ascending, apart.
    texts: Vec<Range<usize>>,
    /// Runs of free NULs: ascending, apart.
    rooms: Vec<Range<usize>>,
}

impl Strings {
    /// The table with the references that stay, ascending, and without the texts at `editable` as far as
    /// those do not need their bytes.
    pub(super) fn new(bytes: &[u8], kept: &BTreeSet<u64>, editable: impl IntoIterator<Item = u64>) -> Self {
        let mut strings = Self { bytes: bytes.to_vec(), texts: Vec::new(), rooms: Vec::new() };
        for start in kept.iter().filter_map(|at| usize::try_from(*at).ok()) {
            // A text inside another is its ending.
            let inside = strings.texts.last().is_some_and(|last| start <= last.end);
            if let Some(length) = strings.length(start).filter(|_| !inside) {
                strings.texts.push(start..start + length);
            }
        }
        editable.into_iter().filter_map(|at| usize::try_from(at).ok()).for_each(|at| strings.clear(at));
        strings.find_rooms();
        strings
    }

    /// The table as it is now.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn length(&self, start: usize) -> Option<usize> {
        self.bytes.get(start..)?.iter().position(|byte| *byte == 0)
    }

    fn clear(&mut self, start: usize) {
        let Some(length) = self.length(start) else { return };
        let next = self.texts.partition_point(|text| text.end < start);
        // A text that begins earlier and ends here too keeps all of it, one that begins later its part.
        let end = self.texts.get(next).map_or(start + length, |text| text.start.clamp(start, start + length));
        self.bytes[start..end].fill(0);
    }

    fn find_rooms(&mut self) {
        self.rooms.clear();
        let mut from = 0;
        let ends = self.texts.iter().map(|text| (text.start, text.end + 1));
        for (until, next) in ends.chain([(self.bytes.len(), self.bytes.len())]) {
            let mut at = from;
            while at < until {
                let run = self.bytes[at..until].iter().take_while(|byte| **byte == 0).count();
                if run > 0 {
                    self.rooms.push(at..at + run);
                }
                at += run + self.bytes[at + run..until].iter().take_while(|byte| **byte != 0).count();
            }
            from = next;
        }
    }

    /// Drops everything behind the last text, for a table that can grow again.
    pub(super) fn trim(&mut self) {
        let end = self.texts.last().map_or(0, |text| text.end) + 1;
        self.bytes.resize(end, 0);
        self.rooms.retain(|room| room.end <= end);
    }

    /// Places of all texts; nothing if they do not fit. With `append`, what finds no room goes to the end.
    pub(super) fn place(&mut self, texts: &BTreeSet<&str>, append: bool) -> Option<BTreeMap<String, u64>> {
        let mut order: Vec<&str> = texts.iter().copied().collect();
        order.sort_by_key(|text| std::cmp::Reverse(text.len()));
        let mut places = BTreeMap::new();
        for text in order {
            let at = self.ending(text).or_else(|| self.before_ending(text)).or_else(|| self.in_room(text));
            let at = match at {
                Some(at) => at,
                None if append => self.append(text),
                None => return None,
            };
            places.insert(text.to_owned(), at as u64);
        }
        Some(places)
    }

    /// Where a text ends in this one.
    fn ending(&self, text: &str) -> Option<usize> {
        let ends = |known: &&Range<usize>| {
            known.len() >= text.len() && self.bytes[known.start..known.end].ends_with(text.as_bytes())
        };
        self.texts.iter().find(ends).map(|known| known.end - text.len())
    }

    /// Writes the text before one that is its ending, as linkers merge them.
    fn before_ending(&mut self, text: &str) -> Option<usize> {
        let fits = |index: usize| {
            let room = &self.rooms[index];
            let known = self.texts.binary_search_by_key(&room.end, |known| known.start).ok()?;
            let shared = self.texts[known].len();
            let ends = shared < text.len() && text.as_bytes().ends_with(&self.bytes[self.texts[known].clone()]);
            (ends && room.len() >= text.len() - shared).then_some((shared, index, known))
        };
        let (shared, room, known) =
            (0..self.rooms.len()).filter_map(fits).max_by_key(|it| (it.0, usize::MAX - it.1))?;
        let at = self.rooms[room].end - (text.len() - shared);
        self.bytes[at..at + text.len()].copy_from_slice(text.as_bytes());
        self.rooms[room].end = at;
        self.texts[known].start = at;
        Some(at)
    }

    /// Writes the text into the narrowest room that is wide enough, its NUL included.
    fn in_room(&mut self, text: &str) -> Option<usize> {
        let wide = self.rooms.iter_mut().filter(|room| room.len() > text.len());
        let room = wide.min_by_key(|room| (room.len(), room.start))?;
        let at = room.start;
        room.start += text.len() + 1;
        self.bytes[at..at + text.len()].copy_from_slice(text.as_bytes());
        let place = self.texts.partition_point(|known| known.start < at);
        self.texts.insert(place, at..at + text.len());
        Some(at)
    }

    fn append(&mut self, text: &str) -> usize {
        let at = self.bytes.len();
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.push(0);
        self.texts.push(at..at + text.len());
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(text: &[u8], kept: &[u64], editable: &[u64]) -> Strings {
        Strings::new(text, &kept.iter().copied().collect(), editable.iter().copied())
    }

    fn place(table: &mut Strings, texts: &[&str], append: bool) -> Option<Vec<u64>> {
        let places = table.place(&texts.iter().copied().collect(), append)?;
        Some(texts.iter().map(|text| places[*text]).collect())
    }

    #[test]
    fn shared_endings_survive() {
        // `libfoo.so` is the end of `/opt/libfoo.so`, and `x` a name of its own.
        let table = strings(b"\0/opt/libfoo.so\0x\0", &[0, 6, 16], &[1]);
        assert_eq!(table.bytes(), b"\0\0\0\0\0\0libfoo.so\0x\0");
        let table = strings(b"\0/opt/libfoo.so\0x\0", &[0, 1, 16], &[6]);
        assert_eq!(table.bytes(), b"\0/opt/libfoo.so\0x\0");
    }

    #[test]
    fn texts_go_where_endings_or_rooms_are() {
        let mut table = strings(b"\0/opt/libfoo.so\0x\0", &[0, 1, 16], &[]);
        assert_eq!(place(&mut table, &["foo.so"], false), Some(vec![9]));
        let mut table = strings(b"\0/opt/libfoo.so\0x\0", &[0, 16], &[1]);
        assert_eq!(place(&mut table, &["fourteen bytes"], false), Some(vec![1]));
        assert_eq!(place(&mut table.clone(), &["y"], false), None);
        assert_eq!(place(&mut table, &["y"], true), Some(vec![18]));
        assert_eq!(table.bytes(), b"\0fourteen bytes\0x\0y\0");
        // Back before the ending that somebody else needs.
        let mut table = strings(b"\0/opt/libfoo.so\0x\0", &[0, 6, 16], &[1]);
        assert_eq!(place(&mut table, &["/usr/libfoo.so"], false), Some(vec![1]));
        assert_eq!(table.bytes(), b"\0/usr/libfoo.so\0x\0");
    }

    #[test]
    fn the_narrowest_room_is_taken() {
        let mut table = strings(b"\0aaaaaaaa\0n\0bbbb\0", &[0, 10], &[1, 12]);
        assert_eq!(place(&mut table, &["four", "eight888"], false), Some(vec![12, 1]));
    }

    #[test]
    fn an_empty_text_keeps_its_nul() {
        let mut table = strings(b"\0\0\0\0\0a\0", &[0, 3, 5], &[]);
        assert_eq!(place(&mut table, &["bc"], false), Some(vec![1]));
        assert_eq!(place(&mut table, &["de"], false), None);
    }

    #[test]
    fn what_nobody_refers_to_is_no_text_and_no_room() {
        let mut table = strings(b"\0junk.so\0a\0", &[0, 9], &[]);
        assert_eq!(place(&mut table, &["junk.so"], true), Some(vec![11]));
    }

    #[test]
    fn trimming_keeps_what_is_referenced() {
        let mut table = strings(b"\0a\0bc\0d\0", &[0, 4], &[]);
        table.trim();
        assert_eq!(table.bytes(), b"\0a\0bc\0");
    }

    proptest::proptest! {
        #[test]
        fn places_do_not_depend_on_earlier_ones(
            kept in proptest::collection::btree_set("[ab]{1,6}", 0..4),
            first in proptest::collection::btree_set("[ab]{1,8}", 0..5),
            other in proptest::collection::btree_set("[ab]{1,8}", 0..5),
            last in proptest::collection::btree_set("[ab]{1,8}", 0..5),
            room in 0usize..12,
        ) {
            let mut bytes = vec![0];
            let mut references = std::collections::BTreeSet::from([0]);
            for text in &kept {
                references.insert(bytes.len() as u64);
                bytes.extend_from_slice(text.as_bytes());
                bytes.resize(bytes.len() + 1 + room % 5, 0);
            }
            bytes.resize(bytes.len() + room, 0);
            let texts = |set: &std::collections::BTreeSet<String>| -> Option<(Vec<u8>, Vec<u64>)> {
                let mut table = Strings::new(&bytes, &references, []);
                let places = table.place(&set.iter().map(String::as_str).collect(), false)?;
                for (text, at) in &places {
                    let at = *at as usize;
                    assert_eq!(&table.bytes[at..at + text.len()], text.as_bytes());
                    assert_eq!(table.bytes[at + text.len()], 0);
                }
                Some((table.bytes, places.into_values().collect()))
            };
            let direct = texts(&last);
            for way in [&first, &other] {
                let Some((bytes, places)) = texts(way) else { continue };
                let mut table = Strings::new(&bytes, &references, places);
                let found = table.place(&last.iter().map(String::as_str).collect(), false);
                assert_eq!(found.map(|found| (table.bytes, found.into_values().collect())), direct.clone());
            }
        }
    }
}
