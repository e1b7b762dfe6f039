//! A second CUDA release, installed on the machine: 11.8, for drivers below 580 and older GPUs.

use std::path::Path;

use crate::support::{CacheView, Ran, conda_index, files, need, scratch, simpack};

#[test]
fn an_installed_older_cuda_builds_kernels_for_older_drivers() {
    let cuda = std::env::var_os("SIMPACK_TEST_CUDA_SYSTEM");
    need!(cuda.is_some(), "SIMPACK_TEST_CUDA_SYSTEM names no installed CUDA 11.8");
    let cuda = cuda.unwrap();
    let (dir, view) = (scratch(), CacheView::new(&[]));
    let build = |args: &[&str]| {
        let mut command = simpack(dir.path(), &["build", "volley", "--toolchain", "system", "--component", "kernels"]);
        command.args(args).env("SIMPACK_CACHE_DIR", view.root.path()).env("CUDA_HOME", &cuda);
        Ran::of(&mut command)
    };
    let args = ["--cuda", "11.8", "--capability", "7.5,8.0,9.0", "--ptx", "7.5", "--json"];
    let summary = build(&args).exit(0).json();
    assert_eq!(summary["report"]["findings"], serde_json::json!([]));
    assert_eq!(summary["report"]["incomplete"], serde_json::json!([]));
    let channel = dir.path().join("dist/conda/noarch");
    let packages: Vec<_> = files(&channel).into_iter().filter(|file| file.ends_with(".conda")).collect();
    for target in ["sm_75", "sm_80", "sm_90", "compute_75"] {
        let start = format!("volley-kernels-{target}-1.0.0-cuda11_");
        assert_eq!(packages.iter().filter(|file| file.starts_with(&start)).count(), 1, "{packages:?}");
        let selector = packages.iter().find(|file| file.starts_with(&format!("volley-kernels-1.0.0-cuda11_{target}_")));
        let depends = conda_index(&channel.join(selector.unwrap()))["depends"].to_string();
        let driver = if target == "compute_75" { "__cuda >=11.8" } else { "__cuda >=11" };
        assert!(depends.contains(driver), "{target}: {depends}");
    }
    let bundles = dir.path().join("target/simpack/bundles");
    for file in files(&bundles).iter().filter(|file| file.ends_with(".cubin") || file.ends_with(".ptx")) {
        assert!(file.contains("/cuda11/"), "{file}");
    }
    let ptx = files(&bundles).into_iter().find(|file| file.ends_with(".ptx")).unwrap();
    let text = fs_err::read_to_string(bundles.join(ptx)).unwrap();
    assert!(text.contains(".version 7.8") && text.contains(".target sm_75"), "PTX is not that of CUDA 11.8");

    // What this release cannot compile for, and a release that is not installed.
    let ran = build(&["--cuda", "11.8", "--capability", "12.0", "--ptx", "none"]).exit(3);
    assert!(ran.stderr.contains("12.0"), "{}", ran.stderr);
    let ran = build(&["--cuda", "13.0", "--capability", "9.0", "--ptx", "none"]).exit(4);
    assert!(ran.stderr.contains("11.8") && ran.stderr.contains("13.0"), "{}", ran.stderr);
    assert!(Path::new(&dir.path().join("dist/build.json")).exists());
}
