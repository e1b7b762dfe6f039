//! `simpack plan --compare`, on the steps of a real build.

use std::path::Path;

use serde_json::Value;

use crate::support::{CacheView, Ran, scratch, simpack, volley};

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
fn nothing_measured_says_what_to_do() {
    let (dir, view) = (scratch(), CacheView::new(&[]));
    let mut command = simpack(dir.path(), &["plan", "volley", "--compare"]);
    let ran = Ran::of(command.env("SIMPACK_CACHE_DIR", view.root.path())).exit(2);
    assert!(ran.stderr.contains("simpack build"), "{}", ran.stderr);
}
