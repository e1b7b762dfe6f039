//! Kernel groups of the form `library`: a plug-in library for each target, from the recipe to what a client installs.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::by_clients::Distribution;
use crate::support::{Ran, client, copy_tree, need, python, scratch, set_up, simpack};

/// One library for each target, with code for exactly that; the one for the machine is installed, and the program opens it.
#[test]
fn each_target_has_a_plug_in_library_that_core_opens() {
    need!(python().is_some(), "no client");
    need!(set_up("SIMPACK_TEST_CUDA").is_some(), "no CUDA compiler");
    let dir = scratch();
    let path = |name: &str| dir.path().join(name);
    copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recipes/plugged"), &path("recipe"));
    let run = |args: &[&str]| Ran::of(&mut simpack(dir.path(), args));
    let summary = run(&["build", "recipe", "--json", "--format", "conda,wheel,oci,deb"]).exit(0).json();
    assert_eq!(summary["report"]["findings"].as_array().unwrap().len(), 0, "{}", summary["report"]);
    let tag = summary["kernel-abi"].as_str().unwrap();
    let host: BTreeSet<&str> = summary["packages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|package| package["target"] == "linux-64")
        .map(|package| package["package"].as_str().unwrap())
        .collect();
    let targets = ["plugged-kernels-compute_90", "plugged-kernels-sm_80", "plugged-kernels-sm_90"];
    assert_eq!(host, [&["plugged-core"], &targets[..]].concat().into_iter().collect());
    run(&["verify", "dist"]).exit(0);
    for (gpu, target, capability) in [("9.0", "sm_90", "9.0"), ("8.6", "sm_80", "8.0"), ("12.0", "compute_90", "9.0")] {
        let prefix = path(target);
        let mut install = client("install.py").unwrap();
        install.arg("--channel").arg(path("dist/conda")).arg("--prefix").arg(&prefix).arg("plugged");
        Ran::of(install.env("CONDA_OVERRIDE_CUDA", "13.0").env("CONDA_OVERRIDE_CUDA_ARCH", gpu)).exit(0);
        let library = format!("lib/plugged/kernels/{tag}/cuda13/default/{target}/libplugged-kernels-{target}.so");
        let library = prefix.join(library);
        let inspected = run(&["inspect", "--json", library.to_str().unwrap()]).exit(0).json();
        let images = inspected["subjects"][0]["files"][0]["images"].as_array().unwrap();
        let found: BTreeSet<&str> = images.iter().map(|image| image["capability"].as_str().unwrap()).collect();
        assert_eq!(found, BTreeSet::from([capability]), "{inspected}");
        // Its kernel fails without a GPU; that core opens it and it is of the same kernel ABI does not.
        let ran = Ran::of(Command::new(prefix.join("bin/plugged")).arg(&library).env_clear()).exit(0);
        assert!(ran.stdout.starts_with(&format!("kernels of {tag}: scale ")), "{}", ran.stdout);
    }
    // By the other formats' clients it lies in the same place below their prefixes, and core opens it there.
    let dist = path("dist");
    let distribution = Distribution { dist: &dist, name: "plugged", version: summary["version"].as_str().unwrap() };
    let opens = |prefix: &Path| {
        let library = format!("lib/plugged/kernels/{tag}/cuda13/default/sm_90/libplugged-kernels-sm_90.so");
        let mut program = Command::new(prefix.join("bin/plugged"));
        let ran = Ran::of(program.arg(prefix.join(library)).env_clear()).exit(0);
        assert!(ran.stdout.starts_with(&format!("kernels of {tag}: scale ")), "{}", ran.stdout);
    };
    distribution.by_wheels("sm90", &|prefix, _| opens(prefix));
    distribution.by_image("sm_90", &opens);
    distribution.by_dpkg(&["plugged-core_", "plugged-kernels-sm-90_", "plugged-kernels-sm-80_"], &[], &opens);

    // One more target compiles nothing else again, and another table is another directory.
    let again = run(&["build", "recipe", "--json", "--capability", "9.0", "--ptx", "9.0"]);
    let again = again.exit(0).json();
    assert!(again["steps"].as_array().unwrap().iter().all(|step| step["cached"] == true), "{again}");

    // What a build leaves beside the library is in no package, and one that leaves none fails.
    let makefile = path("recipe/kernels/Makefile");
    let text = fs_err::read_to_string(&makefile).unwrap();
    fs_err::write(&makefile, text.replace("LIBRARY = libplugged-kernels", "LIBRARY = libother-kernels")).unwrap();
    let failed = run(&["build", "recipe", "--capability", "9.0", "--ptx", "9.0"]).exit(5);
    assert!(failed.stderr.contains("installs no lib/libplugged-kernels-sm_90.so"), "{}", failed.stderr);
}
