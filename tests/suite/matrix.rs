//! One build of a recipe over several CUDA releases: the host part once, kernels for each, nothing that clashes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use crate::support::{Ran, copy_tree, need, scratch, set_up, simpack};

/// volley with the matrix of `releases`; `tables` are those of single releases.
fn recipe(dir: &Path, releases: &str, tables: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    copy_tree(&root.join("recipes/volley"), &dir.join("volley"));
    let path = dir.join("volley/simpack.toml");
    let text = fs_err::read_to_string(&path).unwrap();
    let text = text.replace("cuda = [\"13.0\"]", &format!("cuda = [{releases}]"));
    let text = text.replace("[\"7.5\", \"8.0\", \"8.6\", \"8.9\", \"9.0\", \"10.0\", \"12.0\"]", "[\"8.0\", \"9.0\"]");
    let text = text.replace("ptx = [\"7.5\", \"12.0\"]", "ptx = [\"8.0\"]");
    fs_err::write(&path, text.replace("[toolchain]\n", &format!("{tables}\n[toolchain]\n"))).unwrap();
}

/// Digests of package files by package and CUDA release; selectors and what brings others are left out.
fn digests(summary: &Value) -> BTreeMap<(String, String), String> {
    let packages = summary["packages"].as_array().unwrap().iter();
    let with_files = packages.filter(|package| package["package"].as_str().unwrap() != "volley-kernels");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    with_files.map(|package| ((text(&package["package"]), text(&package["cuda"])), text(&package["sha256"]))).collect()
}

/// The match specs that a machine with an H100 gets for a driver.
fn selected(dir: &Path, driver: &str) -> Vec<String> {
    let args = ["select", "--device", "9.0", "--driver", driver, "dist", "--format", "conda"];
    let ran = Ran::of(&mut simpack(dir, &args));
    ran.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn two_releases_of_one_build_serve_two_generations_of_drivers() {
    need!(set_up("SIMPACK_TEST_CUDA").is_some(), "no CUDA compiler");
    let cuda = set_up("SIMPACK_TEST_CUDA_SYSTEM");
    need!(cuda.is_some(), "no CUDA compiler of the system");
    let dir = scratch();
    let table = format!(
        "[matrix.release.\"11.8\"]\ncapabilities = [\"7.0\", \"9.0\"]\ntoolchain = \"{}\"",
        cuda.unwrap().display()
    );
    recipe(dir.path(), "\"13.0\", \"11.8\"", &table);
    let run = |args: &[&str]| Ran::of(&mut simpack(dir.path(), args));

    let plan = run(&["plan", "volley", "--json"]).exit(0).json();
    assert_eq!((plan["cuda"].as_str(), plan["others"][0]["cuda"].as_str()), (Some("13.0"), Some("11.8")));
    let host: Vec<&str> = plan["steps"].as_array().unwrap().iter().filter_map(|step| step["id"].as_str()).collect();
    assert_eq!(host.iter().filter(|id| id.starts_with("host core")).count(), 1, "{host:?}");

    let both = run(&["build", "volley", "--json"]).exit(0).json();
    let counts = &both["report"]["counts"];
    assert_eq!(
        (&counts["deny"], &counts["warn"], &counts["incomplete"]),
        (&0.into(), &0.into(), &0.into()),
        "{}",
        both["report"]
    );
    let both = digests(&both);
    let kernels: BTreeSet<String> =
        both.keys().filter(|(_, cuda)| !cuda.is_empty()).map(|(name, cuda)| format!("{name} {cuda}")).collect();
    let expected = [
        "volley-kernels-compute_80 13.0",
        "volley-kernels-compute_80 11.8",
        "volley-kernels-sm_70 11.8",
        "volley-kernels-sm_80 13.0",
        "volley-kernels-sm_90 11.8",
        "volley-kernels-sm_90 13.0",
        "volley-rtc 13.0",
    ];
    assert_eq!(kernels, expected.map(str::to_owned).into());
    run(&["verify", "dist"]).exit(0);

    // 450, 525 and 550 load machine code of CUDA 11 alone, 580 that of 13; what a newer one has is said for none.
    for (driver, major) in [("450.80.02", 11), ("525.60.13", 11), ("550.54.14", 11), ("580.65.06", 13)] {
        let specs = selected(dir.path(), driver);
        assert!(
            specs[1].starts_with("volley-kernels-sm_90 ") && specs[1].contains(&format!("cuda{major}_")),
            "{specs:?}"
        );
    }

    // One more release changes no package that is there without it, and a release alone makes the same kernels.
    for release in ["13.0", "11.8"] {
        let alone = run(&["build", "volley", "--json", "--cuda", release, "--dist", "alone"]).exit(0).json();
        assert!(alone["steps"].as_array().unwrap().iter().all(|step| step["cached"] == true), "{}", alone["steps"]);
        for ((name, _), digest) in digests(&alone) {
            let is_kernels = name.starts_with("volley-kernels-");
            let same =
                both.get(&(name.clone(), release.to_owned())).or_else(|| both.get(&(name.clone(), String::new())));
            if is_kernels || release == "13.0" && name != "volley" {
                assert_eq!(same, Some(&digest), "{name}, CUDA {release}");
            }
        }
    }
    // Capabilities that are asked for go to the releases that the recipe lists them for; a release without any is left out.
    let headline = |capability: &str| run(&["plan", "volley", "--capability", capability]).exit(0).stdout;
    assert!(headline("9.0").contains("1 capability + PTX, CUDA 13.0; 1 capability + PTX, CUDA 11.8"));
    assert!(headline("8.0").contains("volley  1 capability + PTX, CUDA 13.0, "), "{}", headline("8.0"));
}

#[test]
fn releases_of_one_major_share_a_directory_and_are_told_apart() {
    need!(set_up("SIMPACK_TEST_CUDA").is_some(), "no CUDA compiler");
    let newest = set_up("SIMPACK_TEST_CUDA_NEWEST");
    need!(newest.is_some(), "no newest CUDA compiler");
    let dir = scratch();
    let table = format!(
        "[matrix.release.\"13.5\"]\ncapabilities = [\"9.0\"]\nptx = [\"9.0\"]\ntoolchain = \"{}\"",
        newest.unwrap().display()
    );
    recipe(dir.path(), "\"13.0\", \"13.5\"", &table);
    let run = |args: &[&str]| Ran::of(&mut simpack(dir.path(), args));
    let summary = run(&["build", "volley", "--json"]).exit(0).json();
    assert_eq!(summary["report"]["findings"].as_array().unwrap().len(), 0, "{}", summary["report"]);
    let bundles = dir.path().join("target/simpack/bundles");
    let of = |release: &str| bundles.join(format!("volley-kernels-sm_90-cuda{release}/lib/volley/kernels"));
    for release in ["13.0", "13.5"] {
        let tag = fs_err::read_dir(of(release)).unwrap().next().unwrap().unwrap().path();
        assert!(tag.join("cuda13/fixed/sm_90/neuron.cubin").is_file(), "{release}");
    }
    run(&["verify", "dist"]).exit(0);
    // Both are loaded by the first driver of the major, and the newer compiler's are taken.
    let specs = selected(dir.path(), "580.65.06");
    let builds = summary["packages"].as_array().unwrap().iter();
    let newer = builds.filter(|package| package["package"] == "volley-kernels-sm_90" && package["cuda"] == "13.5");
    let newer: Vec<&str> = newer.map(|package| package["build"].as_str().unwrap()).collect();
    assert_eq!(specs[1], format!("volley-kernels-sm_90 ==1.0.0 {}", newer[0]));
}
