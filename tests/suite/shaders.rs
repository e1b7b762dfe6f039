//! Kernel groups of the form `spirv`: from shaders in GLSL to what clients install, and what then runs on a Vulkan device.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::by_clients::Distribution;
use crate::support::{Ran, client, copy_tree, files, need, python, scratch, simpack, skip, tool};

const TARGETS: [&str; 2] = ["vulkan1.1", "vulkan1.2"];

/// Whether shaders can be compiled and run here: Vulkan has a device that is the processor (Mesa's lavapipe).
pub fn can_run() -> bool {
    let compilers = ["glslc", "glslangValidator"].iter().all(|name| tool(name).is_some());
    let found = compilers && Path::new("/usr/include/vulkan/vulkan.h").is_file();
    if !found {
        skip("glslc, glslangValidator or Vulkan's headers are not here; `bash tests/run` installs them");
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
    valid(&prefix.join("lib/shaded/kernels").join(summary["kernel-abi"].as_str().unwrap()), 8);
    let doctor = run(&["doctor", path(TARGETS[0]).to_str().unwrap(), "--json"]).exit(0).json();
    says_what_each_device_takes(&doctor);
    refuses_shaders_of_other_tables(&path("stale"), &path(TARGETS[0]), summary["kernel-abi"].as_str().unwrap());
    selects_by_device(dir.path(), doctor);

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
pub fn compiled(summary: &Value) -> Vec<String> {
    let steps = summary["steps"].as_array().unwrap().iter().filter(|step| step["cached"] == false);
    let mut ids: Vec<String> = steps.map(|step| step["id"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    ids
}

/// A second opinion on every module, for the environment that its directory names.
pub fn valid(kernels: &Path, count: usize) {
    let Some(validator) = tool("spirv-val") else { return };
    let modules: Vec<String> = files(kernels).into_iter().filter(|file| file.ends_with(".spv")).collect();
    assert_eq!(modules.len(), count, "{modules:?}");
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

/// Shaders whose table is not that of core are not loaded, and the program says whose they are.
fn refuses_shaders_of_other_tables(copy: &Path, prefix: &Path, tag: &str) {
    copy_tree(prefix, copy);
    let kernels = copy.join("lib/shaded/kernels");
    fs_err::rename(kernels.join(tag), kernels.join("k0123456789ab")).unwrap();
    let mut program = Command::new(copy.join("bin/shaded"));
    let said = Ran::of(program.args(["--backend", "vulkan", "--variant", "fixed"]).env_clear()).exit(1).stderr;
    let expected = format!(
        "; shaders of another kernel ABI tag are there: k0123456789ab, and this program wants {tag}: rebuild them"
    );
    assert!(said.contains(&expected), "{said}");
}

/// Devices that are described, that a record has, and those of this machine; `doctor` is a record of it.
fn selects_by_device(dir: &Path, mut doctor: Value) {
    let select = |args: &[&str]| Ran::of(&mut simpack(dir, &[&["select"], args].concat()));
    for (vulkan, package) in [("1.1", TARGETS[0]), ("1.2", TARGETS[1]), ("1.3", TARGETS[1])] {
        let answer = select(&["--vulkan", vulkan, "--json"]).exit(0).json();
        let selected = &answer["simulators"][0];
        let package = format!("shaded-shaders-{package}");
        assert_eq!(selected["packages"], serde_json::json!([package]));
        assert_eq!(selected["conda"][1], format!("{package} ==0.2.0"));
        assert_eq!(selected["pip"][0], format!("shaded[{}]==0.2.0", package[15..].replace('.', "-")));
    }
    assert_eq!(select(&["--json"]).exit(0).json()["simulators"][0]["shaders"][0]["target"], TARGETS[1], "this machine");
    let smallest = select(&["--vulkan", "1.3", "--smallest", "--json"]).exit(0).json();
    assert_eq!(smallest["simulators"][0]["packages"], serde_json::json!([]), "the simulator brings the lowest itself");
    let below = select(&["--vulkan", "1.0"]).exit(1).stdout;
    assert!(below.contains("Vulkan 0  described") && below.contains("its Vulkan 1.0.0 is below vulkan1.1"), "{below}");
    let better = select(&[TARGETS[0], "dist", "--vulkan", "1.3"]).exit(0).stdout;
    assert!(better.contains("shaders vulkan1.1; it takes vulkan1.3: install shaded-shaders-vulkan1.2"), "{better}");
    // Limits are those of the record, and what shaders need stands in packages, which no index repeats.
    for device in doctor["machine"]["vulkan"]["devices"].as_array_mut().unwrap() {
        device["work-group-invocations"] = 1.into();
    }
    fs_err::write(dir.join("small.json"), doctor.to_string()).unwrap();
    let small = select(&["--replay", "small.json"]).exit(1).stdout;
    assert!(small.replace("\n          ", " ").contains("invocations in a work group (1 offered)"), "{small}");
    select(&["--vulkan", "newest"]).exit(2);
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
    let names_of_table = fs_err::read_to_string(&table).unwrap();
    let names = names_of_table.replace("\"integrate\"", "\"integrat\"");
    fs_err::write(&table, names).unwrap();
    let said = Ran::of(&mut simpack(dir.path(), &["check", "."])).exit(3).stdout;
    assert!(said.contains("the kernel of `integrate.comp` is `integrate`, which the table does not declare"), "{said}");
    // What WGSL computes with floats is nobody's promise; in integers it is.
    let in_wgsl =
        text.replace("integrate.comp", "integrate.wgsl").replace("[\"fixed\", \"none\"]", "[\"fixed\", \"non\"]");
    fs_err::write(&recipe, in_wgsl).unwrap();
    fs_err::write(&table, names_of_table).unwrap();
    fs_err::write(
        dir.path().join("shaders/integrate.wgsl"),
        WGSL.replace("arriving +=", "potential *= 0.5; cells[id.x].arriving +="),
    )
    .unwrap();
    let said = Ran::of(&mut simpack(dir.path(), &["check", "."])).exit(3).stdout;
    assert!(said.contains("nothing promises the bits of `fixed`") && said.contains("did you mean `none`?"), "{said}");
    fs_err::write(dir.path().join("shaders/integrate.wgsl"), WGSL).unwrap();
    let said = Ran::of(&mut simpack(dir.path(), &["check", "."])).exit(3).stdout;
    assert!(!said.contains("nothing promises"), "{said}");
}

/// Thirty generated shaders for three environments and two variants: what is stale is found, each variant gives the bits
/// of the processor, and each device is told what it lacks.
#[test]
fn generated_shaders_are_compiled_together_and_found_when_they_are_stale() {
    need!(python().is_some(), "no client");
    if !can_run() {
        return;
    }
    let dir = scratch();
    let path = |name: &str| dir.path().join(name);
    copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("recipes/strata"), &path("recipe"));
    let build = |args: &[&str]| {
        let mut command = simpack(dir.path(), &[&["build", "recipe", "--json"], args].concat());
        Ran::of(command.env("SIMPACK_CACHE_DIR", path("cache")))
    };
    let plan = |environment: &str| {
        let args = ["plan", "recipe", "--json", "--environment", environment];
        Ran::of(simpack(dir.path(), &args).env("SIMPACK_CACHE_DIR", path("cache")))
    };
    assert_eq!(plan("vulkan1.2").exit(0).json()["steps"].as_array().unwrap().len(), 30 * 2 + 3);
    assert!(plan("vulkan1").exit(3).stderr.contains("unknown environment `vulkan1`"));
    let summary = build(&[]).exit(0).json();
    assert_eq!(summary["report"]["findings"].as_array().unwrap().len(), 0, "{}", summary["report"]);
    assert_eq!(compiled(&summary).len(), 30 * 3 * 2 + 3);
    // One call of the compiler for all shaders of an environment and a variant: their logs say the same command.
    let logs: Vec<_> = files(&path("target/simpack/logs")).into_iter().filter(|file| file.contains("comp-")).collect();
    let command = |log: &String| {
        let text = fs_err::read_to_string(path("target/simpack/logs").join(log)).unwrap();
        text.lines().next().unwrap().to_owned()
    };
    let commands: std::collections::BTreeSet<String> = logs.iter().map(command).collect();
    assert!(logs.len() == 180 && commands.len() <= 12, "{} calls: {:?}", commands.len(), commands.first());

    let prefix = path("prefix");
    let mut install = client("install.py").unwrap();
    Ran::of(install.arg("--channel").arg(path("dist/conda")).arg("--prefix").arg(&prefix).arg("strata")).exit(0);
    let smoke =
        Ran::of(&mut simpack(dir.path(), &["doctor", prefix.to_str().unwrap(), "--smoke", "--json"])).exit(0).json();
    let runs = smoke["smoke"][0]["runs"].as_array().unwrap();
    let variants: Vec<_> = runs.iter().filter_map(|run| run["backend"]["variant"].as_str()).collect();
    assert!(variants.starts_with(&["fixed", "none"]), "{smoke}");
    for run in runs {
        assert_eq!(run["result"]["kind"], "passed", "{run}");
    }

    // What an edited description would write is not what lies there; nor is an edited shader what is written.
    let edit = |file: &str, from: &str, to: &str| {
        let text = fs_err::read_to_string(path(file)).unwrap();
        assert!(text.contains(from), "{file}: {from}");
        fs_err::write(path(file), text.replacen(from, to, 1)).unwrap();
    };
    edit("recipe/network.json", "\"leak\": 0.5", "\"leak\": 0.625");
    let stale = build(&[]).exit(8);
    let said = stale.stdout + &stale.stderr;
    assert!(said.contains("is stale") && said.contains("integrate_retina.comp"), "{said}");
    assert!(said.contains("shared.h") && said.contains("run `python3 generate.py`"), "{said}");
    Ran::of(Command::new("python3").arg("generate.py").current_dir(path("recipe"))).exit(0);
    let again = build(&[]).exit(0).json();
    // The header that all share says the leak, too.
    assert!(compiled(&again).contains(&"generate network".to_owned()), "{:?}", compiled(&again));
    core_of_another_table_refuses_old_shaders(dir.path(), &prefix, summary["kernel-abi"].as_str().unwrap());
    edit("recipe/shaders/pool_it.comp", "uint firing = 0;", "uint firing = 1;");
    let said = build(&[]).exit(8);
    assert!((said.stdout + &said.stderr).contains("shaders/pool_it.comp is stale"));
    let said = Ran::of(&mut simpack(dir.path(), &["verify", "--provenance", "--recipe", "recipe", "dist"]));
    assert!(said.code != Some(0) && said.stdout.contains("wrong  source"), "{said:?}");
}

/// A field more in the structures of host and shaders makes another tag. A core that was built with it, beside shaders that were
/// not, says which tag it wants and which is there, and computes on the processor; who asks for a device gets the error.
fn core_of_another_table_refuses_old_shaders(dir: &Path, prefix: &Path, tag: &str) {
    let recipe = dir.join("recipe");
    let generator = recipe.join("generate.py");
    let text = fs_err::read_to_string(&generator).unwrap();
    let field = "        (\"spikes\", \"u32\", \"\"),\n";
    assert!(text.contains(field));
    fs_err::write(&generator, text.replace(field, &format!("{field}        (\"late\", \"u32\", \"\"),\n"))).unwrap();
    Ran::of(Command::new("python3").arg("generate.py").current_dir(&recipe)).exit(0);
    let mut build = simpack(dir, &["build", "recipe", "--component", "core", "--dist", "core", "--json"]);
    let built = Ran::of(build.env("SIMPACK_CACHE_DIR", dir.join("cache"))).exit(0).json();
    let wanted = built["kernel-abi"].as_str().unwrap();
    assert_ne!(wanted, tag);
    fs_err::copy(dir.join("target/simpack/bundles/strata-core/bin/strata"), prefix.join("bin/strata")).unwrap();
    let run = |args: &[&str]| {
        Ran::of(Command::new(prefix.join("bin/strata")).args(["--cycles", "20"]).args(args).env_clear())
    };
    let said =
        format!("; shaders of another kernel ABI tag are there: {tag}, and this program wants {wanted}: rebuild them");
    let fallen = run(&[]).exit(0);
    assert!(fallen.stderr.contains(&said) && fallen.stderr.contains("the processor computes instead"), "{fallen:?}");
    let (fallen, cpu) = (fallen.json(), run(&["--backend", "cpu"]).exit(0).json());
    assert_eq!((&fallen, &fallen["device_code"]), (&cpu, &Value::from("cpu")));
    for args in [&["--backend", "vulkan"][..], &["--code", "vulkan1.1"]] {
        assert!(run(args).exit(1).stderr.contains(&said), "{args:?}");
    }
    fs_err::write(&generator, text).unwrap();
    Ran::of(Command::new("python3").arg("generate.py").current_dir(&recipe)).exit(0);
}

/// Each compiler makes modules that verification takes: glslc, glslang where there is no other, naga for WGSL.
#[test]
fn every_language_and_compiler_makes_what_the_table_says() {
    if !can_run() {
        return;
    }
    let dir = scratch();
    let path = |name: &str| dir.path().join(name);
    copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recipes/shaded"), &path("recipe"));
    let recipe = path("recipe/simpack.toml");
    let text = fs_err::read_to_string(&recipe).unwrap();
    // Another tree of programs, without glslc.
    fs_err::create_dir(path("bin")).unwrap();
    for name in ["glslangValidator", "g++", "gcc", "make", "bwrap", "ld", "ar", "ranlib", "nm", "strip"] {
        if let Some(program) = tool(name) {
            fs_err::os::unix::fs::symlink(program, path("bin").join(name)).unwrap();
        }
    }
    let build = |with_glslc: bool| {
        let mut command = simpack(dir.path(), &["build", "recipe", "--json", "--component", "kernels"]);
        if !with_glslc {
            command.env("PATH", path("bin"));
        }
        Ran::of(command.env("SIMPACK_CACHE_DIR", path("cache")))
    };
    let modules = |extension: &str| {
        let all = files(&path("target/simpack/bundles")).into_iter().filter(|file| file.ends_with(extension));
        all.map(|file| (file.clone(), fs_err::read(path("target/simpack/bundles").join(file)).unwrap()))
            .collect::<Vec<_>>()
    };
    build(false).exit(0);
    let by_glslang = modules(".spv");
    build(true).exit(0);
    let by_glslc = modules(".spv");
    let names = |all: &[(String, Vec<u8>)]| all.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert!(by_glslang.len() == 8 && names(&by_glslang) == names(&by_glslc) && by_glslang != by_glslc);

    // The same in WGSL and in HLSL: one shader each, and the table holds for both.
    for (ending, shader) in [("wgsl", WGSL), ("hlsl", HLSL)] {
        let of = |ending: &str| format!("\"shaders/deliver.{ending}\"");
        let mut changed = text.replace(&of("comp"), &of(ending));
        if ending == "wgsl" {
            // Names that nobody declares are no mistake, as in GLSL.
            changed = changed.replace("none = {}", "none = { define = [\"STRIDE=2\", \"OTHER\"] }");
        }
        fs_err::write(&recipe, changed).unwrap();
        fs_err::write(path("recipe/shaders").join(format!("deliver.{ending}")), shader).unwrap();
        if ending == "hlsl" {
            let said = Ran::of(&mut simpack(dir.path(), &["check", "recipe"])).exit(3).stdout;
            assert!(said.contains("it is HLSL, and there is no dxc"), "{said}");
            let text = fs_err::read_to_string(&recipe).unwrap();
            fs_err::write(&recipe, text.replace(", \"vulkan1.2\"", "")).unwrap();
        }
        for with_glslc in [true, false] {
            let built = build(with_glslc).exit(0).json();
            assert_eq!(built["report"]["findings"].as_array().unwrap().len(), 0, "{ending}: {}", built["report"]);
        }
        valid(&path("target/simpack/bundles/shaded-shaders-vulkan1.1"), 4);
    }
    fs_err::write(&recipe, text.replace("deliver.comp", "deliver.wgsl")).unwrap();
    fs_err::write(path("recipe/shaders/deliver.wgsl"), WGSL.replace("potential: f32", "potential: g32")).unwrap();
    let wrong = build(true).exit(5);
    assert!((wrong.stdout + &wrong.stderr).contains("shaders/deliver.wgsl:"), "naga shows the line");
}

const WGSL: &str = "
struct Cell { potential: f32, arriving: i32, fired: u32, rest: u32, spikes: u32 }
struct Push { count: u32 }
override STRIDE: u32 = 1u;
var<immediate> push: Push;
@group(0) @binding(0) var<storage, read_write> cells: array<Cell>;
@group(0) @binding(2) var<storage, read> offsets: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x >= push.count) { return; }
    cells[id.x].arriving += i32(offsets[id.x * STRIDE]);
}
";

const HLSL: &str = "
struct Cell { float potential; int arriving; uint fired; uint rest; uint spikes; };
[[vk::push_constant]] cbuffer Push { uint count; };
[[vk::binding(0)]] RWStructuredBuffer<Cell> cells;

[numthreads(64, 1, 1)]
void main(uint3 id : SV_DispatchThreadID) {
    if (id.x >= count) return;
    cells[id.x].arriving += 1;
}
";

/// A machine without a compiler of shaders says what to install.
#[test]
fn a_missing_compiler_is_named() {
    let dir = scratch();
    copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recipes/shaded"), dir.path());
    let mut plan = simpack(dir.path(), &["plan", "."]);
    let ran = Ran::of(plan.env("PATH", dir.path()));
    assert!(ran.code != Some(0) && ran.stderr.contains("install glslang"), "{ran:?}");
}

/// The sample of `init --shape spirv` needs no compiler of shaders: it is built, passes its smoke test on every device, and
/// has the same bits by GLSL.
#[test]
fn the_sample_of_init_is_built_without_a_compiler_of_shaders() {
    need!(python().is_some(), "no client");
    if !can_run() {
        return;
    }
    let dir = scratch();
    let path = |name: &str| dir.path().join(name);
    let run = |args: &[&str]| Ran::of(&mut simpack(dir.path(), args));
    for (args, said) in
        [(&["--shape", "slice"][..], "no sample of shape"), (&["--here", "--shape", "spirv"], "is drafted")]
    {
        let ran = run(&[&["init", "mysim"], args].concat()).exit(2);
        assert!(ran.stderr.contains(said), "{ran:?}");
    }
    run(&["init", "mysim", "--shape", "spirv"]).exit(0);
    fs_err::create_dir(path("bin")).unwrap();
    for name in ["g++", "gcc", "make", "bwrap", "ld", "as", "ar", "install"] {
        if let Some(program) = tool(name) {
            fs_err::os::unix::fs::symlink(program, path("bin").join(name)).unwrap();
        }
    }
    let mut build = simpack(dir.path(), &["build", "recipes/mysim", "--json"]);
    let built = Ran::of(build.env("PATH", path("bin")).env("SIMPACK_CACHE_DIR", path("cache"))).exit(0).json();
    assert_eq!(built["report"]["findings"].as_array().unwrap().len(), 0, "{}", built["report"]);
    run(&["verify", "dist"]).exit(0);
    let smoke = |prefix: &Path| {
        let mut install = client("install.py").unwrap();
        Ran::of(install.arg("--channel").arg(path("dist/conda")).arg("--prefix").arg(prefix).arg("mysim")).exit(0);
        let smoke = run(&["doctor", prefix.to_str().unwrap(), "--smoke", "--json"]).exit(0).json();
        let runs = smoke["smoke"][0]["runs"].as_array().unwrap().clone();
        assert!(runs.len() >= 2 && runs.iter().all(|run| run["result"]["kind"] == "passed"), "{smoke}");
    };
    smoke(&path("prefix"));
    // The same in GLSL, as the page on shaders says.
    let recipe = path("recipes/mysim/simpack.toml");
    let text = fs_err::read_to_string(&recipe).unwrap();
    fs_err::write(&recipe, text.replace("step.wgsl", "step.comp")).unwrap();
    fs_err::write(path("recipes/mysim/shaders/step.comp"), GLSL).unwrap();
    run(&["build", "recipes/mysim"]).exit(0);
    smoke(&path("again"));
}

const GLSL: &str = "#version 450
layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint count; int drive; } push;
struct Neuron { int v; uint spikes; };
layout(std430, binding = 0) buffer Neurons { Neuron neurons[]; };

void main() {
    uint at = gl_GlobalInvocationID.x;
    if (at >= push.count) return;
    int next = neurons[at].v - neurons[at].v / 16 + push.drive;
    if (next >= 65536) {
        next = 0;
        neurons[at].spikes += 1;
    }
    neurons[at].v = next;
}
";

/// A variant that asks for more than lavapipe has is not run there, and the doctor says which one is.
#[test]
fn a_variant_that_the_device_refuses_is_told_with_the_one_that_runs() {
    need!(python().is_some(), "no client");
    if !can_run() {
        return;
    }
    let dir = scratch();
    let path = |name: &str| dir.path().join(name);
    copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recipes/shaded"), &path("recipe"));
    let edit = |file: &str, from: &str, to: &str| {
        let text = fs_err::read_to_string(path(file)).unwrap();
        assert!(text.contains(from), "{file}: {from}");
        fs_err::write(path(file), text.replace(from, to)).unwrap();
    };
    // No device has workgroups of so many invocations.
    let size =
        "#ifdef WIDE\nlayout(local_size_x = 1024, local_size_y = 2) in;\n#else\nlayout(local_size_x = 64) in;\n#endif";
    for shader in ["integrate", "deliver"] {
        edit(&format!("recipe/shaders/{shader}.comp"), "layout(local_size_x = 64) in;", size);
    }
    edit("recipe/shaders/table.toml", "workgroup = [64]\n", "");
    edit("recipe/simpack.toml", "none = {}", "none = {}\nwide = { define = [\"WIDE\"] }");
    let built = Ran::of(&mut simpack(dir.path(), &["build", "recipe", "--json"])).exit(0).json();
    let findings = built["report"]["findings"].as_array().unwrap();
    assert!(!findings.is_empty() && findings.iter().all(|one| one["lint"] == "shader-environment"), "{findings:?}");
    let prefix = path("prefix");
    let mut install = client("install.py").unwrap();
    Ran::of(install.arg("--channel").arg(path("dist/conda")).arg("--prefix").arg(&prefix).arg("shaded")).exit(0);
    let said = Ran::of(&mut simpack(dir.path(), &["doctor", prefix.to_str().unwrap()])).exit(0).stdout;
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("not `wide`") && words.contains("`fixed` and `none` run here"), "{said}");
    runs_as_the_cpu(&prefix, TARGETS[0]);
}
