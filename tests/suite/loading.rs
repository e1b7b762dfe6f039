//! How volley finds and refuses device code, with a stand-in for the driver.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::simulating::{NETS, net, same_spikes, spikes};
use crate::support::{Prefix, Ran, need, scratch, simpack, volley};

/// Directory with a `libcuda.so.1` that carries out volley's kernels on the host; nothing without a
/// C++ compiler.
pub fn driver() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let compiler = ["c++", "g++", "clang++"].iter().find_map(|name| which::which(name).ok())?;
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR"));
        volley(); // whose lock keeps a second run of the tests away from this directory
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("volley/driver");
        fs_err::create_dir_all(&dir).unwrap();
        let mut command = Command::new(compiler);
        command.args(["-std=c++17", "-O2", "-ffp-contract=off", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-I"]);
        command.arg(checkout.join("recipes/volley/kernels"));
        command.arg(checkout.join("tests/volley/fake_cuda/fake_cuda.cc")).arg("-o").arg(dir.join("libcuda.so.1"));
        Ran::of(&mut command).exit(0);
        Some(dir)
    });
    built.as_deref()
}

/// A machine with this driver and device.
struct Machine<'a> {
    prefix: &'a Prefix,
    settings: &'a [(&'a str, &'a str)],
}

impl Machine<'_> {
    fn run(&self, args: &[&str]) -> Ran {
        let mut command = self.prefix.volley(&["run"]);
        command.arg(net("delays")).args(args).env("LD_LIBRARY_PATH", driver().unwrap());
        Ran::of(command.envs(self.settings.iter().copied()))
    }

    /// `auto` takes the CPU and says why; `cuda` refuses for the same reason.
    #[track_caller]
    fn falls_back(&self, reasons: &[&str]) {
        let report = self.run(&["--json"]).exit(0).json();
        let reason = report["reason"].as_str().unwrap();
        assert_eq!(report["backend"], "cpu", "{report}");
        assert!(reason.ends_with("running on the CPU"), "{reason}");
        let refused = self.run(&["--backend", "cuda"]).exit(3).stderr;
        for word in reasons {
            assert!(reason.contains(word), "{reason}");
            assert!(refused.contains(word), "{refused}");
        }
    }

    #[track_caller]
    fn takes(&self, code: &str) {
        let report = self.run(&["--json", "--backend", "auto"]).exit(0).json();
        assert_eq!(report["backend"], "cuda", "{report}");
        assert!(report["device_code"].as_str().unwrap().contains(code), "{report}");
    }
}

#[test]
fn without_a_driver_or_a_device_the_cpu_runs_and_says_why() {
    need!(driver().is_some(), "no C++ compiler");
    let prefix = Prefix::of(&["volley-core", "volley-kernels-sm_90"]);
    Machine { prefix: &prefix, settings: &[("FAKE_CUDA_DEVICES", "0")] }.falls_back(&["no CUDA-capable device"]);
    if [
        "/usr/lib/x86_64-linux-gnu",
        "/usr/local/nvidia/lib64",
        "/usr/lib64",
        "/usr/lib/wsl/lib",
        "/run/opengl-driver/lib",
    ]
    .iter()
    .all(|dir| !Path::new(dir).join("libcuda.so.1").exists())
    {
        let ran = Ran::of(prefix.volley(&["run", "--json"]).arg(net("delays"))).exit(0);
        assert!(ran.json()["reason"].as_str().unwrap().starts_with("no CUDA driver: libcuda.so.1"), "{ran:?}");
    }
}

#[test]
fn kernels_of_another_major_are_refused_by_name() {
    need!(driver().is_some(), "no C++ compiler");
    let prefix = Prefix::of(&["volley-core", "volley-kernels-sm_80"]);
    let settings: &[(&str, &str)] = &[("FAKE_CUDA_CAPABILITY", "9.0")];
    Machine { prefix: &prefix, settings }.falls_back(&["sm_80 present, but this GPU is 9.0: other major"]);
    Machine { prefix: &prefix, settings: &[("FAKE_CUDA_CAPABILITY", "8.9")] }.takes("sm_80");
    Machine { prefix: &prefix, settings: &[("FAKE_CUDA_CAPABILITY", "8.7")] }.falls_back(&["sm_80", "Tegra"]);
}

#[test]
fn ptx_needs_a_driver_as_new_as_itself() {
    need!(driver().is_some(), "no C++ compiler");
    let prefix = Prefix::of(&["volley-core", "volley-kernels-compute_75", "volley-kernels-compute_120"]);
    let machine = |settings| Machine { prefix: &prefix, settings };
    machine(&[("FAKE_CUDA_CAPABILITY", "9.0")]).takes("compute_75");
    machine(&[("FAKE_CUDA_CAPABILITY", "12.1")]).takes("compute_120");
    let old = [("FAKE_CUDA_CAPABILITY", "9.0"), ("FAKE_CUDA_DRIVER", "12.6")];
    machine(&old).falls_back(&["compute_75", "CUDA 13.0", "12.6"]);
    machine(&[("FAKE_CUDA_CAPABILITY", "6.1")]).falls_back(&["compute_75", "higher capability"]);
}

#[test]
fn core_without_kernels_says_that_none_are_installed() {
    need!(driver().is_some(), "no C++ compiler");
    let prefix = Prefix::of(&["volley-core"]);
    Machine { prefix: &prefix, settings: &[] }.falls_back(&["no `fixed` kernels are installed in ", "(9.0)"]);
}

/// What `simpack compile` made here goes first, while it is of this release.
#[test]
fn what_was_compiled_here_goes_first() {
    need!(driver().is_some(), "no C++ compiler");
    let prefix = Prefix::of(&["volley-core", "volley-kernels-sm_90", "volley-source"]);
    let dir = scratch();
    let place = prefix.path().to_str().unwrap();
    let compile = ["compile", "--prefix", place, "--capability", "9.0", "--toolchain", "wheels", "--offline", "--json"];
    let made = Ran::of(simpack(dir.path(), &compile).args(["--into", "compiled"])).exit(0).json();
    assert_eq!(made["items"][0]["state"], "compiled", "{made}");
    let compiled = dir.path().join("compiled");
    let settings = [("SIMPACK_COMPILED_DIR", compiled.to_str().unwrap())];
    let machine = Machine { prefix: &prefix, settings: &settings };
    let reason = || {
        let report = machine.run(&["--json", "--backend", "cuda"]).exit(0).json();
        report["reason"].as_str().unwrap().to_owned()
    };
    assert_eq!(reason(), "sm_90: compiled on this machine for exactly 9.0");
    fs_err::rename(compiled.join("volley-1.0.0"), compiled.join("volley-0.9.0")).unwrap();
    let stale = reason();
    assert!(stale.contains("exactly this GPU's capability") && stale.contains("is of another release"), "{stale}");
}

/// Kernels that were compiled for another table lie under another tag, and are not taken.
#[test]
fn kernels_of_another_table_are_not_taken() {
    need!(driver().is_some(), "no C++ compiler");
    let prefix = Prefix::of(&["volley-core", "volley-kernels-sm_90"]);
    Machine { prefix: &prefix, settings: &[] }.takes("sm_90");
    let kernels = prefix.path().join("lib/volley/kernels");
    let tag = fs_err::read_dir(&kernels).unwrap().next().unwrap().unwrap().path();
    fs_err::rename(tag, kernels.join("k000000000000")).unwrap();
    let said = "; code of another kernel ABI tag is there (k000000000000), and this library wants k";
    Machine { prefix: &prefix, settings: &[] }.falls_back(&["no `fixed` kernels are installed in ", "(9.0)", said]);
}

/// The CUDA backend with the packed kernels' files, carried out on the host: the CPU's spikes.
#[test]
fn the_cuda_backend_gives_the_spikes_of_the_cpu() {
    need!(driver().is_some(), "no C++ compiler");
    let prefix = Prefix::of(&["volley-core", "volley-kernels-sm_90"]);
    let dir = scratch();
    for name in NETS {
        let (_, expected) = spikes(&prefix, name, &["--backend", "cpu"], dir.path());
        let out = dir.path().join("cuda.spikes");
        let mut command = prefix.volley(&["run", "--backend", "cuda", "--spikes"]);
        Ran::of(command.arg(&out).arg(net(name)).env("LD_LIBRARY_PATH", driver().unwrap())).exit(0);
        same_spikes(name, &fs_err::read_to_string(out).unwrap(), &expected);
    }
}
