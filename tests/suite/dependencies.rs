//! What the program is made of: licences that may be shipped, and no crate in more versions than are known.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

/// Licences that ask for no more than a notice, or, the MPL, for the sources of what was changed in its own files.
const LICENCES: [&str; 13] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "bzip2-1.0.6",
    "ISC",
    "MIT",
    "MPL-2.0",
    "NCSA",
    "Unicode-3.0",
    "Zlib",
];

/// Crates that others still ask for in an older version; those of digests by minisign's key derivation.
const TWICE: [&str; 22] = [
    "bit-set",
    "bit-vec",
    "block-buffer",
    "cpufeatures",
    "crypto-common",
    "darling",
    "darling_core",
    "darling_macro",
    "digest",
    "foldhash",
    "getrandom",
    "hashbrown",
    "hmac",
    "indexmap",
    "libloading",
    "rustc-hash",
    "schemars",
    "sha2",
    "spirv",
    "syn",
    "thiserror",
    "thiserror-impl",
];

/// The packages of `Cargo.lock` on this platform; none where cargo cannot say without the network.
fn packages() -> Option<Vec<Value>> {
    let mut cargo = Command::new(option_env!("CARGO").unwrap_or("cargo"));
    cargo.args(["metadata", "--locked", "--offline", "--format-version", "1"]);
    cargo.args(["--filter-platform", "x86_64-unknown-linux-gnu"]).current_dir(env!("CARGO_MANIFEST_DIR"));
    let output = cargo.output().ok().filter(|output| output.status.success())?;
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let used: BTreeSet<&str> =
        answer["resolve"]["nodes"].as_array().unwrap().iter().map(|node| node["id"].as_str().unwrap()).collect();
    let all = answer["packages"].as_array().unwrap().iter();
    Some(all.filter(|package| used.contains(package["id"].as_str().unwrap())).cloned().collect())
}

/// Whether one way to read an SPDX expression asks for nothing but what is allowed: OR binds less than AND, and neither
/// binds within parentheses. Older crates write a slash for OR.
fn is_allowed(expression: &str) -> bool {
    let expression = expression.replace('/', " OR ");
    let split = |text: &str, word: &str| -> Vec<String> {
        let (mut parts, mut depth) = (vec![String::new()], 0);
        for token in text.replace('(', " ( ").replace(')', " ) ").split_whitespace() {
            depth += i32::from(token == "(") - i32::from(token == ")");
            match token == word && depth == 0 {
                true => parts.push(String::new()),
                false => *parts.last_mut().unwrap() += &format!(" {token}"),
            }
        }
        parts.iter().map(|part| part.trim().to_owned()).collect()
    };
    let (either, both) = (split(&expression, "OR"), split(&expression, "AND"));
    match expression.trim() {
        _ if either.len() > 1 => either.iter().any(|part| is_allowed(part)),
        _ if both.len() > 1 => both.iter().all(|part| is_allowed(part)),
        one => match one.strip_prefix('(').and_then(|one| one.strip_suffix(')')) {
            Some(inner) => is_allowed(inner),
            None => LICENCES.contains(&one),
        },
    }
}

#[test]
fn expressions_are_read_by_their_rules() {
    for good in ["MIT", "MIT OR GPL-3.0", "GPL-3.0/MIT", "(MIT OR GPL-3.0) AND ISC", "ISC AND (X AND Y OR MIT)"] {
        assert!(is_allowed(good), "{good}");
    }
    for bad in ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT OR ISC) AND GPL-3.0", "MIT WITH X", "GPL-3.0 OR MIT AND X"] {
        assert!(!is_allowed(bad), "{bad}");
    }
}

#[test]
fn licences_may_be_shipped() {
    let Some(packages) = packages() else { return crate::support::skip("cargo has no registry here") };
    assert!(packages.len() > 100);
    for package in packages {
        let licence = package["license"].as_str().unwrap_or_default();
        assert!(is_allowed(licence), "{} {}: `{licence}`", package["name"], package["version"]);
    }
}

#[test]
fn no_crate_comes_twice_unknown() {
    let Some(packages) = packages() else { return crate::support::skip("cargo has no registry here") };
    let mut versions: BTreeMap<String, usize> = BTreeMap::new();
    for package in &packages {
        *versions.entry(package["name"].as_str().unwrap().to_owned()).or_default() += 1;
        let source = package["source"].as_str();
        let is_known = source.is_none_or(|source| source.starts_with("registry+"));
        assert!(is_known, "{} comes from {source:?}", package["name"]);
    }
    let twice: Vec<&str> = versions.iter().filter(|(_, count)| **count > 1).map(|(name, _)| name.as_str()).collect();
    assert_eq!(twice, TWICE, "a crate more, or one that need not be listed any more");
}
