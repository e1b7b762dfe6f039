//! Shaders that the build of core embeds: compiled before it, in no package of their own, examined where they then stand.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::by_clients::Distribution;
use crate::shaders::{can_run, compiled};
use crate::support::{Ran, client, copy_tree, need, python, scratch, simpack};

const TARGETS: [&str; 2] = ["vulkan1.1", "vulkan1.2"];

/// The recipe whose core embeds, in `dir`.
fn recipe(dir: &Path) {
    copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recipes/shaded"), &dir.join("recipe"));
}

fn edit(file: &Path, from: &str, to: &str) {
    let text = fs_err::read_to_string(file).unwrap();
    assert!(text.contains(from), "{}: {from}", file.display());
    fs_err::write(file, text.replacen(from, to, 1)).unwrap();
}

/// What the installed program prints.
fn ran(prefix: &Path, args: &[&str]) -> Value {
    let mut program = Command::new(prefix.join("bin/shaded"));
    Ran::of(program.args(["--cells", "300", "--cycles", "20"]).args(args).env_clear()).exit(0).json()
}

/// Both variants and environments give the bits of the CPU, and nothing lies beside the program.
fn runs_as_the_cpu(prefix: &Path) {
    assert!(!prefix.join("lib/shaded/kernels").exists());
    let cpu = ran(prefix, &["--backend", "cpu"]);
    assert_ne!(cpu["spikes"], 0);
    for variant in ["fixed", "none"] {
        for target in TARGETS {
            let vulkan = ran(prefix, &["--variant", variant, "--code", target]);
            assert_eq!((&vulkan["digest"], &vulkan["spikes"]), (&cpu["digest"], &cpu["spikes"]), "{variant} {target}");
            assert_eq!(vulkan["device_code"], target);
        }
    }
}

#[test]
fn core_embeds_the_shaders_and_runs_them() {
    need!(python().is_some(), "no client");
    if !can_run() {
        return;
    }
    let dir = scratch();
    let path = |name: &str| dir.path().join(name);
    recipe(dir.path());
    let run = |args: &[&str]| Ran::of(&mut simpack(dir.path(), args));
    // With a cache of its own, so that what is compiled can be told.
    let cached = |args: &[&str]| Ran::of(simpack(dir.path(), args).env("SIMPACK_CACHE_DIR", path("cache")));
    let build = |args: &[&str]| cached(&[&["build", "recipe/embedded.toml", "--json"], args].concat());
    // The step of core stands last, and its key waits for those of the modules.
    let plan = cached(&["plan", "recipe/embedded.toml"]).exit(0).stdout;
    assert!(plan.contains("shaded-shaders-vulkan1.2  embedded in core"), "{plan}");
    let why = cached(&["plan", "recipe/embedded.toml", "--why", "host core"]).exit(0).stdout;
    assert!(why.contains("  taken  known when it is made"), "{why}");

    let formats = ["--format", "conda,wheel,oci,deb"];
    let summary = build(&formats).exit(0).json();
    assert_eq!(summary["report"]["findings"].as_array().unwrap().len(), 0, "{}", summary["report"]);
    let packages = summary["packages"].as_array().unwrap();
    let names: Vec<&str> = packages.iter().map(|package| package["package"].as_str().unwrap()).collect();
    assert_eq!((names.as_slice(), &summary["kernel-abi"]), (["shaded-core", "shaded"].as_slice(), &Value::Null));
    assert_eq!(compiled(&summary).len(), 2 * 2 * 2 + 1);
    run(&["verify", "dist", "--recipe", "recipe/embedded.toml"]).exit(0);
    // What is settled now is found without compiling, and says what core was made of.
    fs_err::remove_dir_all(path("target")).unwrap();
    assert_eq!(compiled(&build(&formats).exit(0).json()), [""; 0]);
    let why = cached(&["plan", "recipe/embedded.toml", "--why", "host core"]).exit(0).stdout;
    assert_eq!(why.matches("\n  module shaders/").count(), 8, "{why}");

    let prefix = path("prefix");
    let mut install = client("install.py").unwrap();
    Ran::of(install.arg("--channel").arg(path("dist/conda")).arg("--prefix").arg(&prefix).arg("shaded")).exit(0);
    runs_as_the_cpu(&prefix);
    let (dist, version) = (path("dist"), summary["version"].as_str().unwrap());
    let distribution = Distribution { dist: &dist, name: "shaded", version };
    distribution.by_wheels("", &|prefix, _| runs_as_the_cpu(prefix));
    distribution.by_image("cpu", &runs_as_the_cpu);
    distribution.by_dpkg(&["shaded-core_"], &[], &runs_as_the_cpu);
    is_told_of_devices(dir.path(), &prefix);

    // A change of the host compiles no shader, and a change of a shader what it changes, and core.
    edit(&path("recipe/host/main.cc"), "state = 42", "state = 43");
    assert_eq!(compiled(&build(&[]).exit(0).json()), ["host core"]);
    edit(&path("recipe/shaders/integrate.comp"), "? 3 :", "? 4 :");
    let stale = run(&["verify", "dist", "--recipe", "recipe/embedded.toml", "--json"]).exit(1).json();
    let stale: Vec<&Value> =
        stale["findings"].as_array().unwrap().iter().filter(|one| one["lint"] == "stale-kernels").collect();
    assert!(stale.len() == 1 && stale[0]["subject"] == "shaded-core", "{stale:?}");
    let again = compiled(&build(&[]).exit(0).json());
    assert!(again.len() == 5 && again[0] == "host core", "{again:?}");
    assert!(again[1..].iter().all(|step| step.contains("integrate.comp")), "{again:?}");
    let why = cached(&["plan", "recipe/embedded.toml", "--why-rebuilt"]).exit(0).stdout;
    assert!(why.contains("host core\n  module shaders/integrate.comp vulkan1.1 (fixed)  "), "{why}");

    // Modules are examined as they were compiled, before anything is known of core's files.
    edit(&path("recipe/shaders/cell.h"), "uint rest;", "uint more;\n    uint rest;");
    let failed = build(&[]).exit(1).json();
    let findings = failed["findings"].as_array().unwrap();
    let said = "`deliver`: set 0 binding 0: `rest` is at 12 in the core, 16 in the shader";
    assert!(findings.iter().any(|finding| finding["message"] == said), "{findings:?}");
}

/// The doctor runs what core holds on each device, and `select` has nothing to add to core.
fn is_told_of_devices(dir: &Path, prefix: &Path) {
    let run = |args: &[&str]| Ran::of(&mut simpack(dir, args));
    let doctor = run(&["doctor", prefix.to_str().unwrap(), "--smoke", "--json"]).exit(0).json();
    for device in doctor["serves"][0]["shaders"].as_array().unwrap() {
        let found = (&device["target"], &device["runs"], &device["embedded"]);
        assert_eq!(found, (&TARGETS[1].into(), &"shaded-core".into(), &true.into()), "{device}");
        assert_eq!(device["variants"], serde_json::json!(["fixed", "none"]));
    }
    let runs = doctor["smoke"][0]["runs"].as_array().unwrap();
    assert!(runs.len() >= 3 && runs.iter().all(|run| run["result"]["kind"] == "passed"), "{runs:?}");
    let said = run(&["doctor", prefix.to_str().unwrap()]).exit(0).stdout;
    assert!(said.contains("-> shaders vulkan1.2, embedded in core"), "{said}");
    for place in ["dist", "dist/wheel", "prefix"] {
        let answer = run(&["select", place, "--vulkan", "1.1", "--json"]).exit(0).json();
        let selected = &answer["simulators"][0];
        let shaders = (&selected["shaders"][0]["target"], &selected["shaders"][0]["embedded"]);
        assert_eq!(shaders, (&TARGETS[0].into(), &true.into()), "{place}: {selected}");
        assert_eq!(selected["packages"], serde_json::json!([]), "{place}");
    }
    let said = run(&["select", "dist", "--vulkan", "1.3"]).exit(0).stdout;
    assert!(said.contains("embedded in core") && said.contains("'shaded ==0.2.0'"), "{said}");
    let below = run(&["select", "dist", "--vulkan", "1.0"]).exit(1).stdout;
    assert!(below.contains("its Vulkan 1.0.0 is below vulkan1.1"), "{below}");
}

/// A build that takes other modules than it is given is found, and so is one that hides them.
#[test]
fn a_core_that_embeds_something_else_is_refused() {
    if !can_run() {
        return;
    }
    let dir = scratch();
    recipe(dir.path());
    let makefile = dir.path().join("recipe/Makefile");
    let embeds = "$(if $(SHADERS),sh host/embed.sh";
    edit(
        &makefile,
        embeds,
        "$(if $(SHADERS),cp '$(SHADERS)'/none/vulkan1.1/deliver.spv '$(SHADERS)'/fixed/vulkan1.1/deliver.spv)\n\t$(if $(SHADERS),sh host/embed.sh",
    );
    let build = ["build", "recipe/embedded.toml", "--json"];
    let failed = Ran::of(&mut simpack(dir.path(), &build)).exit(1).json();
    let findings = failed["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!((&findings[0]["lint"], &findings[0]["subject"]), (&"shader-not-embedded".into(), &"shaded-core".into()));
    assert_eq!(findings[0]["message"], "1 of 8 shaders are in none of its files as they were compiled");
    assert!(findings[0].to_string().contains("the first is fixed/vulkan1.1/deliver.spv"), "{findings:?}");
    // What the recipe knows of is its own affair.
    Ran::of(&mut simpack(dir.path(), &[&build[..], &["--allow", "shader-not-embedded"]].concat())).exit(0);
}

/// What embeds and what is embedded go to one machine, whoever divides; components that are asked for bring what they need.
#[test]
fn a_part_of_a_build_has_what_it_embeds() {
    if !can_run() {
        return;
    }
    let dir = scratch();
    recipe(dir.path());
    let run = |args: &[&str]| Ran::of(&mut simpack(dir.path(), args));
    let build = ["build", "recipe/embedded.toml", "--environment", "vulkan1.1", "--json"];
    let whole = run(&build).exit(0).json();
    let digests = |summary: &Value| -> Vec<Value> {
        summary["packages"].as_array().unwrap().iter().map(|package| package["sha256"].clone()).collect()
    };
    let mut steps = Vec::new();
    for shard in ["1/2", "2/2"] {
        let name = format!("shard-{}", &shard[..1]);
        let part = run(&[&build[..], &["--shard", shard, "--dist", &name]].concat()).exit(0).json();
        steps.push(part["steps"].as_array().unwrap().len());
    }
    steps.sort_unstable();
    assert_eq!(steps, [0, 2 * 2 + 1], "one has all that belongs together");
    let merged = run(&["merge", "shard-1", "shard-2", "--dist", "merged", "--json"]).exit(0).json();
    assert_eq!(digests(&merged), digests(&whole));
    let core = run(&[&build[..], &["--component", "core", "--dist", "core"]].concat()).exit(0).json();
    assert_eq!(core["packages"][0]["sha256"], whole["packages"][0]["sha256"]);
    let none = run(&[&build[..], &["--component", "kernels"]].concat()).exit(2).stderr;
    assert!(none.contains("no component `kernels`"), "{none}");
    // Generated recipes call no compiler of shaders before core's build.
    let refused = run(&["generate", "conda", "recipe/embedded.toml", "--output", "out"]).exit(3).stderr;
    assert!(refused.contains("its options name places that simpack alone knows"), "{refused}");
}

/// What cannot be built is refused at its place.
#[test]
fn mistakes_about_embedded_shaders_show_their_place() {
    let dir = scratch();
    recipe(dir.path());
    let file = dir.path().join("recipe/embedded.toml");
    let text = fs_err::read_to_string(&file).unwrap();
    let said = |changes: &[(&str, &str)]| {
        let wrong = changes.iter().fold(text.clone(), |text, (from, to)| {
            assert!(text.contains(from), "{from}");
            text.replacen(from, to, 1)
        });
        fs_err::write(&file, wrong).unwrap();
        Ran::of(&mut simpack(dir.path(), &["check", "recipe/embedded.toml"])).exit(3).stdout
    };
    let other = "\n[kernels.more]\nform = \"spirv\"\nsources = [\"shaders/integrate.comp\"]\ntable = \"shaders/table.toml\"\n\n[driver]";
    let all = [
        said(&[("SHADERS = \"{shaders}\"", "SHADERS = \"no\"")]),
        said(&[("embed = true", "embed = false")]),
        said(&[("embed = true", "embed = \"yes\"")]),
        said(&[("\n[driver]", other)]),
        said(&[("\n[kernels.network]", "\n[component.kernels]\n\n[kernels.network]")]),
        said(&[("\n[driver]", "\n[package.conda]\nfallback = \"all\"\n\n[driver]")]),
        said(&[
            (
                "\n[kernels.network]",
                "\n[component.rtc.build]\ndriver = \"make\"\noptions = { A = \"{shaders}\" }\n\n[component.kernels]\n\n[kernels.network]",
            ),
            (
                "\n[driver]",
                "\n[kernels.code]\nembed = true\nsources = [\"shaders/integrate.comp\"]\ntable = \"shaders/table.toml\"\n\n[driver]",
            ),
        ]),
    ];
    insta::assert_snapshot!(all.join("\n----\n"));
    fs_err::write(&file, &text).unwrap();
    let none = ["plan", "recipe/embedded.toml", "--environment", "none"];
    let said = Ran::of(&mut simpack(dir.path(), &none)).exit(3).stderr;
    assert!(said.contains("the build of core embeds the shaders, and they are for no environment"), "{said}");
}
