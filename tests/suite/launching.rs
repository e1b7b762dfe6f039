//! Host compilers through sccache: the bytes of a build without it, by every means to isolate steps, and no compiler outside.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use simpack::fs::set_mode;
use simpack::process::{Isolation, candidates};

use crate::hermetic::Small;
use crate::support::{Ran, changed, digests, need, simpack};

/// A build of `small` into `dist`, with the cache `cache` in which no step is.
fn build(small: &Small, (cache, path): (&Path, &str), dist: &str, args: &[&str]) -> Ran {
    for dir in ["artifacts", "headers"] {
        let _ = fs_err::remove_dir_all(cache.join(dir));
    }
    for dir in ["work", dist] {
        let _ = fs_err::remove_dir_all(small.dir.path().join(dir));
    }
    let mut command = simpack(small.dir.path(), &["build", "tiny", "--json", "--dist", dist, "--work", "work"]);
    Ran::of(command.args(args).env("SIMPACK_CACHE_DIR", cache).env("PATH", path))
}

/// `PATH` with bubblewrap and without it, where there is any: then simpack's own means are used.
fn paths() -> Vec<String> {
    let path = std::env::var("PATH").unwrap();
    let bwrap = candidates().into_iter().find_map(|by| match by {
        Isolation::Bubblewrap(path) => Some(path),
        _ => None,
    });
    let has = |dir: &&str| bwrap.as_deref().and_then(Path::parent) == Some(Path::new(dir));
    let without: Vec<&str> = path.split(':').filter(|dir| !has(dir) || *dir == "/usr/bin").collect();
    vec![path.clone(), without.join(":")]
}

fn uses(ran: &Ran) -> [u64; 3] {
    let launcher: &Value = &ran.json()["launcher"];
    ["compilations", "hits", "misses"].map(|name| launcher[name].as_u64().unwrap_or_else(|| panic!("{launcher}")))
}

fn packages(small: &Small, dist: &str) -> std::collections::BTreeMap<String, simpack::fs::Digest> {
    let mut files = digests(&small.dir.path().join(dist));
    // It says how steps were isolated.
    assert!(files.remove("build.json").is_some());
    files
}

/// Two sources, one with debug information, which names directories.
fn two_sources() -> [Small; 2] {
    let cmake = Small::cmake("target_sources(tiny PRIVATE src/other.c)\ntarget_compile_options(tiny PRIVATE -g1)\n");
    let script = Small::script("$CC -c -fPIC -g -O2 src/other.c -o other.o\n$CC -c -fPIC -O2 src/tiny.c -o tiny.o\n");
    for small in [&cmake, &script] {
        small.write(
            "src/other.c",
            "#include <string.h>\nunsigned long tiny_length(const char *s) { return strlen(s); }\n",
        );
    }
    [cmake, script]
}

#[test]
fn what_sccache_had_compiled_has_the_bytes_of_a_compiler() {
    for small in two_sources() {
        let cache = small.view();
        for (number, path) in paths().iter().enumerate() {
            for mode in ["auto", "off"] {
                let at = (cache.as_path(), path.as_str());
                build(&small, at, "plain", &["--sandbox", mode]).exit(0);
                let plain = packages(&small, "plain");
                let _ = fs_err::remove_dir_all(cache.join("sccache"));
                let with = ["--sandbox", mode, "--launcher", "sccache"];
                let first = build(&small, at, "first", &with).exit(0);
                let [compilations, hits, misses] = uses(&first);
                assert!(compilations >= 2 && hits == 0 && misses >= 2, "{number} {mode}: {}", first.stdout);
                assert_eq!(changed(&packages(&small, "first"), &plain), [""; 0], "{number} {mode}");
                let second = build(&small, at, "second", &with).exit(0);
                // CMake tries its compiler in a directory with another name each time.
                let [again, hits, misses] = uses(&second);
                assert!(again == compilations && hits >= 2 && misses <= 1, "{number} {mode}: {}", second.stdout);
                assert_eq!(changed(&packages(&small, "second"), &plain), [""; 0], "{number} {mode}");
                assert_eq!(servers(&cache), [0; 0], "{number} {mode}: a server is left");
            }
        }
    }
}

/// Processes of sccache that use this cache.
fn servers(cache: &Path) -> Vec<u32> {
    let named = format!("SCCACHE_DIR={}", cache.join("sccache").display());
    let all = fs_err::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let has = |pid: &u32| {
        let environment = fs_err::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        String::from_utf8_lossy(&environment).split('\0').any(|variable| variable == named)
    };
    all.filter(has).collect()
}

/// The compiler looks for a file that steps cannot see: the same compiler sees it where steps are not isolated.
#[test]
fn no_compiler_runs_outside_of_the_sandbox() {
    if !crate::hermetic::isolated() {
        return;
    }
    let small = Small::script("$CC -c -fPIC src/tiny.c -o tiny.o\n");
    let marker = small.dir.path().join("outside.h");
    fs_err::write(&marker, "").unwrap();
    let text = format!(
        "#if __has_include(\"{}\")\n#error \"outside of the sandbox\"\n#endif\nint tiny_answer(void) {{ return 42; }}\n",
        marker.display()
    );
    small.write("src/tiny.c", &text);
    let cache = small.view();
    for path in paths() {
        let at = (cache.as_path(), path.as_str());
        let ran = build(&small, at, "dist", &["--sandbox", "require", "--launcher", "sccache"]).exit(0);
        assert!(uses(&ran)[0] >= 1, "{}", ran.stdout);
        let open = build(&small, at, "dist", &["--sandbox", "off", "--launcher", "sccache"]).exit(5);
        assert!(open.stderr.contains("outside of the sandbox"), "{}", open.stderr);
        assert_eq!(servers(&cache), [0; 0], "a server is left");
    }
}

#[test]
fn it_is_in_no_key_and_says_how_often_it_helped() {
    let small = Small::script("$CC -c -fPIC src/tiny.c -o tiny.o\n");
    let cache = small.view();
    let run = |args: &[&str]| {
        let mut command = simpack(small.dir.path(), &["build", "tiny"]);
        Ran::of(command.args(args).env("SIMPACK_CACHE_DIR", &cache)).exit(0)
    };
    let told = run(&["--launcher", "sccache"]);
    assert!(told.stdout.contains("sccache: 0 of 1 host compilations from its cache (0 %)"), "{}", told.stdout);
    assert!(told.stderr.contains("launcher   sccache 0."), "{}", told.stderr);
    // The artifact cache comes first: nothing is compiled, with it or without.
    let mut command = simpack(small.dir.path(), &["build", "tiny", "--dist", "other", "--work", "other-work"]);
    let again = Ran::of(command.env("SIMPACK_CACHE_DIR", &cache).env("SIMPACK_LAUNCHER", "sccache")).exit(0);
    assert!(again.stdout.contains("(0 compiled, ") && again.stdout.contains("sccache: 0 of 0"), "{}", again.stdout);
    let unchanged = run(&["--json", "--launcher", "none"]);
    assert!(unchanged.json().get("launcher").is_none());
}

/// A program of this name before all others.
fn pretended(small: &Small, text: &str) -> (PathBuf, String) {
    let bin = small.path("../bin");
    fs_err::create_dir_all(&bin).unwrap();
    fs_err::write(bin.join("sccache"), text).unwrap();
    set_mode(&bin.join("sccache"), 0o755).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    (small.view(), path)
}

#[test]
fn one_that_steps_cannot_have_is_refused_or_left_out() {
    if !crate::hermetic::isolated() {
        return;
    }
    let small = Small::script("$CC -c -fPIC src/tiny.c -o tiny.o\n");
    let says =
        "#!/bin/sh\n[ \"$1\" = --version ] && { echo sccache 0.16.0; exit; }\necho 'cannot listen' >&2; exit 2\n";
    let (cache, path) = pretended(&small, says);
    let at = (cache.as_path(), path.as_str());
    let refused = build(&small, at, "dist", &["--sandbox", "require", "--launcher", "sccache"]).exit(4);
    for words in ["sccache 0.16.0 does not run in a step of this machine", "cannot listen", "leave `--launcher` out"] {
        assert!(refused.stderr.contains(words), "{words}: {}", refused.stderr);
    }
    let without = build(&small, at, "dist", &["--launcher", "sccache"]).exit(0);
    assert!(without.stderr.contains("compilers are called without it"), "{}", without.stderr);
    assert!(without.json().get("launcher").is_none());
    // One of Debian 12 knows nothing of what steps need.
    let (cache, path) = pretended(&small, "#!/bin/sh\necho sccache 0.4.0-pre.6\n");
    let pinned = build(&small, (&cache, &path), "dist", &["--launcher", "sccache"]).exit(0);
    assert!(pinned.stderr.contains("is 0.4.0-pre.6, too old: the pinned one is used"), "{}", pinned.stderr);
    assert_eq!(uses(&pinned), [1, 0, 1]);
}

/// Where there are no namespaces, its server is held by Landlock, which closes TCP: it listens on a socket of the step's own.
#[test]
fn landlock_holds_its_server() {
    need!(cfg!(target_arch = "x86_64"), "the filter of system calls is for x86-64");
    need!(candidates().contains(&Isolation::Landlock), "this kernel has no Landlock");
    let [cmake, _] = two_sources();
    let cache = cmake.view();
    let filter = cmake.dir.path().join("without-namespaces");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/without_sandbox.c");
    Ran::of(Command::new("cc").args(["-O1", "-DKEEP_LANDLOCK"]).arg(source).arg("-o").arg(&filter)).exit(0);
    let _ = fs_err::remove_dir_all(cache.join("sccache"));
    let mut seen = Vec::new();
    for _ in 0..2 {
        for dir in [cache.join("artifacts"), cache.join("headers"), cmake.dir.path().join("work")] {
            let _ = fs_err::remove_dir_all(dir);
        }
        let plain = simpack(
            cmake.dir.path(),
            &[
                "build",
                "tiny",
                "--json",
                "--dist",
                "held",
                "--work",
                "work",
                "--sandbox",
                "require",
                "--launcher",
                "sccache",
            ],
        );
        let mut held = Command::new(&filter);
        held.arg(plain.get_program()).args(plain.get_args()).current_dir(cmake.dir.path());
        for (name, value) in plain.get_envs() {
            match value {
                Some(value) => held.env(name, value),
                None => held.env_remove(name),
            };
        }
        let ran = Ran::of(held.env("SIMPACK_CACHE_DIR", &cache)).exit(0);
        assert!(ran.stderr.contains("steps are by landlock"), "{}", ran.stderr);
        seen.push(uses(&ran));
    }
    assert!(seen[0][1] == 0 && seen[0][2] >= 2 && seen[1][1] >= 2, "{seen:?}");
}
