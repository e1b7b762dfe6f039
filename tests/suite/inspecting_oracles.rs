//! simpack's readers against NVIDIA's and Khronos' own, on files that their compilers make here.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::cuobjdump::{counted, kernels, listed, resources};
use crate::support::{Ran, need, scratch, set_up, simpack};

const SOURCE: &str = r#"
struct Pack { char a; double b; short c; };
extern "C" __global__ void one(float *a, int n, Pack p) {
    __shared__ float t[32];
    t[threadIdx.x % 32] = a[n];
    __syncthreads();
    a[threadIdx.x] = t[31 - threadIdx.x % 32] + n + p.b;
}
__device__ __noinline__ int deep(int n) { return n < 2 ? n : deep(n - 1) + deep(n - 2); }
__global__ void recursive(int *a) { *a = deep(*a); }
__global__ void spills(double *a, int n) {
    double local[64];
    for (int i = 0; i < 64; ++i) local[i] = a[i * n];
    for (int i = 0; i < 64; ++i) a[i] = local[(i * n) % 64];
}
template <int N> __global__ void __launch_bounds__(256) many(double *d, long long q) { d[q] = N; }
template __global__ void many<3>(double *, long long);
int main() { one<<<1, 32>>>(nullptr, 0, Pack()); return 0; }
"#;

const TARGETS: [&str; 4] = [
    "-gencode=arch=compute_80,code=sm_80",
    "-gencode=arch=compute_90a,code=sm_90a",
    "-gencode=arch=compute_100f,code=sm_100f",
    "-gencode=arch=compute_75,code=compute_75",
];
/// Link-time optimisation, and what cuobjdump sees beside it.
const LTO: [&str; 2] = ["-gencode=arch=compute_90,code=lto_90", "-gencode=arch=compute_80,code=sm_80"];

/// Compiles; answers the file.
fn nvcc(cuda: &Path, dir: &Path, targets: &[&str], mode: &[&str]) -> PathBuf {
    fs_err::write(dir.join("kernels.cu"), SOURCE).unwrap();
    let name = mode.join("").replace(|c: char| !c.is_ascii_alphanumeric(), "");
    let output = dir.join(format!("{name}.out"));
    let mut command = Command::new(cuda.join("bin/nvcc"));
    command.current_dir(dir).args(["-cudart", "none"]).args(targets).args(mode);
    // No runtime is linked: its own kernels would not be ours.
    command.args(["-Xlinker", "--unresolved-symbols=ignore-all", "-cudadevrt", "none"]);
    Ran::of(command.arg("-o").arg(&output).arg("kernels.cu")).exit(0);
    output
}

/// simpack's JSON of one file.
fn inspected(file: &Path, args: &[&str]) -> serde_json::Value {
    let mut command = simpack(file.parent().unwrap(), &["inspect", "--json"]);
    let json = Ran::of(command.args(args).arg(file)).exit(0).json();
    json["subjects"][0]["files"][0].clone()
}

/// Every mode: counts per arch and, where kernels are linked, what each uses.
fn agree(cuda: &Path, cuobjdump: &Path, targets: &[&str], modes: &[&[&str]]) {
    let dir = scratch();
    for mode in modes {
        let file = nvcc(cuda, dir.path(), targets, mode);
        let found = inspected(&file, &["--kernels"]);
        let expected = listed(cuobjdump, &file);
        assert!(!expected.is_empty(), "{mode:?}: cuobjdump lists nothing");
        assert_eq!(counted(&found), expected, "{mode:?}");
        let ours = kernels(&found);
        let theirs: Vec<_> =
            resources(cuobjdump, &file).into_iter().filter(|(_, name, _)| !name.contains("deep")).collect();
        assert!(ours.len() >= 4, "{mode:?}");
        assert_eq!(ours, theirs, "{mode:?}");
        let all = found["images"].as_array().unwrap();
        assert_eq!(all.iter().all(|image| image["debug"] == true), mode.contains(&"-G"), "{mode:?}");
    }
}

#[test]
fn every_mode_of_cuda_13_0() {
    let (Some(cuda), Some(newest)) = (set_up("SIMPACK_TEST_CUDA"), set_up("SIMPACK_TEST_CUDA_NEWEST")) else { return };
    let modes: [&[&str]; 9] = [
        &["-c"],
        &["-c", "-rdc=true"],
        &["-c", "-G"],
        &["-fatbin"],
        &["-lib"],
        &["-c", "--compress-mode=size"],
        &["-c", "--compress-mode=speed"],
        &["-c", "--compress-mode=none"],
        &["-shared", "-Xcompiler", "-fPIC", "-rdc=true"],
    ];
    agree(&cuda, &newest.join("bin/cuobjdump"), &TARGETS, &modes);
    agree(&cuda, &newest.join("bin/cuobjdump"), &LTO, &[&["-c", "-rdc=true"]]);
}

#[test]
fn every_mode_of_the_newest_cuda() {
    let Some(cuda) = set_up("SIMPACK_TEST_CUDA_NEWEST") else { return };
    let modes: [&[&str]; 5] =
        [&["-c"], &["-c", "-concat"], &["-c", "-concat", "-rdc=true"], &["-c", "--compress-mode=none"], &["-c", "-G"]];
    agree(&cuda, &cuda.join("bin/cuobjdump"), &TARGETS, &modes);
    agree(&cuda, &cuda.join("bin/cuobjdump"), &LTO, &[&["-c", "-rdc=true"]]);
}

/// LTO-IR is listed under its own kind, which cuobjdump does not list at all.
#[test]
fn lto_ir_is_named() {
    let Some(cuda) = set_up("SIMPACK_TEST_CUDA") else { return };
    let dir = scratch();
    let file = nvcc(&cuda, dir.path(), &LTO, &["-c", "-rdc=true"]);
    let found = inspected(&file, &[]);
    let kinds: Vec<_> = found["images"].as_array().unwrap().iter().map(|image| image["kind"].clone()).collect();
    assert_eq!(kinds.iter().filter(|kind| *kind == "lto-ir").count(), 1, "{kinds:?}");
}

const SHADER: &str = r#"#version 450
layout(local_size_x_id = 3, local_size_y = 2) in;
struct Node { vec3 at; float weight; };
layout(set = 0, binding = 0, std140) uniform Params { float dt; mat4 turn; vec2 steps[3]; } params;
layout(set = 0, binding = 2, std430) buffer Nodes { uint count; Node nodes[]; } nodes;
layout(set = 1, binding = 1) uniform sampler2D map[4];
layout(set = 1, binding = 5, r32f) uniform image2D picture;
layout(push_constant) uniform Push { uint offset; float gain; } push;
shared float sums[64];
void main() {
    uint i = gl_GlobalInvocationID.x + push.offset;
    sums[gl_LocalInvocationID.x % 64] = texture(map[1], vec2(i, 0)).x * params.dt * push.gain + params.steps[2].x;
    barrier();
    nodes.nodes[i].weight = sums[0] + (params.turn * vec4(nodes.nodes[i].at, 1)).x + nodes.count;
    imageStore(picture, ivec2(i, 0), vec4(sums[1]));
}
"#;

/// Decorations of ids and members, names and modes, as `spirv-dis` prints them.
struct Disassembly(String);

impl Disassembly {
    /// Words behind `OpDecorate %id KIND`.
    fn of(&self, start: &str) -> Vec<Vec<&str>> {
        let lines = self.0.lines().map(str::trim).filter(|line| line.starts_with(start));
        lines.map(|line| line[start.len()..].split_whitespace().collect()).collect()
    }
}

#[test]
fn shaders_agree_with_khronos_tools() {
    let tools = ["glslangValidator", "spirv-dis", "spirv-val"];
    let missing: Vec<_> = tools.iter().filter(|tool| which::which(tool).is_err()).collect();
    need!(missing.is_empty(), "{missing:?} are not installed");
    let dir = scratch();
    fs_err::write(dir.path().join("step.comp"), SHADER).unwrap();
    for environment in ["vulkan1.0", "vulkan1.1", "vulkan1.2"] {
        let file = dir.path().join("step.spv");
        let mut command = Command::new("glslangValidator");
        let args = ["--target-env", environment, "-o", "step.spv", "step.comp"];
        Ran::of(command.current_dir(dir.path()).args(args)).exit(0);
        Ran::of(Command::new("spirv-val").args(["--target-env", environment]).arg(&file)).exit(0);
        let text = Ran::of(Command::new("spirv-dis").args(["--raw-id", "--no-color"]).arg(&file)).exit(0).stdout;
        let dis = Disassembly(text);
        let found = inspected(&file, &["--kernels"]);
        let module = &found["images"][0]["spirv"];

        let version = format!("; Version: {}.{}", module["version"][0], module["version"][1]);
        assert!(dis.0.contains(&version), "{version}");
        let mut capabilities: Vec<String> = dis.of("OpCapability ").iter().map(|words| words[0].to_owned()).collect();
        capabilities.sort();
        assert_eq!(module["capabilities"], serde_json::json!(capabilities));
        let entry = &module["entry_points"][0];
        assert_eq!((entry["name"].as_str(), entry["stage"].as_str()), (Some("main"), Some("GLCompute")));
        assert_eq!(entry["local_size"], serde_json::json!([1, 2, 1]));
        assert_eq!(entry["local_size_ids"], serde_json::json!([3, null, null]));
        assert_eq!(module["workgroup_bytes"], 256);
        assert_eq!(module["unexamined"], serde_json::json!([]));

        // Every set and binding that is decorated, and no other.
        let mut places: Vec<(u64, u64)> = Vec::new();
        for words in dis.of("OpDecorate ").iter().filter(|words| words[1] == "Binding") {
            let set =
                dis.of("OpDecorate ").into_iter().find(|other| other[0] == words[0] && other[1] == "DescriptorSet");
            places.push((set.unwrap()[2].parse().unwrap(), words[2].parse().unwrap()));
        }
        places.sort_unstable();
        let bindings = module["bindings"].as_array().unwrap();
        let ours: Vec<(u64, u64)> =
            bindings.iter().map(|one| (one["set"].as_u64().unwrap(), one["binding"].as_u64().unwrap())).collect();
        assert_eq!(ours, places);
        let kinds: Vec<_> = bindings.iter().map(|one| one["resource"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["uniform-buffer", "storage-buffer", "combined-image-sampler", "storage-image"]);
        assert_eq!(bindings[2]["count"], 4);

        // Offsets and strides: all that spirv-dis shows, and those of the block by name.
        let mut offsets: Vec<u64> = Vec::new();
        let mut strides: Vec<u64> = Vec::new();
        let blocks = bindings.iter().map(|one| &one["block"]).chain(module["push_constants"].as_array().unwrap());
        for block in blocks.filter(|block| !block.is_null()) {
            collect(&block["members"], &mut offsets, &mut strides);
        }
        let mut expected: Vec<u64> = dis
            .of("OpMemberDecorate ")
            .iter()
            .filter(|words| words[2] == "Offset")
            .map(|words| words[3].parse().unwrap())
            .collect();
        offsets.sort_unstable();
        expected.sort_unstable();
        assert_eq!(offsets, expected);
        let decorated = dis.of("OpDecorate ");
        let mut expected: Vec<u64> =
            decorated.iter().filter(|words| words[1] == "ArrayStride").map(|words| words[2].parse().unwrap()).collect();
        strides.sort_unstable();
        expected.sort_unstable();
        assert_eq!(strides, expected);
        let params = &bindings[0]["block"];
        assert_eq!((params["name"].as_str(), params["size"].as_u64()), (Some("Params"), Some(128)));
        assert_eq!(params["members"][1]["matrix_stride"], 16);
        assert_eq!(bindings[1]["block"]["members"][1]["members"][1]["name"], "weight");
    }
}

fn collect(members: &serde_json::Value, offsets: &mut Vec<u64>, strides: &mut Vec<u64>) {
    for member in members.as_array().unwrap() {
        offsets.extend(member["offset"].as_u64());
        strides.extend(member["arrays"].as_array().unwrap().iter().filter_map(|array| array["stride"].as_u64()));
        collect(&member["members"], offsets, strides);
    }
}
