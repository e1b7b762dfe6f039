//! Holds the table of floors in ARCHITECTURE.md: imports go down only, and the doors to the
//! terminal, to programs, to clap, to the clock and the network are where they belong.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const FLOORS: [&[&str]; 8] = [
    &["amount", "config", "data", "error", "fs", "near", "parallel", "process", "ui"],
    &["arch", "report"],
    &["bundle", "elf", "gpu", "lock", "machine", "manifest", "recipe"],
    &["abi", "fit", "lint", "package", "plan", "probe", "toolchain"],
    &["engine", "doctor", "generate", "pack", "patch", "project", "slice", "verify"],
    &["pipeline"],
    &["ops"],
    &["cli"],
];

/// Modules that are functions of their arguments: no clock, environment, network, terminal.
const PURE: [&str; 11] = ["abi", "elf", "fit", "gpu", "lock", "machine", "recipe", "arch", "report", "lint", "plan"];

fn floor(module: &str) -> Option<usize> {
    FLOORS.iter().position(|floor| floor.contains(&module))
}

/// Every source file with its top module and its text without comments and tests.
fn sources() -> Vec<(String, PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    let mut open = vec![root.clone()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            if path.extension().is_none_or(|ending| ending != "rs") {
                continue;
            }
            let below = path.strip_prefix(&root).unwrap();
            let first = below.components().next().unwrap().as_os_str().to_str().unwrap();
            let module = first.trim_end_matches(".rs").to_owned();
            let text = std::fs::read_to_string(&path).unwrap();
            let is_test = below.to_str().unwrap().contains("test") || below.to_str().unwrap().contains("fixture");
            if !is_test {
                let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap().to_owned();
                let code =
                    code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
                found.push((module, path, code));
            }
        }
    }
    found.sort();
    found
}

/// Top modules named after `crate::`.
fn imports(code: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for part in code.split("crate::").skip(1) {
        if let Some(group) = part.strip_prefix('{') {
            let group = group.split('}').next().unwrap_or_default();
            found.extend(group.split(',').map(|name| name.trim().split("::").next().unwrap_or_default().to_owned()));
        } else {
            found.insert(part.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect());
        }
    }
    found
}

#[test]
fn every_module_has_a_floor_and_imports_go_down() {
    let mut wrong = Vec::new();
    for (module, path, code) in sources() {
        if module == "lib" || module == "main" {
            continue;
        }
        let Some(own) = floor(&module) else {
            wrong.push(format!("{}: module `{module}` has no floor", path.display()));
            continue;
        };
        for import in imports(&code).into_iter().filter(|import| *import != module) {
            match floor(&import) {
                Some(other) if other < own => {}
                // Neighbours may use each other on floors 0 to 2 only; floors 3 and 4 meet in `ops`.
                Some(other) if other == own && own <= 2 => {}
                Some(other) => {
                    wrong.push(format!("{}: floor {own} imports `{import}` of floor {other}", path.display()))
                }
                None => wrong.push(format!("{}: imports `{import}`, which has no floor", path.display())),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn doors_are_where_they_belong() {
    let doors: BTreeMap<&str, &[&str]> = BTreeMap::from([
        ("clap::", &["cli"] as &[&str]),
        ("std::process::Command", &["process"]),
        ("use std::process::{Command", &["process"]),
        ("println!", &[]),
        ("eprintln!", &[]),
        ("std::io::stdout", &["ui"]),
        ("std::io::stderr", &["ui"]),
        ("std::process::exit", &["main"]),
        ("reqwest", &["toolchain"]),
    ]);
    let mut wrong = Vec::new();
    for (module, path, code) in sources() {
        for (door, allowed) in &doors {
            if code.contains(door) && !allowed.contains(&module.as_str()) {
                wrong.push(format!("{}: `{door}` belongs to {allowed:?}", path.display()));
            }
        }
        if PURE.contains(&module.as_str()) {
            for door in
                ["std::env::", "SystemTime", "Instant::now", "fs_err::", "std::fs::", "crate::ui", "crate::process"]
            {
                if code.contains(door) {
                    wrong.push(format!("{}: `{module}` is pure, but names `{door}`", path.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
