//! Holds the table of floors in ARCHITECTURE.md: imports go down only, and the doors to the
//! terminal, to programs, to clap, to the clock and the network are where they belong.

mod circles;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const FLOORS: [&[&str]; 8] = [
    &[
        "amount",
        "budget",
        "config",
        "data",
        "error",
        "fs",
        "near",
        "parallel",
        "printable",
        "process",
        "table",
        "ui",
        "wrap",
    ],
    &["arch", "container", "index_page", "report"],
    &["build_system", "bundle", "elf", "gpu", "lastrun", "layout", "lock", "machine", "manifest", "recipe"],
    &["abi", "fit", "lint", "package", "plan", "probe", "toolchain"],
    &["attest", "engine", "doctor", "generate", "inspect", "pack", "patch", "project", "slice", "verify"],
    &["offers", "pipeline"],
    &["ops"],
    &["cli"],
];

/// Modules that are functions of their arguments: no clock, environment, network, terminal.
const PURE: [&str; 12] =
    ["abi", "elf", "fit", "gpu", "layout", "lock", "machine", "recipe", "arch", "report", "lint", "plan"];

fn floor(module: &str) -> Option<usize> {
    FLOORS.iter().position(|floor| floor.contains(&module))
}

/// Where a source file lies in its crate: floors 0 to 2 are the crate in `src/base`.
fn below(path: &Path) -> &Path {
    let below = path.strip_prefix(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).unwrap();
    below.strip_prefix("base").unwrap_or(below)
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
            let below = below(&path);
            if below == Path::new("build.rs") {
                continue;
            }
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

/// The module that a file is, from the crate's root down.
fn module_of(path: &Path) -> Vec<String> {
    let below = below(path).with_extension("");
    let mut parts: Vec<String> = below.iter().map(|part| part.to_str().unwrap().to_owned()).collect();
    if parts.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        parts.pop();
    }
    parts
}

/// All paths that a tree of imports or an expression names: `a::{b, c::{d}}` is `a::b` and `a::c::d`. Answers what
/// follows the tree.
fn tree<'c>(code: &'c str, stem: &[String], found: &mut BTreeSet<Vec<String>>) -> &'c str {
    let code = code.trim_start();
    if let Some(mut rest) = code.strip_prefix('{') {
        loop {
            rest = rest.trim_start().trim_start_matches(',').trim_start();
            match rest.strip_prefix('}') {
                Some(after) => return after,
                None if rest.is_empty() => return rest,
                None => {}
            }
            let after = tree(rest, stem, found);
            // `as name` and whatever else stands before the next branch.
            let end = after.find([',', '}']).unwrap_or(after.len());
            rest = &after[end..];
        }
    }
    let end = code.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(code.len());
    let (name, rest) = code.split_at(end);
    let mut path = stem.to_vec();
    match name {
        "super" => drop(path.pop()),
        "" | "self" => {}
        name => path.push(name.to_owned()),
    }
    match rest.strip_prefix("::") {
        Some(rest) if rest.starts_with('{') || rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') => {
            tree(rest, &path, found)
        }
        _ => {
            found.insert(path);
            rest
        }
    }
}

/// Everything in the crate that a file names by `crate::` or `super::`, from the crate's root down.
fn imports(code: &str, module: &[String]) -> BTreeSet<Vec<String>> {
    let mut found = BTreeSet::new();
    for (root, stem) in [("crate::", &[] as &[String]), ("super::", &module[..module.len().saturating_sub(1)])] {
        for (at, _) in code.match_indices(root) {
            if !code[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':') {
                tree(&code[at + root.len()..], stem, &mut found);
            }
        }
    }
    found
}

#[test]
fn nested_groups_and_climbing_are_seen() {
    let seen = |code: &str, module: &str| -> Vec<String> {
        let module: Vec<String> = module.split("::").map(str::to_owned).collect();
        imports(code, &module).into_iter().map(|path| path.join("::")).collect()
    };
    let nested = "use crate::{a::{b, c::{d, self}}, e as f, ops::g};\nlet x = crate::h::i::<u8>(crate::j);";
    let all = ["a::b", "a::c", "a::c::d", "e", "h::i", "j", "ops::g"];
    assert_eq!(seen(nested, "ops::build"), all);
    let climbing =
        "use super::super::{build::run, plan};\nuse super::super::super::lint;\nuse super::one;\nuse x::super_::y;";
    assert_eq!(seen(climbing, "ops::abi::floor"), ["lint", "ops::abi::one", "ops::build::run", "ops::plan"]);
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
        if path.starts_with(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/base")) != (own <= 2) {
            wrong.push(format!("{}: floors 0 to 2, and they alone, lie in src/base", path.display()));
        }
        let tops: BTreeSet<String> =
            imports(&code, &module_of(&path)).into_iter().filter_map(|path| path.into_iter().next()).collect();
        for import in tops.into_iter().filter(|import| *import != module) {
            match floor(&import) {
                Some(other) if other < own => {}
                // Neighbours may use each other on floors 0 to 2 only; floors 3 and 4 meet above.
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

/// What several verbs need is no verb: it lies on a lower floor.
#[test]
fn ops_holds_verbs_only_and_none_imports_another() {
    let command = simpack::cli::command();
    let verbs: BTreeSet<String> = command.get_subcommands().map(|verb| verb.get_name().replace('-', "_")).collect();
    let mut wrong = Vec::new();
    for (_, path, code) in sources().into_iter().filter(|(module, ..)| module == "ops") {
        let module = module_of(&path);
        let Some(own) = module.get(1) else { continue };
        if !verbs.contains(own) {
            wrong.push(format!("{}: `{own}` is no verb of the command line", path.display()));
        }
        for import in imports(&code, &module) {
            if let [top, other, ..] = import.as_slice()
                && top == "ops"
                && other != own
            {
                wrong.push(format!("{}: the verb `{own}` imports `{other}`", path.display()));
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
