//! What may not be passed on is not packed: the recipe is refused with the clause, and a waiver says who permits it.

use std::collections::BTreeSet;
use std::path::Path;

use simpack::data::Data;
use simpack::manifest::Manifests;

use crate::support::{Ran, scratch, set_up, simpack};

/// A recipe without device code whose build installs a program and a file that is called like the vendor's compiler.
fn recipe(dir: &Path, licence: &str, files: &str, more: &str) {
    let text = format!(
        "edition = 1\n\n[simulator]\nname = \"own\"\nversion = \"1.0.0\"\nlicense = \"{licence}\"\nsummary = \"a test\"\n\n\
         [matrix]\ncuda = [\"13.0\"]\n\n[component.core]\nfiles = [{files}]\n\n\
         [component.core.build]\ndriver = \"script\"\ntargets = [\"build.sh\"]\ninputs = [\"build.sh\"]\n{more}"
    );
    fs_err::write(dir.join("simpack.toml"), text).unwrap();
    fs_err::write(dir.join("LICENSE"), "Do what you like.\n").unwrap();
    let script = "mkdir -p \"$PREFIX/bin\"\nfor name in own ptxas; do\n  printf '#!/bin/sh\\necho own\\n' > \"$PREFIX/bin/$name\"\n  \
                  chmod +x \"$PREFIX/bin/$name\"\ndone\n";
    fs_err::write(dir.join("build.sh"), script).unwrap();
}

const WAIVER: &str = "\n[lint]\nwaivers = [{ id = \"not-redistributable\", subject = \"own-core: bin/ptxas\", \
                      reason = \"letter of the vendor, 2026-10-01\" }]\n";

#[test]
fn a_recipe_is_refused_where_it_names_what_may_not_be_passed_on() {
    let dir = scratch();
    let check = || Ran::of(&mut simpack(dir.path(), &["check"])).exit(3).stdout;
    recipe(dir.path(), "LicenseRef-Own AND MIT", "\"bin/own\", \"lib/libnvJitLink.so*\"", "");
    insta::assert_snapshot!("licence_mistakes", check());
    recipe(dir.path(), "BSD3", "\"bin/own\"", "");
    let said = check();
    assert!(said.contains("`BSD3` is not an SPDX licence expression"), "{said}");
    // Authors know what they allow: packages under a licence of their own are built, and whoever verifies them is warned.
    recipe(dir.path(), "LicenseRef-Own", "\"bin/*\"", WAIVER);
    Ran::of(&mut simpack(dir.path(), &["build"])).exit(0);
    let said = Ran::of(&mut simpack(dir.path(), &["verify", "dist"])).exit(1).stdout;
    assert!(said.contains("LicenseRef-Own is not known to let it be passed on"), "{said}");
}

#[test]
fn a_build_stops_at_a_file_that_may_not_be_passed_on() {
    let dir = scratch();
    let build = |more: &str| {
        recipe(dir.path(), "MIT", "\"bin/*\"", more);
        Ran::of(&mut simpack(dir.path(), &["build"]))
    };
    let stopped = build("").exit(1);
    let said = stopped.stdout;
    for word in ["not-redistributable", "own-core: bin/ptxas", "attachment A", "simpack.toml:13", "nothing packed"] {
        assert!(said.contains(word) || stopped.stderr.contains(word), "{word}: {said}\n{}", stopped.stderr);
    }
    assert!(!dir.path().join("dist").exists());
    build(WAIVER).exit(0);
    // Whoever gets the package is told, too: a waiver is the recipe's, not the package's.
    let verified = Ran::of(&mut simpack(dir.path(), &["verify", "dist"])).exit(1).stdout;
    assert!(verified.contains("not-redistributable"), "{verified}");
}

/// The manifest names what attachment A of the licence lists, no more and no less, as the toolkit's own wheel carries it.
#[test]
fn the_manifest_says_what_the_licence_says() {
    let Some(toolkit) = set_up("SIMPACK_TEST_CUDA") else { return };
    let known = Manifests::load(&Data::at("no such directory")).unwrap().redistribution;
    let paths: Vec<String> = simpack::fs::walk(&toolkit).unwrap().into_iter().map(|entry| entry.path).collect();
    let terms = known.terms("libcudart_static.a").unwrap();
    let files: Vec<&str> = paths.iter().map(String::as_str).collect();
    let text = fs_err::read_to_string(toolkit.join(known.licence(terms).unwrap().text(&files).unwrap())).unwrap();
    let attachment = text.split("2.6. Attachment A").nth(1).unwrap().split("2.7. Attachment B").next().unwrap();
    let is_file = |word: &&str| word.starts_with("lib") && (word.ends_with(".so") || word.ends_with(".a"));
    let listed: BTreeSet<&str> = attachment.split([',', ' ', '\n']).filter(is_file).collect();
    assert!(listed.len() > 50, "{listed:?}");
    let driver = ["libcuda.so", "libnvidia-fatbinaryloader.so", "libnvidia-ptxjitcompiler.so"];
    for name in &listed {
        let terms = known.terms(name).unwrap_or_else(|| panic!("{name} has no terms"));
        assert_eq!(terms.may, !driver.contains(name), "{name}");
    }
    // Of the toolkit's own libraries and programs the others are known, and may not.
    for path in paths.iter().filter(|path| path.starts_with("bin/") || path.starts_with("lib/lib")) {
        let name = path.rsplit('/').next().unwrap();
        let plain = name.split_once(".so").map_or(name.to_owned(), |(stem, _)| format!("{stem}.so"));
        if toolkit.join(path).is_dir() || path.contains("/crt/") {
            continue;
        }
        let terms = known.terms(name).unwrap_or_else(|| panic!("{name} has no terms"));
        assert_eq!(terms.may, listed.contains(plain.as_str()), "{path}");
    }
}
