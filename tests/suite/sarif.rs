//! Reports for other tools: SARIF against the official schema, annotations of GitHub line by line.

use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::support::{Ran, client, copy_tree, files, scratch, set_up, simpack, volley};

/// A directory with two bundles: kernels of which one file is another capability's and one is damaged.
fn broken() -> tempfile::TempDir {
    let dir = scratch();
    let bundle = dir.path().join("dist/volley-kernels-sm_90");
    copy_tree(&volley().bundle("volley-kernels-sm_90"), &bundle);
    copy_tree(&volley().bundle("volley-core"), &dir.path().join("dist/volley-core"));
    let other = volley().bundle("volley-kernels-sm_80");
    let from = files(&other).into_iter().find(|file| file.ends_with("fixed/sm_80/neuron.cubin")).unwrap();
    let path = |end: &str| bundle.join(files(&bundle).into_iter().find(|file| file.ends_with(end)).unwrap());
    fs_err::copy(other.join(from), path("fixed/sm_90/neuron.cubin")).unwrap();
    let damaged = path("float/sm_90/neuron.cubin");
    let bytes = fs_err::read(&damaged).unwrap();
    fs_err::write(damaged, &bytes[..bytes.len() / 2]).unwrap();
    dir
}

fn verify(dir: &Path, args: &[&str]) -> Ran {
    let args: Vec<&str> = ["verify"].into_iter().chain(args.iter().copied()).collect();
    Ran::of(&mut simpack(dir, &args)).exit(1)
}

/// Says what the official schema finds wrong with a document; none without the schema.
fn violations(document: &Value) -> Option<String> {
    let schema = set_up("SIMPACK_TEST_SARIF_SCHEMA")?;
    let mut command = client("schema.py")?;
    command.arg(schema).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(document.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.success(), said.is_empty(), "{said}");
    Some(said)
}

#[test]
fn sarif_follows_the_official_schema() {
    let dir = broken();
    let waived = ["--waive", "artifact-digest", "volley-kernels-sm_90: *neuron*", "changed on purpose"];
    let log = verify(dir.path(), &[&["--format", "sarif", "dist"], &waived[..]].concat()).json();
    let run = &log["runs"][0];
    let results = run["results"].as_array().unwrap();
    let of = |rule: &str| results.iter().find(|result| result["ruleId"] == rule);
    assert_eq!(of("kernel-capability").unwrap()["level"], "error");
    assert_eq!(of("artifact-digest").unwrap()["suppressions"][0]["justification"], "changed on purpose");
    assert_eq!(run["invocations"][0]["executionSuccessful"], false, "a damaged file is no pass");
    for result in results {
        let rule = &run["tool"]["driver"]["rules"][result["ruleIndex"].as_u64().unwrap() as usize];
        assert_eq!(rule["id"], result["ruleId"]);
        // What code scanning asks for: a place, and a mark by which it knows the result again.
        let place = &result["locations"][0]["physicalLocation"];
        assert!(place["artifactLocation"]["uri"].as_str().unwrap().starts_with("volley-"), "{place}");
        assert_eq!(place["region"]["startLine"], 1);
        assert_eq!(result["partialFingerprints"]["simpackFinding/v1"].as_str().unwrap().len(), 64);
    }
    let Some(said) = violations(&log) else { return };
    assert_eq!(said, "");
    // The validator sees mistakes.
    let mut wrong = log.clone();
    wrong["runs"][0]["results"][0]["level"] = "terrible".into();
    wrong["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"] = 0.into();
    let said = violations(&wrong).unwrap();
    assert!(said.contains("$.runs[0].results[0].level") && said.contains("startLine"), "{said}");
}

/// With a recipe of the repository, results stand where they can be fixed.
#[test]
fn results_of_a_repository_stand_at_its_recipe() {
    let dir = broken();
    let recipe = Path::new(env!("CARGO_MANIFEST_DIR")).join("recipes/volley");
    copy_tree(&recipe, &dir.path().join("sim"));
    let log = verify(dir.path(), &["--format", "sarif", "--recipe", "sim", "dist"]).json();
    for result in log["runs"][0]["results"].as_array().unwrap() {
        let uri = &result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
        assert_eq!(uri, "sim/simpack.toml");
        assert!(!result["relatedLocations"][0]["physicalLocation"]["artifactLocation"]["uri"].is_null());
    }
    // The recipe declares more than is here.
    let found = log["runs"][0]["results"].to_string();
    assert!(found.contains("release-incomplete") && found.contains("sm_120"), "{found}");
    assert_eq!(violations(&log).unwrap_or_default(), "");

    let said = verify(dir.path(), &["--format", "github", "--recipe", "sim", "dist"]).stdout;
    let shown = |line: &str| line.starts_with("::") && line.contains(" file=sim/simpack.toml,line=");
    assert!(said.lines().all(shown), "{said}");
    let recipe = fs_err::read_to_string(dir.path().join("sim/simpack.toml")).unwrap();
    let line = recipe.lines().position(|line| line == "[component.kernels]").unwrap() + 1;
    assert!(said.contains(&format!("file=sim/simpack.toml,line={line},title=kernel-capability")), "{line} {said}");
    assert!(said.contains("%0A"), "evidence stands in the annotation's own line: {said}");
}
