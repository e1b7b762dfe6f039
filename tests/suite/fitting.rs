//! What fits a machine: `simpack select` over the built distribution and a real solver, and how far real wheels
//! reach.

use std::path::{Path, PathBuf};

use simpack::data::Data;
use simpack::fit::{How, Reach};
use simpack::inspect::reach;
use simpack::machine::{Device, DeviceKind, Driver};
use simpack::manifest::Manifests;
use simpack::ui::Ui;

use crate::support::{Prefix, Ran, client, need, python, scratch, set_up, simpack, volley};

fn select(args: &[&str]) -> Ran {
    let args: Vec<&str> = ["select"].into_iter().chain(args.iter().copied()).collect();
    Ran::of(&mut simpack(volley().dist.parent().unwrap(), &args))
}

fn lines(ran: &Ran) -> Vec<String> {
    ran.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn a_described_machine_gets_packages_and_reasons() {
    let said = select(&["--device", "9.0", "--driver", "580.159.04"]).exit(0).stdout;
    let mixed = select(&["dist", "--device", "8.9", "--device", "8.0", "--device", "8.7"]).exit(0).stdout;
    let old = select(&["dist/conda", "--device", "8.9", "--driver", "560.35.03"]).exit(1).stdout;
    let none = select(&["--device", "cpu"]).exit(0).stdout;
    insta::with_settings!({ filters => vec![(r"h[0-9a-f]{7}(_\d+)?\b", "<hash>"), (r"k[0-9a-f]{12}", "<tag>")] }, {
        insta::assert_snapshot!([said, mixed, old, none].join("\n"));
    });
}

/// What scripts read: one spec a line and nothing else.
#[test]
fn every_format_is_for_its_reader() {
    let specs = lines(&select(&["--device", "9.0", "--format", "conda", "--quiet"]).exit(0));
    assert_eq!(specs.len(), 2, "{specs:?}");
    assert_eq!(specs[0], "volley ==1.0.0");
    assert!(specs[1].starts_with("volley-kernels-sm_90 ==1.0.0 cuda13_k"), "{specs:?}");
    let specs = lines(&select(&["--device", "8.0", "--device", "8.9", "--format", "conda"]).exit(0));
    assert_eq!(specs.len(), 3, "{specs:?}");
    let fewer = lines(&select(&["--device", "8.0", "--device", "8.9", "--smallest", "--format", "conda"]).exit(0));
    assert_eq!(fewer.len(), 2, "{fewer:?}");
    assert!(fewer[1].starts_with("volley-kernels-sm_80 "), "{fewer:?}");
    let nix = select(&["--device", "9.0", "--format", "nix"]).exit(0).stdout;
    assert!(
        nix.contains("allowUnfree = true; cudaSupport = true; cudaCapabilities = [ \"9.0\" ];")
            && nix.trim_end().ends_with(".volley"),
        "{nix}"
    );
    let pip = select(&["--device", "9.0", "--format", "pip"]).exit(2);
    assert!(pip.stdout.is_empty() && pip.stderr.contains("there are no wheels of volley"), "{pip:?}");
    let json = select(&["--device", "8.9", "--driver", "580.65.06", "--json"]).exit(0).json();
    assert_eq!(json, select(&["--device", "8.9", "--driver", "580.65.06", "--format", "json"]).exit(0).json());
    assert_eq!((&json["schema"], &json["machine"]["driver"]["cuda"]), (&1.into(), &"13.0".into()));
    let device = &json["simulators"][0]["fit"]["devices"][0];
    assert_eq!((&device["runs"]["target"], &device["runs"]["place"]), (&"sm_89".into(), &"exact".into()));
    assert_eq!(device["trace"].as_array().unwrap().len(), 9, "seven capabilities and two of PTX");
}

/// nix itself reads the expression.
#[test]
fn nix_parses_what_was_selected() {
    need!(which::which("nix-instantiate").is_ok(), "nix-bin is not installed");
    for devices in [&["--device", "9.0", "--device", "8.9"][..], &["--device", "cpu"]] {
        let args: Vec<&str> = devices.iter().copied().chain(["--format", "nix"]).collect();
        let expression = select(&args).exit(0).stdout;
        let mut nix = std::process::Command::new("nix-instantiate");
        let dir = scratch();
        nix.args(["--parse", "-E", &expression]).env("NIX_STATE_DIR", dir.path()).env("NIX_REMOTE", "");
        let parsed = Ran::of(&mut nix).exit(0).stdout;
        assert!(parsed.contains("volley"), "{parsed}");
    }
}

/// Whatever this machine has: the doctor sees the same devices and the same driver.
#[test]
fn without_a_description_this_machine_is_asked() {
    let ran = select(&["--json"]);
    let (code, answer) = (ran.code, ran.json());
    assert_eq!(answer["machine"]["described"], false);
    let dir = scratch();
    let machine = Ran::of(&mut simpack(dir.path(), &["doctor", "--json"])).json();
    let machine: simpack::machine::Machine = serde_json::from_value(machine["machine"].clone()).unwrap();
    assert_eq!(answer["machine"]["devices"], serde_json::to_value(machine.devices()).unwrap());
    if machine.devices().is_empty() {
        assert_eq!((code, answer["simulators"][0]["conda"].as_array().unwrap().len()), (Some(0), 1));
    }
}

#[test]
fn what_cannot_be_selected_is_said() {
    let dir = scratch();
    let nothing = |args: &[&str]| {
        let args: Vec<&str> = ["select"].into_iter().chain(args.iter().copied()).collect();
        Ran::of(&mut simpack(dir.path(), &args)).exit(2).stderr
    };
    fs_err::create_dir(dir.path().join("empty")).unwrap();
    let said = [
        nothing(&["--device", "9.0"]),
        nothing(&["empty", "--device", "9.0"]),
        nothing(&["--device", "90"]),
        nothing(&["--device", "9.0", "--driver", "340.1"]),
        nothing(&["--device", "cpu", "--device", "9.0"]),
    ];
    insta::assert_snapshot!(said.join("\n"));
}

/// What is installed is compared with what the channel has.
#[test]
fn a_prefix_and_its_channel_say_what_would_be_better() {
    let prefix = Prefix::of(&["volley-core", "volley-kernels-sm_86"]);
    let dist = volley().dist.to_str().unwrap();
    let at = |args: &[&str]| {
        let args: Vec<&str> = [prefix.path().to_str().unwrap()].into_iter().chain(args.iter().copied()).collect();
        let ran = select(&args);
        // Lines end where the page does, not where a sentence does.
        (ran.code, ran.stdout.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let (code, text) = at(&[dist, "--device", "8.9"]);
    assert_eq!(code, Some(0));
    let better = "kernels sm_86 (lower minor of 8.x); sm_89 exists: install volley-kernels-sm_89";
    assert!(text.contains(better), "{text}");
    let (code, text) = at(&["--device", "9.0"]);
    assert_eq!(code, Some(1));
    assert!(text.contains("CPU: sm_86: other major"), "{text}");
    // Kernels of another table are refused by name.
    let list = prefix.path().join("share/simpack/volley-kernels-sm_86/simpack.json");
    let manifest = fs_err::read_to_string(&list).unwrap();
    let mut manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    manifest["kernel-abi"] = "k000000000000".into();
    fs_err::write(&list, manifest.to_string()).unwrap();
    let (code, text) = at(&["--device", "8.6"]);
    assert_eq!(code, Some(1));
    assert!(text.contains("sm_86: made for kernel ABI k000000000000, core has k"), "{text}");
}

/// The specs are a real solver's: on the machine itself, on one that tells nothing about its GPU, for several GPUs.
#[test]
fn a_solver_installs_what_was_selected() {
    if python().is_none() {
        return;
    }
    let machine = ["__cuda=13.0", "__cuda_arch=9.0", "__glibc=2.28"];
    for (devices, virtuals, expected) in [
        (&["9.0"][..], &machine[..], &["sm_90"][..]),
        (&["9.0"], &["__glibc=2.28"], &["sm_90"]),
        (&["8.9", "8.0"], &["__cuda=13.0", "__cuda_arch=8.0", "__glibc=2.28"], &["sm_80", "sm_89"]),
        (&["cpu"], &["__glibc=2.28"], &[]),
    ] {
        let args: Vec<&str> =
            devices.iter().flat_map(|device| ["--device", device]).chain(["--format", "conda"]).collect();
        let specs = lines(&select(&args).exit(0));
        let mut command = client("solve.py").unwrap();
        command.arg("--channel").arg(volley().channel());
        for one in virtuals {
            command.args(["--virtual", one]);
        }
        let answer = Ran::of(command.args(&specs)).exit(0).json();
        let names = answer.as_array().unwrap().iter().map(|package| package["name"].as_str().unwrap());
        let mut found: Vec<_> = names.filter_map(|name| name.strip_prefix("volley-kernels-")).collect();
        found.sort_unstable();
        assert_eq!(found, expected, "{devices:?} on {virtuals:?}");
    }
}

fn wheel(start: &str) -> Option<PathBuf> {
    let dir = set_up("SIMPACK_TEST_WHEELS")?;
    let mut entries = fs_err::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path());
    let found = entries.find(|path| path.file_name().unwrap().to_string_lossy().to_lowercase().starts_with(start));
    Some(found.unwrap_or_else(|| panic!("{} has no {start}", dir.display())))
}

fn manifests() -> Manifests {
    Manifests::load(&Data::at(env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn reach_of(wheel: &Path) -> Reach {
    reach(wheel, false, &manifests(), &Ui::new(false, true)).unwrap()
}

fn runs(reach: &Reach, capability: &str, cuda: &str) -> (bool, String) {
    let kind = DeviceKind::Cuda { capability: capability.parse().unwrap() };
    let device = Device { index: 0, name: "a GPU".to_owned(), kind, memory: None };
    let fit = reach.on(&device, Some(&Driver { version: None, cuda: cuda.parse().unwrap() }), &manifests());
    (fit.runs, fit.words)
}

/// NEURON's GPU wheel: machine code of 6.0, 7.0 and 8.0 by CUDA 11.5. The PTX of its program was left behind by the link:
/// what the program runs stands in its data, without PTX.
#[test]
fn a_wheel_with_device_code_reaches_through_its_ptx() {
    let Some(wheel) = wheel("neuron_gpu-8.2.2-") else { return };
    let reach = reach_of(&wheel);
    insta::assert_snapshot!(reach.page());
    assert!(runs(&reach, "8.0", "11.0").0, "minor-version compatibility covers its machine code");
    assert!(!runs(&reach, "9.0", "13.0").0 && runs(&reach, "8.6", "11.0").0, "nothing reaches what is newer");
    assert!(!runs(&reach, "5.0", "12.0").0);
}

#[test]
fn a_wheel_that_compiles_at_run_time_says_so() {
    let Some(wheel) = wheel("openmm_cuda_13-8.6.1-") else { return };
    let reach = reach_of(&wheel);
    insta::assert_snapshot!(reach.page());
    assert_eq!(runs(&reach, "9.0", "13.0"), (true, "compiled at run time by NVRTC".to_owned()));
    assert!(!runs(&reach, "7.0", "13.0").0 && !runs(&reach, "9.0", "12.8").0);
}

#[test]
fn a_vendors_wheel_runs_natively_nearly_everywhere() {
    let Some(wheel) = wheel("nvidia_curand-") else { return };
    let reach = reach_of(&wheel);
    insta::assert_snapshot!(reach.page());
    assert_eq!(reach.whatever_comes(), How::Ptx);
    assert_eq!(reach.problems, [""; 0]);
}
