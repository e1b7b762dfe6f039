//! Shaders in HLSL by DirectXShaderCompiler, where a machine has it: for every version of Vulkan, with the bits of the host.

use std::path::Path;
use std::process::Command;

use crate::shaders::{can_run, compiled, valid};
use crate::support::{Ran, client, copy_tree, need, python, scratch, set_up, simpack};

const INTEGRATE: &str = r#"#include "cell.h"

struct Push { uint count; float leak; float threshold; };
[[vk::push_constant]] Push push;
[[vk::binding(0)]] RWStructuredBuffer<Cell> cells;

[numthreads(64, 1, 1)]
void main(uint3 id : SV_DispatchThreadID) {
    if (id.x >= push.count) return;
    Cell cell = cells[id.x];
    precise float kept = cell.potential * push.leak;
    precise float potential = kept + float(cell.arriving) * (1.0 / 65536.0);
    bool fires = cell.rest == 0 && potential >= push.threshold;
    cell.rest = fires ? 3 : max(cell.rest, 1u) - 1;
    cell.fired = fires ? 1 : 0;
    cell.spikes += cell.fired;
    cell.potential = fires ? 0.0 : potential;
    cell.arriving = 0;
    cells[id.x] = cell;
}
"#;

const DELIVER: &str = r#"#include "cell.h"

struct Push { uint count; };
[[vk::push_constant]] Push push;
[[vk::binding(0)]] RWStructuredBuffer<Cell> cells;
[[vk::binding(1)]] StructuredBuffer<Synapse> synapses;
[[vk::binding(2)]] StructuredBuffer<uint> offsets;

[numthreads(64, 1, 1)]
void main(uint3 id : SV_DispatchThreadID) {
    uint at = id.x;
    if (at >= push.count) return;
#ifdef ACCUMULATE_FIXED
    for (uint index = at; index < offsets[push.count]; index += push.count) {
        Synapse one = synapses[index];
        if (cells[one.from].fired != 0) InterlockedAdd(cells[one.to].arriving, one.weight);
    }
#else
    int sum = 0;
    for (uint index = offsets[at]; index < offsets[at + 1]; ++index)
        if (cells[synapses[index].from].fired != 0) sum += synapses[index].weight;
    cells[at].arriving += sum;
#endif
}
"#;

#[test]
fn hlsl_is_compiled_by_dxc_for_every_version_of_vulkan() {
    need!(python().is_some(), "no client");
    let Some(dxc) = set_up("SIMPACK_TEST_DXC") else { return };
    if !can_run() {
        return;
    }
    let dir = scratch();
    let path = |name: &str| dir.path().join(name);
    copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recipes/shaded"), &path("recipe"));
    let recipe = path("recipe/simpack.toml");
    let text = fs_err::read_to_string(&recipe).unwrap();
    let text = text.replace(".comp", ".hlsl").replace("\"vulkan1.1\", ", "\"vulkan1.1\", \"vulkan1.3\", ");
    fs_err::write(&recipe, &text).unwrap();
    fs_err::write(path("recipe/shaders/integrate.hlsl"), INTEGRATE).unwrap();
    fs_err::write(path("recipe/shaders/deliver.hlsl"), DELIVER).unwrap();
    // Without dxc it is refused where it stands, and a build says the same.
    let refused = Ran::of(&mut simpack(dir.path(), &["check", "recipe"])).exit(3).stdout;
    let said = "`shaders/integrate.hlsl` cannot be compiled for vulkan1.3 here: it is HLSL, and there is no dxc";
    assert!(refused.contains(said) && refused.contains("simpack.toml:31:"), "{refused}");
    let refused = Ran::of(&mut simpack(dir.path(), &["plan", "recipe"]));
    assert!(refused.code != Some(0) && refused.stderr.contains("it is HLSL"), "{refused:?}");

    let with_dxc = format!("{}:{}", dxc.join("bin").display(), std::env::var("PATH").unwrap());
    let run = |args: &[&str]| {
        let mut command = simpack(dir.path(), args);
        Ran::of(command.env("PATH", &with_dxc).env("SIMPACK_CACHE_DIR", path("cache")))
    };
    run(&["check", "recipe"]).exit(0);
    let built = run(&["build", "recipe", "--json"]).exit(0).json();
    assert_eq!(built["report"]["findings"].as_array().unwrap().len(), 0, "{}", built["report"]);
    let tag = built["kernel-abi"].as_str().unwrap();
    let targets = ["vulkan1.1", "vulkan1.2", "vulkan1.3"];
    let prefix = path("prefix");
    let mut install = client("install.py").unwrap();
    install.arg("--channel").arg(path("dist/conda")).arg("--prefix").arg(&prefix).arg("shaded");
    Ran::of(install.args(targets.map(|target| format!("shaded-shaders-{target}")))).exit(0);
    valid(&prefix.join("lib/shaded/kernels").join(tag), 2 * 2 * 3);
    let ran = |args: &[&str]| {
        let mut program = Command::new(prefix.join("bin/shaded"));
        Ran::of(program.args(["--cells", "300", "--cycles", "20"]).args(args).env_clear()).exit(0).json()
    };
    let cpu = ran(&["--backend", "cpu"]);
    for target in targets {
        for variant in ["fixed", "none"] {
            let found = ran(&["--variant", variant, "--code", target]);
            assert_eq!((&found["digest"], &found["spikes"]), (&cpu["digest"], &cpu["spikes"]), "{variant} {target}");
        }
    }
    // Its version and digest are in keys, as are the headers that it says it reads.
    let why = run(&["plan", "recipe", "--why", "shaders/deliver.hlsl vulkan1.2 (fixed)"]).exit(0).stdout;
    assert!(why.contains("\n  tool dxc  1.7 - ") && why.contains("\n  header shaders/cell.h  "), "{why}");
    // The same bytes from an empty cache.
    let packages = |summary: &serde_json::Value| summary["packages"].clone();
    let mut again = simpack(dir.path(), &["build", "recipe", "--json", "--dist", "again"]);
    let again = Ran::of(again.env("PATH", &with_dxc).env("SIMPACK_CACHE_DIR", path("other"))).exit(0).json();
    let digests = |summary: &serde_json::Value| -> Vec<serde_json::Value> {
        packages(summary).as_array().unwrap().iter().map(|package| package["sha256"].clone()).collect()
    };
    assert_eq!(digests(&again), digests(&built));
    // A change of one shader compiles that, optimised or not.
    fs_err::write(path("recipe/shaders/deliver.hlsl"), DELIVER.replace("int sum = 0;", "int sum = 0; // none"))
        .unwrap();
    let changed = compiled(&run(&["build", "recipe", "--json"]).exit(0).json());
    assert!(changed.len() == 6 && changed.iter().all(|step| step.contains("deliver.hlsl")), "{changed:?}");
    fs_err::write(&recipe, text.replace("embed", "").replace("exact =", "flags = [\"-Os\", \"-g\"]\nexact =")).unwrap();
    run(&["build", "recipe"]).exit(0);
    // Recipes of others call glslc, which does not make these.
    let refused = run(&["generate", "conda", "recipe", "--output", "out"]).exit(3).stderr;
    assert!(refused.contains("has shaders in HLSL for more than vulkan1.1"), "{refused}");
    // What is wrong is told with its place.
    fs_err::write(path("recipe/shaders/deliver.hlsl"), DELIVER.replace("push.count", "push.number")).unwrap();
    let failed = run(&["build", "recipe"]).exit(5).stderr;
    assert!(failed.contains("shaders/deliver.hlsl:") && failed.contains("no member named 'number'"), "{failed}");
}
