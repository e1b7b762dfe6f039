//! Structures out of debug information and out of JSON: what is read has a place for every field, and is in order.

use simpack::layout::{StructuresDump, dwarf_structures, ordered};

pub fn run(bytes: &[u8]) {
    for found in [dwarf_structures(bytes, &["Layer", "Inhib"]), StructuresDump::read(bytes)].into_iter().flatten() {
        assert_eq!(ordered(found.clone()).as_ref(), Ok(&found));
        let text = StructuresDump::of(found.clone()).text();
        assert_eq!(StructuresDump::read(text.as_bytes()), Ok(found));
    }
}
