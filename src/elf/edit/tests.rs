//! Edits proven by the loader, by `readelf` and by reading back.

use std::path::{Path, PathBuf};

use super::*;
use crate::elf::{Facts, facts, fixture};

fn set(path: &str) -> Edits {
    runpath(SearchPathEdit::Set { directories: path.split(':').map(String::from).collect(), tag: PathTag::Runpath })
}

fn runpath(edit: SearchPathEdit) -> Edits {
    Edits { search_path: Some(edit), ..Edits::default() }
}

fn remove() -> Edits {
    runpath(SearchPathEdit::Remove)
}

fn edit(bytes: &[u8], edits: &Edits) -> Vec<u8> {
    let plan = plan(bytes, edits).unwrap();
    let edited = plan.apply(bytes).unwrap();
    assert_eq!(edited.len() as u64, plan.new_length());
    let again = super::plan(&edited, edits).unwrap();
    assert!(again.is_empty(), "not idempotent: {:?}", again.changes);
    assert_eq!(State::read(&edited).unwrap(), plan.wanted);
    edited
}

/// Loads the library with the real loader and calls `answer` in it.
fn answer(bytes: &[u8], dir: &Path) -> i32 {
    answered(bytes, dir).unwrap()
}

/// As [`answer`], or what the loader says.
fn answered(bytes: &[u8], dir: &Path) -> Result<i32, String> {
    use std::os::unix::ffi::OsStrExt;
    let path = tempfile::Builder::new().suffix(".so").tempfile_in(dir).unwrap().into_temp_path();
    std::fs::write(&path, bytes).unwrap();
    let name = std::ffi::CString::new(path.as_os_str().as_bytes()).unwrap();
    // SAFETY: the library is one of the fixtures; `answer` takes nothing and gives an int.
    unsafe {
        let handle = libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
        if handle.is_null() {
            return Err(std::ffi::CStr::from_ptr(libc::dlerror()).to_string_lossy().into_owned());
        }
        let symbol = libc::dlsym(handle, c"answer".as_ptr());
        assert!(!symbol.is_null());
        let function: extern "C" fn() -> i32 = std::mem::transmute(symbol);
        let answer = function();
        libc::dlclose(handle);
        Ok(answer)
    }
}

fn no_new_warnings(before: &[u8], after: &[u8], dir: &Path) {
    let warnings = |bytes: &[u8]| {
        let path = dir.join("looked-at.so");
        std::fs::write(&path, bytes).unwrap();
        let output = std::process::Command::new("readelf").args(["-lSdVW", "--dyn-syms"]).arg(&path).output().unwrap();
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    if warnings(before).is_empty() {
        assert_eq!(warnings(after), "");
    }
}

/// Everything but the edited texts stays.
fn same_otherwise(before: &Facts, after: &Facts) {
    assert_eq!(before.exports, after.exports);
    assert_eq!(before.imports, after.imports);
    assert_eq!(before.build_id, after.build_id);
    assert_eq!(before.version_definitions, after.version_definitions);
    assert_eq!((before.flags, before.flags_1, before.relro), (after.flags, after.flags_1, after.relro));
}

/// The same library by different linkers, with and without spare entries and section headers.
fn libraries(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let variants: &[(&str, &[&str])] = &[
        ("plain", &[]),
        ("with-path", &["-Wl,-rpath,/a/rather/long/path/that/leaves/room"]),
        ("with-rpath", &["-Wl,-rpath,/old,--disable-new-dtags"]),
        ("full", &["-Wl,--spare-dynamic-tags=0"]),
        ("full-now", &["-Wl,--spare-dynamic-tags=0", "-Wl,-z,now", "-Wl,-rpath,/x"]),
        ("sysv", &["-Wl,--hash-style=both"]),
        ("wide", &["-Wl,-z,max-page-size=0x200000"]),
        ("relr", &["-Wl,-z,pack-relative-relocs"]),
        ("stripped", &["-s"]),
        ("gold", &["-fuse-ld=gold"]),
        ("one-segment", &["-Wl,-z,noseparate-code"]),
    ];
    let mut all: Vec<(String, Vec<u8>)> = variants
        .iter()
        .map(|(name, flags)| {
            let path: PathBuf = fixture::library(dir, &format!("lib{name}.so"), flags);
            ((*name).to_owned(), std::fs::read(path).unwrap())
        })
        .collect();
    let mut headless = all[0].1.clone();
    headless[40..48].fill(0);
    headless[58..64].fill(0);
    let end = crate::elf::Image::parse(&headless).unwrap().loads().map(|load| load.offset + load.file_size).max();
    headless.truncate(end.unwrap() as usize);
    all.push(("headless".into(), headless));
    all
}

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

fn contains(bytes: &[u8], text: &[u8]) -> bool {
    text.len() > 4 && bytes.windows(text.len()).any(|window| window == text)
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

#[test]
fn a_freed_slot_is_used_again() {
    let dir = fixture::dir();
    let bytes =
        std::fs::read(fixture::library(dir.path(), "libf.so", &["-Wl,-rpath,/first/path/of/some/length"])).unwrap();
    let short = edit(&bytes, &set("/b"));
    assert_eq!(short.len(), bytes.len(), "changed in place");
    assert!(!contains(&short, b"/first"));
    let back = edit(&edit(&short, &remove()), &set("/first/path/of/some/length"));
    assert_eq!(back, edit(&short, &set("/first/path/of/some/length")));
    assert_eq!(back.len(), bytes.len());
}

#[test]
fn added_directories() {
    let dir = fixture::dir();
    let bytes = std::fs::read(fixture::library(dir.path(), "liba.so", &["-Wl,-rpath,/one:/two"])).unwrap();
    let add = |place, directories: &[&str]| {
        let directories = directories.iter().map(ToString::to_string).collect();
        runpath(SearchPathEdit::Add { directories, tag: PathTag::Runpath, place })
    };
    let path = |edits: &Edits| facts(&edit(&bytes, edits)).unwrap().runpath.unwrap();
    assert_eq!(path(&add(Place::Append, &["/three", "/one"])), "/one:/two:/three");
    assert_eq!(path(&add(Place::Prepend, &["/zero", "/half"])), "/zero:/half:/one:/two");
    assert!(plan(&bytes, &add(Place::Append, &["/two"])).unwrap().is_empty());
}

#[test]
fn needed_libraries_and_their_version_records() {
    let dir = fixture::dir();
    for (name, bytes) in libraries(dir.path()) {
        let needed = |needed: Vec<NeededEdit>| Edits { needed, ..Edits::default() };
        let replaced = edit(
            &bytes,
            &needed(vec![NeededEdit::Replace { from: "libc.so.6".into(), to: "libmuchlongername.so.6".into() }]),
        );
        let after = facts(&replaced).unwrap();
        assert_eq!(after.needed, ["libmuchlongername.so.6"], "{name}");
        assert_eq!(after.version_needs.keys().collect::<Vec<_>>(), ["libmuchlongername.so.6"], "{name}");
        no_new_warnings(&bytes, &replaced, dir.path());
        let removed = edit(&bytes, &needed(vec![NeededEdit::Remove("libc.so.6".into())]));
        let after = facts(&removed).unwrap();
        assert!(after.needed.is_empty() && after.version_needs.is_empty(), "{name}");
        assert_eq!(answer(&removed, dir.path()), 42, "{name}: puts comes from the process");
        let added = edit(&bytes, &needed(vec![NeededEdit::Add("libm.so.6".into())]));
        assert_eq!(facts(&added).unwrap().needed, ["libc.so.6", "libm.so.6"], "{name}");
        assert_eq!(answer(&added, dir.path()), 42, "{name}");
        no_new_warnings(&bytes, &added, dir.path());
    }
}

#[test]
fn a_library_gets_another_name() {
    let dir = fixture::dir();
    for (name, bytes) in libraries(dir.path()) {
        for soname in ["l.so", "libanother-name-that-is-long.so.12"] {
            let edited = edit(&bytes, &Edits { soname: Some(soname.into()), ..Edits::default() });
            assert_eq!(facts(&edited).unwrap().soname.as_deref(), Some(soname), "{name}");
            assert_eq!(answer(&edited, dir.path()), 42, "{name}");
        }
    }
}

#[test]
fn executables_run_with_another_interpreter() {
    let dir = fixture::dir();
    for (name, flags) in
        [("pie", &["-pie", "-fPIE"][..]), ("fixed", &["-no-pie"]), ("full", &["-Wl,--spare-dynamic-tags=0"])]
    {
        let path = fixture::compile(dir.path(), name, "#include <stdio.h>\nint main(void) { puts(\"ran\"); }", flags);
        let bytes = std::fs::read(&path).unwrap();
        let old = facts(&bytes).unwrap().interp.unwrap();
        let long = dir.path().join("a-much-longer-name-for-the-loader.so").to_str().unwrap().to_owned();
        std::os::unix::fs::symlink(&old, &long).ok();
        let mut both = set("/opt/lib");
        both.interpreter = Some(long.clone());
        let edited = edit(&bytes, &both);
        no_new_warnings(&bytes, &edited, dir.path());
        for (step, bytes) in
            [("long", edited.clone()), ("back", edit(&edited, &Edits { interpreter: Some(old), ..Edits::default() }))]
        {
            let run = dir.path().join(format!("{name}-{step}"));
            std::fs::write(&run, bytes).unwrap();
            crate::fs::set_mode(&run, 0o755).unwrap();
            assert_eq!(fixture::run(run.to_str().unwrap(), &[]), "ran\n", "{name} {step}");
        }
    }
}

#[test]
fn what_would_break_is_refused() {
    let dir = fixture::dir();
    let source = "int main(void) { return 0; }";
    let refusal = |name: &str, flags: &[&str]| {
        let bytes = std::fs::read(fixture::compile(dir.path(), name, source, flags)).unwrap();
        plan(&bytes, &set("/x")).unwrap_err().to_string()
    };
    assert!(refusal("static-pie", &["-static-pie", "-fPIE"]).contains("static-pie"));
    assert!(refusal("static", &["-static"]).contains("static"));
    assert!(refusal("object", &["-c"]).contains("not linked"));
    let mut bytes = std::fs::read(fixture::library(dir.path(), "libz.so", &[])).unwrap();
    bytes.extend_from_slice(b"appended");
    assert!(plan(&bytes, &set("/x")).unwrap_err().to_string().contains("appended"));
    let twice = Edits {
        needed: vec![NeededEdit::Add("liba.so".into()), NeededEdit::Remove("liba.so".into())],
        ..Edits::default()
    };
    assert!(matches!(plan(&bytes, &twice), Err(crate::elf::ElfError::Contradiction(_))));
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

/// Found by fuzzing: each of these once lost something, or ended the program.
#[test]
fn lies_about_tables_are_refused() {
    let dir = fixture::dir();
    let sound = std::fs::read(fixture::library(dir.path(), "liblies.so", &[])).unwrap();
    let image = crate::elf::Image::parse(&sound).unwrap();
    let long = set(&"/long".repeat(200));
    let refused = |at: u64, lie: &[u8], edits: &Edits| {
        let mut bytes = sound.clone();
        bytes[at as usize..at as usize + lie.len()].copy_from_slice(lie);
        plan(&bytes, edits).unwrap_err().to_string()
    };
    assert!(plan(&sound, &long).is_ok());

    // A section header that cuts the hash table: moved by that size, the table would be lost.
    let hash = image.sections.iter().position(|section| section.kind == object::elf::SHT_GNU_HASH).unwrap() as u64;
    let said = refused(image.header.sections_at + hash * 64 + 32, &0u64.to_le_bytes(), &long);
    assert!(said.contains("smaller than it is"), "{said}");

    // A version record far from the first one: what lies between them was overwritten.
    let dynamic = crate::elf::Dynamic::parse(&image).unwrap().unwrap();
    let records = image.offset_of(dynamic.value(object::elf::DT_VERNEED).unwrap()).unwrap();
    let replace = Edits {
        needed: vec![NeededEdit::Replace { from: "libc.so.6".into(), to: "libc.so.7".into() }],
        ..Edits::default()
    };
    assert!(plan(&sound, &replace).is_ok());
    let said = refused(records + 8, &0x1000u32.to_le_bytes(), &replace);
    assert!(said.contains("one after another") || said.contains("cannot be read"), "{said}");

    // A note that ends behind the last address.
    let note = image.segments.iter().position(|segment| segment.kind == object::elf::PT_NOTE).unwrap() as u64;
    let said = refused(image.header.segments_at + note * 56 + 32, &u64::MAX.to_le_bytes(), &long);
    assert!(said.contains("damaged"), "{said}");

    // A section of symbols that are not the dynamic section's: how many there are would change with the edit.
    let symbols = image.sections.iter().position(|section| section.kind == object::elf::SHT_DYNSYM).unwrap();
    let other = (image.sections[symbols].address + 8).to_le_bytes();
    let said = refused(image.header.sections_at + symbols as u64 * 64 + 16, &other, &long);
    assert!(said.contains("different symbols"), "{said}");
    let elsewhere = (image.sections[symbols].offset + (1 << 40)).to_le_bytes();
    let said = refused(image.header.sections_at + symbols as u64 * 64 + 24, &elsewhere, &long);
    assert!(said.contains("another place") || said.contains("past the end"), "{said}");

    // A note that is called the interpreter: a new interpreter would be written over it.
    let header = image.header.segments_at + note * 56;
    let interpreter = Edits { interpreter: Some("/lib/ld.so".into()), ..Edits::default() };
    let said = refused(header, &object::elf::PT_INTERP.0.to_le_bytes(), &interpreter);
    assert!(said.contains("overlap"), "{said}");
}

mod damage {
    use std::sync::OnceLock;

    use proptest::prelude::*;

    use super::*;

    fn sound() -> &'static [Vec<u8>] {
        static FILES: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
        FILES.get_or_init(|| {
            let dir = fixture::dir();
            let plain = std::fs::read(fixture::library(dir.path(), "libd.so", &["-Wl,-rpath,/d"])).unwrap();
            let grown = plan(&plain, &set(&"/e".repeat(300))).unwrap().apply(&plain).unwrap();
            vec![plain, grown]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(600))]

        #[test]
        fn never_panics(
            which in 0usize..2,
            path in "[a-z]{1,60}",
            far in prop::collection::vec((any::<usize>(), any::<u8>()), 0..20),
            near in prop::collection::vec((0usize..150, any::<u64>()), 0..4),
            cut in prop::option::of(any::<usize>()),
        ) {
            let mut bytes = sound()[which].clone();
            let dynamic = crate::elf::Image::parse(&bytes).unwrap();
            let dynamic = dynamic.segment(object::elf::PT_DYNAMIC).unwrap().offset as usize;
            for (at, byte) in far {
                let at = at % bytes.len();
                bytes[at] = byte;
            }
            for (word, value) in near {
                let at = if word < 90 { word * 8 } else { dynamic + (word - 90) * 8 };
                let value = if value % 3 == 0 { value } else { value % 20000 };
                bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
            }
            if let Some(cut) = cut {
                bytes.truncate(cut % bytes.len());
            }
            for edits in [set(&path), remove(), Edits { soname: Some(path.clone()), ..Edits::default() },
                Edits { needed: vec![NeededEdit::Remove("libc.so.6".into())], ..Edits::default() }] {
                if let Ok(plan) = plan(&bytes, &edits) {
                    let _ = plan.apply(&bytes).unwrap();
                }
            }
        }
    }
}
