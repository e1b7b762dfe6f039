//! A power cut at every write, flush and rename: what was not flushed comes back empty, and nothing of it is believed.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Ran, scratch, simpack, skip};
use crate::toolchain::Scene;

/// The library that cuts the power; none without a compiler.
fn power_cut(dir: &Path) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/power_cut.c");
    let library = dir.join("power_cut.so");
    let mut compile = Command::new("cc");
    compile.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source).args(["-ldl", "-lpthread"]);
    compile.output().is_ok_and(|output| output.status.success()).then_some(library)
}

/// All files below a directory that have this name.
fn files_named(root: &Path, name: &str) -> Vec<PathBuf> {
    let all = walkdir::WalkDir::new(root).into_iter().filter_map(Result::ok);
    all.filter(|entry| entry.file_name() == name).map(walkdir::DirEntry::into_path).collect()
}

/// Cuts the power at each call of `command` in turn; afterwards `again` works, and `check` finds everything in `root`.
fn at_every_call(root: &Path, library: &Path, command: &dyn Fn() -> Command, check: &dyn Fn(u32)) {
    for after in 1..2000 {
        let _ = fs_err::remove_dir_all(root.join("cache"));
        let mut first = command();
        first.env("LD_PRELOAD", library).env("POWER_CUT_ROOT", root).env("POWER_CUT_AFTER", after.to_string());
        let ran = Ran::of(&mut first);
        if ran.code == Some(0) {
            assert!(after > 10, "the power was cut {after} times only");
            return;
        }
        assert_eq!(ran.code, Some(99), "{after}: {}", ran.stderr);
        Ran::of(&mut command()).exit(0);
        check(after);
    }
    panic!("it never ended");
}

#[test]
fn a_toolchain_is_whole_or_not_there() {
    let scene = Scene::new();
    let dir = scratch();
    let Some(library) = power_cut(dir.path()) else { return skip("no C compiler") };
    let root = scene.path("");
    // Without pip, which takes its time each time.
    let command = || {
        let mut command = scene.command(&["fetch", "tiny"]);
        command.env("SIMPACK_PYTHON", "/bin/false");
        command.env("SIMPACK_INDEX_URL", format!("file://{}", scene.path("index").display()));
        command
    };
    at_every_call(&root, &library, &command, &|after| {
        let tools = files_named(&scene.path("cache/toolchains"), "tool");
        assert_eq!(tools.len(), 1, "{after}");
        assert_eq!(fs_err::read(&tools[0]).unwrap(), b"#!/bin/sh\necho tiny\n", "{after}");
    });
}

#[test]
fn a_source_is_whole_or_not_there() {
    let dir = scratch();
    let Some(library) = power_cut(dir.path()) else { return skip("no C compiler") };
    let source = "int answer(void) { return 42; }\n";
    let mut archive = tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
    for (name, text) in [("s/src/tiny.c", source), ("s/build.sh", "exit 1\n"), ("s/LICENSE", "free\n")] {
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o644);
        header.set_size(text.len() as u64);
        archive.append_data(&mut header, name, text.as_bytes()).unwrap();
    }
    let bytes = archive.into_inner().unwrap().finish().unwrap();
    fs_err::write(dir.path().join("s.tar.gz"), &bytes).unwrap();
    let recipe = format!(
        "edition = 1\n[simulator]\nname = \"tiny\"\nversion = \"2.1.0\"\nlicense = \"BSD-3-Clause\"\nsummary = \"small\"\n\
         [source]\nurl = \"file://{}\"\nsha256 = \"{}\"\n[matrix]\ncuda = [\"13.0\"]\ncapabilities = []\n\
         [toolchain]\nhost = \"system\"\n[component.core]\npolicy = \"major\"\nfiles = [\"lib/*\"]\n\
         [component.core.build]\ndriver = \"script\"\ntargets = [\"build.sh\"]\ninputs = [\"src/**\", \"build.sh\"]\n",
        fs_err::canonicalize(dir.path().join("s.tar.gz")).unwrap().display(),
        simpack::fs::Digest::of(&bytes),
    );
    fs_err::create_dir(dir.path().join("tiny")).unwrap();
    fs_err::write(dir.path().join("tiny/simpack.toml"), recipe).unwrap();
    let command = || {
        let mut command = simpack(dir.path(), &["check", "tiny"]);
        command.env("SIMPACK_CACHE_DIR", dir.path().join("cache"));
        command
    };
    at_every_call(dir.path(), &library, &command, &|after| {
        let files = files_named(&dir.path().join("cache"), "tiny.c");
        assert_eq!(files.len(), 1, "{after}");
        assert_eq!(fs_err::read_to_string(&files[0]).unwrap(), source, "{after}");
    });
}
