//! Kernel groups of the form `spirv`: from shaders in GLSL to what clients install, and what then runs on a Vulkan device.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::by_clients::Distribution;
use crate::support::{Ran, client, copy_tree, files, need, python, scratch, simpack, skip, tool};

const TARGETS: [&str; 2] = ["vulkan1.1", "vulkan1.2"];

/// Whether shaders can be compiled and run here: Vulkan has a device that is the processor (Mesa's lavapipe).
fn can_run() -> bool {
    let found = tool("glslangValidator").is_some() && Path::new("/usr/include/vulkan/vulkan.h").is_file();
    if !found {
        skip("glslangValidator or Vulkan's headers are not here; `bash tests/run` installs them");
    }
    found
}

/// What the installed program prints.
fn ran(prefix: &Path, args: &[&str]) -> Value {
    let mut program = Command::new(prefix.join("bin/shaded"));
    Ran::of(program.args(["--cells", "300", "--cycles", "20"]).args(args).env_clear()).exit(0).json()
}

/// Runs both variants by Vulkan, which give the bits of the CPU: the highest environment that is installed.
fn runs_as_the_cpu(prefix: &Path, target: &str) {
    let cpu = ran(prefix, &["--backend", "cpu"]);
    assert_ne!(cpu["spikes"], 0);
    // Ten cycles in a submission, and one.
    for args in [["--variant", "fixed", "--at-once", "10"], ["--variant", "none", "--at-once", "1"]] {
        let vulkan = ran(prefix, &args);
        assert_eq!((&vulkan["digest"], &vulkan["spikes"]), (&cpu["digest"], &cpu["spikes"]), "{args:?}");
        assert_eq!(vulkan["device_code"], target);
    }
}

#[test]
fn shaders_are_built_installed_and_run() {
    need!(python().is_some(), "no client");
    if !can_run() {
        return;
    }
    let dir = scratch();
    let path = |name: &str| dir.path().join(name);
    copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recipes/shaded"), &path("recipe"));
    let run = |args: &[&str]| Ran::of(&mut simpack(dir.path(), args));
    // With a cache of its own, so that what is compiled can be told.
    let build = |args: &[&str]| {
        let mut command = simpack(dir.path(), &[&["build", "recipe", "--json"], args].concat());
        Ran::of(command.env("SIMPACK_CACHE_DIR", path("cache")))
    };
    let summary = build(&["--format", "conda,wheel,oci,deb"]).exit(0).json();
    assert_eq!(summary["report"]["findings"].as_array().unwrap().len(), 0, "{}", summary["report"]);
    let packages = summary["packages"].as_array().unwrap();
    let names: Vec<_> = packages.iter().map(|it| (it["package"].as_str().unwrap(), &it["target"])).collect();
    let expected = [
        ("shaded-kernel-abi", "noarch"),
        ("shaded-core", "linux-64"),
        ("shaded-shaders-vulkan1.1", "noarch"),
        ("shaded-shaders-vulkan1.2", "noarch"),
        ("shaded", "noarch"),
    ];
    assert!(names.iter().map(|(name, on)| (*name, on.as_str().unwrap())).eq(expected), "{names:?}");
    run(&["verify", "dist"]).exit(0);

    // By conda the lowest environment comes along, and a higher one that is asked for is taken.
    for (asked, target) in [(&["shaded"][..], TARGETS[0]), (&["shaded", "shaded-shaders-vulkan1.2"], TARGETS[1])] {
        let prefix = path(target);
        let mut install = client("install.py").unwrap();
        Ran::of(install.arg("--channel").arg(path("dist/conda")).arg("--prefix").arg(&prefix).args(asked)).exit(0);
        runs_as_the_cpu(&prefix, target);
        assert_eq!(ran(&prefix, &["--code", TARGETS[0]])["device_code"], TARGETS[0]);
    }
    let prefix = path(TARGETS[1]);
    valid(&prefix.join("lib/shaded/kernels").join(summary["kernel-abi"].as_str().unwrap()));
    says_what_each_device_takes(&run(&["doctor", path(TARGETS[0]).to_str().unwrap(), "--json"]).exit(0).json());

    let (dist, version) = (path("dist"), summary["version"].as_str().unwrap());
    let distribution = Distribution { dist: &dist, name: "shaded", version };
    distribution.by_wheels("vulkan1-2", &|prefix, _| runs_as_the_cpu(prefix, TARGETS[1]));
    distribution.by_image(TARGETS[1], &|prefix| runs_as_the_cpu(prefix, TARGETS[1]));
    let debs = ["shaded-core_", "shaded-shaders-vulkan1.1_", "shaded-shaders-vulkan1.2_", "shaded_"];
    distribution.by_dpkg(&debs, &[], &|prefix| runs_as_the_cpu(prefix, TARGETS[1]));

    // Nothing is compiled again that does not read what changed, whoever includes it.
    let change = |file: &str, from: &str, to: &str| {
        let text = fs_err::read_to_string(path(file)).unwrap();
        assert!(text.contains(from), "{file}: {from}");
        fs_err::write(path(file), text.replacen(from, to, 1)).unwrap();
    };
    change("recipe/host/main.cc", "state = 42", "state = 43");
    assert_eq!(compiled(&build(&[]).exit(0).json()), ["host core"]);
    change("recipe/shaders/integrate.comp", "? 3 :", "? 4 :");
    let again = build(&[]).exit(0).json();
    assert!(compiled(&again).iter().all(|step| step.contains("integrate.comp")) && compiled(&again).len() == 4);
    // All read the header, and what they then expect is not what the table promises the host.
    change("recipe/shaders/cell.h", "uint rest;", "uint more;\n    uint rest;");
    let failed = build(&[]).exit(1).json();
    let findings = failed["findings"].as_array().unwrap();
    assert!(findings.iter().all(|finding| finding["lint"] == "shader-layout"), "{findings:?}");
    let said = "`deliver`: set 0 binding 0: `rest` is at 12 in the core, 16 in the shader";
    assert_eq!(findings[0]["message"], said);
}

/// Ids of the steps that were not found in the cache, sorted.
fn compiled(summary: &Value) -> Vec<String> {
    let steps = summary["steps"].as_array().unwrap().iter().filter(|step| step["cached"] == false);
    let mut ids: Vec<String> = steps.map(|step| step["id"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    ids
}

/// A second opinion on every module, for the environment that its directory names.
fn valid(kernels: &Path) {
    let Some(validator) = tool("spirv-val") else { return };
    let modules: Vec<String> = files(kernels).into_iter().filter(|file| file.ends_with(".spv")).collect();
    assert_eq!(modules.len(), 8, "{modules:?}");
    for module in modules {
        let environment = module.split('/').nth_back(1).unwrap();
        Ran::of(Command::new(&validator).args(["--target-env", environment]).arg(kernels.join(&module))).exit(0);
    }
}

fn says_what_each_device_takes(doctor: &Value) {
    let serves = doctor["serves"].as_array().unwrap();
    let shaders = serves[0]["shaders"].as_array().unwrap();
    assert!(!shaders.is_empty(), "{doctor}");
    for device in shaders {
        assert_eq!((&device["target"], &device["runs"]), (&"vulkan1.1".into(), &"shaded-shaders-vulkan1.1".into()));
        assert!(device["takes"].as_str().unwrap() >= "vulkan1.1", "{device}");
    }
}

/// What a build could not do is said by `check`, at its place.
#[test]
fn mistakes_about_shaders_show_their_place() {
    let dir = scratch();
    copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recipes/shaded"), dir.path());
    let recipe = dir.path().join("simpack.toml");
    let text = fs_err::read_to_string(&recipe).unwrap();
    let wrong = text
        .replace(r#"["vulkan1.1", "vulkan1.2"]"#, "[\"vulkan1.1\", \"vulcan1.2\"]\ncapabilities = [\"9.0\"]")
        .replace(r#""shaders/deliver.comp""#, r#""shaders/table.toml", "shaders/deliver.comp""#)
        .replace("none = {}", "none = { flags = [\"-O3\"] }")
        + "\n[kernels.network.when.\"<8.0\"]\ndefine = [\"OLD\"]\n\n[package.conda]\nfallback = \"ptx\"\n";
    fs_err::write(&recipe, wrong).unwrap();
    let said = Ran::of(&mut simpack(dir.path(), &["check", "."])).exit(3).stdout;
    insta::assert_snapshot!(said);
    fs_err::write(
        &recipe,
        text.replace("deliver.comp", "integrate.comp").replace("[\"shaders/integrate.comp\", ", "["),
    )
    .unwrap();
    let table = dir.path().join("shaders/table.toml");
    let names = fs_err::read_to_string(&table).unwrap().replace("\"integrate\"", "\"integrat\"");
    fs_err::write(&table, names).unwrap();
    let said = Ran::of(&mut simpack(dir.path(), &["check", "."])).exit(3).stdout;
    assert!(said.contains("the kernel of `integrate.comp` is `integrate`, which the table does not declare"), "{said}");
    let generated = Ran::of(&mut simpack(dir.path(), &["generate", "conda", "."]));
    assert_ne!(generated.code, Some(0));
}

/// A machine without a compiler of shaders says what to install.
#[test]
fn a_missing_compiler_is_named() {
    let dir = scratch();
    copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recipes/shaded"), dir.path());
    let mut plan = simpack(dir.path(), &["plan", "."]);
    let ran = Ran::of(plan.env("PATH", dir.path()));
    assert!(ran.code != Some(0) && ran.stderr.contains("install glslang"), "{ran:?}");
}
