//! `simpack plan --compare` and `--cost`, on the steps of real builds.

use std::path::Path;

use serde_json::Value;

use crate::support::{CacheView, Ran, Tiny, scratch, simpack, volley};

fn compare(args: &[&str]) -> Ran {
    volley();
    let mut command = simpack(Path::new(env!("CARGO_MANIFEST_DIR")), &["plan", "volley", "--compare", "--locked"]);
    Ran::of(command.args(args))
}

fn way<'v>(found: &'v Value, name: &str) -> &'v Value {
    found["ways"].as_array().unwrap().iter().find(|way| way["way"] == name).unwrap()
}

#[test]
fn ways_to_ship_are_compared_by_what_was_measured() {
    let found = compare(&["--json"]).exit(0).json();
    assert_eq!(found["measured"], found["steps"]);
    assert_eq!(found["targets"].as_array().unwrap().len(), 9);
    let number = |name: &str, what: &str| way(&found, name)[what].as_f64().unwrap();
    assert!(number("compiled", "download") < number("fat", "download"));
    assert!(number("compiled", "stored") < number("sliced", "stored"));
    assert!(number("compiled", "one-more") < number("rebuilt", "one-more"));
    assert!(number("rebuilt", "seconds") > number("fat", "seconds"));
    // A file of every target takes room, compressed less than as it is.
    for target in found["targets"].as_array().unwrap() {
        let (bytes, packed) = (target["bytes"].as_u64().unwrap(), target["download"].as_u64().unwrap());
        assert!(0 < packed && packed < bytes, "{target}");
        assert_eq!(target["estimated"], false);
    }
}

#[test]
fn estimates_are_marked() {
    let text = compare(&["--capability", "9.0,10.3"]).exit(0).stdout;
    assert!(text.contains("~") && text.contains("estimates for the others"), "{text}");
    let found = compare(&["--capability", "9.0", "--json"]).exit(0).json();
    assert_eq!(way(&found, "fat")["estimated"], false);
}

#[test]
fn what_each_capability_costs_follows_from_history() {
    volley();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let plan = |args: &[&str]| Ran::of(simpack(root, &["plan", "volley", "--cost", "--locked"]).args(args)).exit(0);
    let found = plan(&["--json"]).json();
    assert_eq!(found["measured"], found["steps"]);
    let parts = found["parts"].as_array().unwrap();
    let sum = |what: &str| parts.iter().map(|part| part[what].as_f64().unwrap()).sum::<f64>();
    assert!((sum("cpu-seconds") - found["total"]["cpu-seconds"].as_f64().unwrap()).abs() < 1e-6, "{found}");
    assert_eq!(sum("bytes"), found["total"]["bytes"].as_f64().unwrap());
    assert!(parts.iter().all(|part| part["memory"].as_u64() > Some(1 << 20)), "{found}");
    // What runs without a capability: the next lower code of its major, else PTX.
    let targets = found["targets"].as_array().unwrap();
    let of = |target: &str| targets.iter().find(|one| one["target"] == target).unwrap();
    assert_eq!(of("sm_86")["without"][0]["by"], "sm_80");
    assert_eq!(of("sm_90")["without"][0]["by"], "compute_75");
    let kernels: f64 = targets.iter().map(|one| one["bytes-part"].as_f64().unwrap()).sum();
    assert!((kernels - 1.0).abs() < 1e-9, "{found}");
    let text = plan(&[]).stdout;
    assert!(text.contains("drop sm_86") && text.contains("served then: 8.6 by sm_80 code"), "{text}");
    // A capability that was never built is expected to take what the others did.
    let text = plan(&["--capability", "9.0,10.3"]).stdout;
    assert!(text.contains("sm_103") && text.contains("~ holds estimates for the others"), "{text}");
}

/// A build says how well it was foreseen, and the plan after it repeats that.
#[test]
fn the_error_of_the_expectation_is_told_after_each_build() {
    let tiny = Tiny::new();
    let plan = |args: &[&str]| Ran::of(tiny.simpack(&["plan", "recipe", "--cost"]).args(args)).exit(0);
    assert_eq!(plan(&["--json"]).json()["last"], Value::Null);
    let told = Ran::of(&mut tiny.build(&["--verbose"])).exit(0);
    assert!(told.stderr.contains("expected   ") && told.stderr.contains("a step is off by"), "{}", told.stderr);
    let last = &plan(&["--json"]).json()["last"];
    assert_eq!(last["steps"], 1);
    let number = |what: &str| last[what].as_f64().unwrap();
    let off = (number("took") - number("expected")).abs() / number("expected");
    assert!(number("took") > 0.0 && (number("each") - off).abs() < 1e-9, "{last}");
    assert!(plan(&[]).stdout.contains("last build: 1 step took "));
}

#[test]
fn nothing_measured_says_what_to_do() {
    let (dir, view) = (scratch(), CacheView::new(&[]));
    let mut command = simpack(dir.path(), &["plan", "volley", "--compare"]);
    let ran = Ran::of(command.env("SIMPACK_CACHE_DIR", view.root.path())).exit(2);
    assert!(ran.stderr.contains("simpack build"), "{}", ran.stderr);
}
