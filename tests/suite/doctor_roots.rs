//! The doctor below a directory: other machines' files, with the drivers that they have.

use std::collections::BTreeSet;

use serde_json::Value;
use simpack::elf::resolve::library_named;

use crate::doctor_machine::{doctor, driver, fired, link, put, record};
use crate::support::{Ran, scratch};

/// What WSL looks like: the driver is small, bears no version, and ldconfig knows it.
#[test]
fn files_of_wsl() {
    let dir = scratch();
    let root = dir.path();
    put(root, "usr/lib/wsl/lib/libcuda.so.1", &driver("libcuda.so.1"));
    put(root, "usr/lib/wsl/lib/libnvidia-ml.so.1", &driver("libnvidia-ml.so.1"));
    put(root, "dev/dxg", b"");
    put(root, "proc/sys/kernel/osrelease", b"5.15.167.4-microsoft-standard-WSL2\n");
    put(root, "etc/os-release", b"PRETTY_NAME=\"Ubuntu 22.04.3 LTS\"\n");
    let answer = record(&["--root", root.to_str().unwrap()], 0);
    let machine = &answer["machine"];
    assert_eq!(machine["system"]["surroundings"], serde_json::json!(["wsl"]));
    assert_eq!(machine["system"]["os"], "Ubuntu 22.04.3 LTS");
    let library = &machine["driver-files"]["libraries"][0];
    assert_eq!((library["profile"].as_str(), library["role"].as_str()), (Some("wsl"), Some("real")));
    assert!(machine.get("cuda").is_none(), "nothing of another machine may be opened");
    // Without a cache the loader does not look there.
    assert_eq!(fired(&answer), BTreeSet::from(["driver-unreached".to_owned(),]));
    let cuda = "/usr/lib/wsl/lib";
    let answer = record(&["--root", root.to_str().unwrap(), "--env", &format!("LD_LIBRARY_PATH={cuda}")], 0);
    assert!(fired(&answer).is_empty());
    fs_err::remove_dir_all(root.join("usr/lib/wsl")).unwrap();
    let answer = record(&["--root", root.to_str().unwrap()], 1);
    assert_eq!(fired(&answer), BTreeSet::from(["driver-absent".to_owned()]));
}

/// What NixOS looks like: no loader's directories, the driver linked from the store.
#[test]
fn files_of_nixos() {
    let dir = scratch();
    let root = dir.path();
    put(root, "etc/NIXOS", b"");
    let store = "nix/store/0c-nvidia-x11-565.77/lib";
    put(root, &format!("{store}/libcuda.so.565.77"), &library_named("libcuda.so.1", 62));
    link(root, "libcuda.so.565.77", &format!("{store}/libcuda.so.1"));
    link(root, "/nix/store/0c-nvidia-x11-565.77", "run/opengl-driver");
    put(root, "proc/driver/nvidia/version", b"NVRM version: NVIDIA UNIX x86_64 Kernel Module  565.77  Wed\n");
    put(root, "dev/nvidia0", b"");
    let answer = record(&["--root", root.to_str().unwrap()], 0);
    let files = &answer["machine"]["driver-files"];
    assert_eq!(files["libraries"][0]["version"], "565.77");
    assert_eq!(files["kernel-module"], "565.77");
    assert_eq!(fired(&answer), ["driver-unreached", "nvml-absent"].map(str::to_owned).into());
}

/// A server with a processor of Arm: other directories, another loader, a toolkit for `sbsa`; and beside it libraries for
/// x86-64, as an emulator brings them, which no program of this machine takes.
#[test]
fn files_of_aarch64() {
    const AARCH64: u16 = 183;
    let dir = scratch();
    let root = dir.path();
    put(root, "lib/ld-linux-aarch64.so.1", &library_named("ld-linux-aarch64.so.1", AARCH64));
    put(root, "usr/lib/aarch64-linux-gnu/libcuda.so.580.95.05", &library_named("libcuda.so.1", AARCH64));
    link(root, "libcuda.so.580.95.05", "usr/lib/aarch64-linux-gnu/libcuda.so.1");
    put(root, "usr/lib/aarch64-linux-gnu/libnvidia-ml.so.580.95.05", &library_named("libnvidia-ml.so.1", AARCH64));
    link(root, "libnvidia-ml.so.580.95.05", "usr/lib/aarch64-linux-gnu/libnvidia-ml.so.1");
    put(root, "usr/lib/libcuda.so.1", &driver("libcuda.so.1"));
    let stubs = "usr/local/cuda-13.0/targets/sbsa-linux/lib/stubs";
    put(root, &format!("{stubs}/libcuda.so"), &library_named("libcuda.so.1", AARCH64));
    put(
        root,
        "proc/driver/nvidia/version",
        b"NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  580.95.05  R\n",
    );
    put(root, "dev/nvidia0", b"");
    let answer = record(&["--root", root.to_str().unwrap()], 0);
    assert!(fired(&answer).is_empty(), "{:?}", fired(&answer));
    let machine = &answer["machine"];
    assert_eq!(machine["system"]["cpu-level"], 0);
    let libraries = machine["driver-files"]["libraries"].as_array().unwrap();
    let seen: Vec<_> =
        libraries.iter().map(|it| (it["path"].as_str().unwrap(), it["role"].as_str().unwrap())).collect();
    let stub = format!("/{stubs}/libcuda.so");
    assert_eq!(seen[0], ("/usr/lib/aarch64-linux-gnu/libcuda.so.1", "real"));
    assert!(libraries[0]["wins"] == true && seen.contains(&(stub.as_str(), "stub")), "{seen:?}");
    assert!(machine["driver-files"]["nvml"]["path"].as_str().unwrap().contains("aarch64"));
    let answer = record(&["--root", root.to_str().unwrap(), "--env", &format!("LIBRARY_PATH=/{stubs}")], 0);
    assert_eq!(fired(&answer), BTreeSet::from(["environment-stubs".to_owned()]));
}

#[test]
fn stubs_and_an_older_compat_library_are_told_from_the_driver() {
    let dir = scratch();
    let root = dir.path();
    for (path, name) in [("usr/local/nvidia/lib64", "libcuda.so.580.159.04"), ("usr/lib", "libcuda.so.580.159.04")] {
        put(root, &format!("{path}/{name}"), &driver("libcuda.so.1"));
        link(root, name, &format!("{path}/libcuda.so.1"));
    }
    put(root, "usr/lib/libnvidia-ml.so.1", &driver("libnvidia-ml.so.1"));
    put(root, "usr/local/cuda-13.0/compat/libcuda.so.580.95.05", &driver("libcuda.so.1"));
    link(root, "libcuda.so.580.95.05", "usr/local/cuda-13.0/compat/libcuda.so.1");
    put(root, "usr/local/cuda-13.0/lib64/stubs/libcuda.so", &library_named("libcuda.so.1", 62));
    link(root, "libcuda.so", "usr/local/cuda-13.0/lib64/stubs/libcuda.so.1");
    put(root, "proc/driver/nvidia/version", b"NVRM version: NVIDIA UNIX Open Kernel Module  580.159.04  R\n");
    put(root, "dev/nvidia0", b"");
    let root = root.to_str().unwrap();
    let env = |value: &str| format!("LD_LIBRARY_PATH={value}");
    let wins = |answer: &Value| {
        let libraries = answer["machine"]["driver-files"]["libraries"].as_array().unwrap().clone();
        libraries.iter().find(|it| it["wins"] == true).unwrap()["path"].as_str().unwrap().to_owned()
    };
    let answer = record(&["--root", root, "--env", &env("/usr/local/nvidia/lib64")], 0);
    assert_eq!(wins(&answer), "/usr/local/nvidia/lib64/libcuda.so.1");
    assert!(fired(&answer).is_empty(), "two copies of one version are no problem: {:?}", fired(&answer));
    let stubs = "/usr/local/cuda-13.0/lib64/stubs";
    let answer = record(&["--root", root, "--env", &format!("LIBRARY_PATH={stubs}")], 0);
    assert_eq!(fired(&answer), BTreeSet::from(["environment-stubs".to_owned()]));
    let answer = record(&["--root", root, "--env", &env(stubs)], 1);
    assert_eq!(fired(&answer), BTreeSet::from(["driver-stub-wins".to_owned()]));
    let answer = record(&["--root", root, "--env", &env("/usr/local/cuda-13.0/compat")], 1);
    assert_eq!(fired(&answer), BTreeSet::from(["driver-compat-older".to_owned()]));
    let text = Ran::of(&mut doctor(&["--root", root, "--env", &env("/usr/local/cuda-13.0/compat"), "--fix"])).exit(1);
    assert!(text.stdout.contains("unset LD_LIBRARY_PATH"), "{}", text.stdout);
}
