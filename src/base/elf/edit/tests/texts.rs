//! One text after the other: paths, needs, names, interpreters.

use super::*;

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
