//! A real client solves, installs and runs what was built.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use simpack::arch::{Capability, CudaVersion};
use simpack::data::Data;
use simpack::gpu::{Available, choose};
use simpack::manifest::Manifests;

use crate::contract::glibc_floor;
use crate::simulating::{NETS, net, reference, same_spikes, spikes};
use crate::support::{Prefix, Ran, client, conda_index, need, package_file, python, scratch, simpack, unpack, volley};

/// A prefix with everything, installed by the client for a 9.0 device; made once.
pub struct Installed {
    pub prefix: PathBuf,
    pub packages: serde_json::Value,
}

impl Installed {
    /// The installed simulator without any environment.
    pub fn volley(&self) -> Command {
        let mut command = Command::new(self.prefix.join("bin/volley"));
        command.env_clear();
        command
    }
}

/// Directory of the libraries of the fetched CUDA toolchain that holds NVRTC.
fn nvrtc_directory() -> PathBuf {
    volley();
    let shown = Ran::of(&mut simpack(Path::new("."), &["toolchain", "show", "cuda-13.0", "--json"])).exit(0).json();
    Path::new(shown["cuda"]["nvrtc"]["library"].as_str().unwrap()).parent().unwrap().to_owned()
}

/// The shared installation; nothing without a client.
pub fn installed() -> Option<&'static Installed> {
    static INSTALLED: OnceLock<Option<Installed>> = OnceLock::new();
    let installed = INSTALLED.get_or_init(|| {
        python()?;
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("volley/installed");
        if dir.exists() {
            fs_err::remove_dir_all(&dir).unwrap();
        }
        fs_err::create_dir_all(&dir).unwrap();
        let (prefix, vendor) = (dir.join("prefix"), dir.join("vendor"));
        let mut command = client("vendor.py")?;
        Ran::of(command.arg(&vendor).args(["cuda-nvrtc", "13.0.88"]).arg(nvrtc_directory())).exit(0);
        let mut command = client("install.py")?;
        command.arg("--channel").arg(volley().channel()).arg("--channel").arg(&vendor);
        command.arg("--prefix").arg(&prefix).args(["volley", "volley-rtc", "volley-dev", "volley-source"]);
        command.env("CONDA_OVERRIDE_CUDA", "13.0").env("CONDA_OVERRIDE_CUDA_ARCH", "9.0");
        // Exit code 2 would mean that an installed file differs from its package's paths.json.
        let packages = Ran::of(&mut command).exit(0).json();
        Some(Installed { prefix, packages })
    });
    installed.as_ref()
}

#[test]
fn the_installed_set_is_what_a_nine_zero_needs() {
    if python().is_none() {
        return;
    }
    let installed = installed().unwrap();
    let names: Vec<_> =
        installed.packages.as_array().unwrap().iter().map(|package| package["name"].as_str().unwrap()).collect();
    let ours: Vec<_> = names.iter().filter(|name| name.starts_with("volley")).copied().collect();
    assert_eq!(
        ours,
        [
            "volley",
            "volley-core",
            "volley-dev",
            "volley-kernel-abi",
            "volley-kernels",
            "volley-kernels-sm_90",
            "volley-rtc",
            "volley-source",
        ]
    );
    assert!(names.contains(&"cuda-nvrtc"), "{names:?}");
}

/// The environment's words about the machine decide, as a user would set them.
#[test]
fn overrides_choose_the_kernels() {
    if python().is_none() {
        return;
    }
    for (cuda, arch, kernels) in [
        ("13.0", "8.9", Some("volley-kernels-sm_89")),
        ("13.0", "8.7", Some("volley-kernels-compute_75")),
        ("13.0", "12.1", Some("volley-kernels-sm_120")),
        ("13.0", "13.0", Some("volley-kernels-compute_120")),
        ("12.6", "8.9", None),
        ("", "", None),
    ] {
        let mut command = client("solve.py").unwrap();
        command.arg("--channel").arg(volley().channel()).arg("volley");
        command.env("CONDA_OVERRIDE_CUDA", cuda).env("CONDA_OVERRIDE_CUDA_ARCH", arch);
        let answer = Ran::of(&mut command).exit(0).json();
        let names = answer.as_array().unwrap().iter().map(|package| package["name"].as_str().unwrap());
        let found: Vec<_> = names.filter(|name| name.starts_with("volley-kernels-")).collect();
        assert_eq!(found, Vec::from_iter(kernels), "CUDA {cuda}, capability {arch}");
    }
}

/// For every capability that simpack knows and some that nobody knows yet, the packages that were
/// built and the fallback chain agree; a device that nobody names gets the lowest PTX.
#[test]
fn the_solver_chooses_from_the_built_channel_as_the_chain_does() {
    if python().is_none() {
        return;
    }
    let manifests = Manifests::load(&Data::at(env!("CARGO_MANIFEST_DIR"))).unwrap();
    let cuda: CudaVersion = "13.0".parse().unwrap();
    let rows = volley().summary["packages"].as_array().unwrap();
    let targets = rows.iter().filter_map(|row| row["package"].as_str().unwrap().strip_prefix("volley-kernels-"));
    let available: Vec<_> =
        targets.map(|target| Available { target: target.parse().unwrap(), cuda, ptx_isa: None }).collect();
    let mut devices: Vec<Capability> = manifests.capabilities.iter().map(|entry| entry.capability()).collect();
    devices.extend(["9.5", "13.0"].map(|text| text.parse::<Capability>().unwrap()));
    let mut questions = Vec::new();
    for driver in ["12.6", "13.0"] {
        for &device in &devices {
            let choice = choose(device, Some(driver.parse().unwrap()), &available, &manifests);
            let expected = choice.chosen.map_or("cpu".to_owned(), |index| available[index].target.to_string());
            let machine = [format!("__cuda={driver}"), format!("__cuda_arch={device}"), "__glibc=2.28".to_owned()];
            questions.push((serde_json::json!(machine).to_string(), expected));
        }
    }
    questions.push((serde_json::json!(["__cuda=13.0", "__glibc=2.28"]).to_string(), "compute_75".to_owned()));
    questions.push((serde_json::json!(["__glibc=2.28"]).to_string(), "cpu".to_owned()));

    let dir = scratch();
    let input = dir.path().join("questions");
    let lines: Vec<_> = questions.iter().map(|(question, _)| question.as_str()).collect();
    fs_err::write(&input, lines.join("\n")).unwrap();
    let mut command = client("solve.py").unwrap();
    command.arg("--batch").arg("--channel").arg(volley().channel()).arg("volley");
    let ran = Ran::of(command.stdin(std::fs::File::open(input).unwrap())).exit(0);
    assert_eq!(ran.stdout.lines().count(), questions.len());
    for ((question, expected), answer) in questions.iter().zip(ran.stdout.lines()) {
        let answer: serde_json::Value = serde_json::from_str(answer).unwrap();
        let packages = answer.as_array().unwrap_or_else(|| panic!("{question}: {answer}"));
        let names = packages.iter().map(|package| package["name"].as_str().unwrap());
        let found: Vec<_> = names.filter_map(|name| name.strip_prefix("volley-kernels-")).collect();
        assert_eq!(found.first().copied().unwrap_or("cpu"), expected, "{question}");
    }
}

/// A core's packages state the glibc that its files ask for, and older machines get none.
#[test]
fn a_glibc_that_is_too_old_gets_no_packages() {
    if python().is_none() {
        return;
    }
    need!(which::which("readelf").is_ok(), "readelf is not here");
    let floor = glibc_floor(&volley().bundle("volley-core").join("lib/libvolley.so.1.0.0")).unwrap();
    let floor = floor.max(glibc_floor(&volley().bundle("volley-core").join("bin/volley")).unwrap());
    let depends = conda_index(&package_file(&volley().channel(), "volley-core"))["depends"].to_string();
    assert!(depends.contains(&format!("\"__glibc >={floor}\"")), "{depends}, readelf says {floor}");
    for (glibc, code) in [(floor.to_string(), 0), ("2.12".to_owned(), 1)] {
        let mut command = client("solve.py").unwrap();
        command.arg("--channel").arg(volley().channel()).args(["--virtual", &format!("__glibc={glibc}"), "volley"]);
        let ran = Ran::of(&mut command).exit(code);
        assert!(code == 0 || ran.stderr.contains("__glibc"), "{}", ran.stderr);
    }
}

#[test]
fn installed_spikes_are_those_of_the_build_tree_and_the_reference() {
    if python().is_none() {
        return;
    }
    let installed = installed().unwrap();
    let (dir, tree) = (scratch(), Prefix::of(&["volley-core"]));
    for name in NETS {
        let out = dir.path().join("installed.spikes");
        let mut command = installed.volley();
        Ran::of(command.args(["run", "--backend", "cpu", "--spikes"]).arg(&out).arg(net(name))).exit(0);
        let found = fs_err::read_to_string(out).unwrap();
        same_spikes(name, &found, &spikes(&tree, name, &["--backend", "cpu"], dir.path()).1);
        same_spikes(name, &found, &reference(name, dir.path()).unwrap());
    }
    // The examples that core installs run, too.
    let example = installed.prefix.join("share/volley/examples/balanced.toml");
    let ran = Ran::of(installed.volley().args(["run", "--backend", "cpu"]).arg(example)).exit(0);
    assert!(ran.stdout.contains("  sha256 "), "{}", ran.stdout);
}

#[test]
fn libraries_export_what_their_users_must_run_with() {
    let dir = scratch();
    for (package, export) in [
        ("volley-core", "volley-core >=1.0.0,<2"),
        ("volley-dev", "volley-core >=1.0.0,<2"),
        ("volley-rtc", "volley-rtc >=1.0.0,<1.1"),
    ] {
        let info = dir.path().join(package);
        unpack(&package_file(&volley().channel(), package), "info", &info);
        let text = fs_err::read_to_string(info.join("info/run_exports.json")).unwrap();
        let exports: serde_json::Value = serde_json::from_str(&text).unwrap();
        let exports = exports["weak"].to_string();
        assert!(exports.contains(export), "{package} exports {exports}, expected {export}");
    }
}
