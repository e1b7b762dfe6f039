//! The doctor on this machine: real libraries, a real process, real wheels, an installed simulator, other machines'
//! files below a directory.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use simpack::elf::resolve::library_named;

use crate::installing::installed;
use crate::support::{Prefix, Ran, copy_tree, need, python, scratch, set_up, simpack, skip, volley};

fn doctor(args: &[&str]) -> Command {
    let mut command = simpack(Path::new("/"), &["doctor"]);
    command.args(args).env_remove("LD_LIBRARY_PATH").env_remove("LIBRARY_PATH");
    command
}

fn fired(answer: &Value) -> BTreeSet<String> {
    let findings = answer["report"]["findings"].as_array().unwrap();
    findings.iter().map(|finding| finding["lint"].as_str().unwrap().to_owned()).collect()
}

/// The same without what is said of Vulkan: beside a stand-in for a GPU it knows the processor only.
fn fired_of_cuda(answer: &Value) -> Vec<String> {
    fired(answer).into_iter().filter(|id| id != "vulkan-software").collect()
}

fn put(root: &Path, path: &str, bytes: &[u8]) {
    let path = root.join(path);
    fs_err::create_dir_all(path.parent().unwrap()).unwrap();
    fs_err::write(path, bytes).unwrap();
}

fn link(root: &Path, to: &str, at: &str) {
    fs_err::create_dir_all(root.join(at).parent().unwrap()).unwrap();
    fs_err::os::unix::fs::symlink(to, root.join(at)).unwrap();
}

/// A library of the driver without a version in its name has to be large, or to open others, to be no stub.
fn driver(soname: &str) -> Vec<u8> {
    let mut bytes = library_named(soname, 62);
    bytes.resize(2 << 20, 0);
    bytes
}

/// A record without what differs from call to call.
fn record(args: &[&str], code: i32) -> Value {
    Ran::of(doctor(args).arg("--json")).exit(code).json()
}

#[test]
fn a_record_of_this_machine_replays_to_the_same_report() {
    let dir = scratch();
    let ran = Ran::of(doctor(&["--json"]).env("HOME", "/somewhere/ada").env("USER", "ada"));
    let file = dir.path().join("machine.json");
    fs_err::write(&file, &ran.stdout).unwrap();
    assert!(!ran.stdout.contains("ada/") && !ran.stdout.contains("/ada"), "a name is in the record");
    let file = file.to_str().unwrap();
    let again = Ran::of(doctor(&["--replay", file]).arg("--json"));
    assert_eq!(again.json(), ran.json());
    let sarif: Value = Ran::of(&mut doctor(&["--replay", file, "--format", "sarif"])).json();
    assert_eq!(sarif["version"], "2.1.0");
    Ran::of(&mut doctor(&["--replay", "/no/such/file"])).exit(6);
    Ran::of(&mut doctor(&["--replay", file, "/usr"])).exit(2);
    Ran::of(&mut doctor(&["no-such-package"])).exit(2);
}

#[test]
fn only_allowed_variables_are_recorded() {
    let ran = Ran::of(doctor(&["--json"]).env("MY_TOKEN", "hush").env("CUDA_HOME", "/opt/nowhere"));
    assert!(!ran.stdout.contains("hush"));
    assert_eq!(ran.json()["machine"]["variables"]["values"]["CUDA_HOME"], "/opt/nowhere");
}

#[test]
fn lavapipe_has_limits() {
    let loader =
        ["/usr/lib/x86_64-linux-gnu", "/usr/lib64"].iter().any(|it| Path::new(it).join("libvulkan.so.1").exists());
    let icd = Path::new("/usr/share/vulkan/icd.d/lvp_icd.x86_64.json").exists();
    need!(loader && icd, "libvulkan1 and mesa-vulkan-drivers are not installed");
    let vulkan = &record(&[], 0)["machine"]["vulkan"];
    let devices = vulkan["devices"].as_array().unwrap();
    let device = devices.iter().find(|it| it["name"].as_str().unwrap().starts_with("llvmpipe")).unwrap();
    assert_eq!(device["kind"], "cpu");
    // Guaranteed by the specification, so in every version of it.
    assert!(device["storage-buffer-range"].as_u64().unwrap() >= 1 << 27);
    assert!(device["work-group-count"][0].as_u64().unwrap() >= 65535);
    assert!(device["work-group-invocations"].as_u64().unwrap() >= 128);
    assert!(device["heaps"][0].as_u64().unwrap() > 0);
}

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

#[test]
fn a_fix_writes_a_file_of_the_user_only_when_asked_to() {
    let dir = scratch();
    let stubs = dir.path().join("stubs");
    put(&stubs, "libcuda.so", &library_named("libcuda.so.1", 62));
    let run = |args: &[&str]| {
        let mut command = doctor(args);
        command.env("LIBRARY_PATH", &stubs).env("XDG_CONFIG_HOME", dir.path()).env("HOME", dir.path());
        Ran::of(&mut command).exit(0)
    };
    let file = dir.path().join("simpack/activate.sh");
    assert!(run(&["--fix"]).stdout.contains("would write"));
    assert!(!file.exists());
    assert!(run(&["--fix", "--yes"]).stdout.contains("unset LIBRARY_PATH"));
    let said = format!(". {}; echo [${{LIBRARY_PATH-unset}}]", file.display());
    let shell = Ran::of(Command::new("sh").args(["-c", &said]).env("LIBRARY_PATH", "x")).exit(0);
    assert_eq!(shell.stdout.trim(), "[unset]");
}

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

/// A Python that has loaded the CUDA runtime twice: by name through a variable, and by its path.
#[test]
fn a_process_with_two_runtimes_says_what_brought_them() {
    let (Some(mut python), Some(cuda)) = (python(), set_up("SIMPACK_TEST_CUDA_NEWEST")) else { return };
    let dir = scratch();
    for name in ["a", "b"] {
        fs_err::create_dir(dir.path().join(name)).unwrap();
        fs_err::copy(cuda.join("lib/libcudart.so.13"), dir.path().join(name).join("libcudart.so.13")).unwrap();
    }
    let program = "import ctypes, sys\nctypes.CDLL('libcudart.so.13')\nctypes.CDLL(sys.argv[1])\nprint('ready', flush=True)\nsys.stdin.read()";
    let mut child = python
        .args(["-c", program])
        .arg(dir.path().join("b/libcudart.so.13"))
        .env("LD_LIBRARY_PATH", dir.path().join("a"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    let answer = record(&["--process", &child.id().to_string()], 1);
    drop(child.stdin.take());
    child.wait().unwrap();
    assert_eq!(fired(&answer), BTreeSet::from(["process-twice".to_owned()]));
    let libraries = answer["machine"]["process"]["libraries"].as_array().unwrap().clone();
    let by: Vec<&str> = libraries
        .iter()
        .filter(|it| it["soname"] == "libcudart.so.13")
        .map(|it| it["by"].as_str().unwrap().split(' ').next().unwrap())
        .collect();
    assert_eq!(by, ["LD_LIBRARY_PATH", "opened"]);
    let nobody = Ran::of(&mut doctor(&["--process", "4194305"])).exit(7);
    assert!(nobody.stdout.contains("there is no process"), "{}", nobody.stdout);
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
    let reach = &answer["foreign"][0]["reach"];
    let units: Vec<&str> = reach["units"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert!(units.iter().any(|name| name.ends_with("libcurand.so.10")), "{units:?}");
    assert!(reach["compiled"]["because"].as_str().unwrap().contains("libnvrtc.so.13"), "OpenMM compiles: {reach}");
    // A second wheel that brings cuRAND along.
    fs_err::create_dir(packages.join("other.libs")).unwrap();
    fs_err::hard_link(
        packages.join("nvidia/cu13/lib/libcurand.so.10"),
        packages.join("other.libs/libcurand-0123abcd.so.10"),
    )
    .unwrap();
    let answer = record(&[prefix], 0);
    assert_eq!(fired(&answer), ["foreign-problem", "vendor-twice"].map(str::to_owned).into());
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

/// The stand-in of volley's tests as a driver of CUDA that bears a version, so that the doctor takes it for one.
fn stand_in() -> Option<tempfile::TempDir> {
    let made = crate::loading::driver()?;
    let dir = scratch();
    fs_err::copy(made.join("libcuda.so.1"), dir.path().join("libcuda.so.580.1")).unwrap();
    link(dir.path(), "libcuda.so.580.1", "libcuda.so.1");
    Some(dir)
}

/// The whole way: GPU found by the driver, three runs compared, the same in a record and in its replay.
#[test]
fn smoke_tests_are_recorded_and_replayed() {
    let Some(driver) = stand_in() else { return skip("no C++ compiler") };
    let prefix = Prefix::of(&["volley-core", "volley-kernels-sm_90", "volley-kernels-compute_75"]);
    let at = prefix.path().to_str().unwrap();
    let here = |args: &[&str]| {
        let mut command = doctor(args);
        Ran::of(command.env("LD_LIBRARY_PATH", driver.path()).env_remove("CUDA_VISIBLE_DEVICES"))
    };
    let replayed = |ran: Ran, code: i32| {
        let answer = ran.exit(code);
        let file = driver.path().join("machine.json");
        fs_err::write(&file, &answer.stdout).unwrap();
        let again = here(&["--replay", file.to_str().unwrap(), "--json"]).exit(code);
        assert_eq!(again.json(), answer.json());
        (answer.json(), here(&["--replay", file.to_str().unwrap()]).exit(code).stdout)
    };
    let (answer, page) = replayed(here(&[at, "--smoke", "--json"]), 0);
    let runs = answer["smoke"][0]["runs"].as_array().unwrap();
    let results: Vec<&str> = runs.iter().map(|run| run["result"]["kind"].as_str().unwrap()).collect();
    assert_eq!(results, ["passed"; 3]);
    assert!(page.contains("GPU 0  sm_90 (exact)       ok") && page.contains("GPU 0  compute_75 (PTX)    ok"), "{page}");
    // What fails there fails in the replay.
    fs_err::remove_file(prefix.path().join("share/volley/examples/balanced.toml")).unwrap();
    let (answer, page) = replayed(here(&[at, "--smoke", "--json"]), 1);
    assert_eq!(answer["smoke"][0]["runs"][0]["result"]["kind"], "failed");
    // What is broken comes first, and the last line knows of it.
    assert!(page.starts_with("broken    "), "{page}");
    assert!(page.contains("broken    volley 1.0.0: its smoke test fails on the CPU"), "{page}");
    assert!(page.trim_end().lines().last().unwrap().contains("broken") && !page.contains("nothing broken"), "{page}");
}

/// With a channel the doctor knows what would run better, and `--fix` installs it: by conda, or by what has its words.
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
    run(&["--fix"], Some(&programs)).exit(0);
    assert!(!programs.join("said").exists(), "nothing is run before it is asked for");
    run(&["--fix", "--yes"], Some(&programs)).exit(0);
    let said = fs_err::read_to_string(programs.join("said")).unwrap();
    assert!(said.starts_with("install -p ") && said.trim().ends_with("volley-kernels-sm_89==1.0.0 --yes"), "{said}");
}

/// Names of the user and of the host, identifiers of GPUs, passwords: in no part of a record, unless asked for.
#[test]
fn nothing_in_a_record_names_the_user_the_host_or_a_single_gpu() {
    let host = fs_err::read_to_string("/proc/sys/kernel/hostname").unwrap().trim().to_owned();
    let dir = scratch();
    let home = dir.path().join("ada-lovelace");
    let gpu = "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6";
    let prefix = Prefix::of(&["volley-core", "volley-kernels-sm_90"]);
    let env = home.join("envs/sim");
    copy_tree(prefix.path(), &env);
    // Conda notes where a package came from, and that may hold a password.
    put(
        &env,
        "conda-meta/volley-core-1.0.0-x.json",
        br#"{"channel": "https://ada-lovelace:hush@example.org/t/tk-1/c"}"#,
    );
    // A smoke test that fails with a path of the user in its words.
    fs_err::remove_file(env.join("share/volley/examples/balanced.toml")).unwrap();
    let library = home.join("other.so");
    fs_err::copy(prefix.path().join("lib/libvolley.so.1"), &library).unwrap();
    let run = |more: &[&str]| {
        let mut command = doctor(&[env.to_str().unwrap(), library.to_str().unwrap(), "--smoke", "--json"]);
        command.args(more).env("HOME", &home).env("USER", "ada-lovelace").env("CUDA_VISIBLE_DEVICES", gpu);
        command.env("LD_LIBRARY_PATH", format!("{}:/scratch/{host}/lib:/projects/ada-lovelace/lib", home.display()));
        command.env("LD_PRELOAD", "").env("CUDA_CACHE_PATH", home.join("cache")).env("MY_TOKEN", "hush");
        Ran::of(&mut command).stdout
    };
    let record = run(&[]);
    let answer: Value = serde_json::from_str(&record).unwrap();
    assert_eq!(answer["smoke"][0]["runs"][0]["result"]["kind"], "failed");
    assert_eq!(answer["machine"]["prefixes"][0]["path"], "~/envs/sim");
    assert_eq!(answer["foreign"].as_array().unwrap().len(), 1);
    for secret in ["ada-lovelace", "8932f937", "hush", "tk-1", &format!("/{host}/")] {
        assert!(!record.contains(secret), "{secret} is in the record: {record}");
    }
    assert_eq!(answer["machine"]["variables"]["values"]["CUDA_VISIBLE_DEVICES"], "GPU-uuid");
    let named = run(&["--names"]);
    assert!(named.contains("ada-lovelace") && named.contains(gpu));
    assert!(!named.contains("hush") && !named.contains("tk-1"), "secrets are not names");
}

/// What an earlier driver compiled goes when it is asked to go, and nothing else.
#[test]
fn a_stale_cache_is_named_first_and_removed_when_asked() {
    let Some(driver) = stand_in() else { return skip("no C++ compiler") };
    let home = scratch();
    let cache = home.path().join(".nv/ComputeCache");
    for name in ["index", "3/a/code", "notes.txt"] {
        put(&cache, name, b"compiled");
        let file = std::fs::File::options().write(true).open(cache.join(name)).unwrap();
        file.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(10_000)).unwrap();
    }
    let run = |args: &[&str]| {
        let mut command = doctor(args);
        Ran::of(command.env("LD_LIBRARY_PATH", driver.path()).env("HOME", home.path()).env_remove("CUDA_CACHE_PATH"))
    };
    let answer = run(&["--json"]).exit(0).json();
    assert!(fired(&answer).contains("cache-stale"));
    assert_eq!(
        answer["actions"][0],
        serde_json::json!({ "action": "stale-cache", "path": "~/.nv/ComputeCache", "size": 16 })
    );
    let said = run(&["--fix"]).exit(0).stdout;
    assert!(said.contains("would remove 16 bytes in ~/.nv/ComputeCache: 3 index"), "{said}");
    assert!(cache.join("index").exists() && cache.join("3/a/code").exists());
    let said = run(&["--fix", "--yes"]).exit(0).stdout;
    assert!(said.contains("removed 16 bytes in ~/.nv/ComputeCache: 3 index"), "{said}");
    assert!(!cache.join("index").exists() && !cache.join("3").exists() && cache.join("notes.txt").exists());
    assert!(!fired(&run(&["--json"]).exit(0).json()).contains("cache-stale"));
    // In use: the index is newer than the driver. And nothing is removed on another machine's behalf.
    put(&cache, "index", b"compiled");
    assert!(!fired(&run(&["--json"]).exit(0).json()).contains("cache-stale"));
    run(&["--fix", "--yes", "--root", home.path().to_str().unwrap()]).exit(2);
}

/// Device code for some targets, as a library or a program.
fn compiled(cuda: &Path, dir: &Path, name: &str, source: &str, flags: &[&str]) -> PathBuf {
    let (input, output) = (dir.join(format!("{}.cu", name.replace('/', "-"))), dir.join(name));
    fs_err::create_dir_all(output.parent().unwrap()).unwrap();
    fs_err::write(&input, source).unwrap();
    let mut command = Command::new(cuda.join("bin/nvcc"));
    Ran::of(command.args(flags).arg("-o").arg(&output).arg(&input)).exit(0);
    fs_err::remove_file(&input).unwrap();
    output
}

/// A program as brian2cuda makes it: generated code, the kernels and the host's part in one executable that is linked
/// with the CUDA runtime.
#[test]
fn a_generated_program_runs_where_its_code_does() {
    let Some(cuda) = set_up("SIMPACK_TEST_CUDA") else { return };
    let Some(driver) = stand_in() else { return skip("no C++ compiler") };
    let dir = scratch();
    let source = "__global__ void _run_kernel_neurongroup_stateupdater_codeobject(int n, double *v) {\n\
                  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) v[i] *= 0.5; }\n\
                  int main() { double *v; cudaMalloc(&v, 8 * 1024);\n\
                  _run_kernel_neurongroup_stateupdater_codeobject<<<4, 256>>>(1024, v);\n\
                  return cudaDeviceSynchronize() != cudaSuccess; }\n";
    let program = compiled(&cuda, dir.path(), "main", source, &["-arch=sm_86", "-cudart", "static"]);
    let run = |capability: &str, args: &[&str]| {
        let mut command = doctor(args);
        command.env("LD_LIBRARY_PATH", driver.path()).env("FAKE_CUDA_CAPABILITY", capability);
        Ran::of(command.arg(&program).env_remove("CUDA_VISIBLE_DEVICES"))
    };
    let page = run("8.9", &[]).exit(0).stdout;
    assert!(page.contains("GPU 0  Fake GPU  -> runs: sm_86 (as machine code)"), "{page}");
    // A problem of these files, not of the machine: the exit code stays.
    let answer = run("8.0", &["--json"]).exit(0).json();
    assert_eq!(fired_of_cuda(&answer), ["foreign-unserved"]);
    let page = run("8.0", &[]).exit(0).stdout;
    assert!(page.contains("problem   main: does not run on GPU 0 (Fake GPU, 8.0)"), "{page}");
    assert!(page.contains("main: compute_86: ") || page.contains("main: sm_86: higher minor"), "{page}");
    assert!(page.trim_end().lines().last().unwrap().contains("nothing broken"), "{page}");
    let github = run("8.0", &["--format", "github"]).exit(0).stdout;
    assert!(github.starts_with("::") && github.contains("does not run on GPU 0"), "{github}");
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
