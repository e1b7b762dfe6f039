//! What packages say and that their bytes depend on nothing but what goes in.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;

use simpack::bundle::Dependency;
use simpack::fs::{Digest, EntryKind, walk};
use simpack::pack;
use simpack::package::conda::{Conda, index};
use simpack::package::{Package, Rendered};

use super::sample::{self, TARGETS};

fn jobs(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).unwrap()
}

fn spec<'a>(specs: &'a [Package], name: &str) -> &'a Package {
    specs.iter().find(|spec| spec.name() == name).unwrap_or_else(|| panic!("no package {name}"))
}

/// What a person would look at first, one line a package.
#[test]
fn every_package_says_what_it_needs() {
    let dir = tempfile::tempdir().unwrap();
    let specs = sample::specs(dir.path(), TARGETS, "13.0");
    let lines: Vec<String> = sample::rendered(&specs)
        .iter()
        .map(|spec| {
            let mut line = format!("{}/{} #{}", spec.subdir, spec.stem(), spec.package.build_number);
            for (word, specs) in
                [("needs", &spec.depends), ("constrains", &spec.constrains), ("exports", &spec.run_exports)]
            {
                for text in specs {
                    line.push_str(&format!("\n    {word} {text}"));
                }
            }
            line
        })
        .collect();
    insta::with_settings!({ filters => vec![(r"h[0-9a-f]{7}", "h<hash>")] }, {
        insta::assert_snapshot!(lines.join("\n"));
    });
}

fn digests(dir: &Path) -> BTreeMap<String, Digest> {
    let entries = walk(dir).unwrap().into_iter();
    let files = entries.filter(|entry| matches!(entry.kind, EntryKind::File { .. }));
    files.map(|entry| (entry.path.clone(), Digest::of_file(&dir.join(&entry.path)).unwrap())).collect()
}

/// Different directories, different numbers of threads, another order of bundles, an index written
/// twice: the same bytes everywhere.
#[test]
fn directory_threads_and_order_change_no_byte() {
    let mut results = Vec::new();
    for (depth, threads) in [("a", 1), ("much/deeper/b", 3)] {
        let dir = tempfile::tempdir().unwrap();
        let stage = dir.path().join(depth);
        let recipe = sample::recipe(TARGETS, "13.0");
        let mut bundles = sample::bundles(&recipe, &stage);
        if threads > 1 {
            bundles.reverse();
        }
        let manifests = sample::manifests();
        let specs = pack::packages(&recipe, &bundles, &sample::surroundings(&manifests)).unwrap();
        let out = dir.path().join("out");
        let built = sample::write_conda(&specs, &out, jobs(threads)).unwrap();
        sample::write_tars(&specs, &out.join("tar"), jobs(threads)).unwrap();
        for (spec, built) in sample::rendered(&specs).iter().zip(&built) {
            assert_eq!(built.file_name, format!("{}.conda", spec.stem()));
            assert_eq!(built.sha256, Digest::of_file(&built.path).unwrap());
        }
        let found = digests(&out);
        index(&out, None, jiff::Timestamp::now()).unwrap();
        assert_eq!(found, digests(&out), "indexing again changes nothing, and no time that was there");
        results.push(found);
    }
    assert_eq!(results[0], results[1]);
    let names: Vec<_> = results[0].keys().filter(|name| !name.ends_with(".conda") && !name.contains("tar/")).collect();
    let (shards, names): (Vec<_>, Vec<_>) = names.into_iter().partition(|name| name.contains("/shards/"));
    assert!(shards.len() > 10 && shards.iter().all(|name| name.ends_with(".msgpack.zst")), "{shards:?}");
    let files = ["repodata.json", "repodata.json.zst", "repodata_shards.msgpack.zst"];
    let files = files.into_iter().chain(["run_exports.json", "run_exports.json.zst"]);
    let index =
        ["linux-64", "noarch"].into_iter().flat_map(|dir| files.clone().map(move |file| format!("{dir}/{file}")));
    assert_eq!(
        names.into_iter().cloned().collect::<Vec<_>>(),
        index.collect::<Vec<_>>(),
        "nothing else is left behind"
    );
}

/// Large files take zstd's threaded path, small ones do not: 1.5 MB in one package.
#[test]
fn threads_change_no_byte_of_a_large_package() {
    let dir = tempfile::tempdir().unwrap();
    let recipe = sample::recipe(&["sm_90"], "13.0");
    let mut bundles = sample::bundles(&recipe, dir.path());
    let core = &mut bundles[0];
    let mut state = 1u64;
    let noise: Vec<u8> = (0..1_500_000)
        .map(|index| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if index % 3 == 0 { 0 } else { (state >> 56) as u8 }
        })
        .collect();
    sample::replace(core, "lib/libvolley.so.1.0.0", &noise);
    let manifests = sample::manifests();
    let specs = pack::packages(&recipe, &bundles, &sample::surroundings(&manifests)).unwrap();
    let core = [spec(&specs, "volley-core").clone()];
    let write = |threads| {
        let out = dir.path().join(format!("out{threads}"));
        let conda = sample::write_conda(&core, &out, jobs(threads)).unwrap();
        let tar = sample::write_tars(&core, &out, jobs(threads)).unwrap();
        (conda[0].sha256, tar[0].sha256)
    };
    assert_eq!(write(1), write(4));
}

#[test]
fn the_build_string_follows_the_content() {
    let dir = tempfile::tempdir().unwrap();
    let recipe = sample::recipe(TARGETS, "13.0");
    let mut bundles = sample::bundles(&recipe, dir.path());
    let manifests = sample::manifests();
    let derive = |bundles: &[_]| pack::packages(&recipe, bundles, &sample::surroundings(&manifests)).unwrap();
    let before = derive(&bundles);
    bundles[0].manifest.provenance.plan = Digest::of(b"another plan");
    let after = derive(&bundles);
    let build = |packages: &[Package], name: &str| {
        let rendered = sample::rendered(packages);
        rendered.into_iter().find(|rendered| rendered.package.name() == name).unwrap().build
    };
    assert_ne!(build(&before, "volley-core"), build(&after, "volley-core"));
    let unchanged = ["volley-rtc", "volley-kernels-sm_90", "volley-kernel-abi", "volley-source"];
    for name in unchanged {
        assert_eq!(build(&before, name), build(&after, name), "{name}");
    }
}

/// What ties packages together is one file for all releases: nothing of a release is in it.
#[test]
fn no_release_changes_what_ties_packages_together() {
    let dir = tempfile::tempdir().unwrap();
    let manifests = sample::manifests();
    let tie = |name: &str, change: &dyn Fn(&mut simpack::recipe::Recipe)| {
        let mut recipe = sample::recipe(&["sm_90"], "13.0");
        change(&mut recipe);
        let mut bundles = sample::bundles(&recipe, &dir.path().join(name));
        for bundle in &mut bundles {
            bundle.manifest.provenance.source_date_epoch += recipe.package.build_number;
        }
        let mut context = sample::surroundings(&manifests);
        context.licences.insert("LICENSE".to_owned(), recipe.license.clone());
        let packages = pack::packages(&recipe, &bundles, &context).unwrap();
        let ties: Vec<Package> = packages.into_iter().filter(|package| package.scale == 0).collect();
        let built = sample::write_conda(&ties, &dir.path().join(format!("out-{name}")), jobs(1)).unwrap();
        built.into_iter().map(|built| (built.file_name, built.sha256)).collect::<Vec<_>>()
    };
    let one = tie("one", &|_| {});
    let other = tie("other", &|recipe| {
        recipe.license = "MIT".to_owned();
        recipe.homepage = None;
        recipe.summary = "another".to_owned();
        recipe.version = "2.0.0".parse().unwrap();
        recipe.package.build_number = 7;
    });
    assert_eq!(one.len(), 1);
    assert_eq!(one, other);
}

/// One more capability leaves every other package as it is.
#[test]
fn a_capability_more_changes_no_other_package() {
    let dir = tempfile::tempdir().unwrap();
    let few = sample::specs(&dir.path().join("few"), &["sm_80", "sm_90", "compute_75"], "13.0");
    let more = sample::specs(&dir.path().join("more"), &["sm_80", "sm_86", "sm_90", "compute_75"], "13.0");
    let stems = |specs: &[Package]| sample::rendered(specs).iter().map(Rendered::stem).collect::<Vec<_>>();
    let (few, more) = (stems(&few), stems(&more));
    let new: Vec<_> = more.iter().filter(|stem| !few.contains(stem)).collect();
    assert!(few.iter().all(|stem| more.contains(stem)));
    assert!(new.len() == 2 && new.iter().all(|stem| stem.contains("sm_86")), "{new:?}");
}

/// Two releases with the same kernel table publish the same file under the same name.
#[test]
fn the_kernel_abi_package_is_a_function_of_the_table() {
    let dir = tempfile::tempdir().unwrap();
    let mut digests = Vec::new();
    for (version, epoch, cuda) in [("1.0.0", 0, "13.0"), ("1.4.2", 1_000_000, "12.9")] {
        let mut recipe = sample::recipe(&["sm_90"], cuda);
        recipe.version = version.parse().unwrap();
        let mut bundles = sample::bundles(&recipe, &dir.path().join(version));
        bundles.iter_mut().for_each(|bundle| bundle.manifest.provenance.source_date_epoch += epoch);
        let manifests = sample::manifests();
        let specs = pack::packages(&recipe, &bundles, &sample::surroundings(&manifests)).unwrap();
        let abi = [spec(&specs, "volley-kernel-abi").clone()];
        digests.push(sample::write_conda(&abi, &dir.path().join("out"), jobs(1)).unwrap());
    }
    assert_eq!(digests[0], digests[1]);
}

#[test]
fn times_that_no_archive_holds_are_moved_or_refused() {
    let dir = tempfile::tempdir().unwrap();
    let recipe = sample::recipe(&["sm_90"], "13.0");
    let mut bundles = sample::bundles(&recipe, dir.path());
    let manifests = sample::manifests();
    for (epoch, fits) in [(0, true), (315_532_800, true), (4_354_819_198, true), (4_354_819_199, false)] {
        bundles[0].manifest.provenance.source_date_epoch = epoch;
        match pack::packages(&recipe, &bundles, &sample::surroundings(&manifests)) {
            Ok(specs) => {
                let core = [spec(&specs, "volley-core").clone()];
                sample::write_conda(&core, dir.path(), jobs(1)).unwrap();
                assert!(fits, "{epoch}");
            }
            Err(error) => {
                assert!(!fits, "{epoch}: {error}");
                assert!(error.to_string().contains("SOURCE_DATE_EPOCH is `4354819199`"), "{error}");
            }
        }
    }
}

#[test]
fn what_no_client_can_read_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let manifests = sample::manifests();
    for (uses, says) in [("cuda nvrtc >=13 <<", "volley-rtc"), ("numpy >=", "numpy >=")] {
        let recipe = sample::recipe(&["sm_90"], "13.0");
        let mut bundles = sample::bundles(&recipe, dir.path());
        bundles[1].manifest.uses = vec![Dependency::from(&sample::used(uses))];
        let packages = pack::packages(&recipe, &bundles, &sample::surroundings(&manifests)).unwrap();
        let error = Conda.render(&packages, &manifests.vendor).err().unwrap_or_else(|| panic!("{uses} passed"));
        assert!(error.to_string().contains(says), "{error}");
        assert_eq!(error.kind(), simpack::error::ErrorKind::Recipe);
    }
}

#[test]
fn paths_stay_inside_the_prefix() {
    let dir = tempfile::tempdir().unwrap();
    for path in ["../bin/sh", "/bin/sh", "lib//x", "lib/./x", "info/index.json", "conda-meta/history", ""] {
        let mut core = spec(&sample::specs(dir.path(), &["sm_90"], "13.0"), "volley-core").clone();
        core.manifest.artifacts[0].path = path.to_owned();
        assert!(sample::write_tars(&[core], &dir.path().join("out"), jobs(1)).is_err(), "{path:?}");
    }
}

/// A partial build gives what can be selected from, and nothing that could not be installed.
#[test]
fn partial_builds_give_partial_distributions() {
    let dir = tempfile::tempdir().unwrap();
    let recipe = sample::recipe(TARGETS, "13.0");
    let manifests = sample::manifests();
    let names = |keep: &dyn Fn(&simpack::bundle::BundleManifest) -> bool| {
        let mut bundles = sample::bundles(&recipe, dir.path());
        bundles.retain(|bundle| keep(&bundle.manifest));
        let specs = pack::packages(&recipe, &bundles, &sample::surroundings(&manifests)).unwrap();
        specs.iter().map(|spec| spec.name().to_owned()).collect::<Vec<_>>()
    };
    let core = names(&|manifest| manifest.package == "volley-core");
    assert_eq!(core, ["volley-kernel-abi", "volley-core", "volley"]);
    let one = names(&|manifest| manifest.package == "volley-kernels-sm_90");
    assert_eq!(one, ["volley-kernel-abi", "volley-kernels-sm_90", "volley-kernels", "volley-kernels"]);
    assert!(names(&|_| false).is_empty());
}

/// The archives as `tar` and `unzip`-like readers see them, not as our own crates do.
#[test]
fn the_plain_archive_unpacks_with_tar() {
    let dir = tempfile::tempdir().unwrap();
    let specs = sample::specs(dir.path(), &["sm_90"], "13.0");
    let built = sample::write_tars(&specs, &dir.path().join("out"), jobs(2)).unwrap();
    let names: Vec<_> = built.iter().map(|package| package.file_name.as_str()).collect();
    assert!(
        names.iter().all(|name| !name.starts_with("volley-kernels-1") && !name.starts_with("volley-1")),
        "{names:?}"
    );
    let core = built.iter().find(|package| package.file_name.starts_with("volley-core")).unwrap();
    let plain = dir.path().join("core.tar");
    let mut reader = zstd::Decoder::new(fs_err::File::open(&core.path).unwrap()).unwrap();
    std::io::copy(&mut reader, &mut fs_err::File::create(&plain).unwrap()).unwrap();
    let output = std::process::Command::new("tar")
        .args(["--list", "--verbose", "--numeric-owner", "--utc", "--full-time", "--file"])
        .arg(&plain)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    insta::with_settings!({ filters => vec![(r" +\d+ 2024", " <size> 2024")] }, {
        insta::assert_snapshot!(text);
    });
}

#[test]
fn a_file_that_changed_after_staging_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let specs = sample::specs(dir.path(), &["sm_90"], "13.0");
    let core = spec(&specs, "volley-core");
    assert!(sample::write_tars(std::slice::from_ref(core), &dir.path().join("tar"), jobs(1)).is_ok());
    fs_err::write(core.root.as_ref().unwrap().join("bin/volley"), "#!/bin/sh\necho volley 6.6.6\n").unwrap();
    let error = sample::write_conda(std::slice::from_ref(core), &dir.path().join("out"), jobs(1)).unwrap_err();
    assert!(error.to_string().contains("bin/volley: changed since it was staged"), "{error}");
    assert_eq!(digests(&dir.path().join("out")), BTreeMap::new(), "nothing half-written stays");
}

#[test]
fn a_broken_archive_in_the_channel_is_named() {
    let dir = tempfile::tempdir().unwrap();
    fs_err::create_dir_all(dir.path().join("noarch")).unwrap();
    for bytes in [&b""[..], b"PK\x05\x06 not a zip", &[0; 100]] {
        fs_err::write(dir.path().join("noarch/broken-1-0.conda"), bytes).unwrap();
        let error = index(dir.path(), None, jiff::Timestamp::now()).unwrap_err();
        assert!(error.to_string().contains("broken-1-0.conda"), "{error}");
    }
    assert!(!dir.path().join("noarch/repodata.json").exists());
}
