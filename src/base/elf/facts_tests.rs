//! Facts against `readelf`, with and without section headers, on built and on real libraries.

use std::collections::BTreeSet;

use super::*;
use crate::elf::{Machine, fixture};

fn read(path: &std::path::Path) -> Facts {
    facts(&std::fs::read(path).unwrap()).unwrap()
}

/// (needed, soname, runpath) as `readelf -d` prints them.
fn readelf_dynamic(path: &str) -> (Vec<String>, Option<String>, Option<String>) {
    let text = fixture::run("readelf", &["-dW", path]);
    let value = |line: &str| Some(line.split_once('[')?.1.rsplit_once(']')?.0.to_owned());
    let all = |tag: &str| text.lines().filter(|line| line.contains(tag)).filter_map(value).collect::<Vec<_>>();
    (all("(NEEDED)"), all("(SONAME)").pop(), all("(RUNPATH)").pop())
}

/// Imports and exports as `readelf --dyn-syms` prints them: name with its version, and whether defined.
fn readelf_symbols(path: &str) -> BTreeSet<(String, bool)> {
    let text = fixture::run("readelf", &["--dyn-syms", "-W", path]);
    text.lines()
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let wanted = fields.len() >= 8 && fields[0] != "Num:" && fields[4] != "LOCAL";
            (wanted && fields[5] != "HIDDEN").then(|| (fields[7].to_owned(), fields[6] != "UND"))
        })
        .collect()
}

fn our_symbols(facts: &Facts) -> BTreeSet<(String, bool)> {
    let with = |name: &str, version: &Option<String>, at: &str| match version {
        Some(version) => format!("{name}{at}{version}"),
        None => name.to_owned(),
    };
    let imports = facts.imports.iter().map(|import| (with(&import.name, &import.version, "@"), false));
    let exports = facts
        .exports
        .iter()
        .map(|export| (with(&export.name, &export.version, if export.default { "@@" } else { "@" }), true));
    imports.chain(exports).collect()
}

#[test]
fn a_built_library() {
    let dir = fixture::dir();
    let path = fixture::library(dir.path(), "libanswer.so.1", &["-Wl,-rpath,/opt/x:$ORIGIN/../lib", "-Wl,-z,now"]);
    let facts = read(&path);
    assert_eq!(facts.machine, Machine::X86_64);
    assert_eq!(facts.kind, FileKind::Library);
    assert_eq!(facts.soname.as_deref(), Some("libanswer.so.1"));
    assert_eq!(facts.needed, ["libc.so.6"]);
    assert_eq!(facts.search_path(), ["/opt/x", "$ORIGIN/../lib"]);
    assert_eq!(facts.relro, Relro::Full);
    assert_eq!(facts.stack, Stack::Data);
    assert!(facts.glibc().is_some());
    assert_eq!(facts.version_definitions, BTreeSet::from(["V_1".to_owned()]));
    let names: Vec<_> = facts.exports.iter().map(|export| (&*export.name, &*export.kind, export.size)).collect();
    assert_eq!((names[0].0, names[0].1), ("answer", "function"));
    assert_eq!(names[1], ("table", "object", 16));
    let puts = facts.imports.iter().find(|import| import.name == "puts").unwrap();
    assert_eq!(puts.library.as_deref(), Some("libc.so.6"));
}

#[test]
fn the_same_without_section_headers() {
    let dir = fixture::dir();
    for style in ["gnu", "sysv", "both"] {
        let name = format!("lib{style}.so");
        let path = fixture::library(dir.path(), &name, &[&format!("-Wl,--hash-style={style}")]);
        let with = read(&path);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[40..48].fill(0);
        bytes[58..64].fill(0);
        let without = facts(&bytes).unwrap();
        assert_eq!(with.exports, without.exports, "{style}");
        assert_eq!(with.imports, without.imports, "{style}");
        assert_eq!(with.version_needs, without.version_needs);
        assert_eq!(with.build_id, without.build_id);
        assert!(without.sections.is_empty());
    }
}

#[test]
fn executables_are_told_apart() {
    let dir = fixture::dir();
    let source = "int main(void) { return 0; }";
    let kind = |name, flags: &[&str]| read(&fixture::compile(dir.path(), name, source, flags)).kind;
    assert_eq!(kind("pie", &["-pie", "-fPIE"]), FileKind::PieExecutable);
    assert_eq!(kind("fixed", &["-no-pie"]), FileKind::Executable);
    assert_eq!(kind("object.o", &["-c"]), FileKind::Object);
    assert_eq!(kind("static-pie", &["-static-pie", "-fPIE"]), FileKind::StaticPie);
    let stack = fixture::compile(dir.path(), "stack", source, &["-z", "execstack"]);
    assert_eq!(read(&stack).stack, Stack::Executable);
    let object =
        read(&fixture::compile(dir.path(), "two.o", "int g(void); int f(void) { return g(); }", &["-c", "-g"]));
    assert!(object.exports_symbol("f") && object.imports_symbol("g") && object.debug_info);
}

#[test]
fn real_libraries_as_readelf_sees_them() {
    let libraries = fixture::system_libraries(60);
    assert!(!libraries.is_empty());
    for path in libraries {
        let facts = read(&path);
        let path = path.to_str().unwrap();
        let (needed, soname, runpath) = readelf_dynamic(path);
        assert_eq!((&facts.needed, &facts.soname, &facts.runpath), (&needed, &soname, &runpath), "{path}");
        let theirs = readelf_symbols(path);
        let ours = our_symbols(&facts);
        let nodes = &facts.version_definitions;
        let missing: Vec<_> = theirs
            .difference(&ours)
            .filter(|(name, _)| {
                !nodes.contains(&name.replace("@@", "@").split('@').next().unwrap_or_default().to_owned())
            })
            .collect();
        assert!(missing.is_empty(), "{path}: missing {missing:?}");
        let extra: Vec<_> = ours.difference(&theirs).collect();
        assert!(extra.is_empty(), "{path}: extra {extra:?}");
    }
}

#[test]
fn other_classes_are_refused_with_a_reason() {
    assert_eq!(facts(b"MZ").unwrap_err(), ElfError::NotElf);
    let mut header = [0; 64];
    header[..6].copy_from_slice(b"\x7fELF\x01\x01");
    assert_eq!(facts(&header).unwrap_err(), ElfError::Unsupported("32-bit"));
    header[4..6].copy_from_slice(&[2, 2]);
    assert_eq!(facts(&header).unwrap_err(), ElfError::Unsupported("big-endian"));
    header[4..6].copy_from_slice(&[7, 7]);
    assert!(matches!(facts(&header).unwrap_err(), ElfError::Damaged(_)));
    assert!(matches!(facts(b"\x7fELF\x02\x01").unwrap_err(), ElfError::Damaged(_)));
}

mod damage {
    use std::sync::OnceLock;

    use proptest::prelude::*;

    use super::*;

    fn sound() -> &'static [u8] {
        static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
        BYTES.get_or_init(|| {
            let dir = fixture::dir();
            std::fs::read(fixture::library(dir.path(), "libd.so", &[])).unwrap()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn never_panics(cut in 0usize..20000, writes in prop::collection::vec((0usize..20000, any::<u8>()), 0..40)) {
            let mut bytes = sound().to_vec();
            for (at, byte) in writes {
                let at = at % bytes.len();
                bytes[at] = byte;
            }
            bytes.truncate(bytes.len().saturating_sub(cut % 3 * cut));
            let _ = facts(&bytes);
        }

        #[test]
        fn never_panics_on_damaged_tables(writes in prop::collection::vec((0usize..1000, any::<u64>()), 1..6)) {
            let mut bytes = sound().to_vec();
            let dynamic = Image::parse(&bytes).unwrap().segment(elf::PT_DYNAMIC).unwrap().offset as usize;
            for (at, value) in writes {
                let at = if at % 2 == 0 { at & !7 } else { dynamic + ((at % 400) & !7) };
                bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
            }
            let _ = facts(&bytes);
        }
    }
}
