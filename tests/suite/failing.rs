//! Builds that fail say what failed and change nothing.

use std::path::{Path, PathBuf};

use crate::support::{CacheView, Ran, changed, copy_tree, digests, files, scratch, simpack};

/// A copy of volley's recipe whose kernels are built for one capability.
struct Copy {
    dir: tempfile::TempDir,
    view: CacheView,
}

impl Copy {
    fn new() -> Self {
        let dir = scratch();
        copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("recipes/volley"), &dir.path().join("recipe"));
        Self { dir, view: CacheView::with_artifacts() }
    }

    fn dist(&self) -> PathBuf {
        self.dir.path().join("dist")
    }

    fn source(&self, name: &str) -> PathBuf {
        self.dir.path().join("recipe/kernels").join(name)
    }

    fn build(&self, args: &[&str]) -> Ran {
        let mut command = simpack(self.dir.path(), &["build", "recipe", "--component", "kernels"]);
        command.args(["--capability", "9.0", "--ptx", "none"]).args(args);
        Ran::of(command.env("SIMPACK_CACHE_DIR", self.view.root.path()))
    }
}

#[test]
fn a_mistake_in_a_kernel_is_told_with_command_place_and_log() {
    let copy = Copy::new();
    copy.build(&[]).exit(0);
    let before = digests(&copy.dist());
    let source = copy.source("synapse.cu");
    let text = fs_err::read_to_string(&source).unwrap();
    fs_err::write(&source, format!("{text}\n__global__ void broken() {{ no_such_name += 1; }}\n")).unwrap();
    let ran = copy.build(&["--jobs", "1"]).exit(5);
    let line = text.lines().count() + 2;
    assert!(ran.stderr.starts_with("volley 1.0.0") && ran.stdout.is_empty(), "{ran:?}");
    assert!(ran.stderr.contains("error: nvcc failed on kernels/synapse.cu sm_90 ("), "{}", ran.stderr);
    assert!(ran.stderr.contains(&format!("kernels/synapse.cu({line})")), "{}", ran.stderr);
    assert!(ran.stderr.contains("\"no_such_name\" is undefined"), "{}", ran.stderr);
    assert!(ran.stderr.contains("`simpack build` continues from here"), "{}", ran.stderr);
    let log = ran.stderr.lines().find_map(|line| line.trim().strip_prefix("command and output: ")).unwrap();
    let log = fs_err::read_to_string(copy.dir.path().join(log)).unwrap();
    assert!(log.contains("nvcc") && log.contains("-arch=sm_90") && log.contains("no_such_name"), "{log}");
    assert_eq!(changed(&before, &digests(&copy.dist())), [""; 0], "a failed build changed dist/");

    fs_err::write(&source, text).unwrap();
    copy.build(&[]).exit(0);
    assert_eq!(changed(&before, &digests(&copy.dist())), [""; 0]);
    let hidden = fs_err::read_dir(copy.dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = hidden.filter(|name| name.to_str().unwrap().starts_with('.')).collect();
    assert!(left.is_empty(), "{left:?}");
    let left = files(&copy.dir.path().join("target/simpack"));
    assert!(left.iter().all(|file| !file.starts_with("step-")), "{left:?}");
}

#[test]
fn keep_going_finishes_what_can_be_finished() {
    let copy = Copy::new();
    for name in ["neuron.cu", "synapse.cu"] {
        let source = copy.source(name);
        let text = fs_err::read_to_string(&source).unwrap();
        // Three of the six steps fail: those of one variant of one file, and another file's other two.
        let guard = if name == "neuron.cu" { "defined(ACCUMULATE_FIXED)" } else { "!defined(ACCUMULATE_FIXED)" };
        fs_err::write(&source, format!("{text}\n#if {guard}\n#error told to fail\n#endif\n")).unwrap();
    }
    let ran = copy.build(&["--keep-going"]).exit(5);
    assert!(ran.stderr.contains("told to fail"), "{}", ran.stderr);
    assert!(ran.stderr.contains("3 finished steps are kept"), "{}", ran.stderr);
    assert!(ran.stderr.contains("2 more steps failed"), "{}", ran.stderr);
    assert!(!copy.dist().exists());
    let dry = copy.build(&["--dry-run", "--json"]).exit(0).json();
    let cached = dry.as_array().unwrap().iter().filter(|step| step["cached"] == true).count();
    assert_eq!(cached, 3, "{dry}");
}

#[test]
fn a_directory_that_simpack_did_not_make_is_left_alone() {
    let dir = scratch();
    let dist = dir.path().join("dist");
    fs_err::create_dir(&dist).unwrap();
    fs_err::write(dist.join("thesis.tex"), "months of work").unwrap();
    let ran = Ran::of(&mut simpack(dir.path(), &["build", "volley"])).exit(2);
    assert!(ran.stderr.contains("dist holds files that simpack did not make"), "{}", ran.stderr);
    assert!(ran.stderr.contains("--dist"), "{}", ran.stderr);
    assert_eq!(files(&dist), ["thesis.tex"]);
}

#[test]
fn a_malformed_time_stamp_is_refused() {
    let dir = scratch();
    for text in ["", "yesterday", "-1", "1e9", "99999999999999999999"] {
        let mut command = simpack(dir.path(), &["build", "volley"]);
        let ran = Ran::of(command.env("SOURCE_DATE_EPOCH", text)).exit(2);
        assert!(ran.stderr.contains("SOURCE_DATE_EPOCH"), "{text}: {}", ran.stderr);
        assert!(!dir.path().join("dist").exists());
    }
}

#[test]
fn impossible_requests_name_what_is_possible() {
    let dir = scratch();
    for (args, code, says) in [
        (&["build", "nowhere"][..], 2, "volley"),
        (&["build", "volley", "--component", "kernel"], 2, "kernels"),
        (&["build", "volley", "--capability", "9.2"], 3, "9.0"),
        (&["build", "volley", "--cuda", "12.0", "--capability", "12.0"], 3, "12.0"),
        (&["build", "volley", "--capability", "nine"], 2, "9.0"),
        (&["build", "volley", "--deny", "no-such-lint"], 2, "no-such-lint"),
        (&["build", "volley", "--jobs", "0"], 2, "jobs"),
        (&["toolchain", "show", "cuda-0.1"], 2, "cuda-13.0"),
        (&["built"], 2, "build"),
    ] {
        let ran = Ran::of(&mut simpack(dir.path(), args)).exit(code);
        assert!(ran.stderr.contains(says), "{args:?}: {}", ran.stderr);
        assert!(!dir.path().join("dist").exists());
    }
}
