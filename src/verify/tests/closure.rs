//! Libraries of several packages in one process.

use super::fixture::{Sealed, Tree, context, denies, passes, report, said};
use crate::elf::edit::{Edits, NeededEdit, plan};
use crate::recipe::ComponentKind;
use crate::report::Level;

const VERSIONS: &str = "V_1 { global: answer; local: *; };";

/// rtc, linked against core's library as `linked` makes it.
fn rtc(linked: &str, source: &str) -> Tree {
    let work = tempfile::tempdir().unwrap();
    let map = work.path().join("map");
    std::fs::write(&map, VERSIONS.replace("answer", "answer; other")).unwrap();
    let script = format!("-Wl,--version-script={}", map.display());
    let flags = ["-shared", "-fPIC", "-Wl,-soname,libvolley.so.1", &script];
    crate::elf_fixture::compile(work.path(), "libvolley.so.1", linked, &flags);
    let directory = format!("-L{}", work.path().display());
    let flags = [
        "-shared",
        "-fPIC",
        "-Wl,-soname,libvolley_rtc.so.1.2,--no-as-needed,--enable-new-dtags,-rpath,$ORIGIN",
        &directory,
        "-l:libvolley.so.1",
    ];
    Tree::new(ComponentKind::Rtc, "rtc").compiled("lib/libvolley_rtc.so.1.2", source, &flags)
}

fn core() -> Sealed {
    let work = tempfile::tempdir().unwrap();
    let map = work.path().join("map");
    std::fs::write(&map, VERSIONS).unwrap();
    Tree::core().library("lib/libvolley.so.1", &[&format!("-Wl,--version-script={}", map.display())]).seal()
}

const BOTH: &str = "int answer(void) { return 42; } int other(void) { return 1; }";

#[test]
fn symbols_that_the_other_package_lacks() {
    let uses = "int answer(void); int ask(void) { return answer(); }";
    passes(&[&core(), &rtc(BOTH, uses).seal()]);
    let more = "int answer(void), other(void); int ask(void) { return answer() + other(); }";
    denies(
        &[&core(), &rtc(BOTH, more).seal()],
        &["symbol-unresolved | volley-rtc: lib/libvolley_rtc.so.1.2 | \
           uses a symbol that libvolley.so.1 does not export"],
    );
    // A weak one may be absent.
    let weak = "int answer(void); __attribute__((weak)) int other(void);\
                int ask(void) { return answer() + (other ? other() : 0); }";
    passes(&[&core(), &rtc(BOTH, weak).seal()]);
}

#[test]
fn libraries_that_are_needed_for_nothing() {
    let report = report(&[&core(), &rtc(BOTH, "int alone(void) { return 1; }").seal()], &context());
    assert_eq!(
        said(&report),
        ["overlinked | volley-rtc: lib/libvolley_rtc.so.1.2 | needs libvolley.so.1 and uses none of its symbols"]
    );
    assert_eq!(report.findings[0].level, Level::Warn);
}

#[test]
fn version_records_follow_needed() {
    let tree = rtc(BOTH, "int answer(void); int ask(void) { return answer(); }");
    let path = tree.root().join("lib/libvolley_rtc.so.1.2");
    // What a repair tool does that renames the NEEDED entry alone: here by hand, in `.dynstr`'s place.
    let mut bytes = std::fs::read(&path).unwrap();
    let renamed = Edits { needed: vec![NeededEdit::Remove("libvolley.so.1".to_owned())], ..Edits::default() };
    let facts = crate::elf::facts(&bytes).unwrap();
    assert_eq!(facts.version_needs.keys().filter(|file| *file == "libvolley.so.1").count(), 1);
    let dynamic = facts.needed.iter().position(|needed| needed == "libvolley.so.1").unwrap();
    // DT_NEEDED entries come first in what GNU ld writes: turn this one into DT_DEBUG, which nobody reads.
    let image = crate::elf::Image::parse(&bytes).unwrap();
    let at = image.segment(object::elf::PT_DYNAMIC).unwrap().offset as usize + dynamic * 16;
    bytes[at..at + 8].copy_from_slice(&21_u64.to_le_bytes());
    let broken = Tree::new(ComponentKind::Rtc, "rtc").file("lib/libvolley_rtc.so.1.2", &bytes).seal();
    denies(
        &[&core(), &broken],
        &["version-need-orphan | volley-rtc: lib/libvolley_rtc.so.1.2 | \
           expects versions of libvolley.so.1, which it does not name as NEEDED"],
    );
    // The editor keeps both together.
    let bytes = std::fs::read(&path).unwrap();
    let edited = plan(&bytes, &renamed).unwrap().apply(&bytes).unwrap();
    let whole = Tree::new(ComponentKind::Rtc, "rtc").file("lib/libvolley_rtc.so.1.2", &edited).seal();
    assert!(!said(&report(&[&core(), &whole], &context())).iter().any(|line| line.contains("version-need-orphan")));
}

#[test]
fn one_library_in_two_files() {
    let build = |name: &str| Tree::core().library(name, &["-Wl,--build-id=0x1234"]);
    let plugin = |tree: Tree, name: &str, soname: &str| {
        let soname = format!("-Wl,-soname,{soname}");
        tree.compiled(name, "int a;", &["-shared", "-fPIC", &soname])
    };
    let core = build("lib/libvolley.so.1");
    let twice = plugin(core, "lib/volley/libvolley-1a2b3c4d.so.1", "libvolley-1a2b3c4d.so.1").seal();
    denies(
        &[&twice],
        &["library-twice | volley-core: lib/volley/libvolley-1a2b3c4d.so.1 | \
           is libvolley under another name than volley-core: lib/libvolley.so.1: a process gets both"],
    );
    let same = plugin(build("lib/libvolley.so.1"), "lib/volley/gpu.so", "libvolley.so.1").seal();
    denies(
        &[&same],
        &["library-twice | volley-core: lib/volley/gpu.so | \
           has SONAME libvolley.so.1, as volley-core: lib/libvolley.so.1 has: which one is loaded depends on who is first"],
    );
    let alike = plugin(build("lib/libvolley.so.1"), "lib/volley/libvolley-gpu.so.1", "libvolley-gpu.so.1").seal();
    passes(&[&alike]);
}

/// Sixteen functions, the last with a body of its choice.
fn sixteen(body: &str) -> String {
    let functions: String = (0..15).map(|index| format!("int f{index}(int a) {{ return a + {index}; }}\n")).collect();
    format!("{functions}int last(int a) {{ {body} }}")
}

#[test]
fn copies_are_known_by_what_they_export() {
    let tree = |other: &str| {
        let flags =
            |name: &str| ["-shared".to_owned(), "-fPIC".to_owned(), format!("-Wl,--build-id=none,-soname,{name}")];
        let compiled = |tree: Tree, name: &str, source: &str| {
            let flags = flags(name);
            tree.compiled(&format!("lib/volley/{name}"), source, &flags.each_ref().map(String::as_str))
        };
        compiled(compiled(Tree::core(), "one.so", &sixteen("return a;")), "two.so", other).seal()
    };
    denies(
        &[&tree(&sixteen("return a;"))],
        &[
            "library-twice | volley-core: lib/volley/two.so | exports exactly what volley-core: lib/volley/one.so does, \
           under another name: a process gets both",
        ],
    );
    // The same names over other code: alternatives of one interface.
    passes(&[&tree(&sixteen("for (int i = 0; i < a; i++) a += i * a; return a;"))]);
}
