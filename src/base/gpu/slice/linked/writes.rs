//! Writes over the old file.

use crate::elf::edit::Write;

/// Those of a cut, ascending and apart, with other bytes inside them; and those beside them.
#[derive(Default)]
pub(super) struct Writes {
    cut: Vec<Write>,
    beside: Vec<Write>,
}

impl Writes {
    /// Writes to put more over.
    pub(super) fn over(cut: Vec<Write>) -> Self {
        Self { cut, beside: Vec::new() }
    }

    /// Adds bytes, inside a write of the cut where one covers their place.
    pub(super) fn put(&mut self, at: u64, bytes: &[u8]) {
        let before = self.cut.partition_point(|write| write.at <= at).checked_sub(1);
        let inside = before.and_then(|index| {
            let write = &mut self.cut[index];
            let start = usize::try_from(at - write.at).ok()?;
            write.bytes.get_mut(start..start.checked_add(bytes.len())?)
        });
        match inside {
            Some(place) => place.copy_from_slice(bytes),
            None => self.beside.push(Write { at, bytes: bytes.to_vec() }),
        }
    }

    /// All of them, in no order.
    pub(super) fn into_vec(mut self) -> Vec<Write> {
        self.cut.append(&mut self.beside);
        self.cut
    }
}
