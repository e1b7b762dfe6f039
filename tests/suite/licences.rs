//! What may not be passed on is not packed: the recipe is refused with the clause, and a waiver says who permits it.

use std::collections::BTreeSet;
use std::path::Path;

use simpack::data::Data;
use simpack::manifest::Manifests;

use crate::support::{Ran, files, scratch, set_up, simpack};

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

/// Who passes on a vendor's file passes on the licence that permits it: in packages that hold one, as the toolkit has it.
#[test]
fn a_vendors_file_comes_with_its_licence() {
    let Some(toolkit) = set_up("SIMPACK_TEST_CUDA") else { return };
    let dir = scratch();
    recipe(dir.path(), "MIT", "\"bin/own\", \"lib/*\"", "");
    let script = fs_err::read_to_string(dir.path().join("build.sh")).unwrap();
    fs_err::write(dir.path().join("build.sh"), script.replace("own ptxas", "own")).unwrap();
    fs_err::copy(toolkit.join("lib/libcudart.so.13"), dir.path().join("libcudart.so.13")).unwrap();
    let script = fs_err::read_to_string(dir.path().join("build.sh")).unwrap();
    let script = script + "mkdir -p \"$PREFIX/lib\"\ncp libcudart.so.13 \"$PREFIX/lib/\"\n";
    fs_err::write(dir.path().join("build.sh"), script).unwrap();
    let text = fs_err::read_to_string(dir.path().join("simpack.toml")).unwrap();
    let inputs = "inputs = [\"build.sh\", \"libcudart.so.13\"]";
    fs_err::write(dir.path().join("simpack.toml"), text.replace("inputs = [\"build.sh\"]", inputs)).unwrap();
    let build = |cache: Option<&Path>| {
        let args = ["build", "--allow", "vendor-bundled", "--format", "conda,wheel,tar,deb"];
        let mut command = simpack(dir.path(), &args);
        cache.map(|cache| command.env("SIMPACK_CACHE_DIR", cache));
        Ran::of(&mut command)
    };
    build(None).exit(0);
    let known = Manifests::load(&Data::at("no such directory")).unwrap().redistribution;
    let paths: Vec<String> = simpack::fs::walk(&toolkit).unwrap().into_iter().map(|entry| entry.path).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let licence = known.licence(known.terms("libcudart.so.13").unwrap()).unwrap();
    let text = fs_err::read_to_string(toolkit.join(licence.text(&paths).unwrap())).unwrap();
    let (name, known_line) = ("LicenseRef-NVIDIA-CUDA-EULA.txt", "2.6. Attachment A");
    assert!(text.contains(known_line));
    let mut unpacked = 0;
    for file in files(&dir.path().join("dist")).iter() {
        if ![".conda", ".whl", ".tar.zst", ".deb"].iter().any(|end| file.ends_with(end)) {
            continue;
        }
        let root = dir.path().join("unpacked").join(file);
        let mut quiet = |_| Ok(());
        let form = simpack::container::Form::of_name(file).unwrap();
        simpack::container::unpack(&dir.path().join("dist").join(file), form, &root, true, &mut quiet).unwrap();
        let inside = files(&root);
        let holds = inside.iter().any(|path| path.ends_with("libcudart.so.13"));
        let carried: Vec<&String> = inside
            .iter()
            .filter(|path| path.ends_with(name) || file.ends_with(".deb") && path.ends_with("/copyright"))
            .filter(|path| fs_err::read_to_string(root.join(path)).unwrap().contains(known_line))
            .collect();
        assert_eq!(carried.len(), usize::from(holds), "{file}: {inside:?}");
        if let Some(bill) = inside.iter().find(|path| holds && path.ends_with("sbom.cdx.json")) {
            let bill: serde_json::Value = serde_json::from_slice(&fs_err::read(root.join(bill)).unwrap()).unwrap();
            let is_it = |part: &&serde_json::Value| part["name"].as_str().unwrap().ends_with("lib/libcudart.so.13");
            let part = bill["components"].as_array().unwrap().iter().find(is_it).unwrap().clone();
            assert_eq!(part["licenses"][0]["license"]["name"], licence.name, "{part}");
        }
        unpacked += usize::from(holds);
    }
    assert_eq!(unpacked, 4);

    // Without a toolkit that has the text the build stops, and the source may bring it.
    let empty = scratch();
    let stopped = build(Some(empty.path())).exit(3).stderr;
    for word in ["lib/libcudart.so.13", licence.name.as_str(), "LICENSE.LicenseRef-NVIDIA-CUDA-EULA.txt"] {
        assert!(stopped.contains(word), "{word}: {stopped}");
    }
    fs_err::write(dir.path().join("LICENSE.LicenseRef-NVIDIA-CUDA-EULA.txt"), &text).unwrap();
    build(Some(empty.path())).exit(0);
}
