//! Programs for GPUs alone: device code that was compiled apart and linked, cut to one target, with nothing for machines without a GPU;
//! beside a module for every Python.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::{Ran, client, copy_tree, need, python, scratch, set_up, simpack};
use crate::wheels::{CLIENTS, Environment};

/// Packages of others that stand in a channel.
const OTHERS: [(&str, &str); 1] = [("libcurand", "10.4.0")];

struct Alone {
    dir: tempfile::TempDir,
    summary: Value,
}

impl Alone {
    /// Built with the real compilers.
    fn new() -> Option<Self> {
        set_up("SIMPACK_TEST_CUDA")?;
        python()?;
        let dir = scratch();
        copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recipes/alone"), &dir.path().join("recipe"));
        let build = ["build", "recipe", "--format", "conda,wheel", "--json"];
        let summary = Ran::of(&mut simpack(dir.path(), &build)).exit(0).json();
        for (name, version) in OTHERS {
            fs_err::create_dir_all(dir.path().join(name)).unwrap();
            fs_err::write(dir.path().join(name).join("mark"), "").unwrap();
            let mut vendor = client("vendor.py").unwrap();
            vendor.current_dir(dir.path()).args(["others", name, version, name, "--files", "mark"]);
            Ran::of(&mut vendor).exit(0);
        }
        Some(Self { dir, summary })
    }

    fn path(&self, below: &str) -> PathBuf {
        self.dir.path().join(below)
    }

    fn client(&self, script: &str, gpu: Option<&str>, args: &[&str]) -> Ran {
        let mut command = client(script).unwrap();
        for channel in [Some(self.path("dist/conda")), Some(self.path("others")), set_up("SIMPACK_TEST_CHANNEL")] {
            command.args(channel.iter().flat_map(|channel| ["--channel".as_ref(), channel.as_os_str()]));
        }
        command.args(args).current_dir(self.dir.path());
        command.env("CONDA_OVERRIDE_CUDA", gpu.map_or("", |_| "13.0"));
        command.env("CONDA_OVERRIDE_CUDA_ARCH", gpu.unwrap_or(""));
        Ran::of(&mut command)
    }

    /// What the program of a package holds: targets, and whether the code is linked.
    fn holds(&self, target: &str) -> Vec<(String, bool)> {
        let program = format!("target/simpack/bundles/alone-kernels-{target}/bin/alone");
        let inspected = Ran::of(&mut simpack(self.dir.path(), &["inspect", "--json", &program])).exit(0).json();
        let images = inspected["subjects"][0]["files"][0]["images"].as_array().unwrap_or_else(|| panic!("{inspected}"));
        let image =
            |image: &Value| (image["target"].as_str().unwrap().to_owned(), !image["relocatable"].as_bool().unwrap());
        let mut found: Vec<_> = images.iter().map(image).collect();
        found.sort();
        found.dedup();
        found
    }
}

fn named(packages: &Value) -> Vec<&str> {
    packages.as_array().unwrap().iter().map(|package| package["name"].as_str().unwrap()).collect()
}

/// A machine with a GPU gets the package for it, by PTX where there is no machine code; one without gets nothing but what needs no GPU.
#[test]
fn programs_for_gpus_alone_ship_for_gpus_alone() {
    need!(set_up("SIMPACK_TEST_CHANNEL").is_some(), "no channel with a Python");
    let Some(alone) = Alone::new() else { return };
    Ran::of(&mut simpack(alone.dir.path(), &["verify", "dist"])).exit(0);
    let packages = alone.summary["packages"].as_array().unwrap().iter();
    let packages: Vec<&str> = packages.map(|package| package["package"].as_str().unwrap()).collect();
    assert!(!packages.contains(&"alone-kernels-cpu"), "{packages:?}");
    // What the link was made from is gone where its result serves, and is what the driver links elsewhere.
    assert_eq!(alone.holds("sm_90"), [("sm_90".to_owned(), true)]);
    assert_eq!(alone.holds("compute_80"), [("compute_80".to_owned(), false)]);
    for (gpu, package) in
        [("9.0", "alone-kernels-sm_90"), ("8.6", "alone-kernels-sm_80"), ("12.0", "alone-kernels-compute_80")]
    {
        let solved = alone.client("solve.py", Some(gpu), &["alone"]).exit(0).json();
        let kernels: Vec<&str> = named(&solved).into_iter().filter(|name| name.starts_with("alone-kernels-")).collect();
        assert_eq!(kernels, [package], "{gpu}");
    }
    let refused = alone.client("solve.py", None, &["alone"]).exit(1);
    assert!(refused.stderr.contains("__cuda"), "{}", refused.stderr);
    // The module needs no GPU, and is put into the Python of the environment.
    alone.client("install.py", None, &["--prefix", "prefix", "alone-core", "python 3.11.*"]).exit(0);
    assert!(alone.path("prefix/lib/python3.11/site-packages/alone/__init__.py").is_file());
    assert!(alone.path("prefix/share/alone/first.cu").is_file());
    // Where the client has put it, it is held to what was built.
    for verb in ["verify", "doctor"] {
        Ran::of(&mut simpack(alone.dir.path(), &[verb, "prefix"])).exit(0);
    }
    changes_are_seen(&alone, "prefix/lib/python3.11/site-packages/alone/__init__.py", "prefix");
    let damaged = Ran::of(&mut simpack(alone.dir.path(), &["doctor", "prefix", "--json"])).json();
    assert!(damaged.to_string().contains("site-packages/alone/__init__.py"), "{damaged}");
    as_wheels(&alone);
    let without = Ran::of(&mut simpack(alone.dir.path(), &["select", "dist", "--device", "cpu"]));
    assert!(
        without.stdout.contains("nothing: its programs are for GPUs alone"),
        "{}{}",
        without.stdout,
        without.stderr
    );
}

/// PTX that a link left is what the driver links for GPUs that the link has no code for, in programs of others as well.
#[test]
fn ptx_that_a_link_left_reaches_newer_gpus() {
    let Some(cuda) = set_up("SIMPACK_TEST_CUDA") else { return };
    let dir = scratch();
    fs_err::write(
        dir.path().join("a.cu"),
        "__device__ int twice(int x);\n__global__ void k(int* p) { *p = twice(*p); }\n",
    )
    .unwrap();
    fs_err::write(dir.path().join("b.cu"), "__device__ int twice(int x) { return 2 * x; }\n").unwrap();
    let said = |library: &str, codes: &[&str]| {
        let mut nvcc = Command::new(cuda.join("bin/nvcc"));
        nvcc.args(["-rdc=true", "-shared", "-Xcompiler=-fPIC", "-o", library, "a.cu", "b.cu"]);
        nvcc.args(codes.iter().map(|code| format!("-gencode=arch=compute_80,code={code}"))).current_dir(dir.path());
        Ran::of(&mut nvcc).exit(0);
        Ran::of(&mut simpack(dir.path(), &["verify", library])).stdout
    };
    let whole = said("whole.so", &["sm_80", "compute_80"]);
    assert!(!whole.contains("device-coverage") && !whole.contains("kernel-hole"), "{whole}");
    assert!(
        said("bare.so", &["sm_80"]).contains("nothing runs on 9.0, 10.0"),
        "without PTX nothing runs on newer GPUs"
    );
    // nvcc adds the device runtime to a link of PTX alone: machine code for every GPU, which alone runs on none.
    let linked = said("linked.so", &["compute_80"]);
    assert!(!linked.contains("device-coverage") && !linked.contains("kernel-hole"), "{linked}");
}

/// A module that is not as it was installed is a finding.
fn changes_are_seen(alone: &Alone, module: &str, installed: &str) {
    // Clients may have linked the file to the one in their cache.
    fs_err::remove_file(alone.path(module)).unwrap();
    fs_err::write(alone.path(module), "ANSWER = 43\n").unwrap();
    let found = Ran::of(&mut simpack(alone.dir.path(), &["verify", installed])).exit(1);
    assert!(found.stdout.contains("alone/__init__.py"), "{}{}", found.stdout, found.stderr);
}

/// The module lies where pip has all modules, whatever Python installs it that the recipe allows.
fn as_wheels(alone: &Alone) {
    for client in CLIENTS {
        let environment = Environment::new(client).unwrap();
        environment.install(&alone.path("dist/wheel"), &["alone"]).exit(0);
        let site = environment.site_packages();
        assert!(site.join("alone/__init__.py").is_file(), "{client:?}");
        let check = "import alone, alone_prefix, os.path; print(alone.ANSWER, alone_prefix.missing()); \
                     assert os.path.isfile(alone_prefix.prefix() + '/share/alone/first.cu')";
        let ran = Ran::of(environment.program("python").args(["-I", "-c", check])).exit(0);
        assert_eq!(ran.stdout, "42 None\n", "{client:?}");
        // Its program is for GPUs alone: what it comes with is said.
        let ran = Ran::of(&mut environment.program("alone")).exit(1);
        assert!(ran.stderr.contains("pip install 'alone[sm90]==1.2.0'"), "{}", ran.stderr);
        let prefix = site.join("alone_prefix");
        let prefix = prefix.to_str().unwrap();
        Ran::of(&mut simpack(alone.dir.path(), &["verify", prefix])).exit(0);
        changes_are_seen(alone, site.join("alone/__init__.py").to_str().unwrap(), prefix);
        environment.install(&alone.path("dist/wheel"), &["--no-deps", "alone-kernels-sm-90-cu13"]).exit(0);
        let ran = Ran::of(&mut environment.program("alone"));
        assert!(!ran.stderr.contains("pip install"), "{}", ran.stderr);
    }
}

/// Headers and libraries of the toolkit are those that the recipe uses: in the lock and in keys.
#[test]
fn builds_are_given_the_libraries_of_the_toolkit_that_they_use() {
    let dir = scratch();
    copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recipes/alone"), &dir.path().join("recipe"));
    Ran::of(&mut simpack(dir.path(), &["lock", "recipe"])).exit(0);
    let lock = fs_err::read_to_string(dir.path().join("recipe/simpack.lock")).unwrap();
    assert!(lock.contains("nvidia-curand") && lock.contains("nvidia-cuda-profiler-api"), "{lock}");
    assert!(!lock.contains("nvidia-cufft"), "{lock}");
    let key = || {
        let plan = Ran::of(&mut simpack(dir.path(), &["plan", "recipe", "--json"])).exit(0).json();
        plan["steps"][0]["key"].as_str().unwrap_or_else(|| panic!("{plan}")).to_owned()
    };
    let with = key();
    let file = dir.path().join("recipe/simpack.toml");
    let text = fs_err::read_to_string(&file).unwrap();
    fs_err::write(&file, text.replace("uses = [\"curand >=10,<11\"]", "uses = [\"cusparse\"]")).unwrap();
    assert_ne!(with, key());
}
