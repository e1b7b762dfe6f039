//! `simpack slice` on what holds many files: `.conda` packages, as a client installs them, and directories.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::patching::compiler;
use crate::slicing::Workshop;
use crate::support::cuobjdump::listed;
use crate::support::{Ran, client, conda_index, copy_tree, need, python, scratch, set_up, simpack};

/// A fat package of others and its slices in one channel: the client takes the slice where it runs, else the fat one,
/// finds what `paths.json` says, and the library works.
#[test]
fn a_conda_package_stays_one_and_is_chosen_by_the_gpu() {
    need!(compiler().is_some(), "no C compiler or no readelf");
    need!(python().is_some(), "no client");
    let Some(shop) = Workshop::new() else { return };
    fs_err::create_dir(shop.path("lib")).unwrap();
    shop.library("lib/libfat.so.1.0", &["-cudart", "static"]);
    fs_err::os::unix::fs::symlink("libfat.so.1.0", shop.path("lib/libfat.so.1")).unwrap();
    let make = |channel: &str, name: &str, files: &str| {
        let mut vendor = client("vendor.py").unwrap();
        let ran =
            Ran::of(vendor.arg(shop.path(channel)).args([name, "1.0"]).arg(shop.path("lib")).args(["--files", files]));
        ran.exit(0).stdout.trim().to_owned()
    };
    let fat = make("channel", "fat", "libfat.so*");
    shop.slice(&[&fat, "--capability", "8.0,9.0", "--per-capability", "--output", "out"]).exit(0);
    shop.slice(&[&fat, "--capability", "9.0", "--ptx", "only", "--allow-missing", "--output", "out"]).exit(0);
    let slices = ["out/sm_80/fat-1.0-sm80_0.conda", "out/sm_90/fat-1.0-sm90_0.conda", "out/fat-1.0-ptx90_0.conda"];
    let ranges = ["__cuda_arch >=8.0,<9,!=8.7,!=8.8", "__cuda_arch >=9.0,<10", "__cuda_arch >=9.0"];
    for (slice, range) in slices.iter().zip(ranges) {
        let path = shop.path(slice);
        let index = conda_index(&path);
        assert_eq!(index["depends"], serde_json::json!([range]));
        assert!(
            format!(
                "{}-{}-{}",
                index["name"].as_str().unwrap(),
                index["version"].as_str().unwrap(),
                index["build"].as_str().unwrap()
            ) == path.file_stem().unwrap().to_str().unwrap()
        );
        fs_err::copy(&path, shop.path("channel/linux-64").join(path.file_name().unwrap())).unwrap();
    }
    // One slice of a slice: named by what it holds, and where that runs.
    shop.slice(&[&fat, "--capability", "8.0,9.0", "--output", "both"]).exit(0);
    shop.slice(&["both/fat-1.0-sm80_sm90_0.conda", "--capability", "9.0", "--output", "again"]).exit(0);
    let (again, one) = (conda_index(&shop.path("again/fat-1.0-sm90_0.conda")), conda_index(&shop.path(slices[1])));
    assert_eq!(again, one);
    Ran::of(client("index.py").unwrap().arg(shop.path("channel"))).exit(0);
    for (gpu, build, listed) in [
        ("9.0", "sm90_0", vec!["sm_90"; 3]),
        ("8.6", "sm80_0", vec!["sm_80"; 3]),
        ("12.0", "ptx90_0", vec!["compute_90"; 2]),
        ("7.5", "0", Vec::new()),
    ] {
        let prefix = shop.path(&format!("prefix-{gpu}"));
        let mut install = client("install.py").unwrap();
        install.arg("--channel").arg(shop.path("channel")).arg("--prefix").arg(&prefix).arg("fat");
        install.env("CONDA_OVERRIDE_CUDA", "13.0").env("CONDA_OVERRIDE_CUDA_ARCH", gpu);
        // Exit code 2 would mean that an installed file differs from its package's paths.json.
        let packages = Ran::of(&mut install).exit(0).json();
        assert_eq!(packages[0]["build"], build, "{gpu}: {packages}");
        let library = prefix.join("lib/libfat.so.1");
        shop.loads(&library);
        if !listed.is_empty() {
            assert_eq!(shop.listed(&library), listed, "{gpu}");
        }
    }
    // Nothing is left of a package that is refused.
    let ran = shop.slice(&[&fat, "--capability", "12.0", "--ptx", "drop", "--output", "none"]).exit(1);
    assert!(ran.stdout.contains("refused") && ran.stdout.contains("waves"), "{}", ran.stdout);
    assert!(fs_err::read_dir(shop.path("none")).unwrap().next().is_none());
}

/// A package with a slice of a vendor's library, known by its file name, by a name with a hash, or by its SONAME, is made
/// only for those who say what permits it; a slice for one's own use needs no permission.
#[test]
fn packages_with_slices_of_a_vendors_library_want_a_permission() {
    need!(compiler().is_some(), "no C compiler or no readelf");
    need!(python().is_some(), "no client");
    let Some(shop) = Workshop::new() else { return };
    fs_err::create_dir(shop.path("lib")).unwrap();
    let soname = "-Xlinker=-soname,libcurand.so.10";
    for name in ["libcurand.so.10", "libcurand-1a2b3c4d.so.10", "libharmless.so"] {
        let flags: &[&str] = if name == "libharmless.so" { &[soname] } else { &[] };
        shop.library(&format!("lib/{name}"), &[&["-cudart", "static"], flags].concat());
        let mut vendor = client("vendor.py").unwrap();
        vendor.arg(shop.path("channel")).args(["thing", "1.0"]).arg(shop.path("lib")).args(["--files", name]);
        let package = Ran::of(&mut vendor).exit(0).stdout.trim().to_owned();
        let ran = shop.slice(&[&package, "--capability", "9.0", "--output", "out"]).exit(2);
        assert!(
            ran.stderr.contains("the vendor's libcurand.so.10") && ran.stderr.contains("--permission"),
            "{}",
            ran.stderr
        );
        let permission = ["--permission", "agreement 7 of 2026"];
        let args = [&package, "--capability", "9.0", "--output", "out", "--json"];
        let ran = shop.slice(&[&args[..], &permission].concat()).exit(0);
        assert_eq!(ran.json()["slices"][0]["permission"], permission[1]);
        shop.slice(&[&format!("lib/{name}"), "--capability", "9.0", "--output", "own"]).exit(0);
    }
    shop.slice(&["lib", "--capability", "9.0", "--output", "own-tree"]).exit(0);
}

/// A directory: its libraries are cut, everything else is as it was, links and permissions too.
#[test]
fn a_directory_is_sliced_file_by_file() {
    need!(compiler().is_some(), "no C compiler or no readelf");
    let Some(shop) = Workshop::new() else { return };
    fs_err::create_dir_all(shop.path("tree/deep/empty")).unwrap();
    shop.library("tree/deep/libfat.so.1", &["-cudart", "static"]);
    shop.nvcc(
        "tree/kernel.o",
        &["-c", "first.cu", "-gencode=arch=compute_80,code=sm_80", "-gencode=arch=compute_90,code=sm_90"],
    );
    fs_err::os::unix::fs::symlink("libfat.so.1", shop.path("tree/deep/libfat.so")).unwrap();
    fs_err::os::unix::fs::symlink("../nowhere", shop.path("tree/broken")).unwrap();
    fs_err::copy(shop.path("caller"), shop.path("tree/program")).unwrap();
    fs_err::write(shop.path("tree/readme"), "text").unwrap();
    simpack::fs::set_mode(&shop.path("tree/readme"), 0o600).unwrap();
    let ran = shop.slice(&["tree", "--capability", "9.0", "--dry-run"]).exit(0);
    assert!(ran.stdout.contains("tree/deep/libfat.so.1") && !shop.path("sliced").exists(), "{}", ran.stdout);
    // What a slice holds is said before the first of them is written.
    let ran = shop.slice(&["tree", "--capability", "9.0"]).exit(0);
    let (plan, end) = (ran.stdout.find("keeps").unwrap(), ran.stdout.find("written").unwrap());
    assert!(plan < end && ran.stdout.matches("written").count() == 1, "{}", ran.stdout);
    let slice = shop.path("sliced/tree");
    assert_eq!(shop.listed(&slice.join("deep/libfat.so.1")), vec!["sm_90"; 3]);
    assert_eq!(shop.listed(&slice.join("kernel.o")), ["sm_90"]);
    shop.loads(&slice.join("deep/libfat.so"));
    let names = |root: &Path| {
        let mut command = Command::new("find");
        command.current_dir(root).args([".", "-printf", "%p %y %m %l\n"]).env("LC_ALL", "C");
        let mut lines: Vec<String> = Ran::of(&mut command).exit(0).stdout.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(names(&slice)[1..], names(&shop.path("tree"))[1..]);
    for same in ["program", "readme"] {
        assert!(
            fs_err::read(slice.join(same)).unwrap() == fs_err::read(shop.path("tree").join(same)).unwrap(),
            "{same}"
        );
    }
    // Neither into itself, nor over what is there.
    let ran = shop.slice(&["tree", "--capability", "9.0"]).exit(2);
    assert!(ran.stderr.contains("is there already"), "{}", ran.stderr);
    shop.slice(&["tree", "--capability", "9.0", "--output", "tree/deep"]).exit(2);
    copy_tree(&shop.path("tree/deep/empty"), &shop.path("plain"));
    shop.slice(&["plain", "--capability", "9.0", "--output", "nothing"]).exit(6);
}

/// NEURON's wheel for GPUs: patchelf put pages of its own in front of its program, and a section goes over their boundary.
/// The slice has the code of one GPU by cuobjdump's list, in the program and in all objects of the archive, and the
/// program starts with the libraries of the wheel.
#[test]
fn a_wheel_whose_program_patchelf_changed_is_sliced() {
    let (Some(wheels), Some(newest)) = (set_up("SIMPACK_TEST_WHEELS"), set_up("SIMPACK_TEST_CUDA_NEWEST")) else {
        return;
    };
    let mut wheels = fs_err::read_dir(wheels).unwrap().map(|entry| entry.unwrap().path());
    let wheel = wheels.find(|path| path.to_string_lossy().contains("NEURON_gpu-8.2.2-")).unwrap();
    let dir = scratch();
    Ran::of(simpack(dir.path(), &["slice", "--capability", "8.0", "--output", "sliced"]).arg(&wheel)).exit(0);
    let mut sliced = fs_err::read_dir(dir.path().join("sliced/sm_80")).unwrap().map(|entry| entry.unwrap().path());
    let slice = sliced.next().unwrap();
    let tree = dir.path().join("tree");
    Ran::of(Command::new("python3").args(["-m", "zipfile", "-e"]).args([&slice, &tree])).exit(0);
    let cuobjdump = newest.join("bin/cuobjdump");
    for (file, pieces) in [("neuron/.data/bin/nrniv-core", 77), ("neuron/.data/lib/libcoreneuron.a", 68)] {
        let only = BTreeMap::from([("sm_80.cubin".to_owned(), pieces)]);
        assert_eq!(listed(&cuobjdump, &tree.join(file)), only, "{file}");
    }
    let program = tree.join("neuron/.data/bin/nrniv-core");
    simpack::fs::set_mode(&program, 0o755).unwrap();
    let mut starts = Command::new(&program);
    let ran = Ran::of(starts.arg("--version").env("LD_LIBRARY_PATH", tree.join("NEURON_gpu.libs"))).exit(0);
    assert!(ran.stdout.contains("CoreNEURON Version : 8.2.2"), "{ran:?}");
}
