//! A plan over a real Slurm of two nodes: the bytes of one machine, whatever happens to tasks, nodes and who waits for them.

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::{Ran, Slurm, Tiny, changed, digests};

/// A build by jobs, with what has no reader of a tag and code for two capabilities only.
fn build(tiny: &Tiny, slurm: &Slurm, args: &[&str]) -> Command {
    let mut all = vec!["--executor", "slurm", "--jobs", "1", "--tasks", "3"];
    all.extend(args);
    let mut command = tiny.build(&all);
    slurm.serve(&mut command);
    command
}

#[test]
fn jobs_of_a_cluster_make_the_bytes_of_one_machine() {
    let Some(slurm) = Slurm::start() else { return };
    let Some(tiny) = Tiny::with_kernels() else { return };
    let reference = tiny.reference();
    let cold = |tiny: &Tiny| {
        for dir in ["cache/artifacts", "cache/headers", "target", "dist"] {
            let _ = fs_err::remove_dir_all(tiny.path(dir));
        }
    };
    cold(&tiny);
    let told = Ran::of(&mut build(&tiny, &slurm, &[])).exit(0);
    assert_eq!(changed(&digests(&tiny.path("dist")), &reference), [""; 0]);
    for words in ["3 steps in 3 tasks of 1 processor", "build      3/3  ", "host core  (n", "from cache"] {
        assert!(format!("{}{}", told.stderr, told.stdout).contains(words), "{words}: {}{}", told.stderr, told.stdout);
    }
    // Nothing is left to do, and nothing of the run is left.
    let again = Ran::of(&mut build(&tiny, &slurm, &[])).exit(0);
    assert!(!again.stderr.contains("slurm  "), "{}", again.stderr);
    let left: Vec<String> =
        tiny.names("cache/slurm").iter().flat_map(|name| tiny.names(&format!("cache/slurm/{name}"))).collect();
    assert_eq!(left, ["lock"]);

    // A step that fails is told as on one machine, with its node, and ends the rest.
    cold(&tiny);
    tiny.compiler("echo 'sim.cc: no such luck' >&2; exit 1");
    let failed = Ran::of(&mut build(&tiny, &slurm, &[])).exit(5);
    for words in ["host core", "no such luck", "task ", " on n", "its log: "] {
        assert!(failed.stderr.contains(words), "{words}: {}", failed.stderr);
    }
    slurm.until("the other tasks are gone", || slurm.tasks().is_empty());

    // Ctrl-C cancels the jobs; the next build goes on.
    let wait = format!(
        "touch '{}'; while [ ! -e '{}' ]; do sleep 0.1; done",
        tiny.path("begun").display(),
        tiny.path("go").display()
    );
    tiny.compiler(&wait);
    let mut child = build(&tiny, &slurm, &[]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    slurm.until("the compiler runs", || tiny.path("begun").exists());
    // SAFETY: a signal to a process that this test started.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    assert_eq!(child.wait().unwrap().code(), Some(130));
    slurm.until("its jobs are gone", || slurm.tasks().is_empty());

    // A coordinator that is killed leaves its jobs, which the next one adopts.
    fs_err::remove_file(tiny.path("begun")).unwrap();
    let mut child = build(&tiny, &slurm, &[]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    slurm.until("the compiler runs", || tiny.path("begun").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    tiny.write("go", "");
    let adopted = Ran::of(&mut build(&tiny, &slurm, &[])).exit(0);
    assert!(adopted.stderr.contains("of an earlier build adopted"), "{}", adopted.stderr);
    assert!(!adopted.stderr.contains("slurm      job"), "{}", adopted.stderr);
    assert_eq!(changed(&digests(&tiny.path("dist")), &reference), [""; 0]);
}

#[test]
fn lost_nodes_and_memory_get_one_more_try() {
    let Some(slurm) = Slurm::start() else { return };
    let tiny = Tiny::new();
    let reference = tiny.reference();
    let cold = |first: &str| {
        for dir in ["cache/artifacts", "target", "dist", "marks"] {
            let _ = fs_err::remove_dir_all(tiny.path(dir));
        }
        fs_err::create_dir(tiny.path("marks")).unwrap();
        tiny.compiler(first);
    };
    let mark = |name: &str| tiny.path("marks").join(name).display().to_string();
    // The compiler of the first try waits to be killed with its node.
    cold(&format!("[ -e '{0}' ] || {{ touch '{0}'; sleep 600; }}", mark("first")));
    slurm.asked("scontrol", &["update", "nodename=n2", "state=drain", "reason=test"]);
    let child = build(&tiny, &slurm, &[]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    slurm.until("the compiler runs", || tiny.path("marks/first").exists());
    slurm.kill_node("n1");
    // Until somebody repairs one, no node takes it.
    slurm.until("its job waits", || slurm.tasks() == ["PENDING"]);
    std::thread::sleep(Duration::from_secs(2));
    slurm.asked("scontrol", &["update", "nodename=n2", "state=resume"]);
    let ran = Ran::from(child.wait_with_output().unwrap()).exit(0);
    assert!(ran.stderr.contains("task 1 runs on n1 no more"), "{}", ran.stderr);
    assert!(ran.stderr.contains("host core  (n2)"), "{}", ran.stderr);
    assert_eq!(changed(&digests(&tiny.path("dist")), &reference), [""; 0]);

    // Memory that suffices for the second try, and for none.
    let eat = |megabytes: u32| format!("dd if=/dev/zero bs={megabytes}M count=1 iflag=fullblock 2>/dev/null | sleep 4");
    cold(&eat(300));
    let with = ["--sbatch-arg=--mem=200M"];
    let ran = Ran::of(&mut build(&tiny, &slurm, &with)).exit(0);
    assert!(ran.stderr.contains("had not enough memory on n2 (209.7 MB): once more with 419.4 MB"), "{}", ran.stderr);
    assert_eq!(changed(&digests(&tiny.path("dist")), &reference), [""; 0]);
    cold(&eat(900));
    let ran = Ran::of(&mut build(&tiny, &slurm, &with)).exit(5);
    for words in ["had not enough memory (419.4 MB), twice", "not done: host core", "--sbatch-arg=--mem="] {
        assert!(ran.stderr.contains(words), "{words}: {}", ran.stderr);
    }
}

/// Shaders for three environments in four variants: sixty steps that take no compiler but simpack, and the host's.
const SIXTY: &str = r#"
[component.kernels]
policy = "capability"
[kernels.network]
form = "spirv"
sources = ["shaders/s0.wgsl", "shaders/s1.wgsl", "shaders/s2.wgsl", "shaders/s3.wgsl", "shaders/s4.wgsl"]
table = "shaders/table.toml"
[kernels.network.variants.scale]
one = { define = ["SCALE=1"] }
two = { define = ["SCALE=2"] }
three = { define = ["SCALE=3"] }
four = { define = ["SCALE=4"] }
"#;

#[test]
fn sixty_steps_are_shared_by_both_nodes() {
    let Some(slurm) = Slurm::start() else { return };
    let tiny = Tiny::new();
    let mut table = "edition = 1\n".to_owned();
    for n in 0..5 {
        let text = format!(
            "override SCALE: u32 = 1u;\n@group(0) @binding(0) var<storage, read_write> cells: array<u32>;\n\
             @compute @workgroup_size(64)\nfn main(@builtin(global_invocation_id) id: vec3<u32>) {{\n  \
             if (id.x < arrayLength(&cells)) {{ cells[id.x] += {n}u * SCALE; }}\n}}\n"
        );
        tiny.write(&format!("recipe/shaders/s{n}.wgsl"), &text);
        table += &format!("[[kernel]]\nname = \"s{n}\"\nparams = []\nworkgroup = [64]\n");
        table += "bindings = [{ binding = 0, type = \"storage-buffer\", size = 0, stride = 4 }]\n";
    }
    tiny.write("recipe/shaders/table.toml", &table);
    tiny.change(
        "cuda = [\"13.0\"]\ncapabilities = [\"8.0\", \"9.0\"]\nptx = []",
        "environments = [\"vulkan1.1\", \"vulkan1.2\", \"vulkan1.3\"]",
    );
    let recipe = fs_err::read_to_string(tiny.path("recipe/simpack.toml")).unwrap();
    tiny.write("recipe/simpack.toml", &(recipe + SIXTY));
    let reference = tiny.reference();
    let ran = Ran::of(&mut build(&tiny, &slurm, &[])).exit(0);
    assert!(ran.stderr.contains("61 steps in 3 tasks of 1 processor"), "{}", ran.stderr);
    for node in ["(n1)", "(n2)"] {
        assert!(ran.stderr.contains(node), "{node}: {}", ran.stderr);
    }
    assert_eq!(changed(&digests(&tiny.path("dist")), &reference), [""; 0]);
}
