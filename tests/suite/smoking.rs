//! The smoke test that volley declares: the installed simulator on the CPU, and on a stand-in for the driver that
//! carries the kernels out on the host.

use std::path::Path;

use simpack::data::Data;
use simpack::doctor::smoke::{self, Ended, Environment, SmokeReport};
use simpack::fit::Distribution;
use simpack::machine::{Device, DeviceKind, Driver};
use simpack::manifest::Manifests;

use crate::installing::installed;
use crate::loading::driver;
use crate::support::{Prefix, need, python};

fn device(capability: &str) -> Device {
    let kind = DeviceKind::Cuda { capability: capability.parse().unwrap() };
    Device { index: 0, name: "a stand-in".to_owned(), kind, memory: None }
}

/// The smoke test in a prefix on a machine whose driver supports CUDA 13.0.
fn run(prefix: &Path, devices: &[Device], env: &[(&str, &str)]) -> SmokeReport {
    let manifests = Manifests::load(&Data::at(env!("CARGO_MANIFEST_DIR"))).unwrap();
    let cuda = Driver { version: None, cuda: "13.0".parse().unwrap() };
    let cuda = Some(&cuda).filter(|_| !devices.is_empty());
    let env: Environment = env.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let reports = smoke::prefix(prefix, (devices, &[]), cuda, &env, &manifests).unwrap();
    let [report] = reports.try_into().unwrap();
    report
}

/// The page without what differs between runs.
fn page(report: &SmokeReport) -> String {
    let mut words = Vec::new();
    for line in report.page().lines() {
        let mut line = line.to_owned();
        while let Some(at) = line.find(" s, ") {
            let start = line[..at].rfind(' ').unwrap() + 1;
            let end = line[at..].find(" s of it the run").unwrap() + at;
            line.replace_range(start..end + " s of it the run".len(), "<time>");
        }
        words.push(line);
    }
    words.join("\n")
}

#[test]
fn the_installed_simulator_passes_on_the_cpu() {
    if python().is_none() {
        return;
    }
    let report = run(&installed().unwrap().prefix, &[], &[]);
    assert!(report.is_well(), "{}", report.page());
    assert_eq!(report.runs.len(), 1);
    assert_eq!(report.runs[0].result, Ended::Passed { agrees: Vec::new() });
    assert!(report.runs[0].own_seconds.unwrap() > 0.0 && report.runs[0].seconds > report.runs[0].own_seconds);
    insta::assert_snapshot!(page(&report));
}

#[test]
fn machine_code_and_ptx_are_each_compared_with_the_cpu() {
    need!(driver().is_some(), "no C++ compiler");
    let prefix = Prefix::of(&["volley-core", "volley-kernels-sm_90", "volley-kernels-compute_75"]);
    let library = driver().unwrap().to_str().unwrap();
    let report = run(prefix.path(), &[device("9.0")], &[("LD_LIBRARY_PATH", library)]);
    assert!(report.is_well(), "{}", report.page());
    insta::assert_snapshot!(page(&report));
    let codes: Vec<_> = report.runs.iter().map(|run| run.code.as_deref().unwrap_or("none")).collect();
    assert_eq!(codes, ["none", "cuda13/fixed/sm_90", "cuda13/fixed/compute_75"]);
    let text = serde_json::to_string(&report).unwrap();
    assert_eq!(serde_json::from_str::<SmokeReport>(&text).unwrap(), report);
}

/// A device for which nothing is installed: no run, and the words that help.
#[test]
fn kernels_of_another_major_are_not_run_and_it_is_said_why() {
    need!(driver().is_some(), "no C++ compiler");
    let prefix = Prefix::of(&["volley-core", "volley-kernels-sm_80"]);
    let library = driver().unwrap().to_str().unwrap();
    let report = run(prefix.path(), &[device("9.0")], &[("LD_LIBRARY_PATH", library)]);
    insta::assert_snapshot!(page(&report));
    assert!(report.is_well() && matches!(report.runs[1].result, Ended::NotRun { .. }));
}

/// What is wrong is not passed: another device than the one that was found, a damaged prefix.
#[test]
fn a_simulator_that_does_something_else_fails() {
    need!(driver().is_some(), "no C++ compiler");
    let prefix = Prefix::of(&["volley-core", "volley-kernels-sm_90"]);
    let library = ("LD_LIBRARY_PATH", driver().unwrap().to_str().unwrap());
    let refused = run(prefix.path(), &[device("9.0")], &[library, ("FAKE_CUDA_CAPABILITY", "8.0")]);
    let Ended::Failed { why } = &refused.runs[1].result else { panic!("{}", refused.page()) };
    assert!(why.contains("exit 3") && why.contains("sm_90") && why.contains("other major"), "{why}");
    fs_err::remove_file(prefix.path().join("share/volley/examples/balanced.toml")).unwrap();
    let broken = run(prefix.path(), &[device("9.0")], &[library]);
    assert!(
        matches!(&broken.runs[0].result, Ended::Failed { why } if why.contains("balanced.toml")),
        "{}",
        broken.page()
    );
    assert!(matches!(&broken.runs[1].result, Ended::Failed { .. }), "{}", broken.page());
}

/// Puts a script in the place of the simulator's program, which is `$real` in it.
fn replace_program(prefix: &Path, script: &str) {
    use std::os::unix::fs::PermissionsExt;
    let program = prefix.join("bin/volley");
    fs_err::rename(&program, prefix.join("bin/real")).unwrap();
    fs_err::write(&program, format!("#!/bin/sh\nreal=$(dirname \"$0\")/real\n{script}\n")).unwrap();
    fs_err::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn other_spikes_and_other_device_code_than_asked_for_are_differences() {
    need!(driver().is_some(), "no C++ compiler");
    let library = driver().unwrap().to_str().unwrap();
    let of = |script: &str| {
        let prefix = Prefix::of(&["volley-core", "volley-kernels-sm_90", "volley-kernels-compute_75"]);
        replace_program(prefix.path(), script);
        run(prefix.path(), &[device("9.0")], &[("LD_LIBRARY_PATH", library)])
    };
    let what = |report: &SmokeReport, run: usize| match &report.runs[run].result {
        Ended::Differs { what } => what.join("; "),
        _ => panic!("{}", report.page()),
    };
    let other =
        of(r#"case "$*" in *cuda*) "$real" "$@" | sed 's/"spikes": /"spikes": 9/';; *) exec "$real" "$@";; esac"#);
    assert!(what(&other, 1).starts_with("/spikes is 9"), "{}", other.page());
    assert!(!other.is_well() && other.page().contains("differs"), "{}", other.page());
    // Takes what it likes best, whatever it is asked for.
    let deaf = of(r#"exec "$real" $(printf '%s ' "$@" | sed 's/--code [a-z0-9_]*//')"#);
    assert!(matches!(deaf.runs[1].result, Ended::Passed { .. }), "{}", deaf.page());
    assert_eq!(what(&deaf, 2), "compute_75 was asked for, it says it ran cuda13/fixed/sm_90");
}

/// Packages that were made before there were smoke tests declare none, and that is said.
#[test]
fn a_prefix_without_a_declared_test_says_so() {
    let prefix = Prefix::of(&["volley-core"]);
    let list = prefix.path().join("share/simpack/volley-core/simpack.json");
    let text = fs_err::read_to_string(&list).unwrap();
    let mut manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(manifest["smoke"]["command"][0], "bin/volley");
    manifest.as_object_mut().unwrap().remove("smoke");
    fs_err::write(&list, manifest.to_string()).unwrap();
    // A manifest names programs of its prefix only.
    let mut outside = manifest.clone();
    outside["smoke"] = serde_json::from_str::<serde_json::Value>(&text).unwrap()["smoke"].clone();
    outside["smoke"]["command"][0] = "../../../../../../bin/true".into();
    fs_err::write(&list, outside.to_string()).unwrap();
    let refused = run(prefix.path(), &[], &[]);
    assert!(
        matches!(&refused.runs[0].result, Ended::Failed { why } if why.contains("no program")),
        "{}",
        refused.page()
    );
    fs_err::write(&list, manifest.to_string()).unwrap();
    let report = run(prefix.path(), &[], &[]);
    assert!(report.page().starts_with("smoke     volley 1.0.0 declares no smoke test\n"), "{}", report.page());
    assert!(report.page().contains("[smoke] of its recipe declares one"), "{}", report.page());
    assert!(report.runs.is_empty());
    let manifests: Vec<_> = [text].iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    assert!(Distribution::of(&manifests, true)[0].is_installed());
}
