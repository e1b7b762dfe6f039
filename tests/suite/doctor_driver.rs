//! The doctor and drivers that do what drivers should not: hang, crash, print, end the process; and drivers that give
//! out fewer GPUs than there are. Each is a library that a compiler makes here, and that the loader finds by a variable.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::Value;

use crate::support::{Ran, scratch, simpack, skip};

/// An NVML with some GPUs: 8.0 and 80 GiB each.
const NVML: &str = r#"
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <stdlib.h>
#ifndef GPUS
#define GPUS 1
#endif
#ifndef AT_START
#define AT_START
#endif
int nvmlInit_v2(void) { AT_START; return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlSystemGetDriverVersion(char *text, unsigned size) { snprintf(text, size, "580.1"); return 0; }
int nvmlSystemGetCudaDriverVersion(int *version) { *version = 13000; return 0; }
int nvmlSystemGetCudaDriverVersion_v2(int *version) { *version = 13000; return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = GPUS; return 0; }
static char handles[64];
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) { *device = handles + index; return 0; }
int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor) { *major = 8; *minor = 0; return 0; }
int nvmlDeviceGetName(void *device, char *text, unsigned size) { snprintf(text, size, "a made GPU"); return 0; }
int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *info) { info[0] = 80ull << 30; info[1] = info[2] = 0; return 0; }
"#;

/// A CUDA driver with some GPUs, which does what CUDA_VISIBLE_DEVICES says as far as it is one number or absent.
const CUDA: &str = r#"
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <unistd.h>
#ifndef GPUS
#define GPUS 1
#endif
#ifndef AT_START
#define AT_START
#endif
int cuDriverGetVersion(int *version) { *version = 13000; return 0; }
int cuInit(unsigned flags) { AT_START; return 0; }
int cuDeviceGetCount(int *count) { *count = getenv("CUDA_VISIBLE_DEVICES") ? 1 : GPUS; return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return 0; }
int cuDeviceGetName(char *text, int size, int device) { snprintf(text, size, "a made GPU"); return 0; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { *bytes = 80ull << 30; return 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) { *value = attribute == 75 ? 8 : 0; return 0; }
"#;

/// Makes a library as a driver of a version installs it.
fn library(dir: &Path, name: &str, source: &str, settings: &[&str]) -> Option<()> {
    let Some(compiler) = ["cc", "gcc", "clang"].iter().find_map(|name| which::which(name).ok()) else {
        skip("no C compiler");
        return None;
    };
    let file = dir.join(format!("{name}.c"));
    fs_err::write(&file, source).unwrap();
    let mut command = Command::new(compiler);
    command.args(["-shared", "-fPIC", "-O1", &format!("-Wl,-soname,{name}.so.1")]).args(settings).arg(&file);
    Ran::of(command.arg("-o").arg(dir.join(format!("{name}.so.580.1")))).exit(0);
    fs_err::os::unix::fs::symlink(format!("{name}.so.580.1"), dir.join(format!("{name}.so.1"))).unwrap();
    Some(())
}

/// The doctor with a directory of libraries first in the loader's search.
fn doctor(dir: &Path, args: &[&str]) -> Command {
    let mut command = simpack(Path::new("/"), &["doctor"]);
    command.args(args).env_remove("LIBRARY_PATH").env_remove("CUDA_VISIBLE_DEVICES").env("LD_LIBRARY_PATH", dir);
    command
}

fn finding<'a>(answer: &'a Value, lint: &str) -> &'a str {
    let findings = answer["report"]["findings"].as_array().unwrap();
    let found = findings.iter().find(|finding| finding["lint"] == lint);
    found.unwrap_or_else(|| panic!("no {lint} in {findings:#?}"))["message"].as_str().unwrap()
}

fn drivers(nvml: &[&str], cuda: &[&str]) -> Option<(tempfile::TempDir, PathBuf)> {
    let dir = scratch();
    let path = dir.path().to_owned();
    library(&path, "libnvidia-ml", NVML, nvml)?;
    library(&path, "libcuda", CUDA, cuda)?;
    Some((dir, path))
}

#[test]
fn a_driver_that_hangs_is_a_finding_after_its_time() {
    let Some((_dir, path)) = drivers(&["-DAT_START=sleep(600)"], &[]) else { return };
    let started = Instant::now();
    let ran = Ran::of(&mut doctor(&path, &["--driver-limit", "5", "--json"])).exit(1);
    assert!(started.elapsed().as_secs() < 60);
    let answer = ran.json();
    assert_eq!(finding(&answer, "driver-hangs"), "NVML did not answer within 5 s");
    // The CUDA driver is asked all the same, and has a GPU.
    assert_eq!(answer["machine"]["cuda"]["devices"][0]["name"], "a made GPU");
    let file = path.join("machine.json");
    fs_err::write(&file, &ran.stdout).unwrap();
    let again = Ran::of(&mut doctor(&path, &["--replay", file.to_str().unwrap(), "--json"])).exit(1);
    assert_eq!(again.json(), answer);
    let text = Ran::of(&mut doctor(&path, &["--replay", file.to_str().unwrap()])).exit(1).stdout;
    assert!(text.starts_with("broken    driver: NVML did not answer within 5 s"), "{text}");
}

#[test]
fn a_driver_that_crashes_or_ends_the_process_is_a_finding() {
    for (setting, expected) in [
        ("-DAT_START=*(volatile int*)8=1", "the CUDA driver crashed with signal SIGSEGV"),
        ("-DAT_START=abort()", "the CUDA driver crashed with signal SIGABRT"),
        ("-DAT_START=exit(3)", "the CUDA driver ended the program with exit 3"),
    ] {
        let Some((_dir, path)) = drivers(&[], &[setting]) else { return };
        let answer = Ran::of(&mut doctor(&path, &["--verbose", "--json"])).exit(1).json();
        assert_eq!(finding(&answer, "driver-crashes"), expected);
        assert_eq!(answer["machine"]["nvml"]["devices"][0]["kind"]["capability"], "8.0");
    }
}

/// What a library prints is not taken for its answer, and what it does at the end of a process is not waited for.
#[test]
fn a_driver_that_talks_is_heard_all_the_same() {
    let chatter = r#"-DAT_START=puts("{}"),fflush(stdout)"#;
    let end = r#"
__attribute__((destructor)) static void at_the_end(void) { sleep(600); }
"#;
    let dir = scratch();
    if library(dir.path(), "libnvidia-ml", NVML, &[chatter]).is_none() {
        return;
    }
    library(dir.path(), "libcuda", &format!("{CUDA}{end}"), &[chatter]).unwrap();
    let answer = Ran::of(&mut doctor(dir.path(), &["--verbose", "--driver-limit", "20", "--json"])).exit(0).json();
    assert_eq!(answer["machine"]["nvml"]["devices"].as_array().unwrap().len(), 1);
    assert_eq!(answer["machine"]["cuda"]["devices"].as_array().unwrap().len(), 1);
}

#[test]
fn a_vulkan_loader_that_crashes_is_a_finding() {
    let dir = scratch();
    let source = "#include <stdlib.h>\nvoid *vkGetInstanceProcAddr(void *instance, const char *name) { abort(); }\n";
    if library(dir.path(), "libvulkan", source, &[]).is_none() {
        return;
    }
    let answer = Ran::of(&mut doctor(dir.path(), &["--json"])).json();
    let said = finding(&answer, "vulkan-failed");
    assert!(said.contains("crashed with signal SIGABRT"), "{said}");
}

#[test]
fn fewer_gpus_than_there_are_and_gpus_that_were_chosen() {
    let Some((_dir, path)) = drivers(&["-DGPUS=4"], &["-DGPUS=2"]) else { return };
    let ids = |answer: &Value| -> Vec<String> {
        let findings = answer["report"]["findings"].as_array().unwrap();
        findings.iter().map(|it| it["lint"].as_str().unwrap().to_owned()).collect()
    };
    // No kernel module here, so that the CUDA driver is started at once.
    let answer = Ran::of(&mut doctor(&path, &["--json"])).exit(0).json();
    assert_eq!(finding(&answer, "devices-fewer"), "CUDA programs see 2 of 4 GPUs that NVML lists");
    // The variable reaches the driver, whoever sets it.
    let mut by_shell = doctor(&path, &["--json"]);
    by_shell.env("CUDA_VISIBLE_DEVICES", "2");
    for mut command in [by_shell, doctor(&path, &["--json", "--env", "CUDA_VISIBLE_DEVICES=2"])] {
        let answer = Ran::of(&mut command).exit(0).json();
        assert_eq!(answer["machine"]["cuda"]["devices"].as_array().unwrap().len(), 1);
        assert_eq!(finding(&answer, "devices-chosen"), "CUDA programs see 1 of 4 GPUs: its value is `2`");
        assert!(!ids(&answer).contains(&"devices-fewer".to_owned()));
    }
    let Some((_dir, path)) = drivers(&["-DGPUS=2"], &["-DGPUS=2"]) else { return };
    let answer = Ran::of(&mut doctor(&path, &["--json", "--verbose"])).exit(0).json();
    assert!(!ids(&answer).iter().any(|id| id.starts_with("devices-")), "{:?}", ids(&answer));
}

/// `select` asks in the same way.
#[test]
fn a_crash_leaves_select_with_what_others_say() {
    let Some((_dir, path)) = drivers(&["-DAT_START=abort()"], &[]) else { return };
    let prefix = scratch();
    let mut command = simpack(prefix.path(), &["select", "--json"]);
    command.arg(&crate::support::volley().dist).env("LD_LIBRARY_PATH", &path).env_remove("CUDA_VISIBLE_DEVICES");
    let answer = Ran::of(&mut command).exit(0).json();
    assert_eq!(answer["machine"]["devices"][0]["kind"]["capability"], "8.0");
    assert_eq!(answer["simulators"][0]["packages"], serde_json::json!(["volley-kernels-sm_80"]));
}

/// A prefix that is examined may hold anything: what lies in it is looked at, and never opened, also where the loader
/// would take it.
#[test]
fn nothing_of_an_examined_prefix_is_opened() {
    let prefix = scratch();
    let path = prefix.path().join("lib");
    fs_err::create_dir(&path).unwrap();
    let mark = prefix.path().join("opened");
    let trap = format!(
        "#include <stdio.h>\n__attribute__((constructor)) static void trap(void) {{ fclose(fopen(\"{}\", \"w\")); }}\n",
        mark.display()
    );
    for name in ["libnvidia-ml", "libcuda", "libvulkan"] {
        if library(&path, name, &trap, &[]).is_none() {
            return;
        }
    }
    let at = prefix.path().to_str().unwrap();
    let answer = Ran::of(&mut doctor(&path, &[at, "--verbose", "--json"])).json();
    let winner = &answer["machine"]["driver-files"]["libraries"][0];
    assert!(winner["wins"] == true && winner["role"] == "real", "{winner}");
    assert!(answer["machine"].get("cuda").is_none() && answer["machine"].get("nvml").is_none());
    assert!(!mark.exists(), "a library of the prefix was opened");
    // The trap works: without the prefix they are the machine's own.
    Ran::of(&mut doctor(&path, &["--json"]));
    assert!(mark.exists());
}
