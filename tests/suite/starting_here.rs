//! `simpack init --here`: recipes for projects that are there, with hardly anything to edit.

use std::path::{Path, PathBuf};

use proptest::prelude::*;

use crate::support::{Ran, copy_tree, need, package_file, scratch, simpack, unpack, volley};

fn checkout(below: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(below)
}

/// A project: a copy of a tree without its recipe.
struct Project(tempfile::TempDir);

impl Project {
    fn of(tree: &Path, without: &[&str]) -> Self {
        let dir = scratch();
        copy_tree(tree, &dir.path().join("project"));
        let project = Self(dir);
        without.iter().for_each(|path| fs_err::remove_file(project.path(path)).unwrap());
        project
    }

    fn path(&self, below: &str) -> PathBuf {
        self.0.path().join("project").join(below)
    }

    fn run(&self, args: &[&str]) -> Ran {
        Ran::of(&mut simpack(&self.path("."), args))
    }

    fn recipe(&self) -> String {
        fs_err::read_to_string(self.path("simpack.toml")).unwrap()
    }
}

/// A library with host code and kernels in one: nothing has to be edited until its packages are there.
#[test]
fn a_library_that_holds_kernels_is_packed_without_an_edit() {
    need!(["g++", "c++"].iter().any(|name| which::which(name).is_ok()), "no C++ compiler");
    let project = Project::of(&checkout("tests/recipes/whole"), &["simpack.toml"]);
    let said = project.run(&["init", "--here"]).exit(0).stdout;
    assert!(said.contains("2 lines marked EDIT"), "{said}");
    insta::assert_snapshot!(project.recipe());
    assert!(!project.run(&["check"]).exit(0).stdout.contains("warning"));
    let built = project.run(&["build"]).exit(0).stdout;
    for package in ["whole-core", "whole-kernels-sm_80", "whole-kernels-sm_90", "whole-kernels-cpu", "whole-dev"] {
        assert!(built.contains(package), "{package}: {built}");
    }
    assert!(project.run(&["build"]).exit(0).stdout.contains("0 compiled, 1 from cache"));
    // A recipe is never overwritten.
    let again = project.run(&["init", "--here"]).exit(2).stderr;
    assert!(again.contains("simpack.toml is there already"), "{again}");
}

/// Kernels in files of their own: the table that compiled code gives has the tag of the one that people wrote.
#[test]
fn a_kernel_table_comes_from_compiled_code() {
    let project = Project::of(&checkout("recipes/volley"), &["simpack.toml", "simpack.lock", "kernels/table.toml"]);
    let compiled = volley().bundle("volley-kernels-sm_90");
    let compiled = compiled.to_str().unwrap();
    let said = project.run(&["init", "--here", "--compiled", compiled]).exit(0).stdout;
    assert!(said.contains("kernel-table.toml"), "{said}");
    let recipe = project.recipe();
    assert!(recipe.contains("[kernels.main] # src/core/cuda_backend.cc loads device code by the driver"), "{recipe}");
    assert!(recipe.contains("sources = [\"kernels/neuron.cu\", \"kernels/synapse.cu\"]"), "{recipe}");
    assert!(recipe.contains("capabilities = [\"9.0\"] # those of the compiled code that is here"), "{recipe}");
    let tag = |ran: Ran| ran.exit(0).json()["kernel-abi"].clone();
    let own = Ran::of(&mut simpack(&checkout("."), &["plan", "volley", "--json"]));
    assert_eq!(tag(project.run(&["plan", "--json"])), tag(own));
    let check = project.run(&["check"]).exit(0).stdout;
    assert!(check.ends_with("ok, no mistakes\n"), "{check}");
}

/// Without a build system, an installed tree is packed as it is.
#[test]
fn an_installed_tree_is_packed_as_it_is() {
    let dir = scratch();
    unpack(&package_file(&volley().channel(), "volley-core"), "pkg", &dir.path().join("prefix"));
    for other in ["info", "share/simpack"] {
        let _ = std::fs::remove_dir_all(dir.path().join("prefix").join(other));
    }
    let project = Project::of(&dir.path().join("prefix"), &[]);
    project.run(&["init", "ready-made", "--here"]).exit(0);
    let check = project.run(&["check"]).exit(0).stdout;
    // The draft has marked the licence for somebody to settle.
    assert!(check.contains("ready-made 0.1.0") && check.contains("there is no licence text"), "{check}");
    assert_eq!(check.matches("warning").count(), 1, "{check}");
    let plan = project.run(&["plan", "--json"]).exit(0).stdout;
    assert!(plan.contains("file lib/libvolley.so.1.0.0") && plan.contains("file pack.sh"), "{plan}");
}

#[test]
fn what_holds_nothing_to_build_is_refused_with_where_to_go() {
    let dir = scratch();
    fs_err::write(dir.path().join("notes.txt"), "").unwrap();
    let run = |args: &[&str]| Ran::of(&mut simpack(dir.path(), args)).exit(2).stderr;
    let said = run(&["init", "--here"]);
    assert!(said.contains(". holds nothing that simpack could build or pack"), "{said}");
    assert!(said.contains("simpack init NAME"), "{said}");
    assert!(run(&["init"]).contains("<NAME>"));
    assert!(run(&["init", "sim", "--shape", "slice"]).contains("--here"));
    assert_eq!(fs_err::read_dir(dir.path()).unwrap().count(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Whatever a project is called, its recipe has no mistakes.
    #[test]
    fn every_project_gets_a_recipe_without_mistakes(
        project in "[A-Za-z0-9_.+-]{1,80}",
        version in "[v]?[0-9]{1,2}(\\.[0-9]{1,3}){0,3}[-a-z0-9]{0,6}",
        shared in any::<bool>(),
    ) {
        let dir = scratch();
        let kind = if shared { "SHARED" } else { "STATIC" };
        let text = format!("project({project} VERSION {version} LANGUAGES CXX)\nadd_library({project} {kind} a.cc)\n");
        fs_err::write(dir.path().join("CMakeLists.txt"), text).unwrap();
        fs_err::write(dir.path().join("a.cc"), "").unwrap();
        let run = |args: &[&str]| Ran::of(&mut simpack(dir.path(), args));
        let init = run(&["init", "--here"]);
        prop_assert_eq!(init.code, Some(0), "{}", init.stderr);
        let check = run(&["check"]);
        prop_assert_eq!(check.code, Some(0), "{}", check.stdout);
    }
}

/// Names of files are somebody else's: none of them ends a text or a comment of the recipe.
#[test]
fn names_of_files_stay_names() {
    let dir = scratch();
    let write = |path: &str, text: &str| {
        fs_err::create_dir_all(dir.path().join(path).parent().unwrap()).unwrap();
        fs_err::write(dir.path().join(path), text).unwrap();
    };
    write("CMakeLists.txt", "project(sim)\noption(A\"B \"\" ON)\nset(C.D native CACHE STRING \"\")\n");
    write("a\"b/[x].cu", "// cuModuleLoad\n");
    write("c\nname = \"other\"/x.cc", "cuModuleLoad();\n");
    write("notes\n[lint]\nallow = [\"monolithic\"]", "");
    let run = |args: &[&str]| Ran::of(&mut simpack(dir.path(), args));
    run(&["init", "--here"]).exit(0);
    let check = run(&["check", "--json"]).exit(0).json();
    let recipe = &check["recipes"][0];
    assert_eq!((&recipe["name"], &recipe["lint"]["levels"]["monolithic"]), (&"sim".into(), &serde_json::Value::Null));
    assert_eq!(recipe["groups"][0]["sources"][0], "a\"b/[x].cu");
}

/// A source distribution of the package index, unpacked; none where the index does not have it.
fn source_distribution(name: &str, version: &str, sha256: &str) -> Option<PathBuf> {
    let dir = scratch();
    let recipe = format!(
        "edition = 1\n[simulator]\nname = \"{name}\"\nversion = \"{version}\"\nlicense = \"MIT\"\nsummary = \"s\"\n\
         [source]\npypi = \"{name}\"\nversion = \"{version}\"\nsha256 = \"{sha256}\"\n\
         [matrix]\ncuda = [\"13.0\"]\ncapabilities = []\n[component.core]\n"
    );
    fs_err::write(dir.path().join("simpack.toml"), recipe).unwrap();
    let ran = Ran::of(&mut simpack(dir.path(), &["check"]));
    if ran.code != Some(0) {
        crate::support::skip(&format!("the source distribution of {name} is not here: {}{}", ran.stdout, ran.stderr));
        return None;
    }
    let sources = simpack::fs::cache_dir().unwrap().join("sources");
    let marks = fs_err::read_dir(sources).unwrap().map(|entry| entry.unwrap().path().join("source.json"));
    marks.filter(|mark| mark.is_file()).find_map(|mark| {
        let said: serde_json::Value = serde_json::from_str(&fs_err::read_to_string(&mark).unwrap()).unwrap();
        (said["source"]["pypi"]["sha256"] == sha256).then(|| mark.with_file_name(said["root"].as_str().unwrap()))
    })
}

/// Arbor as its authors ship it for Python: a source distribution that brings its dependencies and compiles CUDA within its
/// library.
#[test]
fn arbors_source_distribution_gets_a_recipe_with_few_edits() {
    let sha256 = "f68fffc6b3d311cbfbf45c5108394d275bec867139a2ba7e37bfb5d0437426f1";
    let Some(tree) = source_distribution("arbor", "0.10.0", sha256) else { return };
    let project = Project::of(&tree, &[]);
    let said = project.run(&["init", "--here"]).exit(0).stdout;
    assert!(said.contains("kept as they are: .gitignore"), "{said}");
    insta::assert_snapshot!(project.recipe());
    project.run(&["check"]).exit(0);
}
