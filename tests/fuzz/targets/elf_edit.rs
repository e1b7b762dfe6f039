//! The ELF editor: whatever the file and the edits are, they are refused or the result reads back as
//! wanted, keeps everything else, needs no second pass and has a bounded size.
//!
//! The last sixteen bytes of the input are edits, a byte each; what is before them is the file.

use simpack::elf::edit::{Edits, NeededEdit, PathTag, Place, SearchPathEdit, State, plan};
use simpack::elf::facts;

const EDITS: usize = 16;
const TEXTS: [&str; 8] =
    ["x", "/opt/lib", "$ORIGIN/../lib", "answer", "libm.so.6", "libc.so.6", "liba.so.1", "/a-rather/long/directory"];

/// A text by the upper bits of a byte; some are repeated until nothing has room for them.
fn text(byte: u8) -> String {
    let text = TEXTS[usize::from(byte >> 3 & 7)];
    text.repeat(if byte & 0x40 == 0 { 1 } else { 40 })
}

fn edits(byte: u8) -> Edits {
    let path = |edit| Edits { search_path: Some(edit), ..Edits::default() };
    let needed = |edit| Edits { needed: vec![edit], ..Edits::default() };
    let directories = vec![text(byte)];
    match byte & 7 {
        0 => path(SearchPathEdit::Remove),
        1 => path(SearchPathEdit::Set { directories, tag: PathTag::Runpath }),
        2 => path(SearchPathEdit::Add { directories, tag: PathTag::Rpath, place: Place::Prepend }),
        3 => Edits { soname: Some(text(byte)), ..Edits::default() },
        4 => needed(NeededEdit::Add(text(byte))),
        5 => needed(NeededEdit::Remove(text(byte))),
        6 => needed(NeededEdit::Replace { from: "libc.so.6".into(), to: text(byte) }),
        _ => Edits { interpreter: Some(text(byte)), ..Edits::default() },
    }
}

pub fn run(input: &[u8]) {
    let Some((file, program)) = input.split_last_chunk::<EDITS>() else { return };
    let first = file.len();
    let mut file = file.to_vec();
    for byte in program.iter().filter(|byte| **byte != b' ') {
        let edits = edits(*byte);
        let Ok(plan) = plan(&file, &edits) else { continue };
        let edited = plan.apply(&file).expect("the plan was made for this file");
        assert_eq!(edited.len() as u64, plan.new_length());
        assert_eq!(State::read(&edited).as_ref(), Ok(&plan.wanted), "reads back differently");
        assert!(simpack::elf::edit::plan(&edited, &edits).is_ok_and(|again| again.is_empty()), "not idempotent");
        if let Ok(before) = facts(&file) {
            let after = facts(&edited).expect("facts of the result");
            assert_eq!((before.exports, before.build_id), (after.exports, after.build_id));
            assert_eq!(before.imports.len(), after.imports.len());
        }
        file = edited;
    }
    assert!(file.len() < 3 * first + (64 << 10), "{first} bytes became {}", file.len());
}
