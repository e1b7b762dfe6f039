//! One root from several components: the simulator runs from it, and consumers build against it.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use crate::consumers::{can_build, serves};
use crate::simulating::net;
use crate::support::{Ran, need, package_file, scratch, simpack, volley};

const PARTS: [&str; 4] = ["volley-core", "volley-rtc", "volley-dev", "volley-kernels-sm_90"];

fn compose(dir: &Path, args: &[&str]) -> Ran {
    let mut command = simpack(dir, &["compose", "-o", "root"]);
    command.args(PARTS.map(|part| volley().bundle(part)));
    Ran::of(command.args(args))
}

#[test]
fn a_composed_root_runs_and_serves_consumers() {
    let dir = scratch();
    let said = compose(dir.path(), &[]).exit(0).stdout;
    assert!(said.contains("from 4 parts in root"), "{said}");
    let root = dir.path().join("root");
    let mut command = Command::new(root.join("bin/volley"));
    let ran = Ran::of(command.env_clear().args(["run", "--json", "--backend", "cpu"]).arg(net("balanced"))).exit(0);
    assert!(ran.json()["spikes"].as_u64().unwrap() > 0, "{ran:?}");
    // The doctor finds all of it, and so does the verifier.
    let page = Ran::of(&mut simpack(dir.path(), &["doctor", "root"]));
    assert!(page.stdout.contains("volley-core 1.0.0") && page.stdout.contains("nothing broken"), "{page:?}");
    Ran::of(&mut simpack(dir.path(), &["verify", "root", "--allow", "device-coverage"])).exit(0);

    need!(can_build(), "no consumer can be built");
    // Components are relocatable: the root may move after it was made.
    let moved = dir.path().join("moved");
    fs_err::rename(&root, &moved).unwrap();
    serves(&moved);
}

#[test]
fn links_conflicts_and_foreign_directories() {
    let dir = scratch();
    compose(dir.path(), &["--link"]).exit(0);
    let library = "lib/libvolley.so.1.0.0";
    let inode = |path: &Path| fs_err::metadata(path).unwrap().ino();
    assert_eq!(inode(&dir.path().join("root").join(library)), inode(&volley().bundle("volley-core").join(library)));

    // What it made itself is replaced; a part that differs leaves it as it was.
    let other = dir.path().join("other/lib");
    fs_err::create_dir_all(&other).unwrap();
    fs_err::write(other.join("libvolley.so.1.0.0"), "another").unwrap();
    let told = compose(dir.path(), &["other"]).exit(1).stdout;
    assert!(
        told.contains("conflict  lib/libvolley.so.1.0.0: different bytes") && told.contains("1 conflict"),
        "{told}"
    );
    assert!(dir.path().join("root/bin/volley").is_file());
    let answer = compose(dir.path(), &["--json"]).exit(0).json();
    assert_eq!(answer["conflicts"].as_array().unwrap().len(), 0);
    assert_ne!(inode(&dir.path().join("root").join(library)), inode(&volley().bundle("volley-core").join(library)));

    // Packages do as well as trees.
    let channel = volley().channel();
    let mut command = simpack(dir.path(), &["compose", "-o", "root"]);
    command.args(["volley-core", "volley-kernels-compute_75"].map(|name| package_file(&channel, name)));
    let said = Ran::of(&mut command).exit(0).stdout;
    assert!(said.contains("from 2 parts in root"), "{said}");
    assert!(!dir.path().join("root/info").exists() && !dir.path().join("root/lib/cmake").exists());

    fs_err::create_dir(dir.path().join("thesis")).unwrap();
    fs_err::write(dir.path().join("thesis/text"), "years").unwrap();
    let mut command = simpack(dir.path(), &["compose", "-o", "thesis"]);
    Ran::of(command.arg(volley().bundle("volley-core"))).exit(2);
    assert_eq!(fs_err::read_to_string(dir.path().join("thesis/text")).unwrap(), "years");
}
