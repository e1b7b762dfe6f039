//! Shaders for WebGPU: from WGSL to what clients install, and what wgpu then runs of it.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::by_clients::Distribution;
use crate::shaders::compiled;
use crate::support::{Ran, client, copy_tree, files, need, python, scratch, simpack, skip};

/// Arguments of the host program that compute what a variant does.
const VARIANTS: [(&str, [&str; 2]); 2] = [("fast", ["3", "0"]), ("slow", ["5", "1"])];

fn recipe(dir: &Path) {
    copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recipes/webgpu"), dir);
}

/// Changes a file of the recipe.
fn edit(file: &Path, from: &str, to: &str) {
    let text = fs_err::read_to_string(file).unwrap();
    assert!(text.contains(from), "{}: {from}", file.display());
    fs_err::write(file, text.replacen(from, to, 1)).unwrap();
}

/// The modules that an environment holds for WebGPU, by variant, run by wgpu-py: cells as the processor has them.
fn runs_as_the_cpu(prefix: &Path, tag: &str) {
    let mut digests = Vec::new();
    for (variant, given) in VARIANTS {
        let directory = prefix.join(format!("lib/ringed/kernels/{tag}/spirv/{variant}/webgpu"));
        let mut webgpu = client("webgpu.py").unwrap();
        webgpu.arg(&directory).args(["300", "40"]).env("XDG_RUNTIME_DIR", prefix);
        let cpu = Ran::of(Command::new(prefix.join("bin/ringed")).args(["300", "40"]).args(given)).exit(0);
        let found = Ran::of(&mut webgpu).exit(0);
        assert_eq!(found.json(), cpu.json(), "{variant}");
        digests.push(cpu.stdout);
    }
    assert_ne!(digests[0], digests[1], "the variants differ");
    assert!(digests.iter().all(|cells| !cells.contains(", 0]")), "every cell fires");
}

/// Whether wgpu is among the clients, and Vulkan has a device, by which it runs.
fn can_run() -> bool {
    let has_wgpu = python().is_some_and(|mut python| {
        let said = python.args(["-c", "import wgpu; exit(not wgpu.gpu.enumerate_adapters_sync())"]).output();
        said.is_ok_and(|said| said.status.success())
    });
    if !has_wgpu {
        skip("no wgpu in the clients' Python, or no Vulkan device; `bash tests/run` installs both");
    }
    has_wgpu
}

#[test]
fn shaders_for_webgpu_are_built_installed_and_run_by_wgpu() {
    need!(python().is_some(), "no client");
    let dir = scratch();
    let path = |name: &str| dir.path().join(name);
    recipe(&path("recipe"));
    let run = |args: &[&str]| Ran::of(&mut simpack(dir.path(), args));
    let build = |args: &[&str]| {
        let mut command = simpack(dir.path(), &[&["build", "recipe", "--json"], args].concat());
        Ran::of(command.env("SIMPACK_CACHE_DIR", path("cache")))
    };
    let summary = build(&["--format", "conda,wheel,oci"]).exit(0).json();
    assert_eq!(summary["report"]["findings"].as_array().unwrap().len(), 0, "{}", summary["report"]);
    let names = |summary: &Value| -> Vec<String> {
        let packages = summary["packages"].as_array().unwrap().iter();
        packages.map(|it| it["package"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(
        names(&summary),
        ["ringed-kernel-abi", "ringed-core", "ringed-shaders-vulkan1.1", "ringed-shaders-webgpu", "ringed"]
    );
    run(&["verify", "dist"]).exit(0);

    // The simulator brings the shaders for Vulkan; those for WebGPU come when they are asked for.
    let tag = summary["kernel-abi"].as_str().unwrap();
    let prefix = path("prefix");
    for (asked, count) in [(&["ringed"][..], 0), (&["ringed", "ringed-shaders-webgpu"], 4)] {
        let mut install = client("install.py").unwrap();
        Ran::of(install.arg("--channel").arg(path("dist/conda")).arg("--prefix").arg(&prefix).args(asked)).exit(0);
        let modules = files(&prefix.join("lib/ringed/kernels"));
        let of = |ending: &str| modules.iter().filter(|file| file.ends_with(ending)).count();
        assert_eq!((of(".spv"), of(".wgsl")), (4, count), "{modules:?}");
    }
    if can_run() {
        runs_as_the_cpu(&prefix, tag);
    }
    // Each module is its source but for the constants of the variant.
    let made =
        fs_err::read_to_string(prefix.join(format!("lib/ringed/kernels/{tag}/spirv/fast/webgpu/integrate.wgsl")));
    let source = fs_err::read_to_string(path("recipe/shaders/integrate.wgsl")).unwrap();
    let filled =
        source.replace("LEAK: u32 = 4u", "LEAK: u32 = 3").replace("KEEP_REST = true", "KEEP_REST: bool = false");
    assert_eq!(made.unwrap(), format!("// WGSL for WebGPU, packaged by simpack.\n{filled}"));
    let (dist, version) = (path("dist"), summary["version"].as_str().unwrap());
    let distribution = Distribution { dist: &dist, name: "ringed", version };
    let has_modules = |prefix: &Path| {
        let modules = files(&prefix.join("lib/ringed/kernels"));
        assert_eq!(modules.iter().filter(|file| file.ends_with(".wgsl")).count(), 4, "{modules:?}");
    };
    distribution.by_wheels("webgpu", &|prefix, _| has_modules(prefix));
    distribution.by_image("webgpu", &has_modules);
    let module = format!("prefix/lib/ringed/kernels/{tag}/spirv/fast/webgpu/integrate.wgsl");
    let inspected = run(&["inspect", "--kernels", &module]).exit(0).stdout;
    assert!(inspected.contains("WebGPU") && inspected.contains("potential  i32"), "{inspected}");

    // Nothing is compiled again for the host, and what is asked for alone is found in the cache.
    edit(&path("recipe/host/main.cc"), "350", "351");
    assert_eq!(compiled(&build(&[]).exit(0).json()), ["host core"]);
    let narrowed = build(&["--environment", "webgpu"]).exit(0).json();
    assert!(compiled(&narrowed).is_empty());
    assert_eq!(names(&narrowed), ["ringed-kernel-abi", "ringed-core", "ringed-shaders-webgpu", "ringed"]);

    // What is not what the table promises the host never ships; what is beyond the limits that every implementation has is told.
    edit(&path("recipe/shaders/deliver.wgsl"), "fired: u32,", "more: u32, fired: u32,");
    let said = build(&[]).exit(1).json().to_string();
    assert!(said.contains("`fired` is at 8 in the core, 12 in the shader"), "{said}");
    recipe(&path("recipe"));
    edit(&path("recipe/shaders/integrate.wgsl"), "@compute", "var<workgroup> wide: array<u32, 5000>;\n@compute");
    edit(&path("recipe/shaders/integrate.wgsl"), "let i = id.x;", "let i = id.x; wide[i % 5000u] = i;");
    let failed = build(&["--environment", "webgpu"]).exit(0).json()["report"].to_string();
    assert!(failed.contains("bytes of shared memory: 20000, more than 16384; not every device of webgpu"), "{failed}");
}

/// Core carries the modules itself, as a program for browsers does.
#[test]
fn core_embeds_shaders_for_webgpu() {
    let dir = scratch();
    recipe(dir.path());
    let toml = dir.path().join("simpack.toml");
    edit(&toml, "\"vulkan1.1\", ", "");
    edit(&toml, "[\"bin/ringed\"]", "[\"bin/ringed\", \"share/ringed/**\"]");
    edit(&toml, "ABI = \"{kernel-abi}\"", "SHADERS = \"{shaders}\"");
    edit(&toml, "exact = ", "embed = true\nexact = ");
    let build = || Ran::of(&mut simpack(dir.path(), &["build", ".", "--json"]));
    let summary = build().exit(0).json();
    assert_eq!(summary["report"]["findings"].as_array().unwrap().len(), 0, "{}", summary["report"]);
    let held = fs_err::read(dir.path().join("target/simpack/bundles/ringed-core/share/ringed/shaders.bin")).unwrap();
    assert_eq!(String::from_utf8_lossy(&held).matches("packaged by simpack").count(), 4);
    edit(&dir.path().join("Makefile"), "; cat", "; tail -qn +3");
    let said = build().exit(1).json().to_string();
    assert!(
        said.contains("4 of 4 shaders are in none of its files") && said.contains("fast/webgpu/deliver.wgsl"),
        "{said}"
    );
}

/// What WebGPU does not have, `check` says at its place.
#[test]
fn mistakes_about_webgpu_show_their_place() {
    let dir = scratch();
    recipe(dir.path());
    let shader = dir.path().join("shaders/integrate.wgsl");
    edit(&shader, "let cell =", "let half = f32(i) * 0.5 + 1.0; cells[i].spikes += u32(half); let cell =");
    let toml = dir.path().join("simpack.toml");
    edit(&toml, "deliver.wgsl", "deliver.comp");
    fs_err::write(dir.path().join("shaders/deliver.comp"), "#version 450\nvoid main() {}\n").unwrap();
    edit(
        &dir.path().join("shaders/table.toml"),
        "name = \"deliver\"\nparams = []\n",
        "name = \"deliver\"\nparams = [{ name = \"count\", type = \"u32\" }]\n",
    );
    insta::assert_snapshot!(Ran::of(&mut simpack(dir.path(), &["check", "."])).exit(3).stdout);
    // Without WebGPU nothing of it is wrong but the floats, and a flag helps these.
    edit(&toml, ", \"webgpu\"", "");
    let said = Ran::of(&mut simpack(dir.path(), &["check", "."])).exit(3).stdout;
    assert!(said.contains("keeps operations apart") && said.contains("1 mistake"), "{said}");
}
