//! Properties of edits, over random small files and random sequences: judged by goblin, which shares no
//! code with the editor.

use goblin::elf::Elf;
use proptest::prelude::*;

use super::super::*;
use super::small::{Sections, Small};

const NAMES: [&str; 5] = ["liba.so", "a.so", "libmuch-longer-name-than-the-others.so.12", "b", "libc.so.6"];
const PATHS: [&str; 5] = ["/x", "/opt/liba.so", "$ORIGIN/../lib", "/first/path/that/is/rather/long:/second", "b"];

fn file() -> impl Strategy<Value = Small> {
    let name = || prop::sample::select(&NAMES[..]);
    let layout = (
        0usize..4,
        prop::sample::select(vec![0usize, 8, 56, 64, 200]),
        any::<bool>(),
        prop::sample::select(vec![Sections::None, Sections::Behind, Sections::Before]),
        prop::sample::select(vec![0x1000u64, 0x10000, 0x20_0000]),
        1usize..5,
    );
    let texts = (
        prop::option::of(name()),
        prop::option::of(prop::sample::select(&PATHS[..])),
        prop::sample::subsequence(NAMES.to_vec(), 0..4),
        prop::sample::subsequence(vec!["answer", "swer", "so", "b", "table"], 1..5),
    );
    (texts, layout).prop_map(|((soname, runpath, needed, symbols), (spare, room, note, sections, align, words))| {
        Small { soname, runpath, needed, symbols, spare, room, note, sections, align, words }
    })
}

fn path_edit() -> impl Strategy<Value = Edits> {
    let long = prop::sample::select(vec![1usize, 1, 1, 30]);
    (0..4, prop::sample::select(&PATHS[..]), long, any::<bool>()).prop_map(|(kind, path, times, rpath)| {
        let directories = vec![path.repeat(times)];
        let tag = if rpath { PathTag::Rpath } else { PathTag::Runpath };
        let edit = match kind {
            0 => SearchPathEdit::Remove,
            1 => SearchPathEdit::Add { directories, tag, place: Place::Prepend },
            _ => SearchPathEdit::Set { directories, tag },
        };
        Edits { search_path: Some(edit), ..Edits::default() }
    })
}

fn any_edit() -> impl Strategy<Value = Edits> {
    let name = || prop::sample::select(&NAMES[..]).prop_map(str::to_owned);
    prop_oneof![
        path_edit(),
        (name(), prop::sample::select(vec![1usize, 1, 25]))
            .prop_map(|(name, times)| Edits { soname: Some(name.repeat(times)), ..Edits::default() }),
        name().prop_map(|name| Edits { needed: vec![NeededEdit::Add(name)], ..Edits::default() }),
        name().prop_map(|name| Edits { needed: vec![NeededEdit::Remove(name)], ..Edits::default() }),
        (name(), name())
            .prop_map(|(from, to)| Edits { needed: vec![NeededEdit::Replace { from, to }], ..Edits::default() }),
    ]
}

/// One edit; files without room for another program header are refused in whole and stay as they are.
fn step(bytes: &[u8], edits: &Edits) -> Option<Vec<u8>> {
    let plan = match plan(bytes, edits) {
        Ok(plan) => plan,
        Err(crate::elf::ElfError::Refused { .. }) => return None,
        Err(error) => panic!("{error}"),
    };
    let edited = plan.apply(bytes).unwrap();
    assert_eq!(State::read(&edited).unwrap(), plan.wanted);
    assert!(super::plan(&edited, edits).unwrap().is_empty(), "a second pass is needed");
    Some(edited)
}

/// Place, symbol, kind, addend, and the word at the place.
type Relocation = (u64, usize, u32, Option<i64>, Vec<u8>);

/// What no edit may change.
#[derive(Debug, PartialEq)]
struct Rest {
    symbols: Vec<(String, u64, u64, u8, usize)>,
    relocations: Vec<Relocation>,
    notes: Vec<(String, u32, Vec<u8>)>,
}

fn rest(bytes: &[u8]) -> Rest {
    let elf = Elf::parse(bytes).unwrap();
    let at = |address: u64| {
        let load = elf.program_headers.iter().find(|it| it.p_type == 1 && it.vm_range().contains(&(address as usize)));
        let load = load.unwrap();
        let offset = (address - load.p_vaddr + load.p_offset) as usize;
        bytes[offset..offset + 8].to_vec()
    };
    let symbols = elf.dynsyms.iter().map(|it| {
        (elf.dynstrtab.get_at(it.st_name).unwrap().to_owned(), it.st_value, it.st_size, it.st_info, it.st_shndx)
    });
    let relocations = elf.dynrelas.iter().map(|it| (it.r_offset, it.r_sym, it.r_type, it.r_addend, at(it.r_offset)));
    let notes = elf.iter_note_headers(bytes).into_iter().flatten().map(|note| {
        let note = note.unwrap();
        (note.name.to_owned(), note.n_type, note.desc.to_vec())
    });
    let rest = Rest { symbols: symbols.collect(), relocations: relocations.collect(), notes: notes.collect() };
    for section in elf.section_headers.iter().filter(|it| it.sh_flags & 2 != 0) {
        let load =
            elf.program_headers.iter().find(|it| it.p_type == 1 && it.vm_range().contains(&(section.sh_addr as usize)));
        let load = load.unwrap();
        assert_eq!(
            section.sh_offset,
            section.sh_addr - load.p_vaddr + load.p_offset,
            "a section is not where it is loaded"
        );
    }
    rest
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn everything_else_stays(file in file(), edits in prop::collection::vec(any_edit(), 1..8)) {
        let bytes = file.bytes();
        let before = rest(&bytes);
        prop_assert_eq!(before.symbols.len(), file.symbols.len() + 1);
        prop_assert_eq!(before.relocations.len(), file.words);
        let mut now = bytes.clone();
        let mut text = 0;
        for edits in &edits {
            if let Some(edited) = step(&now, edits) {
                prop_assert_eq!(&rest(&edited), &before);
                now = edited;
            }
            let state = State::read(&now).unwrap();
            let texts = [&state.runpath, &state.rpath, &state.soname].into_iter().flatten().chain(&state.needed);
            text = text.max(texts.map(|text| text.len() + 17).sum());
        }
        // The tables that had to move once, the longest texts, and a few spare entries.
        prop_assert!(now.len() <= 2 * bytes.len() + text + 768, "{} became {}", bytes.len(), now.len());
    }

    #[test]
    fn the_way_does_not_matter(
        file in file(),
        ways in prop::collection::vec(prop::collection::vec(any_edit(), 0..6), 2),
        soname in prop::option::of(prop::sample::select(&NAMES[..])),
        last in "[a-z/]{1,30}",
        times in prop::sample::select(vec![0usize, 1, 40]),
    ) {
        let bytes = file.bytes();
        let ends = ways.iter().map(|way| end(&bytes, way, soname, &last.repeat(times)));
        let mut ends: Vec<_> = ends.collect::<Option<_>>().unwrap_or_default();
        ends.dedup();
        prop_assert!(ends.len() < 2, "two ways, two ends: {} and {} bytes", ends[0].len(), ends[1].len());
    }

    /// What has grown is given back when everything fits where it was.
    #[test]
    fn nothing_is_left_of_growth(file in file(), name in prop::sample::select(&NAMES[..])) {
        let bytes = file.bytes();
        let set = |path: String| Edits {
            search_path: Some(SearchPathEdit::Set { directories: vec![path], tag: PathTag::Runpath }),
            ..Edits::default()
        };
        let remove = Edits { search_path: Some(SearchPathEdit::Remove), ..Edits::default() };
        let Some(grown) = step(&bytes, &set("/long".repeat(200))) else { return Ok(()) };
        prop_assert!(grown.len() > bytes.len());
        let add = Edits { needed: vec![NeededEdit::Add(name.repeat(30))], ..Edits::default() };
        let taken = Edits { needed: vec![NeededEdit::Remove(name.repeat(30))], ..Edits::default() };
        let further = step(&grown, &add).and_then(|it| step(&it, &taken)).and_then(|it| step(&it, &remove));
        let back = step(&grown, &remove);
        prop_assert_eq!(&further, &back);
        let back = back.unwrap();
        prop_assert_eq!(back.len(), bytes.len());
        prop_assert_eq!(rest(&back), rest(&bytes));
    }
}

/// The file after a way, brought to a state that does not depend on it: every text is said.
fn end(bytes: &[u8], way: &[Edits], soname: Option<&str>, path: &str) -> Option<Vec<u8>> {
    let mut now = bytes.to_vec();
    for edits in way {
        now = step(&now, edits).unwrap_or(now);
    }
    let needed = State::read(&now).unwrap().needed.into_iter().map(NeededEdit::Remove).collect();
    // A state that is there already is no edit, and leaves what a linker laid out.
    now = step(&now, &Edits { needed, soname: Some("between".repeat(9)), ..Edits::default() })?;
    let search_path = match path {
        "" => SearchPathEdit::Remove,
        path => SearchPathEdit::Set { directories: vec![path.into()], tag: PathTag::Runpath },
    };
    let needed = ["liba.so", "c"].map(|name| NeededEdit::Add(name.into())).to_vec();
    let soname = Some(soname.unwrap_or("b").to_owned());
    step(&now, &Edits { search_path: Some(search_path), soname, needed, interpreter: None })
}
