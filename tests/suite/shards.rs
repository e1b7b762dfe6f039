//! One plan over several machines: its parts merge to the bytes of one build, and whatever is not the whole plan is refused
//! by its name.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use simpack::fs::set_mode;

use crate::support::{Ran, Tiny, changed, copy_tree, digests, files, set_up};

/// A call of a machine of its own: nothing is shared but the recipe.
fn on(tiny: &Tiny, machine: &str, mut command: Command) -> Ran {
    Ran::of(command.env("SIMPACK_CACHE_DIR", tiny.path(machine).join("cache")))
}

/// Builds a part on its own machine.
fn shard(tiny: &Tiny, shard: &str, args: &[&str]) -> Ran {
    let machine = format!("machine-{}", shard.replace('/', "-of-"));
    let work = format!("{machine}/work");
    let mut all = vec!["build", "recipe", "--sandbox", "off", "--shard", shard, "--work", &work];
    if tiny.has_kernels() {
        all.extend(["--toolchain", "system"]);
    }
    all.extend(args);
    on(tiny, &machine, tiny.simpack(&all))
}

/// What has no reader of a tag and code for two capabilities only.
const ALLOWED: [&str; 4] = ["--allow", "device-coverage", "--allow", "kernel-tag-absent"];

fn merge(tiny: &Tiny, args: &[&str]) -> Ran {
    let all: Vec<&str> = ["merge"].iter().chain(args).chain(&ALLOWED).copied().collect();
    let mut command = tiny.simpack(&all);
    // A compiler that cannot be called: nothing is compiled.
    command.env("NVCC_PREPEND_FLAGS", "--no-such-option");
    on(tiny, "merging", command)
}

/// What archives of CI services do to files: modes go.
fn through_an_archive(dir: &Path) {
    for file in files(dir) {
        set_mode(&dir.join(file), 0o644).unwrap();
    }
}

#[test]
fn parts_of_a_plan_merge_to_the_bytes_of_one_build() {
    let Some(tiny) = Tiny::with_kernels() else { return };
    let reference = tiny.reference();
    let told = shard(&tiny, "1/3", &[]).exit(0);
    assert!(told.stdout.contains("next: simpack merge shards"), "{}", told.stdout);
    let summary = shard(&tiny, "2/3", &["--json"]).exit(0).json();
    assert_eq!((&summary["shard"], &summary["path"]), (&"2/3".into(), &"shards/2-of-3".into()));
    shard(&tiny, "3/3", &[]).exit(0);
    through_an_archive(&tiny.path("shards"));

    // Each step in one part, none compiled twice.
    let steps = |name: &str| {
        let list = fs_err::read(tiny.path(&format!("shards/{name}/shard.json"))).unwrap();
        let list: Value = serde_json::from_slice(&list).unwrap();
        list["steps"].as_array().unwrap().iter().map(|step| step["entry"]["step"].to_string()).collect::<Vec<_>>()
    };
    let mut all: Vec<String> = ["1-of-3", "2-of-3", "3-of-3"].iter().flat_map(|name| steps(name)).collect();
    all.sort();
    assert_eq!(all, ["\"host core\"", "\"kernels/tiny.cu sm_80 (default)\"", "\"kernels/tiny.cu sm_90 (default)\""]);

    let merged = merge(&tiny, &["shards"]).exit(0);
    assert!(merged.stdout.contains("merged 3 steps of 3 shards"), "{}", merged.stdout);
    assert_eq!(changed(&digests(&tiny.path("dist")), &reference), [""; 0]);
    assert!(tiny.path("dist/conda").is_dir());
    // Nothing of the shards is left in the machine's cache but what steps took.
    assert_eq!(tiny.names("merging/cache/artifacts").iter().filter(|name| name.len() == 2).count(), 0);

    // What they took divides the next plan, and machines are told of it by a file.
    let mut plan = tiny.simpack(&["plan", "recipe", "--toolchain", "system", "--shards", "2", "--format", "json"]);
    plan.env("SIMPACK_CACHE_DIR", tiny.path("merging/cache"));
    let text = Ran::of(&mut plan).exit(0).stdout;
    let division: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(division["measured"], 3);
    tiny.write("division.json", &text);
    fs_err::remove_dir_all(tiny.path("shards")).unwrap();
    for part in ["1/2", "2/2"] {
        shard(&tiny, part, &["--division", "division.json"]).exit(0);
    }
    merge(&tiny, &["shards/1-of-2", "shards/2-of-2"]).exit(0);
    assert_eq!(changed(&digests(&tiny.path("dist")), &reference), [""; 0]);
    let wrong = shard(&tiny, "1/3", &["--division", "division.json"]).exit(2);
    assert!(wrong.stderr.contains("another number"), "{}", wrong.stderr);
}

#[test]
fn what_is_not_the_whole_plan_is_refused_by_its_name() {
    let tiny = Tiny::new();
    for part in ["1/2", "2/2"] {
        shard(&tiny, part, &[]).exit(0);
    }
    let refused = |args: &[&str], code: i32, words: &[&str]| {
        let ran = merge(&tiny, args).exit(code);
        for word in words {
            assert!(ran.stderr.contains(word), "{word}: {}", ran.stderr);
        }
        assert!(!tiny.path("dist").exists());
    };
    refused(&["shards/1-of-2"], 2, &["shard 2/2 is missing", "given: 1/2 in shards/1-of-2", "--shard 2/2"]);
    refused(&["shards", "shards/2-of-2"], 2, &["shard 2/2 is given twice"]);
    refused(&["recipe"], 2, &["recipe is no shard and holds none"]);
    refused(&["nowhere"], 6, &["nowhere", "is no shard"]);
    shard(&tiny, "1/3", &["--dist", "other/1-of-3"]).exit(0);
    refused(
        &["shards", "other"],
        2,
        &["shards/2-of-2 is shard 2/2", "other/1-of-3 is shard 1/3", "different divisions"],
    );

    // Of another source, and of another tool.
    let copy = |name: &str| {
        fs_err::remove_dir_all(tiny.path("foreign")).unwrap_or_default();
        copy_tree(&tiny.path("shards"), &tiny.path("foreign"));
        tiny.path("foreign").join(name)
    };
    let list = copy("1-of-2/shard.json");
    let text = fs_err::read_to_string(&list).unwrap();
    let mut value: Value = serde_json::from_str(&text).unwrap();
    value["plan"]["sources"] = "0".repeat(64).into();
    value["plan"]["simulator"] = "\u{1b}[31mtinier".into();
    fs_err::write(&list, value.to_string()).unwrap();
    refused(
        &["foreign"],
        8,
        &["shard 1/2 in foreign/1-of-2 is of another plan", "source: 000000000000 there", "tinier"],
    );
    assert!(!merge(&tiny, &["foreign"]).stderr.contains('\u{1b}'));
    tiny.version(2);
    refused(&["shards"], 8, &["shard 1/2 in shards/1-of-2 is of another plan", "source: "]);
    tiny.version(1);

    // Divided otherwise: a step in both, or in none.
    let of = |name: &str| -> Value {
        serde_json::from_slice(&fs_err::read(tiny.path("shards").join(name).join("shard.json")).unwrap()).unwrap()
    };
    let (full, empty) = match of("1-of-2")["steps"].as_array().unwrap().is_empty() {
        false => ("1-of-2", "2-of-2"),
        true => ("2-of-2", "1-of-2"),
    };
    let mut lacking = of(full);
    lacking["steps"] = of(empty)["steps"].clone();
    fs_err::write(copy(full).join("shard.json"), lacking.to_string()).unwrap();
    refused(&["foreign"], 2, &["the shards do not make up the plan: host core is in no shard"]);

    // Damaged: a file, its absence, a path that leads out, a list that is none.
    let blob = files(&tiny.path("shards").join(full)).into_iter().find(|file| file.starts_with("files/")).unwrap();
    fs_err::write(copy(full).join(&blob), "other").unwrap();
    refused(&["foreign"], 6, &["is damaged", "host core", "is not what was put there"]);
    fs_err::remove_file(copy(full).join(&blob)).unwrap();
    refused(&["foreign"], 6, &["is damaged", "is missing"]);
    let mut leading = of(full);
    leading["steps"][0]["entry"]["artifacts"][0]["path"] = "../../../../escaped".into();
    fs_err::write(copy(full).join("shard.json"), leading.to_string()).unwrap();
    refused(&["foreign"], 6, &["escaped"]);
    fs_err::write(copy(full).join("shard.json"), "{").unwrap();
    refused(&["foreign"], 6, &["shard.json", "is damaged"]);
    let mut newer = of(full);
    newer["schema"] = 2.into();
    fs_err::write(copy(full).join("shard.json"), newer.to_string()).unwrap();
    refused(&["foreign"], 6, &["has version 2"]);

    // And with all of it as it was, the packages.
    merge(&tiny, &["shards"]).exit(0);
    assert_eq!(changed(&digests(&tiny.path("dist")), &tiny.reference()), [""; 0]);
    let strict = merge(&tiny, &["shards", "--sandbox", "require", "--dist", "strict"]).exit(5);
    assert!(strict.stderr.contains("host core was not isolated"), "{}", strict.stderr);
}

#[test]
fn a_division_is_one_of_this_plan_or_refused() {
    let tiny = Tiny::new();
    let divide = |args: &[&str]| {
        let all: Vec<&str> = ["plan", "recipe", "--shards", "2"].iter().chain(args).copied().collect();
        Ran::of(&mut tiny.simpack(&all)).exit(0).stdout
    };
    assert!(divide(&[]).contains("1 step in 2 shards"), "{}", divide(&[]));
    let matrix: Value = serde_json::from_str(&divide(&["--format", "github"])).unwrap();
    assert_eq!((&matrix["include"][1]["shard"], &matrix["include"][1]["name"]), (&"2/2".into(), &"2-of-2".into()));
    tiny.write("division.json", &divide(&["--format", "json"]));
    assert_eq!(divide(&["--json"]), divide(&["--format", "json"]));
    shard(&tiny, "1/2", &["--division", "division.json", "--dry-run"]).exit(0);
    tiny.version(2);
    let stale = shard(&tiny, "1/2", &["--division", "division.json"]).exit(8);
    assert!(stale.stderr.contains("division.json divides another plan"), "{}", stale.stderr);
    tiny.write("division.json", "{}");
    let wrong = shard(&tiny, "1/2", &["--division", "division.json"]).exit(6);
    assert!(wrong.stderr.contains("is no division of a plan"), "{}", wrong.stderr);
    for wrong in ["0/2", "3/2", "1", "1/5000"] {
        shard(&tiny, wrong, &[]).exit(2);
    }
    Ran::of(&mut tiny.simpack(&["plan", "recipe", "--format", "github"])).exit(2);
    shard(&tiny, "1/2", &["--format", "tar"]).exit(2);
}

/// GitLab's own schema, and the commands as a shell takes them.
#[test]
fn the_pipeline_of_gitlab_is_one() {
    let tiny = Tiny::new();
    let args = ["plan", "recipe", "--shards", "3", "--capability", "9.0", "--ptx", "none", "--format", "gitlab"];
    let text = Ran::of(&mut tiny.simpack(&args)).exit(0).stdout;
    let yaml: serde_yaml::Value = serde_yaml::from_str(&text).unwrap();
    let script = yaml["simpack-shard"]["script"][0].as_str().unwrap();
    assert_eq!(
        script,
        "simpack build recipe --capability 9.0 --ptx none --shard \"$SHARD\" --division .simpack-division.json"
    );
    let parts = &yaml["simpack-shard"]["parallel"]["matrix"][0]["SHARD"];
    assert_eq!(serde_json::to_value(parts).unwrap(), serde_json::json!(["1/3", "2/3", "3/3"]));
    tiny.write("gitlab-ci.yml", &text);
    let Some(python) = set_up("SIMPACK_TEST_PYTHON") else { return };
    let mut check = Command::new(python.parent().unwrap().join("check-jsonschema"));
    check.args(["--builtin-schema", "vendor.gitlab-ci", "--data-transform", "gitlab-ci"]);
    Ran::of(check.arg(tiny.path("gitlab-ci.yml"))).exit(0);
}
