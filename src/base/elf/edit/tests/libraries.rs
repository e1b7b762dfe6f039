//! Whole libraries: what answers before answers after, however it was linked and whatever comes behind.

use super::*;

#[test]
fn every_library_still_answers() {
    let dir = fixture::dir();
    for (name, bytes) in libraries(dir.path()) {
        let before = facts(&bytes).unwrap();
        for path in ["/x", "$ORIGIN/../lib:$ORIGIN/../../lib64", &"/very/long".repeat(400)] {
            let edited = edit(&bytes, &set(path));
            let after = facts(&edited).unwrap();
            assert_eq!(after.runpath.as_deref(), Some(path), "{name}");
            assert_eq!(after.rpath, None, "{name}");
            same_otherwise(&before, &after);
            no_new_warnings(&bytes, &edited, dir.path());
            assert_eq!(answer(&edited, dir.path()), 42, "{name} {}", path.len());
            let removed = edit(&edited, &remove());
            assert_eq!(facts(&removed).unwrap().runpath, None);
            assert!(!contains(&removed, path.as_bytes()), "{name}: the path is still in the file");
            no_new_warnings(&bytes, &removed, dir.path());
            assert_eq!(answer(&removed, dir.path()), 42, "{name}");
        }
    }
}

#[test]
fn a_rust_library_by_lld() {
    let dir = fixture::dir();
    let bytes = std::fs::read(fixture::rust_library(dir.path())).unwrap();
    for path in ["/x", &"/very/long".repeat(40)] {
        let edited = edit(&bytes, &set(path));
        same_otherwise(&facts(&bytes).unwrap(), &facts(&edited).unwrap());
        no_new_warnings(&bytes, &edited, dir.path());
        assert_eq!(answer(&edited, dir.path()), 42);
        assert_eq!(answer(&edit(&edited, &remove()), dir.path()), 42);
    }
}

#[test]
fn real_libraries_still_load() {
    use std::os::unix::ffi::OsStrExt;
    let dir = fixture::dir();
    let program = fixture::compile(
        dir.path(),
        "load",
        "#include <dlfcn.h>\nint main(int c, char **v) { return dlopen(v[1], RTLD_LAZY) == 0; }",
        &[],
    );
    let loads = |path: &Path| std::process::Command::new(&program).arg(path).output().unwrap().status.success();
    let (mut loaded, mut edited) = (0, 0);
    for path in fixture::system_libraries(60) {
        let bytes = std::fs::read(&path).unwrap();
        let copy = dir.path().join("copy.so");
        std::fs::write(&copy, edit(&bytes, &set(&"/driver/directory".repeat(20)))).unwrap();
        edited += 1;
        if loads(&path) {
            loaded += 1;
            assert!(
                loads(&copy),
                "{:?} does not load after the edit",
                path.as_os_str().as_bytes().escape_ascii().to_string()
            );
        }
    }
    assert!(loaded > 0 && edited >= loaded);
}

#[test]
fn the_way_does_not_matter_and_growth_is_bounded() {
    let dir = fixture::dir();
    for (name, bytes) in libraries(dir.path()) {
        let long = "/some/quite/long/directory".repeat(40);
        let direct = edit(&bytes, &set(&long));
        let mut wandering = bytes.clone();
        let mut longest = 0;
        for round in 0..12 {
            let path = format!("/step{}", "/x".repeat(40 * (round % 5)));
            wandering = edit(&wandering, &set(&path));
            if round % 3 == 0 {
                wandering = edit(&wandering, &remove());
            }
            longest = longest.max(wandering.len());
        }
        assert!(longest <= direct.len().max(bytes.len()) + 64, "{name} grew to {longest}");
        // Ends that need growth, fit in place, or hold nothing: all as if the file had never been elsewhere.
        for last in [&set(&long), &set("/x"), &remove()] {
            let direct = edit(&edit(&bytes, &set("/y")), last);
            let arrived = edit(&wandering, last);
            assert!(arrived == direct, "{name}: another way, other bytes");
            assert_eq!(answer(&arrived, dir.path()), 42);
            no_new_warnings(&bytes, &arrived, dir.path());
        }
        // Without even a closing entry the dynamic section has no room for any edit.
        if !name.starts_with("full") {
            assert_eq!(edit(&wandering, &remove()).len(), bytes.len(), "{name}: growth is given back");
        }
    }
}

/// patchelf gives the dynamic strings a segment of their own, which would be empty when they move on.
#[test]
fn a_segment_for_the_strings_alone_is_used_again() {
    let dir = fixture::dir();
    for covered in [false, true] {
        let bytes = strings_apart(&std::fs::read(fixture::library(dir.path(), "liba.so", &[])).unwrap(), covered);
        assert_eq!(answer(&bytes, dir.path()), 42);
        let count = |bytes: &[u8]| crate::elf::Image::parse(bytes).unwrap().segments.len();
        let edited = edit(&bytes, &set(&"/long/path".repeat(30)));
        assert_eq!(count(&edited), count(&bytes), "the header of the strings is used again");
        no_new_warnings(&bytes, &edited, dir.path());
        assert_eq!(answer(&edited, dir.path()), 42);
        for stripper in ["strip", "objcopy", "llvm-strip", "eu-strip"] {
            let after = |bytes: &[u8]| {
                let path = dir.path().join("stripped.so");
                std::fs::write(&path, bytes).unwrap();
                let output = std::process::Command::new(stripper).arg(&path).output();
                let stripped = output.is_ok_and(|output| output.status.success());
                answered(&std::fs::read(&path).unwrap(), dir.path()).map(|answer| (stripped, answer))
            };
            if let Ok(before) = after(&bytes) {
                assert_eq!(after(&edited), Ok(before), "{stripper}, {covered}");
            }
        }
        let short = edit(&edited, &set("/s"));
        assert_eq!(short, edit(&bytes, &set("/s")), "another way, other bytes");
        assert!(short.len() <= bytes.len() + 1024);
    }
}

/// The library as other editors leave it: `.dynstr` in a segment of its own at the end, filled up with
/// NULs; `covered` by another segment behind it. Headers that only inform give their places.
fn strings_apart(bytes: &[u8], covered: bool) -> Vec<u8> {
    let image = crate::elf::Image::parse(bytes).unwrap();
    let dynamic = crate::elf::Dynamic::parse(&image).unwrap().unwrap();
    let mut file = bytes.to_vec();
    let put = |file: &mut Vec<u8>, at: u64, value: u64| {
        file[at as usize..at as usize + 8].copy_from_slice(&value.to_le_bytes());
    };
    let mut address = image.loads().map(|load| load.address + load.memory_size).max().unwrap();
    let mut load = |file: &mut Vec<u8>, kind, content: &[u8]| {
        let index = image.segments.iter().position(|it| it.kind == kind).unwrap() as u64;
        file.resize(file.len().next_multiple_of(0x1000), 0);
        address = address.next_multiple_of(0x1000);
        let (header, offset, size) = (image.header.segments_at + index * 56, file.len() as u64, content.len() as u64);
        for (word, value) in [1 | 4 << 32, offset, address, address, size, size, 0x1000].into_iter().enumerate() {
            put(file, header + 8 * word as u64, value);
        }
        file.extend_from_slice(content);
        address += size;
        (offset, address - size)
    };
    let mut content = dynamic.strings().to_vec();
    content.resize(content.len().next_multiple_of(8) + 8, 0);
    let kind = if covered { object::elf::PT_NOTE } else { object::elf::PT_GNU_EH_FRAME };
    let (offset, place) = load(&mut file, kind, &content);
    if covered {
        load(&mut file, object::elf::PT_GNU_EH_FRAME, b"something else");
    }
    let entry = dynamic.entries.iter().position(|entry| entry.tag == object::elf::DT_STRTAB).unwrap() as u64;
    put(&mut file, dynamic.offset + 16 * entry + 8, place);
    let section = image.sections.iter().position(|section| section.name == ".dynstr").unwrap() as u64;
    put(&mut file, image.header.sections_at + 64 * section + 16, place);
    put(&mut file, image.header.sections_at + 64 * section + 24, offset);
    file
}

/// Old releases of patchelf put a segment before the first one of an executable, and tables across both. The loader
/// sees no border there.
#[test]
fn a_table_across_two_adjoining_segments() {
    let dir = fixture::dir();
    let bytes = across(&std::fs::read(fixture::library(dir.path(), "liba.so", &[])).unwrap());
    assert_eq!(answer(&bytes, dir.path()), 42);
    for edits in [set("/short"), set(&"/long/path".repeat(30)), remove()] {
        let edited = edit(&bytes, &edits);
        no_new_warnings(&bytes, &edited, dir.path());
        assert_eq!(answer(&edited, dir.path()), 42);
    }
}

/// Old releases of patchelf grow the table of program headers over a note, and leave the note's segment behind.
#[test]
fn a_note_that_the_program_headers_overwrote() {
    let dir = fixture::dir();
    let mut bytes = std::fs::read(fixture::library(dir.path(), "liba.so", &[])).unwrap();
    let image = crate::elf::Image::parse(&bytes).unwrap();
    let note = image.segments.iter().position(|it| it.kind == object::elf::PT_GNU_EH_FRAME).unwrap();
    let (table, count) = (image.header.segments_at as usize, image.segments.len());
    let mut put = |word: usize, value: u64| {
        bytes[table + 56 * note + 8 * word..][..8].copy_from_slice(&value.to_le_bytes());
    };
    let inside = (table + 56 * (count - 1)) as u64;
    for (word, value) in
        [u64::from(object::elf::PT_NOTE.0) | 4 << 32, inside, inside, inside, 32, 32, 8].into_iter().enumerate()
    {
        put(word, value);
    }
    assert_eq!(answer(&bytes, dir.path()), 42);
    for edits in [set("/short"), set(&"/long/path".repeat(30)), remove()] {
        assert_eq!(answer(&edit(&bytes, &edits), dir.path()), 42);
    }
}

/// The library with its first loaded segment split in the middle of `.dynstr`; the header of its unwind tables serves the
/// second half, and the headers move on so that the segments stay in order.
fn across(bytes: &[u8]) -> Vec<u8> {
    let image = crate::elf::Image::parse(bytes).unwrap();
    let dynamic = crate::elf::Dynamic::parse(&image).unwrap().unwrap();
    let middle = dynamic.value(object::elf::DT_STRTAB).unwrap() + dynamic.strings().len() as u64 / 2;
    let first = image.segments.iter().position(|it| it.kind == object::elf::PT_LOAD).unwrap();
    let spare = image.segments.iter().position(|it| it.kind == object::elf::PT_GNU_EH_FRAME).unwrap();
    let load = image.segments[first];
    assert!(first < spare && load.offset_of(middle).is_some());
    let header = |index: usize| image.header.segments_at as usize + 56 * index;
    let mut file = bytes.to_vec();
    file.copy_within(header(first)..header(spare), header(first + 1));
    let mut put = |index: usize, word: usize, value: u64| {
        file[header(index) + 8 * word..][..8].copy_from_slice(&value.to_le_bytes());
    };
    let before = middle - load.address;
    for word in [4, 5] {
        put(first, word, before);
        put(first + 1, word, load.file_size - before);
    }
    put(first + 1, 1, load.offset + before);
    put(first + 1, 2, middle);
    put(first + 1, 3, middle);
    file
}

#[test]
fn stripping_afterwards_leaves_a_working_library() {
    let dir = fixture::dir();
    let strippers: Vec<(&str, &[&str])> =
        vec![("strip", &[]), ("strip", &["-g"]), ("llvm-strip", &[]), ("eu-strip", &[]), ("objcopy", &[])];
    for (name, bytes) in libraries(dir.path()) {
        if name == "headless" {
            continue;
        }
        let edited = edit(&bytes, &set(&"/long/path".repeat(30)));
        for (stripper, flags) in &strippers {
            let path = dir.path().join("stripped.so");
            std::fs::write(&path, &edited).unwrap();
            let status = std::process::Command::new(stripper).args(*flags).arg(&path).output();
            if !status.is_ok_and(|output| output.status.success()) {
                continue;
            }
            let stripped = std::fs::read(&path).unwrap();
            assert_eq!(answer(&stripped, dir.path()), 42, "{name} after {stripper} {flags:?}");
            let again = edit(&stripped, &set(&"/other/longer/path".repeat(30)));
            assert_eq!(answer(&again, dir.path()), 42, "{name} after {stripper} {flags:?} and another edit");
        }
    }
}
