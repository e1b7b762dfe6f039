//! The whole line: a recipe goes in, packages and a channel come out, the same bytes every time.

use std::collections::BTreeSet;
use std::path::Path;

use simpack::fs::Digest;

use crate::support::{
    CacheView, FORMATS, Ran, changed, digests, files, package_file, program, scratch, simpack, simpack_with, unpack,
    volley,
};

const TARGETS: [&str; 9] =
    ["compute_75", "compute_120", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"];

/// Names and targets of all packages of the embedded recipe.
fn expected() -> Vec<(String, &'static str)> {
    let mut packages = vec![("volley".to_owned(), "noarch"), ("volley-kernel-abi".to_owned(), "noarch")];
    for part in ["core", "rtc", "dev"] {
        packages.push((format!("volley-{part}"), "linux-64"));
    }
    packages.push(("volley-source".to_owned(), "noarch"));
    packages.extend(TARGETS.iter().map(|target| (format!("volley-kernels-{target}"), "noarch")));
    // The selector has one build per target, one for the CPU, one for known GPUs that no code runs on, one for unknown ones.
    packages.extend((0..TARGETS.len() + 3).map(|_| ("volley-kernels".to_owned(), "noarch")));
    packages.sort();
    packages
}

#[test]
fn the_summary_names_every_package_and_its_file() {
    let volley = volley();
    let rows = volley.summary["packages"].as_array().unwrap();
    let word = |row: &serde_json::Value, key: &str| row[key].as_str().unwrap().to_owned();
    let mut found: Vec<_> = rows.iter().map(|row| (word(row, "package"), word(row, "target"))).collect();
    found.sort();
    assert_eq!(found, expected().into_iter().map(|(name, target)| (name, target.to_owned())).collect::<Vec<_>>());
    for row in rows {
        let file = format!("{}-{}-{}.conda", word(row, "package"), word(row, "version"), word(row, "build"));
        let path = volley.channel().join(word(row, "target")).join(file);
        let bytes = fs_err::read(&path).unwrap();
        assert_eq!(row["bytes"].as_u64().unwrap(), bytes.len() as u64, "{}", path.display());
        assert_eq!(word(row, "sha256"), Digest::of(&bytes).to_string());
        assert_eq!(word(row, "verdict"), "pass", "{}", path.display());
        let (package, build) = (word(row, "package"), word(row, "build"));
        let code = match package.strip_prefix("volley-kernels-") {
            Some(target) => format!("3 kernels {target}"),
            None if package == "volley-kernels" => {
                let (target, _) = build.rsplit_once("_h").unwrap();
                let words = [("unknown_", " for unknown GPUs"), ("nocode_", " for GPUs without code"), ("", "")];
                let (start, when) = words.into_iter().find(|(start, _)| target.starts_with(start)).unwrap();
                let target = target[start.len()..].trim_start_matches("cuda13_");
                format!("none, selects {target}{when}")
            }
            None => "none".to_owned(),
        };
        assert_eq!(word(row, "device-code"), if package.ends_with("-kernel-abi") { "none".to_owned() } else { code });
    }
}

#[test]
fn the_channel_and_the_plain_archives_hold_exactly_the_packages() {
    let volley = volley();
    let rows = volley.summary["packages"].as_array().unwrap();
    let mut expected = BTreeSet::from(["build.json", "provenance.json"].map(str::to_owned));
    for subdir in ["linux-64", "noarch"] {
        let text = fs_err::read_to_string(volley.channel().join(subdir).join("repodata.json")).unwrap();
        let index: serde_json::Value = serde_json::from_str(&text).unwrap();
        let mut indexed: Vec<_> = index["packages.conda"].as_object().unwrap().keys().cloned().collect();
        indexed.sort();
        let mut files = files(&volley.channel().join(subdir));
        files.retain(|file| file.ends_with(".conda"));
        assert_eq!(indexed, files);
        expected.extend(files.iter().map(|file| format!("conda/{subdir}/{file}")));
        let indexes = ["repodata.json", "run_exports.json"].into_iter();
        let indexes = indexes.flat_map(|name| [name.to_owned(), format!("{name}.zst")]);
        expected.extend(indexes.map(|name| format!("conda/{subdir}/{name}")));
        // A shard for each name; which are right is what a client says.
        expected.insert(format!("conda/{subdir}/repodata_shards.msgpack.zst"));
        let names: BTreeSet<_> =
            index["packages.conda"].as_object().unwrap().values().map(|it| it["name"].to_string()).collect();
        let shards = self::files(&volley.channel().join(subdir).join("shards"));
        assert_eq!(shards.len(), names.len(), "{shards:?}");
        expected.extend(shards.iter().map(|file| format!("conda/{subdir}/shards/{file}")));
    }
    assert_eq!(expected.iter().filter(|path| path.ends_with(".conda")).count(), rows.len());
    // A plain archive for every package that holds files.
    let has_files = |row: &&serde_json::Value| {
        let name = row["package"].as_str().unwrap();
        !["volley", "volley-kernels", "volley-kernel-abi"].contains(&name)
    };
    for row in rows.iter().filter(has_files) {
        let word = |key: &str| row[key].as_str().unwrap();
        expected.insert(format!("tar/{}-{}-{}.tar.zst", word("package"), word("version"), word("build")));
    }
    assert_eq!(files(&volley.dist).into_iter().collect::<BTreeSet<_>>(), expected);
}

#[test]
fn a_second_build_compiles_nothing_and_gives_the_same_bytes() {
    let volley = volley();
    let dir = scratch();
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (dist, work) = (dir.path().join("dist"), dir.path().join("work"));
    let mut command = simpack(checkout, &["build", "volley", "--format", FORMATS, "--dist"]);
    let ran = Ran::of(command.arg(&dist).arg("--work").arg(&work)).exit(0);
    assert_eq!(changed(&digests(&volley.dist), &digests(&dist)), [""; 0]);
    // The table: a header, then a row for each package, told in words.
    let rows: Vec<Vec<&str>> = ran.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["package", "version", "target", "bytes", "device", "code", "verdict", "seconds"]);
    let mut named: Vec<_> = rows[1..].iter().filter(|row| row.contains(&"pass")).map(|row| (row[0], row[2])).collect();
    named.sort();
    let expected = expected();
    assert_eq!(named, expected.iter().map(|(name, target)| (name.as_str(), *target)).collect::<Vec<_>>());
    assert!(ran.stdout.contains("(0 compiled, 56 from cache), 27 packages"), "{}", ran.stdout);
    // And a third into the same directory replaces it by the same.
    let mut command = simpack(checkout, &["build", "volley", "--format", FORMATS, "--quiet", "--dist"]);
    Ran::of(command.arg(&dist).arg("--work").arg(&work)).exit(0);
    assert_eq!(changed(&digests(&volley.dist), &digests(&dist)), [""; 0]);
}

/// The program alone, in an empty directory far from the checkout, with no artifact and no compiler
/// cache of an earlier build: the embedded recipe gives the same packages, bit for bit.
#[test]
fn elsewhere_and_from_nothing_the_same_bytes() {
    let volley = volley();
    let dir = scratch();
    let view = CacheView::new(&[]);
    let here = dir.path().join("much/deeper/empty directory");
    fs_err::create_dir_all(&here).unwrap();
    let program_copy = dir.path().join("simpack");
    fs_err::copy(program(), &program_copy).unwrap();
    let mut command = simpack_with(&program_copy, &here, &["build", "volley", "--format", FORMATS, "--json"]);
    let ran = Ran::of(command.env("SIMPACK_CACHE_DIR", view.root.path())).exit(0);
    let steps = ran.json()["steps"].as_array().unwrap().clone();
    assert!(steps.len() == 56 && steps.iter().all(|step| step["cached"] == false), "something came from a cache");
    // What the shared build took from a cache may be older than the record of how steps were isolated.
    let report = |dist: &Path| {
        let text = fs_err::read_to_string(dist.join("build.json")).unwrap();
        let mut report: serde_json::Value = serde_json::from_str(&text).unwrap();
        (report.as_object_mut().unwrap().remove("sandbox").unwrap(), report)
    };
    let (shared, own) = (report(&volley.dist), report(&here.join("dist")));
    assert_eq!(shared.1, own.1);
    let other: &[&str] = if shared.0 == own.0 { &[] } else { &["build.json"] };
    assert_eq!(changed(&digests(&volley.dist), &digests(&here.join("dist"))), other);
    let mut left: Vec<_> = fs_err::read_dir(&here).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["dist", "target"]);
}

/// Names of this machine's directories: checkout, cache, home, scratch.
#[test]
fn no_package_names_a_directory_of_this_machine() {
    let volley = volley();
    let cache = fs_err::canonicalize(simpack::fs::cache_dir().unwrap()).unwrap();
    let mut names = vec![env!("CARGO_MANIFEST_DIR").to_owned(), cache.to_str().unwrap().to_owned()];
    names.push(fs_err::canonicalize(&volley.work).unwrap().to_str().unwrap().to_owned());
    names.extend(std::env::var("HOME").ok().filter(|home| home.len() > 1));
    let dir = scratch();
    let mut examined = 0;
    for row in volley.summary["packages"].as_array().unwrap() {
        let name = row["package"].as_str().unwrap();
        if name == "volley-kernels" {
            continue;
        }
        let package = package_file(&volley.channel(), name);
        for part in ["pkg", "info"] {
            let tree = dir.path().join(name).join(part);
            unpack(&package, part, &tree);
            for file in files(&tree) {
                let bytes = fs_err::read(tree.join(&file)).unwrap();
                for path in &names {
                    let found = bytes.windows(path.len()).any(|window| window == path.as_bytes());
                    assert!(!found, "{name}: {file} names {path}");
                }
                examined += 1;
            }
        }
    }
    assert!(examined > 100, "only {examined} files");
}
