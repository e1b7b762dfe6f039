//! A build against what another build installed: a module for the machine's Python, over one core.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::generating_conda::compilers;
use crate::support::{Ran, changed, client, conda_index, copy_tree, digests, need, scratch, set_up, simpack};

/// A copy of `tests/recipes/against`, with a cache of its own.
struct Tide {
    root: TempDir,
}

impl Tide {
    /// None where this machine has no headers of Python 3.11.
    fn new() -> Option<Self> {
        let has_headers = Command::new("pkg-config").args(["--exists", "python-3.11"]).status();
        if !has_headers.is_ok_and(|status| status.success()) || which::which("g++").is_err() {
            crate::support::skip("no headers of Python 3.11, or no g++");
            return None;
        }
        let root = scratch();
        copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recipes/against"), &root.path().join("recipe"));
        let tide = Self { root };
        tide.cache("cache");
        Some(tide)
    }

    fn path(&self, below: &str) -> PathBuf {
        self.root.path().join(below)
    }

    /// A cache that holds nothing but this user's tools.
    fn cache(&self, name: &str) -> PathBuf {
        let real = simpack::fs::cache_dir().unwrap();
        for below in ["toolchains", "downloads"] {
            fs_err::create_dir_all(real.join(below)).unwrap();
            fs_err::create_dir_all(self.path(name)).unwrap();
            let real = fs_err::canonicalize(real.join(below)).unwrap();
            fs_err::os::unix::fs::symlink(real, self.path(name).join(below)).unwrap();
        }
        self.path(name)
    }

    fn change(&self, file: &str, from: &str, to: &str) {
        let path = self.path("recipe").join(file);
        let text = fs_err::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{text}");
        fs_err::write(path, text.replace(from, to)).unwrap();
    }

    /// A machine that is no CI: builds go on where earlier ones have stopped.
    fn simpack(&self, args: &[&str]) -> Ran {
        let mut command = simpack(self.root.path(), args);
        Ran::of(command.env("SIMPACK_CACHE_DIR", self.path("cache")).env_remove("CI"))
    }

    fn build(&self, args: &[&str]) -> Value {
        self.simpack(&[&["build", "recipe", "--json"], args].concat()).exit(0).json()
    }

    /// Digests of the packages of a directory.
    fn packages(&self, dist: &str) -> std::collections::BTreeMap<String, simpack::fs::Digest> {
        digests(&self.path(dist).join("conda"))
    }

    /// The package of a name.
    fn package(&self, name: &str) -> PathBuf {
        let files = fs_err::read_dir(self.path("dist/conda/linux-64")).unwrap().map(|entry| entry.unwrap().path());
        let start = format!("{name}-2.1.0-");
        let mut of_name = files.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(&start));
        of_name.next().unwrap_or_else(|| panic!("no {name}"))
    }
}

/// Steps that were not in the cache.
fn compiled(summary: &Value) -> Vec<&str> {
    let steps = summary["steps"].as_array().unwrap().iter().filter(|step| step["cached"] == false);
    steps.map(|step| step["id"].as_str().unwrap()).collect()
}

const PYTHON: &str = "host python (python=3.11)";

#[test]
fn a_module_is_built_against_what_core_installed() {
    let Some(tide) = Tide::new() else { return };
    let summary = tide.build(&[]);
    assert_eq!(compiled(&summary), ["host core", PYTHON]);
    assert_eq!(summary["report"]["findings"], json!([]), "{summary}");
    tide.simpack(&["verify", "dist"]).exit(0);
    let index = conda_index(&tide.package("tide-python"));
    assert!(index["build"].as_str().unwrap().starts_with("py311_h"), "{index}");
    for spec in ["python >=3.11,<3.12.0a0", "python_abi 3.11.* *_cp311", "tide-core >=2.1.0,<2.2.0a0"] {
        assert!(index["depends"].as_array().unwrap().contains(&spec.into()), "{index}");
    }
    let module = tide.path("target/simpack/bundles/tide-python-py311/lib/python3.11/site-packages/tide");
    let module = fs_err::read_dir(module).unwrap().map(|entry| entry.unwrap().path());
    let module = module.into_iter().find(|path| path.extension().is_some_and(|end| end == "so")).unwrap();
    let said = Ran::of(Command::new("readelf").arg("-dW").arg(&module)).exit(0).stdout;
    assert!(said.contains("[libtide.so.2.1]") && said.contains("[$ORIGIN/../../.."), "{said}");
    // Of core nothing is in it.
    let said = Ran::of(simpack(tide.root.path(), &["inspect", "--json"]).arg(tide.package("tide-python"))).exit(0);
    assert!(!said.stdout.contains("libtide.so\""), "{}", said.stdout);

    let Some(channel) = set_up("SIMPACK_TEST_CHANNEL") else { return };
    let Some(mut install) = client("install.py") else { return };
    install.arg("--channel").arg(tide.path("dist/conda")).arg("--channel").arg(channel);
    Ran::of(install.arg("--prefix").arg(tide.path("prefix")).arg("tide-python")).exit(0);
    let mut run = Command::new(tide.path("prefix/bin/python"));
    run.env_clear().args(["-c", "import tide; print(tide.height(3.0))"]);
    assert_eq!(Ran::of(run.current_dir(tide.root.path())).exit(0).stdout, "1.5\n");
}

/// What is built against core is built again when core is another one, and only then; both go to one machine.
#[test]
fn what_is_built_against_another_build_follows_it() {
    let Some(tide) = Tide::new() else { return };
    let plan = |args: &[&str]| tide.simpack(&[&["plan", "recipe", "--json"], args].concat()).exit(0).json();
    let key = |plan: &Value, id: &str| -> String {
        let step = plan["steps"].as_array().unwrap().iter().find(|step| step["id"] == id);
        step.unwrap_or_else(|| panic!("{plan}"))["key"].as_str().unwrap().to_owned()
    };
    let first = plan(&[]);
    let python = first["steps"].as_array().unwrap().iter().find(|step| step["id"] == PYTHON).unwrap();
    assert_eq!(python["action"]["against"], json!(["host core"]));
    let part = json!({ "name": "build host core", "value": key(&first, "host core") });
    assert!(python["parts"].as_array().unwrap().contains(&part), "{python}");
    let whole = tide.build(&[]);
    let packages = tide.packages("dist");

    // Two machines, one of which has nothing to do.
    let mut steps = Vec::new();
    for shard in ["1/2", "2/2"] {
        let (dist, work) = (format!("shard-{}", &shard[..1]), format!("work-{}", &shard[..1]));
        let mut command = simpack(tide.root.path(), &["build", "recipe", "--json", "--shard", shard]);
        command
            .args(["--dist", &dist, "--work", &work])
            .env("SIMPACK_CACHE_DIR", tide.cache(&format!("cache-of-{work}")));
        let part = Ran::of(&mut command).exit(0).json();
        steps.push(part["steps"].as_array().unwrap().len());
    }
    steps.sort_unstable();
    assert_eq!(steps, [0, 2]);
    tide.simpack(&["merge", "shard-1", "shard-2", "--dist", "merged"]).exit(0);
    assert_eq!(changed(&packages, &tide.packages("merged")), [""; 0]);

    // Without the module its build is not asked for.
    let others = tide.build(&["--component", "core,dev", "--dry-run"]);
    assert_eq!(others.as_array().unwrap().len(), 1, "{others}");
    let alone = tide.build(&["--component", "core,python", "--dist", "alone"]);
    assert_eq!(alone["steps"].as_array().unwrap().len(), 2);
    let sha256 = |summary: &Value| {
        let packages = summary["packages"].as_array().unwrap();
        packages.iter().find(|package| package["package"] == "tide-python").map(|package| package["sha256"].clone())
    };
    assert_eq!(sha256(&alone), sha256(&whole));

    tide.change("python/module.cc", "Metres above", "Metres over");
    assert_eq!(key(&plan(&[]), "host core"), key(&first, "host core"));
    assert_eq!(compiled(&tide.build(&[])), [PYTHON]);
    tide.change("core/tide.cc", "hours / 2.0 :", "hours / 4.0 + 1.5 :");
    assert_eq!(compiled(&tide.build(&[])), ["host core", PYTHON]);
    let why = tide.simpack(&["plan", "recipe", "--why-rebuilt"]).exit(0).stdout;
    assert!(why.contains(&format!("{PYTHON}\n  build host core  ")), "{why}");
    for subject in [tide.path("dist"), tide.package("tide-python")] {
        tide.simpack(&["rebuild", subject.to_str().unwrap(), "--recipe", "recipe"]).exit(0);
    }
}

/// What was made of what was made incrementally is no better proven than that; a clean build says whether it was right.
#[test]
fn a_build_against_an_incremental_one_is_incremental() {
    let Some(tide) = Tide::new() else { return };
    let incremental = |dist: &str| -> Value {
        let text = fs_err::read_to_string(tide.path(dist).join("build.json")).unwrap();
        serde_json::from_str::<Value>(&text).unwrap()["incremental"].clone()
    };
    tide.build(&[]);
    assert_eq!(incremental("dist"), Value::Null);
    // Another comment is another key, and the same bytes: the tree of the module is gone on with.
    tide.change("core/tide.cc", "#include", "// Twice a day.\n#include");
    tide.build(&[]);
    assert_eq!(incremental("dist"), json!(["host core", PYTHON]));
    // Another library is not: the module begins with nothing, and is made of what nobody has proven.
    tide.change("core/tide.cc", "hours / 2.0 :", "hours / 4.0 + 1.5 :");
    let ran = tide.simpack(&["build", "recipe"]).exit(0);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(said.contains("host core goes on in its build tree: 1 source has changed"), "{said}");
    assert!(!said.contains(&format!("{PYTHON} goes on")), "{said}");
    assert_eq!(incremental("dist"), json!(["host core", PYTHON]));
    let unproven = tide.packages("dist");
    let ran = tide.simpack(&["build", "recipe", "--clean"]).exit(0);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    for step in ["host core", PYTHON] {
        assert!(said.contains(&format!("{step}: what was built incrementally was the same, byte for byte")), "{said}");
    }
    assert_eq!(incremental("dist"), Value::Null);
    assert_eq!(changed(&unproven, &tide.packages("dist")), [""; 0]);
}

/// A recipe that cannot be built so is refused at its place.
#[test]
fn mistakes_about_what_is_built_against_show_their_place() {
    let dir = scratch();
    copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recipes/against"), &dir.path().join("recipe"));
    let file = dir.path().join("recipe/simpack.toml");
    let text = fs_err::read_to_string(&file).unwrap();
    let mut said = String::new();
    for changes in [
        &[("against = [\"core\"]", "against = [\"cores\", \"python\", \"dev\", \"rtc\", \"core\", \"core\"]")][..],
        &[("source = \"core\"", "source = \"core\"\nagainst = [\"python\"]")],
        &[("[component.python.build]", "[component.python.build]\ndriver = \"copy\"")],
        &[("against = [\"core\"]\n", ""), ("lib/python{python}", "{against}")],
        &[("against = [\"core\"]", "against = [\"kernels\", \"meta\"]")],
        &[
            ("[component.dev]", "[component.core.variants]\nmpi = [\"none\"]\n\n[component.dev]"),
            ("[test.module]", "[component.python.variants.mpi]\nnone = {}\nmpich = {}\n\n[test.module]"),
        ],
        &[("system:python-3.11", "system:python-3.12")],
        &[("{ needs = [\"system:python-3.11\"] }", "{}")],
    ] {
        let changed = changes.iter().fold(text.clone(), |text, (from, to)| {
            assert!(text.contains(from), "{from}");
            text.replace(from, to)
        });
        fs_err::write(&file, changed).unwrap();
        let ran = Ran::of(&mut simpack(dir.path(), &["check", "recipe"])).exit(3);
        said.push_str(&ran.stdout);
        said.push('\n');
    }
    insta::assert_snapshot!(said);
}

/// Headers that are not here are named with what brings them, and what is built without them.
#[test]
fn a_python_that_is_not_here_is_said_and_the_others_are_built() {
    let dir = scratch();
    copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recipes/against"), &dir.path().join("recipe"));
    need!(which::which("pkg-config").is_ok() && which::which("g++").is_ok(), "no pkg-config, or no g++");
    let file = dir.path().join("recipe/simpack.toml");
    let text = fs_err::read_to_string(&file).unwrap();
    fs_err::write(&file, text.replace("3.11", "3.98")).unwrap();
    let said = Ran::of(&mut simpack(dir.path(), &["plan", "recipe"])).exit(4).stderr;
    for part in [
        "this machine has no headers of Python 3.98",
        "python3.98-dev on Debian and Ubuntu",
        "build the others without the module for Python: `simpack build --component core,dev,meta`",
    ] {
        assert!(said.contains(part), "{said}");
    }
    let args = ["build", "recipe", "--component", "core,dev,meta", "--dry-run", "--json"];
    let plan = Ran::of(&mut simpack(dir.path(), &args)).exit(0).json();
    assert_eq!(plan.as_array().unwrap().len(), 1, "{plan}");
}

/// One module for all slices of a library that ships cut: it is built once, and takes whichever is installed.
#[test]
fn a_module_is_built_against_a_library_that_ships_cut() {
    let (Some(tide), Some(_)) = (Tide::new(), set_up("SIMPACK_TEST_CUDA")) else { return };
    let whole = |below: &str| tide.path("whole").join(below);
    copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recipes/whole"), &whole(""));
    copy_tree(&tide.path("recipe/python"), &whole("python"));
    let change = |file: &str, changes: &[(&str, &str)]| {
        let text = fs_err::read_to_string(whole(file)).unwrap();
        let changed = changes.iter().fold(text, |text, (from, to)| {
            assert!(text.contains(from), "{file}: {from}");
            text.replace(from, to)
        });
        fs_err::write(whole(file), changed).unwrap();
    };
    change("python/module.cc", &[("<tide.h>", "<whole.h>"), ("tide_height(value)", "whole_answer(int(value))")]);
    change(
        "python/CMakeLists.txt",
        &[
            (
                "find_package(tide CONFIG REQUIRED)",
                "find_library(WHOLE whole REQUIRED)\nfind_path(INCLUDE whole.h REQUIRED)",
            ),
            ("PRIVATE tide::tide)", "PRIVATE ${WHOLE})\ntarget_include_directories(_tide PRIVATE ${INCLUDE})"),
        ],
    );
    let python = "[component.python.build]\nagainst = [\"core\"]\nsource = \"python\"\n\
                  options = { TIDE_SITE = \"lib/python{python}/site-packages\" }\n\n\
                  [component.python.variants.python]\n\"3.11\" = { needs = [\"system:python-3.11\"] }\n\n[kernels.library]";
    change("simpack.toml", &[("[kernels.library]", python)]);
    let summary = tide.simpack(&["build", "whole", "--json"]).exit(0).json();
    let compiled = compiled(&summary);
    assert_eq!(compiled, ["host core", PYTHON]);
    let packages = summary["packages"].as_array().unwrap();
    assert_eq!(packages.iter().filter(|package| package["package"] == "whole-python").count(), 1, "{packages:?}");
    tide.simpack(&["verify", "dist"]).exit(0);

    let Some(channel) = set_up("SIMPACK_TEST_CHANNEL") else { return };
    for (gpu, kernels) in [(Some("9.0"), "whole-kernels-sm_90"), (None, "whole-kernels-cpu")] {
        let Some(mut install) = client("install.py") else { return };
        let prefix = tide.path(kernels);
        install.arg("--channel").arg(tide.path("dist/conda")).arg("--channel").arg(&channel);
        install
            .env("CONDA_OVERRIDE_CUDA", gpu.map_or("", |_| "13.0"))
            .env("CONDA_OVERRIDE_CUDA_ARCH", gpu.unwrap_or(""));
        let said = Ran::of(install.arg("--prefix").arg(&prefix).arg("whole-python")).exit(0).json();
        let installed = said.as_array().unwrap().iter().map(|package| package["name"].as_str().unwrap());
        assert!(installed.into_iter().any(|name| name == kernels), "{said}");
        let mut run = Command::new(prefix.join("bin/python"));
        run.env_clear().args(["-c", "import tide; print(tide.height(41))"]);
        assert_eq!(Ran::of(run.current_dir(tide.root.path())).exit(0).stdout, "42.0\n");
    }
}

/// rattler-build makes the module against the packages of the same recipe, once these are made.
#[test]
fn another_builder_builds_the_module_against_packages() {
    let Some(tide) = Tide::new() else { return };
    let (Some(cuda), Some(channel)) = (set_up("SIMPACK_TEST_CUDA"), set_up("SIMPACK_TEST_CHANNEL")) else { return };
    let Ok(gxx) = which::which("g++") else { return crate::support::skip("no g++") };
    tide.simpack(&["generate", "conda", "recipe"]).exit(0);
    let recipe = fs_err::read_to_string(tide.path("recipe/packaging/conda/recipe.yaml")).unwrap();
    assert!(recipe.contains("- ${{ pin_subpackage(\"tide-dev\", exact=true) }}"), "{recipe}");
    crate::support::shellcheck(&tide.path("recipe/packaging/conda/host.sh"));
    let compilers = compilers(tide.root.path(), &gxx, &cuda);
    let mut command = client("build.py").unwrap();
    command.arg(tide.path("recipe/packaging/conda/recipe.yaml")).arg("--channel").arg(&compilers);
    command.arg("--channel").arg(&channel).arg("--output").arg(tide.path("dist/conda"));
    Ran::of(command.arg("--fast").arg("--variants").arg(tide.path("variants.yaml"))).exit(0);
    let index = conda_index(&tide.package("tide-python"));
    assert!(index["build"].as_str().unwrap().starts_with("py311_h"), "{index}");
    for spec in ["python 3.11.*", "python_abi 3.11.* *_cp311", "tide-core >=2.1.0,<2.2.0a0"] {
        assert!(index["depends"].as_array().unwrap().contains(&spec.into()), "{index}");
    }
    let mut install = client("install.py").unwrap();
    install.arg("--channel").arg(tide.path("dist/conda")).arg("--channel").arg(channel).arg("--channel").arg(compilers);
    Ran::of(install.arg("--prefix").arg(tide.path("prefix")).arg("tide-python")).exit(0);
    let mut run = Command::new(tide.path("prefix/bin/python"));
    run.env_clear().args(["-c", "import tide; print(tide.height(3.0))"]);
    assert_eq!(Ran::of(run.current_dir(tide.root.path())).exit(0).stdout, "1.5\n");
    // nix builds no module for a version of Python, and so nothing against another build.
    let out = tide.path("nix");
    tide.simpack(&["generate", "nix", "recipe", "--output", out.to_str().unwrap()]).exit(0);
    let script = fs_err::read_to_string(out.join("host.sh")).unwrap_or_default();
    assert!(!script.contains("build_python"), "{script}");
    // Builders would make the module once more for each variant of core.
    tide.change(
        "simpack.toml",
        "[component.dev]",
        "[component.core.variants]\nmpi = [\"none\", \"mpich\"]\n\n[component.dev]",
    );
    let refused = tide.simpack(&["generate", "conda", "recipe"]).exit(3).stderr;
    assert!(refused.contains("is built against the default variant of one that has several"), "{refused}");
}
