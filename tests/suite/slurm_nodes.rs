//! Nodes of a cluster that are not as the machine that submitted: without the shared directory, with an older glibc, without
//! any means to isolate steps. Each is told with its step, its node, and what to do.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::s3::S3;
use crate::support::{Cluster, Ran, Slurm, Tiny, changed, digests, need};

/// A build of one step by one task.
fn build(tiny: &Tiny, slurm: &Slurm, args: &[&str]) -> Command {
    let mut all = vec!["build", "recipe", "--executor", "slurm", "--jobs", "1", "--tasks", "1"];
    all.extend(args);
    let mut command = tiny.simpack(&all);
    slurm.serve(&mut command);
    command
}

#[track_caller]
fn told(ran: &Ran, words: &[&str]) {
    for words in words {
        assert!(ran.stderr.contains(words), "{words}: {}", ran.stderr);
    }
}

fn compiled(source: &str, program: &Path, args: &[&str]) {
    let mut command = Command::new("cc");
    command.args(["-O1", "-x", "c", source, "-o"]).arg(program).args(args);
    Ran::of(&mut command).exit(0);
}

#[test]
fn nodes_without_the_directory_or_with_an_older_glibc_are_told() {
    need!(which::which("unshare").is_ok(), "unshare is not here");
    let Some(slurm) = Slurm::start() else { return };
    let tiny = Tiny::new();
    let reference = tiny.reference();
    slurm.asked("scontrol", &["update", "nodename=n2", "state=drain", "reason=test"]);

    // A loader that knows no such version says so in its own words: the library that has it is there for the linker alone.
    tiny.write("old/libc.c", "void of_tomorrow(void) {}\n");
    tiny.write("old/libc.map", "GLIBC_9.99 { of_tomorrow; };\n");
    tiny.write("old/main.c", "void of_tomorrow(void);\nvoid _start(void) { of_tomorrow(); }\n");
    let at = |name: &str| tiny.path("old").join(name).display().to_string();
    let map = format!("-Wl,--version-script={}", at("libc.map"));
    let stub = ["-shared", "-fPIC", "-nostdlib", "-Wl,-soname,libc.so.6", &map];
    compiled(&at("libc.c"), &tiny.path("old/libtomorrow.so"), &stub);
    compiled(&at("main.c"), &tiny.path("old/simpack"), &["-nostdlib", "-x", "none", &at("libtomorrow.so")]);
    slurm.asked("scontrol", &["update", "nodename=n1", "state=drain", "reason=test"]);
    let mut child = build(&tiny, &slurm, &["--sandbox", "off"]);
    let child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    slurm.until("its job waits", || slurm.tasks() == ["PENDING"]);
    let runs: Vec<String> =
        tiny.names("cache/slurm").iter().map(|name| format!("cache/slurm/{name}/run/simpack")).collect();
    let program = tiny.path(&runs[0]);
    fs_err::remove_file(&program).unwrap();
    fs_err::copy(tiny.path("old/simpack"), &program).unwrap();
    slurm.asked("scontrol", &["update", "nodename=n1", "state=resume"]);
    let ran = Ran::from(child.wait_with_output().unwrap()).exit(5);
    told(
        &ran,
        &["task 1 could not start", "GLIBC_9.99", "not done: host core", "on n1", "older glibc", "--exclude=NODE"],
    );

    // A node that does not see the shared directory: something else is mounted there.
    let shared = tiny.path("shared");
    fs_err::create_dir(&shared).unwrap();
    slurm.restart_node(
        "n1",
        &format!("unshare --mount sh -c 'mount -t tmpfs tmpfs {} && exec \"$@\"' sh", shared.display()),
    );
    let with = ["--sandbox", "off", "--shared-dir", shared.to_str().unwrap()];
    let ran = Ran::of(&mut build(&tiny, &slurm, &with)).exit(5);
    told(&ran, &["task 1 could not start", "not done: host core", "the node must see this directory", "--shared-dir"]);

    // Both are mended by what is said.
    slurm.asked("scontrol", &["update", "nodename=n2", "state=resume"]);
    let with = [with.as_slice(), &["--sbatch-arg=--exclude=n1"]].concat();
    told(&Ran::of(&mut build(&tiny, &slurm, &with)).exit(0), &["host core  (n2)"]);
    assert_eq!(changed(&digests(&tiny.path("dist")), &reference), [""; 0]);
}

#[test]
fn a_node_without_a_sandbox_is_told_or_refused() {
    need!(cfg!(target_arch = "x86_64"), "the filter of system calls is for x86-64");
    if !crate::hermetic::isolated() {
        return;
    }
    let Some(slurm) = Slurm::start() else { return };
    let tiny = Tiny::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/without_sandbox.c");
    compiled(source.to_str().unwrap(), &tiny.path("without-sandbox"), &[]);
    slurm.asked("scontrol", &["update", "nodename=n2", "state=drain", "reason=test"]);
    slurm.restart_node("n1", &tiny.path("without-sandbox").display().to_string());
    let ran = Ran::of(&mut build(&tiny, &slurm, &["--sandbox", "require"])).exit(4);
    told(
        &ran,
        &["steps cannot be isolated on this machine", "task 1 of 1 on n1", "not done: host core", "--exclude=NODE"],
    );
    let ran = Ran::of(&mut build(&tiny, &slurm, &["--sandbox", "auto"])).exit(0);
    told(&ran, &["steps from the cache were isolated less (none)", "host core  (n1)"]);
    // What was made so serves nobody who requires more.
    slurm.asked("scontrol", &["update", "nodename=n2", "state=resume"]);
    let with = ["--sandbox", "require", "--sbatch-arg=--exclude=n1"];
    told(&Ran::of(&mut build(&tiny, &slurm, &with)).exit(0), &["host core  (n2)"]);
}

/// Nodes that share orders alone, each with a cache of its own: what they make comes back through the store.
#[test]
fn nodes_with_caches_of_their_own_meet_in_a_store() {
    need!(which::which("unshare").is_ok(), "unshare is not here");
    let Some(s3) = S3::start() else { return };
    let Some(slurm) = Slurm::start() else { return };
    let tiny = Tiny::new();
    let reference = tiny.reference();
    let (cache, shared) = (tiny.path("cache"), tiny.path("shared"));
    for dir in [&cache, &shared] {
        fs_err::create_dir_all(dir).unwrap();
    }
    slurm.asked("scontrol", &["update", "nodename=n2", "state=drain", "reason=test"]);
    let elsewhere = format!("unshare --mount sh -c 'mount -t tmpfs tmpfs {} && exec \"$@\"' sh", cache.display());
    slurm.restart_node("n1", &elsewhere);
    let with = ["--sandbox", "off", "--shared-dir", shared.to_str().unwrap()];
    let mut command = build(&tiny, &slurm, &with);
    told(&Ran::of(s3.serve(&mut command, "write")).exit(0), &["host core  (n1)"]);
    assert_eq!(changed(&digests(&tiny.path("dist")), &reference), [""; 0]);
    assert_eq!(s3.objects("artifacts").len(), 1);
}

/// The shared directory goes away while a step runs, and comes back.
#[test]
fn a_shared_directory_that_comes_back_is_waited_for() {
    let Some(slurm) = Slurm::start() else { return };
    let tiny = Tiny::new();
    let reference = tiny.reference();
    let (shared, away) = (tiny.path("shared"), tiny.path("away"));
    fs_err::create_dir(&shared).unwrap();
    let mark = |name: &str| tiny.path(name).display().to_string();
    tiny.compiler(&format!("touch '{}'; while [ ! -e '{}' ]; do sleep 0.1; done", mark("begun"), mark("go")));
    let mut child = build(&tiny, &slurm, &["--sandbox", "off", "--shared-dir", shared.to_str().unwrap()]);
    let child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    slurm.until("the compiler runs", || tiny.path("begun").exists());
    fs_err::rename(&shared, &away).unwrap();
    std::thread::sleep(Duration::from_secs(7));
    fs_err::rename(&away, &shared).unwrap();
    tiny.write("go", "");
    let ran = Ran::from(child.wait_with_output().unwrap()).exit(0);
    told(&ran, &["is not there: waiting for it, 10 minutes at most", "host core  (n"]);
    assert_eq!(changed(&digests(&tiny.path("dist")), &reference), [""; 0]);
}
