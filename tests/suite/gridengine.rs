//! A plan over a real Grid Engine of one node: the bytes of one machine, and what is told of jobs that cannot begin or take too long.

use crate::clusters::{build, make_the_bytes_of_one_machine};
use crate::support::{Cluster, GridEngine, Ran, Tiny, changed, digests};

#[test]
fn jobs_of_grid_engine_make_the_bytes_of_one_machine() {
    let Some(cluster) = GridEngine::start() else { return };
    make_the_bytes_of_one_machine(&cluster);
}

#[test]
fn what_grid_engine_says_of_lost_tasks_is_told() {
    let Some(cluster) = GridEngine::start() else { return };
    let tiny = Tiny::new();
    let reference = tiny.reference();
    let cold = || {
        for dir in ["cache/artifacts", "target", "dist"] {
            let _ = fs_err::remove_dir_all(tiny.path(dir));
        }
    };
    // Two processors of one node, by the environment that gives them; the queue that was asked for.
    cold();
    let mut wide = tiny.build(&["--executor", "gridengine", "--jobs", "2", "--partition", "main.q"]);
    let ran = Ran::of(cluster.serve(&mut wide)).exit(0);
    assert!(ran.stderr.contains("1 step in 1 task of 2 processors"), "{}", ran.stderr);
    assert_eq!(changed(&digests(&tiny.path("dist")), &reference), [""; 0]);
    cold();
    let ran = Ran::of(&mut build(&tiny, &cluster, &["--partition", "none.q"])).exit(4);
    assert!(ran.stderr.contains("none.q"), "{}", ran.stderr);

    // The time limit of the job.
    cold();
    tiny.compiler("sleep 60");
    let limit = ["--submit-arg=-l", "--submit-arg=h_rt=0:0:3"];
    let ran = Ran::of(&mut build(&tiny, &cluster, &limit)).exit(5);
    for words in ["was ended at its time limit", "not done: host core", "h_rt=HH:MM:SS"] {
        assert!(ran.stderr.contains(words), "{words}: {}", ran.stderr);
    }
    cluster.until("nothing is left", || cluster.tasks().is_empty());

    // A job that cannot begin on the node: the directory that it was to start in is not there.
    let elsewhere = ["--submit-arg=-wd", "--submit-arg=/there/is/none"];
    let ran = Ran::of(&mut build(&tiny, &cluster, &elsewhere)).exit(5);
    for words in ["could not start (Grid Engine says Eqw)", "/there/is/none", "under the same paths"] {
        assert!(ran.stderr.contains(words), "{words}: {}", ran.stderr);
    }
    cluster.until("nothing is left", || cluster.tasks().is_empty());
}
