//! The doctor on real wheels, virtual environments and installed packages.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::doctor_machine::{compiled, doctor, fired, fired_of_cuda, put, record, stand_in};
use crate::formats::{BESIDE_CORE, changes_are_found};
use crate::installing::installed;
use crate::support::{Prefix, Ran, copy_tree, python, scratch, set_up, skip, volley};

/// The release for processors only: it is looked at as well, and nothing is asked of a GPU.
#[test]
fn a_virtual_environment_without_device_code() {
    let Some(wheels) = set_up("SIMPACK_TEST_WHEELS") else { return };
    let dir = scratch();
    put(dir.path(), "pyvenv.cfg", b"home = /usr/bin\n");
    let mut all = fs_err::read_dir(&wheels).unwrap().map(|entry| entry.unwrap().path());
    let wheel = all.find(|it| it.file_name().unwrap().to_str().unwrap().starts_with("neuron-9.0.2-")).unwrap();
    let packages = dir.path().join("lib/python3.11/site-packages");
    Ran::of(Command::new("python3").args(["-m", "zipfile", "-e"]).arg(wheel).arg(&packages)).exit(0);
    let page = Ran::of(&mut doctor(&[dir.path().to_str().unwrap()])).exit(0).stdout;
    assert!(page.contains("device code   none, and nothing that compiles some: it runs on the CPU"), "{page}");
    assert!(page.contains("0 problems, nothing broken"), "{page}");
}

/// Wheels as their makers publish them, unpacked as pip does.
#[test]
fn a_virtual_environment_with_wheels() {
    let Some(wheels) = set_up("SIMPACK_TEST_WHEELS") else { return };
    let dir = scratch();
    let packages = dir.path().join("lib/python3.11/site-packages");
    put(dir.path(), "pyvenv.cfg", b"home = /usr/bin\n");
    for name in ["NEURON_gpu", "openmm_cuda_13", "nvidia_curand"] {
        let wheel = fs_err::read_dir(&wheels).unwrap().map(|entry| entry.unwrap().path());
        let start = format!("{name}-");
        let wheel: Vec<PathBuf> =
            wheel.filter(|it| it.file_name().unwrap().to_str().unwrap().starts_with(&start)).collect();
        Ran::of(Command::new("python3").args(["-m", "zipfile", "-e"]).arg(&wheel[0]).arg(&packages)).exit(0);
    }
    let prefix = dir.path().to_str().unwrap();
    let answer = record(&[prefix], 0);
    let found = &answer["machine"]["prefixes"][0];
    assert_eq!(found["kind"], "venv");
    let names: Vec<&str> =
        found["vendor"].as_array().unwrap().iter().map(|it| it["soname"].as_str().unwrap()).collect();
    assert!(names.contains(&"libcurand.so.10"), "{names:?}");
    assert!(names.iter().any(|name| name.starts_with("libcudart.so.11")), "NEURON brings its own: {names:?}");
    // Older GPUs than NEURON's code is for.
    assert_eq!(fired(&answer), BTreeSet::from(["foreign-problem".to_owned()]));
    // Each project by itself.
    let of = |subject: &str| {
        let reaches = answer["foreign"].as_array().unwrap().iter().map(|foreign| &foreign["reach"]);
        reaches
            .clone()
            .find(|reach| reach["subject"] == subject)
            .unwrap_or_else(|| panic!("{:?}", reaches.collect::<Vec<_>>()))
    };
    let (curand, openmm) = (of("nvidia-curand-10.4.5.25"), of("openmm-cuda-13-8.6.1"));
    let units: Vec<&str> = curand["units"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert!(units.iter().all(|name| name.ends_with("libcurand.so.10")), "{units:?}");
    assert!(openmm["compiled"]["because"].as_str().unwrap().contains("libnvrtc.so.13"), "OpenMM compiles: {openmm}");
    // It does not load without the libraries that nobody installed.
    let problems = openmm["problems"].to_string();
    for (library, project) in [("libnvrtc.so.13", "nvidia-cuda-nvrtc"), ("libcufft.so.12", "nvidia-cufft")] {
        assert!(problems.contains(&format!("{library} is not in this environment")), "{problems}");
        assert!(problems.contains(&format!("install {project}")), "{problems}");
    }
    assert!(of("neuron-gpu-8.2.2")["devices"].as_array().unwrap().iter().any(|device| device["how"] == "native"));
    // File by file, for the GPUs that are asked about: natively, through PTX, not at all.
    let asked = [prefix, "--device", "8.0,9.0"];
    let table = record(&asked, 0)["by-device"].clone();
    assert_eq!(table["devices"], serde_json::json!(["8.0", "9.0"]));
    let runs = |ending: &str| {
        let files = table["files"].as_array().unwrap();
        let found = files.iter().find(|file| file["file"].as_str().unwrap().ends_with(ending));
        found.unwrap_or_else(|| panic!("{files:?} has no {ending}"))["runs"].clone()
    };
    assert_eq!(runs("libcurand.so.10"), serde_json::json!(["native", "native"]));
    assert_eq!(runs("bin/nrniv-core"), serde_json::json!(["native", "nothing"]));
    assert_eq!(runs("libOpenMMCUDA.so"), serde_json::json!(["compiled", "compiled"]));
    let page = Ran::of(&mut doctor(&asked)).exit(0).stdout;
    let line = page.lines().find(|line| line.contains("bin/nrniv-core") && line.contains("native"));
    assert!(line.is_some_and(|line| line.contains("native  none    neuron-gpu-8.2.2: ")), "{page}");
    // A second wheel that brings cuRAND along.
    fs_err::create_dir(packages.join("other.libs")).unwrap();
    fs_err::hard_link(
        packages.join("nvidia/cu13/lib/libcurand.so.10"),
        packages.join("other.libs/libcurand-0123abcd.so.10"),
    )
    .unwrap();
    let answer = record(&[prefix], 0);
    assert_eq!(fired(&answer), ["foreign-problem", "vendor-twice"].map(str::to_owned).into());
    // Which NVRTC it is, the name of its built-in functions says: drivers from that release on know its PTX.
    for name in ["libnvrtc.so.13", "libnvrtc-builtins.so.13.1"] {
        let library = packages.join("nvidia/cu13/lib").join(name);
        fs_err::hard_link(packages.join("nvidia/cu13/lib/libcurand.so.10"), library).unwrap();
    }
    let answer = record(&[prefix], 0);
    let foreign = answer["foreign"].as_array().unwrap();
    let openmm = foreign.iter().find(|it| it["reach"]["subject"] == "openmm-cuda-13-8.6.1").unwrap();
    assert_eq!(openmm["reach"]["compiled"]["cuda"], "13.1", "{openmm}");
    let problems = openmm["reach"]["problems"].to_string();
    assert!(problems.contains("libcufft.so.12") && !problems.contains("libnvrtc"), "{problems}");
}

#[test]
fn a_conda_environment_whole_and_damaged() {
    if python().is_none() {
        return;
    }
    let installed = installed().unwrap();
    let prefix = installed.prefix.to_str().unwrap();
    let answer = record(&[prefix], 0);
    let found = &answer["machine"]["prefixes"][0];
    assert_eq!(found["kind"], "conda");
    let names: Vec<&str> = found["packages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|package| package["manifest"]["package"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"volley-core") && names.contains(&"volley-kernels-sm_90"), "{names:?}");
    assert!(fired(&answer).is_empty(), "{:?}", fired(&answer));

    let dir = scratch();
    let copy = dir.path().join("prefix");
    copy_tree(&installed.prefix, &copy);
    changes_are_found(&copy, &copy, &BESIDE_CORE);
    let program = copy.join("bin/volley");
    let mut bytes = fs_err::read(&program).unwrap();
    bytes.push(0);
    fs_err::remove_file(&program).unwrap();
    fs_err::write(&program, bytes).unwrap();
    let library = fs_err::read_dir(copy.join("lib")).unwrap().map(|entry| entry.unwrap().path());
    let library = library.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("libvolley.so."));
    library.for_each(|path| fs_err::remove_file(path).unwrap());
    let answer = record(&[copy.to_str().unwrap(), "volley-core"], 1);
    let fired = fired(&answer);
    assert!(fired.contains("package-files"), "{fired:?}");
    let text = Ran::of(&mut doctor(&[copy.to_str().unwrap()])).exit(1).stdout;
    assert!(text.starts_with("broken"), "what is broken comes first: {text}");
    assert!(text.contains("conda install --force-reinstall"), "{text}");
}

/// With a channel the doctor knows what would run better, and `--fix` installs it: by conda, or by what has its words.
/// What a build left is no prefix, and what is in its archives is not installed.
#[test]
fn a_directory_of_packages_is_for_select() {
    let dir = scratch();
    put(dir.path(), "dist/conda/linux-64/repodata.json", b"{}");
    let dist = dir.path().join("dist");
    for path in [dist.clone(), dist.join("conda")] {
        let ran = Ran::of(&mut doctor(&[path.to_str().unwrap()])).exit(2);
        assert!(ran.stderr.contains("holds packages, and none is installed there"), "{}", ran.stderr);
        assert!(ran.stderr.contains(&format!("`simpack select {}`", path.display())), "{}", ran.stderr);
    }
}

#[test]
fn a_channel_says_what_would_run_better() {
    use std::os::unix::fs::PermissionsExt;
    let Some(driver) = stand_in() else { return skip("no C++ compiler") };
    let prefix = Prefix::of(&["volley-core", "volley-kernels-sm_86"]);
    put(prefix.path(), "conda-meta/history", b"");
    let (at, dist) = (prefix.path().to_str().unwrap(), volley().dist.to_str().unwrap());
    let run = |args: &[&str], path: Option<&Path>| {
        let mut command = doctor(args);
        command.args([at, "--channel", dist]).env("FAKE_CUDA_CAPABILITY", "8.9").env("FAKE_CUDA_DEVICES", "2");
        if let Some(path) = path {
            command.env("PATH", path);
        }
        Ran::of(command.env("LD_LIBRARY_PATH", driver.path()).env_remove("CUDA_VISIBLE_DEVICES"))
    };
    let page = run(&[], None).exit(0).stdout;
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("sm_86 (lower minor of 8.x); sm_89 exists: install volley-kernels-sm_89"), "{page}");
    assert!(page.contains("all GPUs  volley 1.0.0: volley-kernels-sm_89 alone serves all"), "{page}");
    let ran = run(&["--json"], None).exit(0);
    let answer = ran.json();
    assert_eq!(answer["serves"][0]["fit"]["smallest"], serde_json::json!(["volley-kernels-sm_89"]));
    let file = driver.path().join("machine.json");
    fs_err::write(&file, &ran.stdout).unwrap();
    let again = Ran::of(&mut doctor(&["--replay", file.to_str().unwrap(), "--json"])).exit(0);
    assert_eq!(again.json(), answer);
    // Another program with conda's words, which notes what it is told.
    let programs = driver.path().join("bin");
    put(&programs, "micromamba", b"#!/bin/sh\necho \"$@\" > \"${0%/*}/said\"\n");
    fs_err::set_permissions(programs.join("micromamba"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let said = run(&["--fix"], Some(&programs)).exit(0).stdout;
    assert!(said.contains("would run for") && said.contains(": micromamba install -p "), "{said}");
    assert!(!programs.join("said").exists(), "nothing is run before it is asked for");
    run(&["--fix", "--yes"], Some(&programs)).exit(0);
    let said = fs_err::read_to_string(programs.join("said")).unwrap();
    assert!(said.starts_with("install -p ") && said.trim().ends_with("volley-kernels-sm_89==1.0.0 --yes"), "{said}");
    // A command that cannot be run here is not proposed as if it could.
    for args in [&["--fix"][..], &["--fix", "--yes"]] {
        let said = run(args, Some(&driver.path().join("nothing"))).exit(0).stdout;
        assert!(said.contains("where conda, mamba or micromamba is (none is in PATH here): conda install"), "{said}");
    }
}

/// A wheel as a framework's makers build it: a large library with machine code for some GPUs and PTX for none, the
/// runtime renamed by a hash, beside the vendor's own wheel; installed, the environment has two runtimes.
#[test]
fn a_frameworks_wheel_and_the_environment_that_holds_it() {
    let (Some(cuda), Some(wheels)) = (set_up("SIMPACK_TEST_CUDA"), set_up("SIMPACK_TEST_WHEELS")) else { return };
    let Some(driver) = stand_in() else { return skip("no C++ compiler") };
    let dir = scratch();
    let tree = dir.path().join("tree");
    let source = "__global__ void fill(float *x) { x[threadIdx.x] = 1; }\n\
                  extern \"C\" void frame_fill(float *x) { fill<<<1, 32>>>(x); }\n";
    let gencode = ["-gencode", "arch=compute_80,code=sm_80", "-gencode", "arch=compute_90,code=sm_90"];
    let flags: Vec<&str> = gencode.into_iter().chain(["-shared", "-Xcompiler", "-fPIC", "-cudart", "static"]).collect();
    compiled(&cuda, &tree, "frame/lib/libframe_cuda.so", source, &flags);
    let unpack = |start: &str, to: &Path| {
        let mut all = fs_err::read_dir(&wheels).unwrap().map(|entry| entry.unwrap().path());
        let wheel = all.find(|it| it.file_name().unwrap().to_str().unwrap().starts_with(start)).unwrap();
        Ran::of(Command::new("python3").args(["-m", "zipfile", "-e"]).arg(wheel).arg(to)).exit(0);
    };
    let vendor = dir.path().join("vendor");
    unpack("nvidia_cuda_runtime_cu12-", &vendor);
    let runtime = vendor.join("nvidia/cuda_runtime/lib/libcudart.so.12");
    fs_err::create_dir_all(tree.join("frame.libs")).unwrap();
    fs_err::copy(&runtime, tree.join("frame.libs/libcudart-9335f6a2.so.12.9.79")).unwrap();
    put(&tree, "frame-1.0.dist-info/METADATA", b"Metadata-Version: 2.1\nName: frame\nVersion: 1.0\n");
    put(&tree, "frame-1.0.dist-info/WHEEL", b"Wheel-Version: 1.0\nTag: py3-none-manylinux_2_28_x86_64\n");
    put(&tree, "frame-1.0.dist-info/RECORD", b"");
    let wheel = dir.path().join("frame-1.0-py3-none-manylinux_2_28_x86_64.whl");
    let mut zip = Command::new("python3");
    zip.current_dir(&tree).args(["-m", "zipfile", "-c"]).arg(&wheel);
    Ran::of(zip.args(["frame", "frame.libs", "frame-1.0.dist-info"])).exit(0);
    let at = |capability: &str, subject: &Path| {
        let mut command = doctor(&[subject.to_str().unwrap(), "--json"]);
        command.env("LD_LIBRARY_PATH", driver.path()).env("FAKE_CUDA_CAPABILITY", capability);
        Ran::of(command.env_remove("CUDA_VISIBLE_DEVICES")).exit(0).json()
    };
    let answer = at("9.0", &wheel);
    assert_eq!(answer["foreign"][0]["devices"][0]["words"], "sm_90 (as machine code)");
    assert_eq!(fired_of_cuda(&answer), ["foreign-problem"], "no PTX: nothing for what is newer");
    assert!(fired(&at("12.0", &wheel)).contains("foreign-unserved"));
    // Installed beside the vendor's wheel.
    let venv = dir.path().join("venv");
    let packages = venv.join("lib/python3.11/site-packages");
    put(&venv, "pyvenv.cfg", b"home = /usr/bin\n");
    copy_tree(&tree, &packages);
    unpack("nvidia_cuda_runtime_cu12-", &packages);
    let found = fired(&at("9.0", &venv));
    assert!(found.contains("vendor-twice"), "{found:?}");
}
