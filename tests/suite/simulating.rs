//! volley's spikes against an independent NumPy reference, and what it says without a GPU.

use std::path::{Path, PathBuf};

use crate::support::{Prefix, Ran, need, python, scratch};

pub const NETS: [&str; 5] = ["delays", "refractory", "fan_in", "balanced", "variants"];

pub fn net(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/volley/nets/{name}.toml"))
}

/// Spikes that the reference computes for a network, one line each; nothing without Python.
pub fn reference(name: &str, dir: &Path) -> Option<String> {
    let out = dir.join(format!("{name}.reference"));
    let mut command = python()?;
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/volley/reference.py"));
    Ran::of(command.arg(net(name)).arg(&out)).exit(0);
    Some(fs_err::read_to_string(out).unwrap())
}

/// Runs a network; answers the report and the spikes, one line each.
pub fn spikes(prefix: &Prefix, name: &str, args: &[&str], dir: &Path) -> (serde_json::Value, String) {
    let out = dir.join(format!("{name}.spikes"));
    let mut command = prefix.volley(&["run", "--json", "--spikes"]);
    let ran = Ran::of(command.arg(&out).arg(net(name)).args(args)).exit(0);
    (ran.json(), fs_err::read_to_string(out).unwrap())
}

/// The first line in which two lists of spikes differ.
#[track_caller]
pub fn same_spikes(what: &str, ours: &str, theirs: &str) {
    if ours == theirs {
        return;
    }
    let number = ours.lines().zip(theirs.lines()).take_while(|(a, b)| a == b).count();
    let (a, b) = (ours.lines().nth(number), theirs.lines().nth(number));
    panic!("{what}: spike {} differs: {a:?}, expected {b:?}", number + 1);
}

#[test]
fn spikes_are_those_of_the_reference() {
    need!(python().is_some(), "SIMPACK_TEST_PYTHON names no Python with numpy");
    let prefix = Prefix::of(&["volley-core"]);
    let dir = scratch();
    let mut digests = Vec::new();
    for name in NETS {
        let expected = reference(name, dir.path()).unwrap();
        assert!(expected.lines().count() > 300, "{name}: too quiet to prove anything");
        for threads in ["1", "2", "5"] {
            let (report, found) = spikes(&prefix, name, &["--backend", "cpu", "--threads", threads], dir.path());
            same_spikes(&format!("{name}, {threads} threads"), &found, &expected);
            assert_eq!(report["spikes"].as_u64().unwrap(), expected.lines().count() as u64);
            assert_eq!(report["backend"], "cpu");
            digests.push(report["digest"].as_str().unwrap().to_owned());
        }
    }
    digests.dedup();
    assert_eq!(digests.len(), NETS.len());
}

/// Networks whose sums are exact in float32 give the same spikes in every variant; a network made to
/// be sensitive does not, so the variants are different programs.
#[test]
fn variants_agree_where_they_must_and_differ_where_they_do() {
    let prefix = Prefix::of(&["volley-core"]);
    let dir = scratch();
    let run =
        |name: &str, variant: &str| spikes(&prefix, name, &["--backend", "cpu", "--accumulate", variant], dir.path());
    for name in ["delays", "refractory"] {
        let (_, fixed) = run(name, "fixed");
        for variant in ["float", "none"] {
            let (report, found) = run(name, variant);
            same_spikes(&format!("{name}, {variant}"), &found, &fixed);
            assert_eq!(report["accumulate"], variant);
        }
    }
    assert_ne!(run("variants", "fixed").1, run("variants", "float").1);
}

#[test]
fn a_seed_changes_the_spikes_and_a_run_repeats() {
    let prefix = Prefix::of(&["volley-core"]);
    let dir = scratch();
    let run = |seed: &str| spikes(&prefix, "delays", &["--backend", "cpu", "--seed", seed], dir.path()).1;
    assert_eq!(run("5"), run("5"));
    assert_ne!(run("5"), run("6"));
}

#[test]
fn a_wrong_network_is_refused_with_its_line() {
    let prefix = Prefix::of(&["volley-core"]);
    let dir = scratch();
    let file = dir.path().join("wrong.toml");
    fs_err::write(&file, "[simulation]\nduration = 1.0\n[[population]]\nname = \"a\"\nsize = 3\ntau_n = 1.0\n")
        .unwrap();
    let ran = Ran::of(prefix.volley(&["run"]).arg(&file)).exit(2);
    assert!(ran.stderr.contains("tau_n") && ran.stderr.contains(":6"), "{}", ran.stderr);
    Ran::of(&mut prefix.volley(&["run", "/nowhere.toml"])).exit(2);
    Ran::of(&mut prefix.volley(&["run"])).exit(2);
}
