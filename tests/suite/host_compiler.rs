//! `--host system`: the machine's own compiler, and the glibc that its binaries really need.

use std::path::Path;

use crate::contract::glibc_floor;
use crate::simulating::net;
use crate::support::{CacheView, Prefix, Ran, conda_index, need, package_file, scratch, simpack, unpack};

#[test]
fn the_machines_compiler_gives_packages_with_a_computed_glibc() {
    need!(["c++", "g++"].iter().any(|name| which::which(name).is_ok()), "no C++ compiler");
    need!(which::which("readelf").is_ok(), "readelf is not here");
    let (dir, view) = (scratch(), CacheView::new(&[]));
    let dist = dir.path().join("dist");
    let mut command = simpack(
        Path::new(env!("CARGO_MANIFEST_DIR")),
        &["build", "volley", "--host", "system", "--component", "core,rtc,dev", "--json", "--dist"],
    );
    command.arg(&dist).arg("--work").arg(dir.path().join("work")).env("SIMPACK_CACHE_DIR", view.root.path());
    let summary = Ran::of(&mut command).exit(0).json();
    let steps: Vec<_> = summary["steps"].as_array().unwrap().iter().map(|step| step["id"].as_str().unwrap()).collect();
    assert_eq!(steps, ["host core", "host source"], "no kernel is needed for these components");

    let prefix = dir.path().join("prefix");
    for (package, files) in [
        ("volley-core", &["lib/libvolley.so.1.0.0", "bin/volley"][..]),
        ("volley-rtc", &["lib/libvolley_rtc.so.1.0.0"]),
    ] {
        let archive = package_file(&dist.join("conda"), package);
        unpack(&archive, "pkg", &prefix);
        let floor = files.iter().filter_map(|file| glibc_floor(&prefix.join(file))).max().unwrap();
        let depends = conda_index(&archive)["depends"].to_string();
        assert!(depends.contains(&format!("\"__glibc >={floor}\"")), "{package}: {depends}, readelf says {floor}");
        // The machine's C++ library is not packed, so the package says where it comes from.
        assert!(depends.contains("libstdcxx >="), "{package}: {depends}");
    }
    let run = |program: &Path| {
        let mut command = std::process::Command::new(program);
        Ran::of(command.env_clear().args(["run", "--json", "--backend", "cpu"]).arg(net("balanced"))).exit(0).json()
    };
    let pinned = Prefix::of(&["volley-core"]);
    let (ours, theirs) = (run(&prefix.join("bin/volley")), run(&pinned.path().join("bin/volley")));
    assert_eq!(ours["digest"], theirs["digest"], "another compiler gives other spikes");
}

/// The command line chooses the compiler, and the recipe says for which glibc or from which version on.
#[test]
fn the_recipes_settings_hold_for_a_chosen_compiler() {
    let dir = scratch();
    let recipe = dir.path().join("tiny/simpack.toml");
    let run = |args: &[&str]| {
        let mut command = simpack(dir.path(), args);
        Ran::of(command.env("SIMPACK_CACHE_DIR", dir.path().join("cache")))
    };
    run(&["init", "tiny", "--dir", "tiny"]).exit(0);
    let text = fs_err::read_to_string(&recipe).unwrap();
    let with = |host: &str| fs_err::write(&recipe, format!("{text}\n[toolchain]\nhost = {host}\n")).unwrap();
    with(r#"{ use = "zig", glibc = "2.17" }"#);
    for chosen in [&["plan", "tiny", "--json"][..], &["plan", "tiny", "--json", "--host", "zig"]] {
        let plan = run(chosen).exit(0).json();
        let cxx = plan["tools"]["c++"]["version"].as_str().unwrap();
        assert!(cxx.ends_with(" for glibc 2.17"), "{chosen:?}: {cxx}");
    }
    need!(which::which("g++").is_ok(), "no g++");
    with(r#"{ use = "system", cxx = ">=99" }"#);
    for chosen in [&["plan", "tiny"][..], &["plan", "tiny", "--host", "system"]] {
        let ran = run(chosen).exit(4);
        assert!(ran.stderr.contains("the recipe asks for g++ 99 or newer"), "{chosen:?}: {}", ran.stderr);
    }
}

/// The pinned compiler's own library takes minutes: that is said, it is made before the first step that links, and once.
#[test]
fn the_pinned_compiler_says_that_it_makes_its_runtime() {
    let (dir, view) = (scratch(), CacheView::new(&[]));
    let (real, own) = (simpack::fs::cache_dir().unwrap().join("zig"), view.root.path().join("zig"));
    fs_err::create_dir(&own).unwrap();
    for entry in fs_err::read_dir(fs_err::canonicalize(real).unwrap()).unwrap() {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name())).unwrap();
        if path.is_dir() {
            fs_err::os::unix::fs::symlink(path, own.join(name)).unwrap();
        }
    }
    let run = |args: &[&str]| {
        let mut command = simpack(dir.path(), args);
        Ran::of(command.env("SIMPACK_CACHE_DIR", view.root.path())).exit(0).stderr
    };
    run(&["init", "tiny", "--dir", "tiny"]);
    // A sandbox would not show what the links above lead to.
    let build = || run(&["build", "tiny", "--component", "core", "--sandbox", "off"]);
    let is_said = |said: &str| {
        let begins = said.find("C++ runtime for glibc 2.28: compiled once, which takes some minutes");
        let ends = said.find("C++ runtime for glibc 2.28 ready in ");
        assert_eq!(begins.is_some(), ends.is_some(), "{said}");
        begins.is_some_and(|at| at < said.find("/2  host core").unwrap())
    };
    let said = build();
    assert!(is_said(&said), "{said}");
    let source = dir.path().join("tiny/src/main.cc");
    let text = fs_err::read_to_string(&source).unwrap();
    fs_err::write(&source, format!("{text}// changed\n")).unwrap();
    let said = build();
    assert!(said.contains("/2  host core") && !is_said(&said), "{said}");
    // What comes from the cache of artifacts needs no runtime.
    for mark in fs_err::read_dir(&own).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file()) {
        fs_err::remove_file(mark).unwrap();
    }
    fs_err::write(&source, text).unwrap();
    let said = build();
    assert!(!said.contains("C++ runtime"), "{said}");
}
