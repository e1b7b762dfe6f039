//! A channel that grows by `simpack publish`, as real clients see it: releases and rebuilds beside each other, an index in
//! shards, when each package came, and what it exports.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use serde_json::Value;
use simpack::pack;
use simpack::package::Package;

use super::sample;
use super::solver::{json, stand_ins};
use crate::support::{Ran, client, files, scratch, simpack, unpack};

const FEW: &[&str] = &["sm_80", "sm_90", "compute_80"];

/// A distribution of one version and build number.
fn release(dir: &Path, version: &str, build_number: u64) -> Vec<Package> {
    let mut recipe = sample::recipe(FEW, "13.0");
    recipe.version = version.parse().unwrap();
    recipe.package.build_number = build_number;
    let stage = dir.join(format!("stage-{version}-{build_number}"));
    let mut bundles = sample::bundles(&recipe, &stage);
    sample::replace(&mut bundles[0], "bin/volley", format!("#!/bin/sh\necho volley {version}\n").as_bytes());
    let manifests = sample::manifests();
    pack::packages(&recipe, &bundles, &sample::surroundings(&manifests)).unwrap()
}

/// Builds it into a directory of its own, and publishes that.
fn publish(dir: &Path, version: &str, build_number: u64) -> Ran {
    let dist = dir.join(format!("dist-{version}-{build_number}"));
    sample::write_conda(&release(dir, version, build_number), &dist.join("conda"), NonZeroUsize::MIN).unwrap();
    Ran::of(simpack(dir, &["publish", "channel", "--json"]).arg(&dist))
}

fn index(channel: &Path, subdir: &str) -> BTreeMap<String, Value> {
    let bytes = fs_err::read(channel.join(subdir).join("repodata.json")).unwrap();
    let index: Value = serde_json::from_slice(&bytes).unwrap();
    serde_json::from_value(index["packages.conda"].clone()).unwrap()
}

#[test]
fn releases_lie_beside_each_other_and_none_is_replaced() {
    let dir = scratch();
    let channel = dir.path().join("channel");
    let first = publish(dir.path(), "1.0.0", 0).exit(0).json();
    let added = first["added"].as_array().unwrap().len();
    let before = index(&channel, "noarch");
    let again = publish(dir.path(), "1.0.0", 0).exit(0).json();
    assert_eq!((again["added"].as_array().unwrap().len(), again["kept"].as_array().unwrap().len()), (0, added));
    assert_eq!(index(&channel, "noarch"), before, "when a package came first stays");
    let stamp = |record: &Value| record["indexed_timestamp"].as_i64().unwrap();
    assert!(before.values().all(|record| stamp(record) > 1_700_000_000_000), "milliseconds of today");
    std::thread::sleep(std::time::Duration::from_millis(5));
    let next = publish(dir.path(), "1.1.0", 0).exit(0).json();
    // What ties packages together is the same file for both.
    assert_eq!(next["kept"].as_array().unwrap().len(), 1, "{next}");
    let both = index(&channel, "noarch");
    let (newest, oldest) = (before.values().map(stamp).max().unwrap(), &before);
    for (name, record) in &both {
        match oldest.get(name) {
            Some(known) => assert_eq!(known, record),
            None => assert!(stamp(record) > newest, "{name}"),
        }
    }
    // Other bytes under the name of a file that clients have.
    let core = files(&channel.join("linux-64")).into_iter().find(|name| name.starts_with("volley-core-1.1.0")).unwrap();
    fs_err::write(channel.join("linux-64").join(&core), "other bytes").unwrap();
    let all = files(&channel);
    let refused = publish(dir.path(), "1.1.0", 0).exit(1).json();
    assert_eq!(refused["conflicts"], serde_json::json!([format!("linux-64/{core}")]));
    assert_eq!(files(&channel), all);
    Ran::of(&mut simpack(dir.path(), &["publish", "channel", "stage-1.0.0-0"])).exit(2);
}

/// py-rattler over HTTP: the shards of the packages that it asks for, and nothing of the whole index.
#[test]
fn clients_read_shards_and_when_packages_came() {
    if client("gateway.py").is_none() {
        return;
    }
    let dir = scratch();
    publish(dir.path(), "1.0.0", 0).exit(0);
    publish(dir.path(), "1.1.0", 0).exit(0);
    let channel = dir.path().join("channel");
    let found = json(client("gateway.py").unwrap().arg(&channel).args(["volley-core", "volley-kernels"]));
    let asked: Vec<&str> = found["asked"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
    let shards = asked.iter().filter(|line| line.contains("/shards/") && line.ends_with(" 200")).count();
    assert!(shards == 2 && !asked.iter().any(|line| line.contains("repodata.json")), "{asked:#?}");
    let records = found["records"].as_array().unwrap();
    let indexes = [index(&channel, "linux-64"), index(&channel, "noarch")];
    let listed: BTreeMap<_, _> = indexes.iter().flatten().collect();
    assert_eq!(records.len(), 2 + 2 * listed.values().filter(|it| it["name"] == "volley-kernels").count() / 2);
    for record in records {
        let known = listed[&record["fn"].as_str().unwrap().to_owned()];
        for key in ["sha256", "md5", "size", "depends", "build_number", "indexed_timestamp"] {
            assert_eq!(record[key], known[key], "{}: {key}", record["fn"]);
        }
    }
}

/// What builders read in the place of the packages (CEP 12).
#[test]
fn the_channel_says_what_packages_export() {
    let dir = scratch();
    publish(dir.path(), "1.0.0", 0).exit(0);
    let place = dir.path().join("channel/linux-64");
    let text = fs_err::read(place.join("run_exports.json")).unwrap();
    let packed = fs_err::read(place.join("run_exports.json.zst")).unwrap();
    assert_eq!(zstd::decode_all(packed.as_slice()).unwrap(), text);
    let exports: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(exports["info"], serde_json::json!({ "subdir": "linux-64", "version": 1 }));
    let of = |name: &str| {
        let packages = exports["packages.conda"].as_object().unwrap();
        packages.iter().find(|(file, _)| file.starts_with(name)).unwrap().1["run_exports"].clone()
    };
    assert_eq!(of("volley-core"), serde_json::json!({ "weak": ["volley-core >=1.0.0,<2.0a0"] }));
    assert_eq!(
        exports["packages.conda"].as_object().unwrap().len(),
        index(&dir.path().join("channel"), "linux-64").len()
    );
}

/// Two releases and a rebuild in one channel: the newest, pins, and one prefix that goes up and down.
#[test]
fn one_prefix_goes_up_and_down() {
    if client("install.py").is_none() {
        return;
    }
    let dir = scratch();
    for (version, build_number) in [("1.0.0", 0), ("1.0.0", 1), ("1.1.0", 0)] {
        publish(dir.path(), version, build_number).exit(0);
    }
    let (channel, vendor, prefix) = (dir.path().join("channel"), stand_ins(dir.path()), dir.path().join("prefix"));
    let install = |specs: &[&str], into: &PathBuf| {
        let mut command = client("install.py").unwrap();
        command.arg("--channel").arg(&channel).arg("--channel").arg(&vendor).arg("--prefix").arg(into);
        command.args(["--virtual", "__cuda=13.0", "--virtual", "__cuda_arch=9.0", "--virtual", "__glibc=2.36"]);
        let installed = json(command.args(specs));
        let found: BTreeMap<String, (String, u64)> = installed
            .as_array()
            .unwrap()
            .iter()
            .map(|package| {
                let word = |key: &str| package[key].as_str().unwrap().to_owned();
                (word("name"), (word("version"), package["build_number"].as_u64().unwrap()))
            })
            .collect();
        let output = std::process::Command::new(into.join("bin/volley")).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("volley {}\n", found["volley-core"].0));
        // Kernels are of core's release: every package of the distribution is.
        for (name, (version, _)) in found.iter().filter(|(name, _)| name.starts_with("volley")) {
            let tie = name.ends_with("-kernel-abi");
            assert!(tie || *version == found["volley-core"].0, "{found:?}");
        }
        found
    };
    let first = install(&["volley 1.0.*", "volley-core[build_number=0]"], &prefix);
    assert_eq!(first["volley-core"], ("1.0.0".to_owned(), 0));
    assert_eq!(install(&["volley 1.0.*"], &prefix)["volley-core"], ("1.0.0".to_owned(), 1), "the rebuild is preferred");
    assert_eq!(install(&["volley"], &prefix)["volley-core"], ("1.1.0".to_owned(), 0));
    let down = install(&["volley <1.1"], &prefix);
    assert_eq!(down["volley-core"], ("1.0.0".to_owned(), 1));
    assert!(down.contains_key("volley-kernels-sm_90"), "{down:?}");
    // As if nothing else had ever been there.
    let fresh = dir.path().join("fresh");
    assert_eq!(install(&["volley <1.1"], &fresh), down);
    let of =
        |prefix: &Path| files(prefix).into_iter().filter(|path| !path.starts_with("conda-meta/")).collect::<Vec<_>>();
    assert_eq!(of(&prefix), of(&fresh), "nothing of another release is left");
}

/// A link says digest and size of the file that it leads to, as conda-build writes it and conda compares.
#[test]
fn links_are_listed_with_what_they_lead_to() {
    let dir = scratch();
    publish(dir.path(), "1.0.0", 0).exit(0);
    let place = dir.path().join("channel/linux-64");
    let list = |start: &str| {
        let name = files(&place).into_iter().find(|name| name.starts_with(start)).unwrap();
        let into = scratch();
        for part in ["info", "pkg"] {
            unpack(&place.join(&name), part, into.path());
        }
        let paths: Value = serde_json::from_slice(&fs_err::read(into.path().join("info/paths.json")).unwrap()).unwrap();
        for entry in paths["paths"].as_array().unwrap() {
            let path = into.path().join(entry["_path"].as_str().unwrap());
            let (bytes, size) = match path.exists() {
                true => (fs_err::read(&path).unwrap(), path.metadata().unwrap().len()),
                false => (Vec::new(), 0),
            };
            assert_eq!(entry["sha256"], simpack::fs::Digest::of(&bytes).to_string(), "{entry}");
            assert_eq!(entry["size_in_bytes"], size, "{entry}");
        }
        let links = paths["paths"].as_array().unwrap().iter().filter(|entry| entry["path_type"] == "softlink");
        links.map(|entry| entry["size_in_bytes"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert!(list("volley-core").iter().all(|size| *size > 0));
    assert_eq!(list("volley-dev"), [0], "it leads into another package");
}

/// What `select --format pixi` prints, read and solved by pixi's documented rules: the very packages that were selected.
#[test]
fn a_workspace_of_pixi_brings_what_was_selected() {
    if client("pixi.py").is_none() {
        return;
    }
    let dir = scratch();
    publish(dir.path(), "1.0.0", 0).exit(0);
    let vendor = stand_ins(dir.path());
    let select = |args: &[&str]| Ran::of(simpack(dir.path(), &["select", "channel"]).args(args)).exit(0).stdout;
    for (devices, driver, kernels) in [
        (&["--device", "9.0"][..], Some("13.0"), &["volley-kernels-sm_90"][..]),
        (&["--device", "8.6"], Some("13.0"), &["volley-kernels-sm_80"]),
        (&["--device", "12.0"], Some("13.0"), &["volley-kernels-compute_80"]),
        // Of two GPUs conda's clients know the lower one; the packages of both are named.
        (&["--device", "9.0", "--device", "8.0"], Some("13.0"), &["volley-kernels-sm_80", "volley-kernels-sm_90"]),
        (&["--device", "cpu"], None, &[]),
    ] {
        let mut args = devices.to_vec();
        args.extend(driver.iter().flat_map(|driver| ["--cuda", driver]));
        let manifest = select(&[&args[..], &["--format", "pixi"]].concat());
        let toml: toml::Table = manifest.parse().unwrap();
        assert_eq!(toml["workspace"]["name"].as_str(), Some("volley"));
        fs_err::write(dir.path().join("pixi.toml"), &manifest).unwrap();
        let mut command = client("pixi.py").unwrap();
        let file = std::fs::File::open(dir.path().join("pixi.toml")).unwrap();
        let solved = json(command.arg(&vendor).stdin(file));
        let names: Vec<&str> = solved.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
        let brought: Vec<&str> = names.into_iter().filter(|name| name.starts_with("volley-kernels-")).collect();
        assert_eq!(brought, kernels, "{manifest}");
        // The same machine, told to conda by its variables.
        let text = select(&args);
        let line = text.lines().find_map(|line| line.strip_prefix("elsewhere export ")).unwrap();
        let mut command = client("solve.py").unwrap();
        command.arg("--channel").arg(dir.path().join("channel")).arg("--channel").arg(&vendor).arg("volley");
        command.envs(
            line.split(' ')
                .map(|word| word.split_once('=').unwrap())
                .map(|(name, value)| (name, value.trim_matches('\''))),
        );
        let solved = json(&mut command);
        let lowest =
            solved.as_array().unwrap().iter().filter_map(|one| one["name"].as_str()?.strip_prefix("volley-kernels-"));
        assert_eq!(
            lowest.collect::<Vec<_>>(),
            kernels.iter().take(1).map(|it| &it[15..]).collect::<Vec<_>>(),
            "{line}"
        );
    }
    let ran = Ran::of(&mut simpack(dir.path(), &["select", "stage-1.0.0-0", "--device", "9.0", "--format", "pixi"]));
    assert!(ran.code == Some(2), "{}", ran.stderr);
}
