//! The artifact cache from outside: many runs at once, damage, limits, directories that are read only or
//! shared.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use simpack::fs::set_mode;

use crate::support::{Mount, Ran, Tiny, changed, digests, files, need};

/// Files of the artifacts in a cache.
fn artifacts(cache: &Path) -> Vec<PathBuf> {
    let root = cache.join("artifacts");
    let all = files(&root).into_iter().filter(|file| file.contains("/files/"));
    all.map(|file| root.join(file)).collect()
}

/// Writes something else into an artifact.
fn damage(file: &Path) {
    set_mode(file, 0o644).unwrap();
    fs_err::write(file, "something else").unwrap();
}

#[test]
fn ten_runs_at_once_share_one_cache() {
    let Some(tiny) = Tiny::with_kernels() else { return };
    let expected = tiny.reference();
    let start = |number: usize| {
        let (dist, work) = (format!("dist-{number}"), format!("work-{number}"));
        let mut command = tiny.build(&["--jobs", "2", "--dist", &dist, "--work", &work]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let running: Vec<_> = (0..10).map(start).collect();
    for (number, child) in running.into_iter().enumerate() {
        Ran::from(child.wait_with_output().unwrap()).exit(0);
        assert_eq!(changed(&expected, &digests(&tiny.path(&format!("dist-{number}")))), [""; 0]);
    }
    let verdict = Ran::of(&mut tiny.simpack(&["cache", "verify", "--json"])).exit(0).json();
    assert_eq!((&verdict["entries"], verdict["damaged"].as_array().unwrap().len()), (&3.into(), 0));
    let stat = Ran::of(&mut tiny.simpack(&["cache", "stat", "--json"])).exit(0).json();
    assert_eq!((&stat["running"], &stat["leftovers"]), (&0.into(), &0.into()), "{stat}");
    assert_eq!(stat["kinds"]["kernel"]["entries"], 2);
    assert_eq!(stat["kinds"]["host"]["entries"], 1);
}

#[test]
fn damage_is_found_told_and_mended() {
    let tiny = Tiny::new();
    Ran::of(&mut tiny.build(&[])).exit(0);
    let expected = tiny.dist();
    for victim in artifacts(&tiny.path("cache")) {
        damage(&victim);
        let ran = Ran::of(&mut tiny.simpack(&["cache", "verify"])).exit(1);
        assert!(ran.stdout.contains("host core") && ran.stdout.contains("1 damaged"), "{}", ran.stdout);
        // What is built already needs no cache.
        let ran = Ran::of(&mut tiny.build(&[])).exit(0);
        assert!(ran.stdout.contains("(0 compiled, 1 from cache)"), "{ran:?}");
        fs_err::remove_dir_all(tiny.path("dist")).unwrap();
        let ran = Ran::of(&mut tiny.build(&[])).exit(0);
        assert!(ran.stderr.contains("a damaged cache entry is made again"), "{}", ran.stderr);
        assert!(ran.stdout.contains("(1 compiled, 0 from cache)"), "{}", ran.stdout);
        assert_eq!(changed(&expected, &tiny.dist()), [""; 0]);
        Ran::of(&mut tiny.simpack(&["cache", "verify"])).exit(0);
    }
    damage(&artifacts(&tiny.path("cache"))[0]);
    let ran = Ran::of(&mut tiny.simpack(&["cache", "verify", "--remove", "--json"])).exit(0);
    assert_eq!(ran.json()["damaged"][0]["removed"], true);
    assert!(artifacts(&tiny.path("cache")).is_empty());
}

/// Bundles are patched and their modes set; nothing of that may reach the cache.
#[test]
fn what_leaves_the_cache_has_no_way_back() {
    let tiny = Tiny::new();
    Ran::of(&mut tiny.build(&[])).exit(0);
    for file in artifacts(&tiny.path("cache")) {
        let mode = fs_err::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o222, 0, "{} can be written: {mode:o}", file.display());
    }
    let bundles = tiny.path("target/simpack/bundles");
    for file in files(&bundles) {
        damage(&bundles.join(file));
    }
    Ran::of(&mut tiny.simpack(&["cache", "verify"])).exit(0);
    let ran = Ran::of(&mut tiny.build(&[])).exit(0);
    assert!(ran.stdout.contains("(0 compiled, 1 from cache)"), "{}", ran.stdout);
}

#[test]
fn a_build_keeps_to_the_limit() {
    let tiny = Tiny::new();
    let build = |limit: &str| {
        let mut command = tiny.build(&[]);
        Ran::of(command.env("SIMPACK_CACHE_SIZE", limit))
    };
    let stat = || Ran::of(&mut tiny.simpack(&["cache", "stat", "--json"])).exit(0).json();
    build("1G").exit(0);
    let one = stat()["bytes"].as_u64().unwrap();
    assert_eq!(stat()["limit"], 10_u64 << 30);
    // FreedSpace for two: with the third the first goes.
    let limit = (one * 5 / 2).to_string();
    for (version, entries) in [(2, 2), (3, 2), (4, 2)] {
        tiny.version(version);
        let ran = build(&limit).exit(0);
        assert_eq!(stat()["entries"], entries, "{}", ran.stderr);
        assert_eq!(ran.stderr.contains("1 entry removed"), version > 2, "{}", ran.stderr);
    }
    // The last two are there; using the older makes the other the one that goes.
    tiny.version(3);
    assert!(build(&limit).exit(0).stdout.contains("(0 compiled, 1 from cache)"));
    tiny.version(5);
    build(&limit).exit(0);
    tiny.version(3);
    assert!(build(&limit).exit(0).stdout.contains("(0 compiled, 1 from cache)"));
    tiny.version(4);
    assert!(build(&limit).exit(0).stdout.contains("(1 compiled, 0 from cache)"));
    // Less than one build makes: it works all the same.
    tiny.version(6);
    build("1k").exit(0);
    assert_eq!(stat()["entries"], 0);
    let ran = build("much").exit(2);
    assert!(ran.stderr.contains("cache-size"), "{}", ran.stderr);
}

#[test]
fn gc_removes_by_size_and_by_age() {
    let tiny = Tiny::new();
    let gc = |args: &[&str]| {
        let args: Vec<&str> = ["cache", "gc", "--json"].iter().chain(args).copied().collect();
        Ran::of(&mut tiny.simpack(&args)).exit(0).json()
    };
    assert_eq!(gc(&[])["entries"], 0, "a cache that is not there is an empty one");
    for version in [1, 2, 3] {
        tiny.version(version);
        Ran::of(&mut tiny.build(&[])).exit(0);
    }
    assert_eq!(gc(&[])["removed"], 0);
    assert_eq!(gc(&["--older-than", "1h"])["removed"], 0);
    let bytes = gc(&[])["bytes"].as_u64().unwrap();
    assert_eq!(gc(&["--max-size", &(bytes - 1).to_string()])["removed"], 1);
    tiny.version(3);
    assert!(Ran::of(&mut tiny.build(&[])).exit(0).stdout.contains("(0 compiled"), "the newest stays");
    std::thread::sleep(std::time::Duration::from_millis(1100));
    assert_eq!(gc(&["--older-than", "1s"])["removed"], 2);
    Ran::of(&mut tiny.simpack(&["cache", "gc", "--older-than", "long"])).exit(2);
}

#[test]
fn a_cache_that_is_read_only_is_read_and_results_stay_with_the_build() {
    let tiny = Tiny::new();
    Ran::of(&mut tiny.build(&[])).exit(0);
    let old = tiny.dist();
    tiny.version(2);
    let new = tiny.reference();
    let before = digests(&tiny.path("cache"));
    let Some(_mount) = Mount::new(&tiny.path("fixed"), Some(&tiny.path("cache")), "ro") else { return };
    let build = || {
        let mut command = tiny.build(&["--dist", "dist-2", "--work", "work-2"]);
        Ran::of(command.env("SIMPACK_CACHE_DIR", tiny.path("fixed"))).exit(0)
    };
    let ran = build();
    assert!(ran.stderr.contains("cannot be written: it is read, and what is built is kept in work-2"), "{ran:?}");
    assert!(ran.stdout.contains("(1 compiled, 0 from cache)"), "{}", ran.stdout);
    assert_eq!(changed(&new, &digests(&tiny.path("dist-2"))), [""; 0]);
    assert!(build().stdout.contains("(0 compiled, 1 from cache)"), "it was kept for the next time");
    tiny.version(1);
    assert!(build().stdout.contains("(0 compiled, 1 from cache)"), "the read-only cache was not read");
    assert_eq!(changed(&old, &digests(&tiny.path("dist-2"))), [""; 0]);
    assert_eq!(changed(&before, &digests(&tiny.path("cache"))), [""; 0]);
}

#[test]
fn a_second_cache_is_read_checked_and_never_written() {
    let tiny = Tiny::new();
    Ran::of(&mut tiny.build(&[])).exit(0);
    let expected = tiny.dist();
    fs_err::rename(tiny.path("cache"), tiny.path("remote")).unwrap();
    let before = digests(&tiny.path("remote"));
    let build = |remote: &str| {
        let _ = std::fs::remove_dir_all(tiny.path("dist"));
        let mut command = tiny.build(&[]);
        Ran::of(command.env("SIMPACK_CACHE_REMOTE", tiny.path(remote))).exit(0)
    };
    assert!(build("remote").stdout.contains("(0 compiled, 1 from cache)"));
    assert_eq!(changed(&expected, &tiny.dist()), [""; 0]);
    assert!(!artifacts(&tiny.path("cache")).is_empty(), "nothing was copied");
    tiny.version(2);
    assert!(build("remote").stdout.contains("(1 compiled, 0 from cache)"));
    assert_eq!(changed(&before, &digests(&tiny.path("remote"))), [""; 0], "the second cache was written");

    tiny.version(1);
    fs_err::remove_dir_all(tiny.path("cache")).unwrap();
    damage(&artifacts(&tiny.path("remote"))[0]);
    let ran = build("remote");
    assert!(ran.stderr.contains("is damaged") && ran.stdout.contains("(1 compiled, 0 from cache)"), "{ran:?}");
    assert_eq!(changed(&expected, &tiny.dist()), [""; 0]);
    let ran = build("nowhere");
    assert!(ran.stderr.contains("the second cache") && ran.stderr.contains("is not there"), "{}", ran.stderr);
}

/// Two users of one group, each with an umask that shares nothing.
#[test]
fn users_of_a_group_share_a_directory() {
    let is_root = Ran::of(Command::new("id").arg("-u")).stdout.trim() == "0";
    need!(is_root, "only root can run programs as two other users");
    // Below /tmp: other users cannot enter the checkout.
    let tiny = Tiny::at(tempfile::Builder::new().prefix("simpack-shared-").tempdir_in("/tmp").unwrap(), None);
    fs_err::copy(crate::support::program(), tiny.path("simpack")).unwrap();
    let (ann, bob, group) = (54_001, 54_002, 54_000);
    for (dir, owner) in [("cache", ann), ("ann", ann), ("bob", bob)] {
        fs_err::create_dir(tiny.path(dir)).unwrap();
        std::os::unix::fs::chown(tiny.path(dir), Some(owner), Some(group)).unwrap();
    }
    set_mode(&tiny.path("cache"), 0o2770).unwrap();
    set_mode(&tiny.path("."), 0o755).unwrap();
    let as_user = |user: u32, home: &str, args: &[&str]| {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "umask 077; exec \"$0\" \"$@\""]).arg(tiny.path("simpack")).args(args);
        command.current_dir(tiny.path(home)).env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command.env("SIMPACK_CACHE_DIR", tiny.path("cache")).env("CXX", tiny.path("bin/g++"));
        Ran::of(command.env("HOME", tiny.path(home)).uid(user).gid(group)).exit(0)
    };
    let build = |user, home| as_user(user, home, &["build", "../recipe"]).stdout;
    assert!(build(ann, "ann").contains("(1 compiled, 0 from cache)"));
    assert!(build(bob, "bob").contains("(0 compiled, 1 from cache)"), "what Ann made is of no use to Bob");
    assert_eq!(changed(&digests(&tiny.path("ann/dist")), &digests(&tiny.path("bob/dist"))), [""; 0]);
    tiny.version(2);
    assert!(build(bob, "bob").contains("(1 compiled, 0 from cache)"));
    assert!(build(ann, "ann").contains("(0 compiled, 1 from cache)"));
    // Either may remove what the other made.
    let gone = as_user(bob, "bob", &["cache", "gc", "--max-size", "0", "--json"]).json();
    assert_eq!((&gone["removed"], &gone["entries"]), (&2.into(), &0.into()), "{gone}");
}

#[test]
fn lists_of_headers_are_counted_and_go_with_what_they_lead_to() {
    let Some(tiny) = Tiny::with_kernels() else { return };
    let json = |args: &[&str]| {
        let args: Vec<&str> = ["cache"].iter().chain(args).chain(&["--json"]).copied().collect();
        Ran::of(&mut tiny.simpack(&args)).exit(0).json()
    };
    Ran::of(&mut tiny.build(&[])).exit(0);
    let lists = files(&tiny.path("cache/headers"));
    let stat = json(&["stat"]);
    assert_eq!(stat["headers"]["entries"], lists.len(), "{stat}");
    let bytes: u64 = lists.iter().map(|file| tiny.path("cache/headers").join(file).metadata().unwrap().len()).sum();
    assert_eq!(stat["headers"]["bytes"], bytes, "{stat}");
    assert!(Ran::of(&mut tiny.simpack(&["cache", "stat"])).stdout.contains("lists of headers"));
    // They count for the limit: without them everything would fit.
    let all = stat["bytes"].as_u64().unwrap();
    let gone = json(&["gc", "--max-size", &(all + bytes - 1).to_string()]);
    assert_eq!((&gone["removed"], &gone["removed-headers"]["entries"]), (&1.into(), &0.into()), "{gone}");
    let gone = json(&["gc", "--max-size", "0"]);
    assert_eq!((&gone["entries"], &gone["removed-headers"]["entries"]), (&0.into(), &lists.len().into()), "{gone}");
    assert_eq!(json(&["stat"])["headers"]["entries"], 0);
    let ran = Ran::of(&mut tiny.build(&["--dist", "dist-2", "--work", "work-2"])).exit(0);
    assert!(ran.stdout.contains("(3 compiled, 0 from cache)"), "{}", ran.stdout);
}
