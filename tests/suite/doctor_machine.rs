//! The doctor on this machine: its record, its processes, what is left of earlier drivers.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use simpack::elf::resolve::library_named;

use crate::support::{Prefix, Ran, copy_tree, need, python, scratch, set_up, simpack, skip};

pub(crate) fn doctor(args: &[&str]) -> Command {
    let mut command = simpack(Path::new("/"), &["doctor"]);
    command.args(args).env_remove("LD_LIBRARY_PATH").env_remove("LIBRARY_PATH");
    command
}

pub(crate) fn fired(answer: &Value) -> BTreeSet<String> {
    let findings = answer["report"]["findings"].as_array().unwrap();
    findings.iter().map(|finding| finding["lint"].as_str().unwrap().to_owned()).collect()
}

/// The same without what is said of Vulkan: beside a stand-in for a GPU it knows the processor only.
pub(crate) fn fired_of_cuda(answer: &Value) -> Vec<String> {
    fired(answer).into_iter().filter(|id| id != "vulkan-software").collect()
}

pub(crate) fn put(root: &Path, path: &str, bytes: &[u8]) {
    let path = root.join(path);
    fs_err::create_dir_all(path.parent().unwrap()).unwrap();
    fs_err::write(path, bytes).unwrap();
}

pub(crate) fn link(root: &Path, to: &str, at: &str) {
    fs_err::create_dir_all(root.join(at).parent().unwrap()).unwrap();
    fs_err::os::unix::fs::symlink(to, root.join(at)).unwrap();
}

/// A library of the driver without a version in its name has to be large, or to open others, to be no stub.
pub(crate) fn driver(soname: &str) -> Vec<u8> {
    let mut bytes = library_named(soname, 62);
    bytes.resize(2 << 20, 0);
    bytes
}

/// A record without what differs from call to call.
pub(crate) fn record(args: &[&str], code: i32) -> Value {
    Ran::of(doctor(args).arg("--json")).exit(code).json()
}

/// The stand-in of volley's tests as a driver of CUDA that bears a version, so that the doctor takes it for one.
pub(crate) fn stand_in() -> Option<tempfile::TempDir> {
    let made = crate::loading::driver()?;
    let dir = scratch();
    fs_err::copy(made.join("libcuda.so.1"), dir.path().join("libcuda.so.580.1")).unwrap();
    link(dir.path(), "libcuda.so.580.1", "libcuda.so.1");
    Some(dir)
}

/// Device code for some targets, as a library or a program.
pub(crate) fn compiled(cuda: &Path, dir: &Path, name: &str, source: &str, flags: &[&str]) -> PathBuf {
    let (input, output) = (dir.join(format!("{}.cu", name.replace('/', "-"))), dir.join(name));
    fs_err::create_dir_all(output.parent().unwrap()).unwrap();
    fs_err::write(&input, source).unwrap();
    let mut command = Command::new(cuda.join("bin/nvcc"));
    Ran::of(command.args(flags).arg("-o").arg(&output).arg(&input)).exit(0);
    fs_err::remove_file(&input).unwrap();
    output
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
