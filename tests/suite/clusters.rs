//! What holds of a plan over any cluster.

use std::process::{Command, Stdio};

use crate::support::{Cluster, Ran, Tiny, changed, digests};

/// A build by jobs, with what has no reader of a tag and code for two capabilities only.
pub fn build(tiny: &Tiny, cluster: &impl Cluster, args: &[&str]) -> Command {
    let mut all = vec!["--executor", cluster.name(), "--jobs", "1", "--tasks", "3"];
    all.extend(args);
    let mut command = tiny.build(&all);
    cluster.serve(&mut command);
    command
}

/// Cold and warm builds, a step that fails, an interruption, a coordinator that is killed.
pub fn make_the_bytes_of_one_machine(cluster: &impl Cluster) {
    let Some(tiny) = Tiny::with_kernels() else { return };
    let reference = tiny.reference();
    let cold = |tiny: &Tiny| {
        for dir in ["cache/artifacts", "cache/headers", "target", "dist"] {
            let _ = fs_err::remove_dir_all(tiny.path(dir));
        }
    };
    cold(&tiny);
    let told = Ran::of(&mut build(&tiny, cluster, &[])).exit(0);
    assert_eq!(changed(&digests(&tiny.path("dist")), &reference), [""; 0]);
    for words in ["3 steps in 3 tasks of 1 processor", "build      3/3  ", "host core  (", "from cache"] {
        assert!(format!("{}{}", told.stderr, told.stdout).contains(words), "{words}: {}{}", told.stderr, told.stdout);
    }
    // Nothing is left to do, and nothing of the run is left.
    let again = Ran::of(&mut build(&tiny, cluster, &[])).exit(0);
    assert!(!again.stderr.contains(&format!("{}  ", cluster.name())), "{}", again.stderr);
    let runs = tiny.names(&format!("cache/{}", cluster.name()));
    let left: Vec<String> =
        runs.iter().flat_map(|name| tiny.names(&format!("cache/{}/{name}", cluster.name()))).collect();
    assert_eq!(left, ["lock"]);

    // A step that fails is told as on one machine, with its node, and ends the rest.
    cold(&tiny);
    tiny.compiler("echo 'sim.cc: no such luck' >&2; exit 1");
    let failed = Ran::of(&mut build(&tiny, cluster, &[])).exit(5);
    for words in ["host core", "no such luck", "task ", " on ", "its log: "] {
        assert!(failed.stderr.contains(words), "{words}: {}", failed.stderr);
    }
    cluster.until("the other tasks are gone", || cluster.tasks().is_empty());

    // Ctrl-C cancels the jobs; the next build goes on.
    let wait = format!(
        "touch '{}'; while [ ! -e '{}' ]; do sleep 0.1; done",
        tiny.path("begun").display(),
        tiny.path("go").display()
    );
    tiny.compiler(&wait);
    let mut child = build(&tiny, cluster, &[]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    cluster.until("the compiler runs", || tiny.path("begun").exists());
    // SAFETY: a signal to a process that this test started.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    assert_eq!(child.wait().unwrap().code(), Some(130));
    cluster.until("its jobs are gone", || cluster.tasks().is_empty());

    // A coordinator that is killed leaves its jobs, which the next one adopts.
    fs_err::remove_file(tiny.path("begun")).unwrap();
    let mut child = build(&tiny, cluster, &[]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    cluster.until("the compiler runs", || tiny.path("begun").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    tiny.write("go", "");
    let adopted = Ran::of(&mut build(&tiny, cluster, &[])).exit(0);
    assert!(adopted.stderr.contains("of an earlier build adopted"), "{}", adopted.stderr);
    assert!(!adopted.stderr.contains(": 3 steps in"), "{}", adopted.stderr);
    assert_eq!(changed(&digests(&tiny.path("dist")), &reference), [""; 0]);
}
