//! A recipe with kernels of CUDA and shaders side by side: volley, whose core takes whichever device there is. The shaders
//! are executed by Mesa's lavapipe, a Vulkan device that is the processor.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::by_clients::Distribution;
use crate::shaders::{can_run, valid};
use crate::simulating::{NETS, net, same_spikes};
use crate::support::{Ran, client, copy_tree, need, python, scratch, set_up, simpack};

fn checkout(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Options of a build without an optimiser, by the machine's own compiler, whose C++ library becomes a part of what is built.
const QUICK: &str = r#"CMAKE_BUILD_TYPE = "None", CMAKE_EXE_LINKER_FLAGS = "-static-libstdc++ -static-libgcc", CMAKE_SHARED_LINKER_FLAGS = "-static-libstdc++ -static-libgcc""#;

/// Runs a network on a backend; answers the report and the spikes, one line each.
fn spikes(prefix: &Path, name: &str, args: &[&str]) -> (Value, String) {
    let dir = scratch();
    let out = dir.path().join("spikes");
    let mut program = Command::new(prefix.join("bin/volley"));
    program.env_clear().arg("run").arg(net(name)).args(["--json", "--spikes"]).arg(&out).args(args);
    let report = Ran::of(&mut program).exit(0).json();
    (report, fs_err::read_to_string(out).unwrap())
}

/// The shaders give the processor's spikes, in both variants.
fn runs_as_the_cpu(prefix: &Path, names: &[&str]) {
    for name in names {
        for variant in ["fixed", "none"] {
            let on = |backend| spikes(prefix, name, &["--accumulate", variant, "--backend", backend]);
            let (_, expected) = on("cpu");
            let (report, found) = on("vulkan");
            same_spikes(&format!("{name}, {variant}"), &found, &expected);
            assert_eq!(report["device_code"], format!("spirv/{variant}/vulkan1.1"));
        }
    }
}

#[test]
fn shaders_and_kernels_of_cuda_are_one_distribution() {
    need!(python().is_some(), "no client");
    if !can_run() {
        return;
    }
    let dir = scratch();
    let path = |name: &str| dir.path().join(name);
    copy_tree(&checkout("recipes/volley"), &path("recipe"));
    // What the processor computes is the same without an optimiser, and made in a third of the time.
    let text = fs_err::read_to_string(path("recipe/vulkan.toml")).unwrap();
    let quick = text
        .replace("use = \"zig\", glibc = \"2.28\"", "use = \"system\"")
        .replace("VOLLEY_INSTALL_KERNELS = false", &format!("VOLLEY_INSTALL_KERNELS = false, {QUICK}"));
    assert_ne!(text, quick);
    fs_err::write(path("recipe/vulkan.toml"), quick).unwrap();
    fs_err::remove_file(path("recipe/simpack.lock")).unwrap();
    let run = |args: &[&str]| Ran::of(&mut simpack(dir.path(), args));
    let targets = ["--capability", "9.0", "--ptx", "9.0"];
    let build =
        [&["build", "recipe/vulkan.toml", "--json", "--format", "conda,wheel,oci,deb,tar"][..], &targets].concat();
    let summary = run(&build).exit(0).json();
    assert_eq!(summary["report"]["findings"].as_array().unwrap().len(), 0, "{}", summary["report"]);
    let packages = summary["packages"].as_array().unwrap();
    let code = |name: &str| {
        let package = packages.iter().find(|package| package["package"] == name).unwrap();
        package["device-code"].as_str().unwrap().to_owned()
    };
    assert_eq!(code("volley-kernels-sm_90"), "3 kernels sm_90");
    assert_eq!(code("volley-shaders-vulkan1.1"), "2 kernels vulkan1.1");
    run(&["verify", "dist"]).exit(0);

    // Each narrows its own kind.
    let steps = |args: &[&str]| {
        let plan = run(&[&["plan", "recipe/vulkan.toml", "--json"], args].concat()).exit(0).json();
        let ids = plan["steps"].as_array().unwrap().iter().map(|step| step["id"].as_str().unwrap().to_owned());
        ids.filter(|id| id.starts_with("kernels/")).collect::<Vec<_>>()
    };
    let kernels = steps(&[&targets[..], &["--environment", "none"]].concat());
    assert!(kernels.len() == 12 && kernels.iter().all(|id| !id.contains("vulkan")), "{kernels:?}");
    assert_eq!(steps(&[&targets[..], &["--environment", "vulkan1.1,vulkan1.2"]].concat()).len(), 12 + 8);

    // conda brings the lowest environment along, whatever the selector brings; on this machine that is nothing.
    let prefix = path("prefix");
    let install = |prefix: &Path, specs: &[&str]| {
        let mut install = client("install.py").unwrap();
        Ran::of(install.arg("--channel").arg(path("dist/conda")).arg("--prefix").arg(prefix).args(specs)).exit(0);
    };
    install(&prefix, &["volley"]);
    runs_as_the_cpu(&prefix, &["delays", "refractory", "fan_in"]);
    for name in NETS {
        let on = |backend| spikes(&prefix, name, &["--backend", backend]).1;
        same_spikes(name, &on("vulkan"), &on("cpu"));
    }
    valid(&prefix.join("lib/volley/kernels").join(summary["kernel-abi"].as_str().unwrap()), 4);
    says_why(&prefix);
    let doctor = |prefix: &Path| run(&["doctor", prefix.to_str().unwrap(), "--smoke", "--json"]).exit(0).json();
    let said = doctor(&prefix);
    let shaders = &said["serves"][0]["shaders"][0];
    assert_eq!((&shaders["target"], &shaders["runs"]), (&"vulkan1.1".into(), &"volley-shaders-vulkan1.1".into()));
    let runs = said["smoke"][0]["runs"].as_array().unwrap();
    let on_vulkan = runs.iter().filter(|run| run["backend"]["target"] == "vulkan1.1");
    assert_eq!(on_vulkan.count(), shaders_of(&said), "one run a device: {runs:?}");
    assert!(runs.iter().all(|run| run["result"]["kind"] == "passed"), "{runs:?}");
    // Beside the code for one GPU, as people have it on a machine with one.
    let both = path("both");
    install(&both, &["volley", "volley-kernels-sm_90", "volley-kernels-compute_90"]);
    assert!(both.join("share/simpack/volley-shaders-vulkan1.1/simpack.json").is_file());
    run(&["verify", both.to_str().unwrap()]).exit(0);

    let (dist, version) = (path("dist"), summary["version"].as_str().unwrap());
    let distribution = Distribution { dist: &dist, name: "volley", version };
    distribution.by_wheels("sm90", &|prefix, _| {
        runs_as_the_cpu(prefix, &["delays"]);
        let kernels = summary["kernel-abi"].as_str().unwrap();
        assert!(prefix.join("lib/volley/kernels").join(kernels).join("cuda13/fixed/sm_90/neuron.cubin").is_file());
    });
    // The image for one GPU has the shaders, too, as what conda and pip install has; that of the shaders has no kernels.
    let brings = |prefix: &Path| {
        runs_as_the_cpu(prefix, &["delays"]);
        let kernels = summary["kernel-abi"].as_str().unwrap();
        prefix.join("lib/volley/kernels").join(kernels).join("cuda13").is_dir()
    };
    distribution.by_image("sm_90", &|prefix| assert!(brings(prefix)));
    distribution.by_image("vulkan1.1", &|prefix| assert!(!brings(prefix)));
    let debs = ["volley-core_", "volley-kernels-sm-90_", "volley-shaders-vulkan1.1_"];
    distribution.by_dpkg(&debs, &[], &|prefix| runs_as_the_cpu(prefix, &["delays"]));
}

/// The group that stands beside plug-in libraries: a shader that scales, as these do.
const BESIDE: &str = r#"
[kernels.vulkan]
form = "spirv"
sources = ["kernels/shade.wgsl"]
table = "kernels/shaders.toml"
"#;
const SHADER: &str = "
struct Push { count: u32, factor: f32 }
var<immediate> push: Push;
@group(0) @binding(0) var<storage, read_write> values: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < push.count {
        values[id.x] *= push.factor;
    }
}
";
const TABLE: &str = r#"edition = 1

[[kernel]]
name = "shade"
params = [{ name = "count", type = "u32" }, { name = "factor", type = "f32" }]
workgroup = [64]
bindings = [{ binding = 0, type = "storage-buffer", size = 0, stride = 4 }]
"#;

/// Plug-in libraries are for one platform and shaders for any: both lie below the one tag that core is built with,
/// whoever installs them, and core opens its library there.
#[test]
fn shaders_and_plug_in_libraries_are_one_distribution() {
    need!(python().is_some(), "no client");
    need!(set_up("SIMPACK_TEST_CUDA").is_some(), "no CUDA compiler");
    let dir = scratch();
    let path = |name: &str| dir.path().join(name);
    copy_tree(&checkout("tests/recipes/plugged"), &path("recipe"));
    let text = fs_err::read_to_string(path("recipe/simpack.toml")).unwrap();
    let both = text
        .replace(
            "capabilities = [\"8.0\", \"9.0\"]",
            "capabilities = [\"9.0\"]\nenvironments = [\"vulkan1.1\", \"vulkan1.3\"]",
        )
        .replace("\n[driver]", &format!("{BESIDE}\n[driver]"));
    assert!(both.contains("vulkan1.3") && both.contains("shade.wgsl"));
    fs_err::write(path("recipe/simpack.toml"), both).unwrap();
    fs_err::write(path("recipe/kernels/shade.wgsl"), SHADER).unwrap();
    fs_err::write(path("recipe/kernels/shaders.toml"), TABLE).unwrap();
    let run = |args: &[&str]| Ran::of(&mut simpack(dir.path(), args));
    let summary = run(&["build", "recipe", "--json", "--format", "conda,wheel,oci,deb"]).exit(0).json();
    assert_eq!(summary["report"]["findings"].as_array().unwrap().len(), 0, "{}", summary["report"]);
    let tag = summary["kernel-abi"].as_str().unwrap();
    let on = |name: &str| {
        let packages = summary["packages"].as_array().unwrap();
        packages.iter().find(|package| package["package"] == name).unwrap()["target"].as_str().unwrap()
    };
    assert_eq!((on("plugged-kernels-sm_90"), on("plugged-shaders-vulkan1.1")), ("linux-64", "noarch"));
    run(&["verify", "dist"]).exit(0);

    let holds = |prefix: &Path, modules: usize| {
        let kernels = prefix.join("lib/plugged/kernels").join(tag);
        valid(&kernels, modules);
        assert!(kernels.join("spirv/default/vulkan1.1/shade.spv").is_file());
        let library = kernels.join("cuda13/default/sm_90/libplugged-kernels-sm_90.so");
        let ran = Ran::of(Command::new(prefix.join("bin/plugged")).arg(library).env_clear()).exit(0);
        assert!(ran.stdout.starts_with(&format!("kernels of {tag}: scale ")), "{}", ran.stdout);
    };
    let prefix = path("prefix");
    let mut install = client("install.py").unwrap();
    install.arg("--channel").arg(path("dist/conda")).arg("--prefix").arg(&prefix).arg("plugged");
    Ran::of(install.env("CONDA_OVERRIDE_CUDA", "13.0").env("CONDA_OVERRIDE_CUDA_ARCH", "9.0")).exit(0);
    holds(&prefix, 1);
    let doctor = run(&["doctor", prefix.to_str().unwrap(), "--json"]).exit(0).json();
    assert_eq!(shaders_of(&doctor) > 0, can_run(), "{doctor}");

    let (dist, version) = (path("dist"), summary["version"].as_str().unwrap());
    let distribution = Distribution { dist: &dist, name: "plugged", version };
    distribution.by_wheels("sm90,vulkan1-3", &|prefix, _| holds(prefix, 2));
    distribution.by_image("sm_90", &|prefix| holds(prefix, 1));
    let debs = ["plugged-core_", "plugged-kernels-sm-90_", "plugged-shaders-vulkan1.1_", "plugged-shaders-vulkan1.3_"];
    distribution.by_dpkg(&debs, &[], &|prefix| holds(prefix, 2));
}

/// Vulkan devices that the doctor says shaders of.
fn shaders_of(doctor: &Value) -> usize {
    doctor["serves"][0]["shaders"].as_array().unwrap().len()
}

/// What volley cannot do by Vulkan it says, and the processor runs where nobody asked for it.
fn says_why(prefix: &Path) {
    let said = |args: &[&str]| {
        let mut program = Command::new(prefix.join("bin/volley"));
        Ran::of(program.env_clear().arg("run").args(args).args(["--backend", "vulkan"])).exit(3).stderr
    };
    let net = net("delays");
    let net = net.to_str().unwrap();
    let float = said(&[net, "--accumulate", "float"]);
    assert!(float.contains("no `float` shaders are installed"), "{float}");
    let device = said(&[net, "--device", "77"]);
    assert!(device.contains("no Vulkan device 77"), "{device}");
    let code = said(&[net, "--code", "vulkan1.3"]);
    assert!(code.contains("no `fixed` shaders `vulkan1.3` are installed"), "{code}");
    let model = checkout("tests/volley/models/lif_user.toml");
    let model = said(&[model.to_str().unwrap()]);
    assert!(model.contains("user models need CUDA"), "{model}");
    // Shaders of another table lie under its tag: both tags are named, and the processor runs where nobody asked for a device.
    let kernels = prefix.join("lib/volley/kernels");
    let tag = fs_err::read_dir(&kernels).unwrap().next().unwrap().unwrap().file_name().into_string().unwrap();
    fs_err::rename(kernels.join(&tag), kernels.join("k000000000000")).unwrap();
    let stale =
        format!("; code of another kernel ABI tag is there (k000000000000), and this library wants {tag}: rebuild it");
    let refused = said(&[net]);
    assert!(refused.contains("no `fixed` shaders are installed") && refused.contains(&stale), "{refused}");
    let mut program = Command::new(prefix.join("bin/volley"));
    let report = Ran::of(program.env_clear().args(["run", net, "--json", "--backend", "auto"])).exit(0).json();
    assert!(report["backend"] == "cpu" && report["reason"].as_str().unwrap().contains(&stale), "{report}");
    fs_err::rename(kernels.join("k000000000000"), kernels.join(&tag)).unwrap();
}

/// The recipe with shaders is the other one, and shaders.
#[test]
fn both_recipes_of_volley_stay_together() {
    let read = |name: &str| fs_err::read_to_string(checkout("recipes/volley").join(name)).unwrap();
    let (plain, mixed) = (read("simpack.toml"), read("vulkan.toml"));
    let mut rest = mixed.lines();
    for line in plain.lines() {
        assert!(rest.any(|other| other == line), "vulkan.toml lacks, or has elsewhere: {line}");
    }
    assert_eq!(mixed.lines().count() - plain.lines().count(), 15, "comments, environments, a group, a run");
    // One lock serves both.
    for recipe in ["simpack.toml", "vulkan.toml"] {
        let recipe = format!("recipes/volley/{recipe}");
        Ran::of(&mut simpack(&checkout("."), &["lock", &recipe, "--check"])).exit(0);
    }
}

/// volley has prototypes of its own, so that nobody needs Vulkan's headers to build it: they are those of the headers.
#[test]
fn the_prototypes_of_vulkan_are_those_of_its_headers() {
    if !can_run() {
        return;
    }
    let dir = scratch();
    let file = dir.path().join("prototypes.cc");
    let api = fs_err::read_to_string(checkout("recipes/volley/src/core/vulkan_api.h")).unwrap();
    let mut text = String::from("#include <vulkan/vulkan.h>\n#include \"vulkan_api.h\"\nusing namespace volley;\n");
    let names = api.lines().filter_map(|line| line.strip_prefix("struct ")?.strip_suffix(" {"));
    for name in names.filter(|name| *name != "Functions") {
        text += &format!(
            "static_assert(sizeof(vk::{name}) == sizeof(Vk{name}) && alignof(vk::{name}) == alignof(Vk{name}), \"\");\n"
        );
    }
    for (of, member) in [
        ("PhysicalDeviceLimits", "maxStorageBufferRange"),
        ("PhysicalDeviceLimits", "maxComputeWorkGroupCount"),
        ("PhysicalDeviceProperties", "deviceType"),
        ("PhysicalDeviceProperties", "deviceName"),
        ("PhysicalDeviceProperties", "limits"),
        ("BufferCreateInfo", "usage"),
        ("DeviceCreateInfo", "pQueueCreateInfos"),
        ("ComputePipelineCreateInfo", "layout"),
        ("PipelineShaderStageCreateInfo", "pName"),
        ("WriteDescriptorSet", "pBufferInfo"),
        ("SubmitInfo", "pCommandBuffers"),
        ("MemoryBarrier", "dstAccessMask"),
    ] {
        text += &format!("static_assert(offsetof(vk::{of}, {member}) == offsetof(Vk{of}, {member}), \"\");\n");
    }
    let constants = api.lines().filter_map(|line| line.trim().trim_end_matches(',').split_once(" = "));
    let is_constant = |name: &str| name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    for (name, _) in constants.filter(|(name, _)| is_constant(name)) {
        // Bits of Vulkan's constants have the suffix, and so have these.
        text +=
            &format!("static_assert(static_cast<long long>(vk::{name}) == static_cast<long long>(VK_{name}), \"\");\n");
    }
    assert!(text.matches("VK_").count() > 40, "{text}");
    fs_err::write(&file, text).unwrap();
    let include = checkout("recipes/volley/src/core");
    Ran::of(Command::new("g++").args(["-std=c++17", "-fsyntax-only", "-I"]).arg(include).arg(&file)).exit(0);
}
