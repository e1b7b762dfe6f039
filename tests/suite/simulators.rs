//! The recipes of simulators that others wrote: built from what a package index carries, installed by a client, run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::generating_wheels::{NEURON, OPENMM, others_install_wheels_as_simpack_does};
use crate::support::{Ran, client, copy_tree, files, need, python, scratch, set_up, simpack};

/// Packages that stand in for those of others in a channel: the solver sees them, and they hold nothing.
const OTHERS: [(&str, &str); 16] = [
    ("cuda-nvrtc", "13.0.88"),
    ("find-libpython", "0.5.1"),
    ("libcufft", "12.0.0"),
    ("libgcc", "15.1.0"),
    ("libgomp", "15.1.0"),
    ("libstdcxx", "15.1.0"),
    ("numpy", "2.2.6"),
    ("ocl-icd", "2.3.3"),
    ("packaging", "26.0"),
    ("setuptools", "80.9.0"),
    ("sympy", "1.14.0"),
    ("xorg-libice", "1.1.2"),
    ("xorg-libsm", "1.2.6"),
    ("xorg-libx11", "1.8.12"),
    ("xorg-libxext", "1.3.6"),
    ("cuda-version", "13.0"),
];

/// A built simulator with the channels that its packages are solved from.
struct Packed {
    dir: tempfile::TempDir,
    channel: PathBuf,
    summary: Value,
}

impl Packed {
    fn new(name: &str) -> Option<Self> {
        Self::smaller(name, ("", ""), &["--format", "conda,wheel"], &[])
    }

    /// Of a recipe in which one text stands in the place of another, as much as these options build, beside stand-ins for more packages.
    fn smaller(name: &str, change: (&str, &str), options: &[&str], others: &[(&str, &str)]) -> Option<Self> {
        let channel = set_up("SIMPACK_TEST_CHANNEL")?;
        python()?;
        let dir = scratch();
        let recipe = Path::new(env!("CARGO_MANIFEST_DIR")).join("recipes").join(name);
        copy_tree(&recipe, &dir.path().join("recipe"));
        let file = dir.path().join("recipe/simpack.toml");
        let text = fs_err::read_to_string(&file).unwrap();
        assert!(text.contains(change.0), "the recipe has no {}", change.0);
        fs_err::write(&file, text.replacen(change.0, change.1, 1)).unwrap();
        let mut build = simpack(dir.path(), &["build", "recipe", "--locked", "--json"]);
        let summary = Ran::of(build.args(options)).exit(0).json();
        for (name, version) in OTHERS.iter().chain(others) {
            let mark = format!("stand-in-for-{name}");
            fs_err::create_dir_all(dir.path().join(name)).unwrap();
            fs_err::write(dir.path().join(name).join(&mark), "").unwrap();
            let mut vendor = client("vendor.py").unwrap();
            vendor.current_dir(dir.path()).args(["others", name, version, name, "--files", &mark]);
            Ran::of(&mut vendor).exit(0);
        }
        Some(Self { dir, channel, summary })
    }

    fn path(&self, below: &str) -> PathBuf {
        self.dir.path().join(below)
    }

    /// A client's answer for a machine with this GPU; without one for `None`.
    fn client(&self, script: &str, gpu: Option<&str>, args: &[&str]) -> Vec<String> {
        let packages = Ran::of(&mut self.asks(script, gpu, args)).exit(0).json();
        packages.as_array().unwrap().iter().map(|package| package["name"].as_str().unwrap().to_owned()).collect()
    }

    fn asks(&self, script: &str, gpu: Option<&str>, args: &[&str]) -> Command {
        let mut command = client(script).unwrap();
        for channel in [self.path("dist/conda"), self.path("others"), self.channel.clone()] {
            command.arg("--channel").arg(channel);
        }
        command.args(args).current_dir(self.dir.path());
        command
            .env("CONDA_OVERRIDE_CUDA", gpu.map_or("", |_| "13.0"))
            .env("CONDA_OVERRIDE_CUDA_ARCH", gpu.unwrap_or(""));
        command
    }

    /// The Python of a new environment into which pip installed wheels of the distribution.
    fn environment(&self, projects: &[&str]) -> PathBuf {
        let environment = self.path("environment");
        Ran::of(python().unwrap().args(["-m", "venv", "--without-pip"]).arg(&environment)).exit(0);
        let python = environment.join("bin/python");
        let mut pip = crate::support::python().unwrap();
        pip.args(["-m", "pip", "--python"]).arg(&python).args(["install", "--no-index", "--no-deps", "--find-links"]);
        Ran::of(pip.arg(self.path("dist/wheel")).args(projects)).exit(0);
        python
    }

    /// A program of an environment, which has modules of others beside it.
    fn started(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        let modules =
            Ran::of(python().unwrap().args(["-c", "import numpy; print(numpy.__path__[0].rpartition('/')[0])"]));
        let modules = modules.exit(0).stdout.trim().to_owned();
        let home = self.dir.path();
        command.current_dir(home).env_clear().env("PATH", "/usr/bin:/bin").env("HOME", home).env("PYTHONPATH", modules);
        command
    }

    /// Upstream's own tests passed on what was staged.
    fn passes(&self, tests: &[&str]) {
        let passed = self.summary["tests"].as_array().unwrap().iter().filter(|test| test["verdict"] == "passed");
        let names: Vec<&str> = passed.map(|test| test["name"].as_str().unwrap()).collect();
        assert_eq!(names, tests, "{}", self.summary["tests"]);
    }

    /// What the build found and accepted is what a look at the packages alone finds and accepts.
    fn verifies(&self) {
        let denied = |report: &Value| {
            let findings = report["findings"].as_array().unwrap().iter();
            findings.filter(|finding| finding["level"] == "deny").count()
        };
        let waived = |report: &Value| report["waived"].as_array().map_or(0, Vec::len);
        let verified = Ran::of(&mut simpack(self.dir.path(), &["verify", "dist", "--json"])).exit(0).json();
        assert_eq!(denied(&verified), 0, "{verified}");
        assert_eq!(waived(&verified), waived(&self.summary["report"]), "{verified}");
    }
}

/// A mechanism of the user's is compiled by the user's compiler against the installed packages, and both simulators
/// find the same voltages with it.
#[test]
fn neuron_compiles_a_mechanism_and_both_simulators_agree() {
    need!(which::which("g++").is_ok() && which::which("make").is_ok(), "no compiler for a mechanism");
    let Some(neuron) = Packed::new("neuron") else { return };
    neuron.verifies();
    neuron.passes(&["installation", "mechanism"]);
    for gpu in [Some("9.0"), Some("8.6"), None] {
        let names = neuron.client("solve.py", gpu, &["neuron", "neuron-rtc"]);
        assert!(
            ["neuron-core", "neuron-rtc", "python"].iter().all(|name| names.iter().any(|it| it == name)),
            "{names:?}"
        );
    }
    neuron.client("install.py", None, &["--prefix", "prefix", "neuron", "neuron-rtc"]);
    both_simulators_agree(&neuron, &neuron.path("prefix"), &neuron.path("prefix/bin/python"));
    let python = neuron.environment(&["neuron", "neuron-rtc"]);
    let prefix = python.parent().unwrap().join("../lib/python3.11/site-packages/neuron_prefix");
    both_simulators_agree(&neuron, &prefix, &python);
    // What an installer puts on PATH finds the same module.
    let versions = Ran::of(neuron.started(&python.with_file_name("nrniv")).arg("--version")).exit(0);
    assert!(versions.stdout.contains("9.0.2"), "{}{}", versions.stdout, versions.stderr);
    others_install_wheels_as_simpack_does(neuron.dir.path(), &NEURON);
}

/// A mechanism is compiled against a prefix, and both simulators that a Python finds agree with it.
fn both_simulators_agree(neuron: &Packed, prefix: &Path, python: &Path) {
    let work = tempfile::tempdir_in(neuron.dir.path()).unwrap();
    let model = work.path().join("model");
    copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recipes/neuron"), &model);
    let mut compile = simpack(work.path(), &["compile", "model", "--into", "compiled", "--json", "--prefix"]);
    compile.arg(prefix);
    let compiled = Ran::of(&mut compile).exit(0).json();
    assert_eq!(compiled["items"][0]["state"], "compiled", "{compiled}");
    assert_eq!(Ran::of(&mut compile).exit(0).json()["items"][0]["state"], "current");
    let sets = compiled["items"][0]["sets"].as_object().unwrap().iter();
    let sets = sets.map(|(name, value)| (name, value.as_str().unwrap()));
    let ran = Ran::of(neuron.started(python).arg(model.join("model.py")).envs(sets)).exit(0);
    let json = ran.stdout.find("{\"version\"").unwrap_or_else(|| panic!("{}{}", ran.stdout, ran.stderr));
    let found = serde_json::Deserializer::from_str(&ran.stdout[json..]).into_iter::<Value>().next().unwrap().unwrap();
    let voltages = |name: &str| -> Vec<f64> {
        found[name].as_array().unwrap().iter().map(|voltage| voltage.as_f64().unwrap()).collect()
    };
    let (one, other) = (voltages("neuron"), voltages("coreneuron"));
    assert_eq!((found["version"].as_str(), one.len(), other.len()), (Some("9.0.2"), 801, 801), "{found}");
    let apart = one.iter().zip(&other).map(|(one, other)| (one - other).abs()).fold(0.0, f64::max);
    assert!(apart < 1e-9, "they are {apart} mV apart");
    assert!(one.iter().copied().fold(f64::MIN, f64::max) > 0.0, "no spike: {one:?}");
}

/// One simulator out of two wheels: the plug-ins of the second find the libraries of the first, and without a driver
/// the others run.
#[test]
fn openmm_is_one_simulator_out_of_two_wheels() {
    let Some(openmm) = Packed::smaller("openmm", ("", ""), &[], &[]) else { return };
    openmm.verifies();
    openmm.passes(&["installation"]);
    for gpu in [Some("9.0"), Some("8.6"), None] {
        let names = openmm.client("solve.py", gpu, &["openmm-rtc", "openmm"]);
        assert!(
            ["openmm-core", "openmm-rtc", "cuda-nvrtc", "libcufft"]
                .iter()
                .all(|it| names.iter().any(|name| name == it)),
            "{names:?}"
        );
    }
    openmm.client("install.py", None, &["--prefix", "prefix", "openmm-core", "openmm-rtc"]);
    let site = openmm.path("prefix/lib/python3.11/site-packages/OpenMM.libs/lib/plugins");
    let plugins = files(&site);
    assert!(plugins.iter().any(|name| name == "libOpenMMCUDA.so"), "{plugins:?}");
    let check = "import openmm, openmm.testInstallation as test; \
                 names = [openmm.Platform.getPlatform(i).getName() for i in range(openmm.Platform.getNumPlatforms())]; \
                 print(names); print(openmm.Platform.getPluginLoadFailures()); test.main()";
    let ran = Ran::of(openmm.started(&openmm.path("prefix/bin/python")).args(["-c", check])).exit(0);
    assert!(ran.stdout.contains("'Reference', 'CPU'"), "{}{}", ran.stdout, ran.stderr);
    // Upstream's own check of an installation: the platforms find the same forces.
    assert!(ran.stdout.contains("All differences are within tolerance"), "{}", ran.stdout);
    // What keeps them from loading is what this machine lacks, none of OpenMM's own libraries.
    assert!(!ran.stdout.contains("libOpenMM.so: cannot open"), "{}", ran.stdout);
    others_install_wheels_as_simpack_does(openmm.dir.path(), &OPENMM);
}

/// The frozen examples of Brian2CUDA are what its generator writes, and their arrays what the generator was given.
#[test]
fn the_generator_of_brian2cuda_writes_its_frozen_examples() {
    let Some(brian2) = set_up("SIMPACK_TEST_BRIAN2") else { return };
    let frozen = Path::new(env!("CARGO_MANIFEST_DIR")).join("recipes/brian2cuda/files/frozen");
    let dir = scratch();
    let mut generate = Command::new(brian2);
    generate.arg(frozen.join("generate.py")).arg("out").current_dir(dir.path());
    Ran::of(&mut generate).exit(0);
    writes_frozen_examples(&dir.path().join("out"));
}

/// One of the frozen examples in one of its variants, compiled for one GPU and as PTX: what `EXAMPLES` and `VARIANTS` of the recipe's makefile are for.
#[test]
fn an_example_of_brian2cuda_is_built_for_one_gpu() {
    need!(set_up("SIMPACK_TEST_CUDA").is_some(), "no CUDA");
    let switches = ("build.options]\n", "build.options]\nEXAMPLES = \"coba\"\nVARIANTS = \"atomics\"\n");
    let options = ["--capability", "9.0", "--ptx", "9.0", "--format", "conda,wheel"];
    let others = [("brian2", "2.10.1"), ("libcurand", "10.4.0"), ("python", "3.13.5")];
    let Some(brian2cuda) = Packed::smaller("brian2cuda", switches, &options, &others) else { return };
    brian2cuda.verifies();
    let packages = brian2cuda.summary["packages"].as_array().unwrap().iter();
    let packages: BTreeSet<&str> = packages.map(|package| package["package"].as_str().unwrap()).collect();
    let kernels: Vec<&str> = packages.into_iter().filter(|package| package.contains("-kernels-")).collect();
    assert_eq!(kernels, ["brian2cuda-kernels-compute_90", "brian2cuda-kernels-sm_90"], "nothing for processors");
    // What the driver links is PTX of all objects; machine code is linked already.
    for (target, linked) in [("sm_90", true), ("compute_90", false)] {
        let programs = format!("target/simpack/bundles/brian2cuda-kernels-{target}/bin");
        assert_eq!(files(&brian2cuda.path(&programs)), ["brian2cuda-coba-atomics"]);
        let program = format!("{programs}/brian2cuda-coba-atomics");
        let mut inspect = simpack(brian2cuda.dir.path(), &["inspect", "--kernels", "--json", &program]);
        let inspected = Ran::of(&mut inspect).exit(0).json();
        let images = inspected["subjects"][0]["files"][0]["images"].as_array().unwrap();
        for image in images {
            assert_eq!(
                (image["target"].as_str(), image["relocatable"].as_bool()),
                (Some(target), Some(!linked)),
                "{image}"
            );
        }
        let found: BTreeSet<&str> = images
            .iter()
            .flat_map(|image| image["kernels"].as_array().unwrap())
            .map(|kernel| kernel["name"].as_str().unwrap())
            .collect();
        for kernel in ["neurons_stateupdater", "neurons_spike_thresholder", "excitatory_pre", "inhibitory_pre"] {
            let name = format!("_run_kernel_{kernel}_codeobject");
            assert!(found.iter().any(|found| found.contains(&name)), "{target}: {name} is not in {found:?}");
        }
    }
    for (gpu, package) in [("9.0", "brian2cuda-kernels-sm_90"), ("12.0", "brian2cuda-kernels-compute_90")] {
        let solved = brian2cuda.client("solve.py", Some(gpu), &["brian2cuda"]);
        let kernels: Vec<&String> = solved.iter().filter(|name| name.starts_with("brian2cuda-kernels-")).collect();
        assert_eq!(kernels, [package], "{gpu}");
        let said = Ran::of(&mut simpack(brian2cuda.dir.path(), &["select", "dist", "--device", gpu])).exit(0);
        assert!(said.stdout.contains(package), "{}", said.stdout);
    }
    // Without a GPU there is the generator alone, and an older one has nothing to run.
    for gpu in [None, Some("8.6")] {
        let refused = Ran::of(&mut brian2cuda.asks("solve.py", gpu, &["brian2cuda"])).exit(1);
        assert!(refused.stderr.contains("__cuda"), "{gpu:?}: {}", refused.stderr);
    }
    let without = Ran::of(&mut simpack(brian2cuda.dir.path(), &["select", "dist", "--device", "cpu"]));
    assert!(without.stdout.contains("nothing: its programs are for GPUs alone"), "{}", without.stdout);

    brian2cuda.client("install.py", Some("9.0"), &["--prefix", "prefix", "brian2cuda"]);
    // One package of several is there, as on every machine.
    let verify = ["verify", "prefix", "--allow", "device-coverage"];
    Ran::of(&mut simpack(brian2cuda.dir.path(), &verify)).exit(0);
    // The program needs one library that is none of its own, for which a stand-in without it was installed.
    let said = Ran::of(&mut simpack(brian2cuda.dir.path(), &["doctor", "prefix"])).exit(1).stdout;
    assert!(said.contains("libcurand.so.10") && said.contains("0 problems, 1 broken"), "{said}");
    let installed = files(&brian2cuda.path("prefix"));
    let modules = "lib/python3.13/site-packages/brian2cuda";
    for file in
        ["bin/brian2cuda-coba-atomics", &format!("{modules}/device.py"), &format!("{modules}-1.0b1.dist-info/METADATA")]
    {
        assert!(installed.iter().any(|name| name == file), "{file}");
    }
    let arrays = installed.iter().filter(|name| name.starts_with("share/brian2cuda/coba/static_arrays/"));
    assert_eq!(arrays.count(), 9);
    wheels_generate_and_start_programs(&brian2cuda);
}

/// What pip installs of the wheels writes the frozen examples, says what it needs, and starts the program for the GPU.
fn wheels_generate_and_start_programs(brian2cuda: &Packed) {
    let install = |target: &Path, projects: &[&str]| {
        // For a Python that this pip does not run on: Brian2 needs a newer one.
        let mut pip = python().unwrap();
        pip.args([
            "-m",
            "pip",
            "install",
            "--no-index",
            "--no-deps",
            "--only-binary=:all:",
            "--python-version",
            "3.13",
        ]);
        pip.arg("--target").arg(target).arg("--find-links").arg(brian2cuda.path("dist/wheel"));
        Ran::of(pip.args(projects)).exit(0);
    };
    let metadata = |target: &Path, name: &str| {
        let text = fs_err::read_to_string(target.join(format!("{name}-1.0b1.dist-info/METADATA"))).unwrap();
        let lines = text.lines().filter(|line| line.starts_with("Requires-")).map(str::to_owned);
        lines.collect::<BTreeSet<String>>()
    };
    let start = |target: &Path| {
        let mut start = python().unwrap();
        Ran::of(start.arg(target.join("bin/brian2cuda-coba-atomics")).env("PYTHONPATH", target))
    };
    let target = brian2cuda.path("without");
    install(&target, &["brian2cuda"]);
    let of_core = metadata(&target, "brian2cuda");
    for line in [
        "Requires-Python: >=3.12",
        "Requires-Dist: brian2==2.10.1",
        "Requires-Dist: brian2cuda-kernels-sm-90-cu13==1.0b1 ; extra == 'sm90'",
    ] {
        assert!(of_core.contains(line), "{line}: {of_core:?}");
    }
    let without = start(&target).exit(1);
    assert!(without.stderr.contains("pip install 'brian2cuda["), "{}", without.stderr);

    let target = brian2cuda.path("with");
    install(&target, &["brian2cuda", "brian2cuda-kernels-sm-90-cu13"]);
    let of_kernels = metadata(&target, "brian2cuda_kernels_sm_90_cu13");
    let curand: Vec<&String> = of_kernels.iter().filter(|line| line.contains("nvidia-curand")).collect();
    assert_eq!(curand, ["Requires-Dist: nvidia-curand>=10,<11"]);
    // The loader got as far as the vendor's library, which is not here.
    let with = start(&target);
    assert!(with.code != Some(0) && with.stderr.contains("libcurand.so.10"), "{}", with.stderr);

    let Some(brian2) = set_up("SIMPACK_TEST_BRIAN2") else { return };
    let script = format!(
        "import runpy, sys; sys.path.insert(0, {target:?}); sys.argv = ['generate.py', 'written']; import brian2cuda; \
         assert brian2cuda.__file__.startswith({target:?}), brian2cuda.__file__; \
         runpy.run_path({target:?} + '/brian2cuda_prefix/share/brian2cuda/generate.py', run_name='__main__')",
    );
    Ran::of(Command::new(brian2).args(["-c", &script]).current_dir(brian2cuda.dir.path())).exit(0);
    writes_frozen_examples(&brian2cuda.path("written"));
}

/// A directory holds what is frozen of the examples.
fn writes_frozen_examples(written: &Path) {
    let frozen = Path::new(env!("CARGO_MANIFEST_DIR")).join("recipes/brian2cuda/files/frozen");
    for example in ["coba", "stdp"] {
        let (written, kept) = (written.join(example), frozen.join(example));
        assert_eq!(files(&written), files(&kept));
        for file in files(&kept) {
            let [written, kept] = [&written, &kept].map(|root| fs_err::read_to_string(root.join(&file)).unwrap());
            assert!(written == kept, "{example}/{file}");
        }
    }
}
