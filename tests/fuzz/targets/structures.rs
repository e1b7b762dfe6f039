//! Structures out of debug information and out of JSON: what is read has a place for every field, and is in order.

use simpack::budget::Budget;
use simpack::layout::{StructuresDump, compiled_types, dwarf_structures, ordered};

pub fn run(bytes: &[u8]) {
    let names = ["Layer", "model::Layer", "struct Inhib", "Alias"].into();
    let compiled = compiled_types(bytes, &names, &Budget::of(bytes)).unwrap_or_default();
    let compiled = compiled.into_iter().map(|one| one.structures);
    let others = [dwarf_structures(bytes, &["Layer", "Inhib"]), StructuresDump::read(bytes)];
    for found in compiled.chain(others).flatten() {
        assert_eq!(ordered(found.clone()).as_ref(), Ok(&found));
        let text = StructuresDump::of(found.clone()).text();
        assert_eq!(StructuresDump::read(text.as_bytes()), Ok(found));
    }
}
