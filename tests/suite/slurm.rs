//! A plan over a real Slurm of two nodes: the bytes of one machine, whatever happens to tasks, nodes and who waits for them.

use std::process::Stdio;
use std::time::Duration;

use crate::clusters::{build, make_the_bytes_of_one_machine};
use crate::support::{Cluster, Ran, Slurm, Tiny, changed, digests};

#[test]
fn jobs_of_slurm_make_the_bytes_of_one_machine() {
    let Some(slurm) = Slurm::start() else { return };
    make_the_bytes_of_one_machine(&slurm);
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
    for words in ["had not enough memory (419.4 MB), twice", "not done: host core", "--submit-arg=--mem="] {
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
