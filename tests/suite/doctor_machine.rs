//! The doctor on this machine: real libraries, a real process, real wheels, an installed simulator, other machines'
//! files below a directory.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use simpack::elf::resolve::library_named;

use crate::installing::installed;
use crate::support::{Ran, copy_tree, need, python, scratch, set_up, simpack};

fn doctor(args: &[&str]) -> Command {
    let mut command = simpack(Path::new("/"), &["doctor"]);
    command.args(args).env_remove("LD_LIBRARY_PATH").env_remove("LIBRARY_PATH");
    command
}

fn fired(answer: &Value) -> BTreeSet<String> {
    let findings = answer["report"]["findings"].as_array().unwrap();
    findings.iter().map(|finding| finding["lint"].as_str().unwrap().to_owned()).collect()
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
    assert!(fired(&answer).is_empty(), "{:?}", fired(&answer));
    // A second wheel that brings cuRAND along.
    fs_err::create_dir(packages.join("other.libs")).unwrap();
    fs_err::hard_link(
        packages.join("nvidia/cu13/lib/libcurand.so.10"),
        packages.join("other.libs/libcurand-0123abcd.so.10"),
    )
    .unwrap();
    let answer = record(&[prefix], 0);
    assert_eq!(fired(&answer), BTreeSet::from(["vendor-twice".to_owned()]));
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
