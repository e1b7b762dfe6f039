//! Host variants: one recipe whose core is built with no MPI, Open MPI and MPICH, and whose module for two versions of
//! Python; what clients choose among them, and that it runs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::generating_conda::compilers;
use crate::support::{Ran, client, conda_index, copy_tree, need, scratch, set_up, simpack};

/// The recipe beside a channel, in a directory of its own.
struct Variants {
    root: TempDir,
}

impl Variants {
    fn new() -> Option<Self> {
        let channel = set_up("SIMPACK_TEST_CHANNEL")?;
        let root = scratch();
        copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recipes/variants"), &root.path().join("recipe"));
        fs_err::os::unix::fs::symlink(channel, root.path().join("channel")).unwrap();
        Some(Self { root })
    }

    fn path(&self, below: &str) -> PathBuf {
        self.root.path().join(below)
    }

    fn change(&self, from: &str, to: &str) {
        let path = self.path("recipe/simpack.toml");
        let text = fs_err::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{text}");
        fs_err::write(path, text.replace(from, to)).unwrap();
    }

    fn simpack(&self, args: &[&str]) -> Ran {
        Ran::of(&mut simpack(&self.path("recipe"), args))
    }

    fn plan(&self) -> Value {
        self.simpack(&["plan", "--json"]).exit(0).json()
    }

    /// `info/index.json` of all packages of a name, by build string.
    fn packages(&self, name: &str) -> Vec<Value> {
        let files = fs_err::read_dir(self.path("dist/conda/linux-64")).unwrap().map(|entry| entry.unwrap().path());
        let of_name = files.filter(|path| {
            path.file_name().is_some_and(|file| file.to_string_lossy().starts_with(&format!("{name}-1.2.0-")))
        });
        let mut found: Vec<Value> = of_name.map(|path| conda_index(&path)).collect();
        found.sort_by_key(|index| index["build"].as_str().unwrap().to_owned());
        found
    }

    /// What g++ links, which conda's compilers bring as packages, in a channel of its own; nothing without a client.
    fn runtime(&self) -> Option<()> {
        let beside = |name: &str| {
            let said = Ran::of(Command::new("g++").arg(format!("-print-file-name={name}"))).exit(0).stdout;
            fs_err::canonicalize(said.trim()).unwrap().parent().unwrap().to_owned()
        };
        for (package, library) in [("libstdcxx", "libstdc++.so.6"), ("libgcc", "libgcc_s.so.1")] {
            let mut vendor = client("vendor.py")?;
            Ran::of(vendor.arg(self.path("runtime")).args([package, "99.0"]).arg(beside(library))).exit(0);
        }
        Some(())
    }

    /// Installs into a prefix what specs ask for, with py-rattler.
    fn install(&self, prefix: &str, specs: &[&str]) -> Vec<String> {
        let mut install = client("install.py").unwrap();
        for channel in ["dist/conda", "channel", "runtime"] {
            install.arg("--channel").arg(self.path(channel));
        }
        let said = Ran::of(install.arg("--prefix").arg(self.path(prefix)).args(specs)).exit(0).json();
        let word =
            |package: &Value| format!("{} {}", package["name"].as_str().unwrap(), package["build"].as_str().unwrap());
        said.as_array().unwrap().iter().map(word).collect()
    }

    /// A program of a prefix, as in an activated environment and with nothing else of this machine's.
    fn run(&self, prefix: &str, line: &str) -> String {
        let script = format!(
            "for file in \"$CONDA_PREFIX\"/etc/conda/activate.d/*.sh; do [ ! -e \"$file\" ] || . \"$file\"; done; {line}"
        );
        let mut run = Command::new("sh");
        let at = self.path(prefix);
        run.env_clear().env("PATH", format!("{}/bin:/usr/bin:/bin", at.display())).env("CONDA_PREFIX", &at);
        Ran::of(run.args(["-c", &script]).current_dir(self.root.path())).exit(0).stdout
    }
}

/// The recipe, locked and built once.
fn built() -> Option<&'static Variants> {
    static BUILT: OnceLock<Option<Variants>> = OnceLock::new();
    let made = BUILT.get_or_init(|| {
        set_up("SIMPACK_TEST_CUDA")?;
        let variants = Variants::new()?;
        variants.simpack(&["lock"]).exit(0);
        variants.simpack(&["build", "--locked", "--work", "../work", "--dist", "../dist"]).exit(0);
        variants.runtime()?;
        Some(variants)
    });
    made.as_ref()
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}

/// The Python of Debian's next release, which brings a newer C library than this machine has: a module is built for it,
/// installed and imported.
#[test]
fn a_module_for_the_python_of_the_next_debian() {
    if set_up("SIMPACK_TEST_CUDA").is_none() {
        return;
    }
    let Some(variants) = Variants::new() else { return };
    let has = variants.path("channel/linux-64/python_abi-3.13-0_cp313.conda").exists();
    need!(has, "no Python 3.13 in the channel: tests/setup/debian-channel of an earlier time made it");
    variants.change("python = [\"3.11\", \"3.9\"]", "python = [\"3.13\"]");
    variants.change("openmpi = { needs = [\"openmpi >=4\"] }\nmpich = { needs = [\"mpich >=4\"] }\n", "");
    variants.simpack(&["lock"]).exit(0);
    variants.simpack(&["build", "--locked", "--work", "../work", "--dist", "../dist"]).exit(0);
    if variants.runtime().is_none() {
        return;
    }
    let installed = variants.install("next", &["ranks-python"]);
    assert!(installed.iter().any(|package| package.starts_with("ranks-python py313_h")), "{installed:?}");
    let line = "python -c 'import ranks, sys; print(sys.version_info[:2], ranks.sum(3))'";
    assert_eq!(variants.run("next", line), "(3, 13) ('none', 1, 3)\n");
}

#[test]
fn each_variant_is_a_build_of_one_package() {
    let Some(built) = built() else { return };
    let core = built.packages("ranks-core");
    let words: Vec<&str> =
        core.iter().map(|index| index["build"].as_str().unwrap().split("_h").next().unwrap()).collect();
    assert_eq!(words, ["mpi_mpich", "mpi_openmpi", "nompi"]);
    // What does without is taken unless somebody asks; a rebuild outweighs that.
    let numbers: Vec<u64> = core.iter().map(|index| index["build_number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [0, 0, 100]);
    for (index, mpi) in core.iter().zip([Some("mpich >=4.0.2,<5.0a0"), Some("openmpi >=4.1.4,<5.0a0"), None]) {
        let depends = texts(&index["depends"]);
        let of_mpi: Vec<&str> = depends.iter().copied().filter(|spec| spec.contains("mpi")).collect();
        assert_eq!(of_mpi, Vec::from_iter(mpi), "{depends:?}");
        assert!(depends.contains(&"libboost >=1.74.0,<1.75.0a0"), "{depends:?}");
    }
    // What is linked against a variant belongs to that one.
    for (dev, core) in built.packages("ranks-dev").iter().zip(&core) {
        assert_eq!(texts(&dev["depends"]), [format!("ranks-core ==1.2.0 {}", core["build"].as_str().unwrap())]);
    }
    let python = built.packages("ranks-python");
    for (index, (word, series, next)) in python.iter().zip([("py311", "3.11", "3.12"), ("py39", "3.9", "3.10")]) {
        assert!(index["build"].as_str().unwrap().starts_with(&format!("{word}_h")), "{index}");
        let depends = texts(&index["depends"]);
        let own = [
            format!("python >={series},<{next}.0a0"),
            format!("python_abi {series}.* *_c{}", word.replace('y', "")),
            "ranks-core >=1.2.0,<1.3.0a0".to_owned(),
        ];
        assert!(own.iter().all(|spec| depends.contains(&spec.as_str())), "{depends:?}");
    }
    // Device code is there once for all of them.
    let noarch = fs_err::read_dir(built.path("dist/conda/noarch")).unwrap();
    let names: Vec<String> = noarch.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(names.iter().filter(|name| name.starts_with("ranks-kernels-sm_90-")).count(), 1, "{names:?}");
    let report = built.simpack(&["verify", "../dist", "--json"]).exit(0).json();
    assert_eq!(report["findings"], json!([]), "{report}");
    let lock: toml::Table = fs_err::read_to_string(built.path("recipe/simpack.lock")).unwrap().parse().unwrap();
    let locked: Vec<String> = lock["variant"]
        .as_array()
        .unwrap()
        .iter()
        .map(|of| format!("{} {}", of["host"], of["dependencies"]["package"].as_array().unwrap().len()))
        .collect();
    let expected =
        ["{ mpi = \"mpich\" } 3", "{ mpi = \"none\" } 1", "{ mpi = \"openmpi\" } 3", "{ python = \"3.11\" } 2"];
    assert_eq!(locked[..4], expected);
    built.simpack(&["lock", "--check", "--offline"]).exit(0);
}

#[test]
fn clients_install_what_is_asked_for_and_it_runs() {
    let Some(built) = built() else { return };
    let plain = built.install("plain", &["ranks"]);
    assert!(plain.iter().any(|package| package.starts_with("ranks-core nompi_h")), "{plain:?}");
    assert!(!plain.iter().any(|package| package.contains("openmpi") || package.contains("mpich")), "{plain:?}");
    assert_eq!(built.run("plain", "ranks"), "{\"mpi\": \"none\", \"size\": 1, \"sum\": 7}\n");

    let openmpi = built.install("openmpi", &["ranks", "ranks-core * mpi_openmpi_*"]);
    assert!(openmpi.contains(&"mpi openmpi".to_owned()), "{openmpi:?}");
    assert_eq!(built.run("openmpi", "ranks --own 8"), "{\"mpi\": \"openmpi\", \"size\": 1, \"sum\": 8}\n");

    // The module is built without MPI, and takes whichever core is there.
    let mpich = built.install("mpich", &["ranks", "ranks-core * mpi_mpich_*", "ranks-python * py39_*"]);
    assert!(mpich.contains(&"mpi mpich".to_owned()), "{mpich:?}");
    let said = built.run("mpich", "mpiexec -n 2 ranks --own 5");
    assert_eq!(said, "{\"mpi\": \"mpich\", \"size\": 2, \"sum\": 10}\n".repeat(2));
    let line = "python -c 'import ranks, sys; print(sys.version_info[:2], ranks.sum(3))'";
    assert_eq!(built.run("mpich", line), "(3, 9) ('mpich', 1, 3)\n");

    let newest = built.install("python", &["ranks-python"]);
    assert!(newest.iter().any(|package| package.starts_with("ranks-python py311_h")), "{newest:?}");
    assert_eq!(built.run("python", line), "(3, 11) ('none', 1, 3)\n");
    // An environment holds one MPI.
    let mut solve = client("solve.py").unwrap();
    for channel in ["dist/conda", "channel", "runtime"] {
        solve.arg("--channel").arg(built.path(channel));
    }
    Ran::of(solve.args(["--virtual", "__glibc=2.36", "ranks-core * mpi_mpich_*", "openmpi"])).exit(1);
}

#[test]
fn select_names_the_variant_that_was_asked_for() {
    let Some(built) = built() else { return };
    let select =
        |more: &[&str]| built.simpack(&[&["select", "../dist", "--device", "cpu", "--format", "conda"], more].concat());
    assert_eq!(select(&[]).exit(0).stdout, "ranks ==1.2.0\n");
    let said = select(&["--variant", "mpi=openmpi", "--variant", "python=3.9"]).exit(0).stdout;
    assert_eq!(said, "ranks ==1.2.0\nranks-core ==1.2.0 mpi_openmpi_*\nranks-python ==1.2.0 py39_*\n");
    let specs: Vec<&str> = said.lines().collect();
    let installed = built.install("selected", &specs);
    assert!(installed.iter().any(|package| package.starts_with("ranks-core mpi_openmpi_h")), "{installed:?}");
    let absent = select(&["--variant", "mpi=intel"]).exit(2);
    assert!(
        absent.stderr.contains("has no variant mpi=intel") && absent.stderr.contains("ranks-core: mpi=none"),
        "{}",
        absent.stderr
    );
    let odd = built.simpack(&["select", "../dist", "--variant", "mpi"]).exit(2);
    assert!(odd.stderr.contains("is no variant such as mpi=openmpi"), "{}", odd.stderr);
    let pip = built.simpack(&["select", "../dist", "--variant", "mpi=openmpi", "--format", "pip"]).exit(2);
    assert!(pip.stderr.contains("is for conda"), "{}", pip.stderr);
}

#[test]
fn another_builder_makes_the_same_variants() {
    let (Some(cuda), Some(variants)) = (set_up("SIMPACK_TEST_CUDA"), Variants::new()) else { return };
    let Ok(gxx) = which::which("g++") else { return crate::support::skip("no g++") };
    variants.change("python = [\"3.11\", \"3.9\"]", "python = [\"3.11\"]");
    variants.change("mpich = { needs = [\"mpich >=4\"] }\n", "");
    variants.simpack(&["generate", "conda", "."]).exit(0);
    let compilers = compilers(variants.root.path(), &gxx, &cuda);
    let mut command = client("build.py").unwrap();
    command.arg(variants.path("recipe/packaging/conda/recipe.yaml")).arg("--channel").arg(&compilers);
    command.arg("--channel").arg(variants.path("channel")).arg("--output").arg(variants.path("dist/conda"));
    // It installs each package with what that depends on and runs its test there.
    Ran::of(command.arg("--fast").arg("--variants").arg(variants.path("variants.yaml"))).exit(0);
    let builds = |package: &str| -> Vec<(String, u64)> {
        let word = |index: &Value| index["build"].as_str().unwrap().split("_h").next().unwrap().to_owned();
        variants.packages(package).iter().map(|it| (word(it), it["build_number"].as_u64().unwrap())).collect()
    };
    let expected = [("mpi_openmpi".to_owned(), 0), ("nompi".to_owned(), 100)];
    assert_eq!(builds("ranks-core"), expected);
    assert_eq!(builds("ranks-dev"), expected);
    assert_eq!(builds("ranks-python"), [("py311".to_owned(), 0)]);
    let core = variants.packages("ranks-core");
    assert!(texts(&core[0]["depends"]).contains(&"openmpi >=4.1.4,<5.0a0"), "{}", core[0]);
    assert!(!core[1]["depends"].to_string().contains("mpi"), "{}", core[1]);
    let python = variants.packages("ranks-python").remove(0);
    let depends = texts(&python["depends"]);
    for spec in ["python 3.11.*", "python_abi 3.11.* *_cp311", "ranks-core >=1.2.0,<1.3.0a0"] {
        assert!(depends.contains(&spec), "{depends:?}");
    }
}

#[test]
fn one_more_variant_changes_no_other_step() {
    let Some(variants) = Variants::new() else { return };
    let keys = |plan: &Value| -> BTreeSet<String> {
        let steps = plan["steps"].as_array().unwrap().iter();
        steps.map(|step| format!("{} {}", step["id"].as_str().unwrap(), step["key"])).collect()
    };
    variants.change("python = [\"3.11\", \"3.9\"]", "python = [\"3.11\"]");
    variants.change("mpich = { needs = [\"mpich >=4\"] }\n", "");
    let few = variants.plan();
    variants.change("python = [\"3.11\"]", "python = [\"3.11\", \"3.9\"]");
    variants.change("none = {}\n", "none = {}\nmpich = { needs = [\"mpich >=4\"] }\n");
    let many = variants.plan();
    assert_eq!(keys(&few).difference(&keys(&many)).count(), 0);
    let more: Vec<String> =
        keys(&many).difference(&keys(&few)).map(|step| step.rsplit_once(' ').unwrap().0.to_owned()).collect();
    assert_eq!(more, ["host core (mpi=mpich)", "host python (python=3.9)"]);
    let bundles: Vec<&Value> = many["bundles"].as_array().unwrap().iter().collect();
    let kernels = bundles.iter().filter(|bundle| bundle["component"] == "kernels");
    assert!(kernels.clone().all(|bundle| bundle.get("host").is_none()) && kernels.count() == 2, "{bundles:?}");
}
