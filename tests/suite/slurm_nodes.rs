//! Nodes of a cluster that are not as the machine that submitted: without any means to isolate steps. That is told with the
//! step, the node, and what to do.

use std::path::Path;
use std::process::Command;

use crate::support::{Ran, Slurm, Tiny, need};

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
