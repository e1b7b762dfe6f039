//! Builds that need libraries of others: out of a channel, locked and in dependencies of the packages; or the machine's.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;
use simpack::fs::Digest;
use tempfile::TempDir;

use crate::generating_conda::compilers;
use crate::support::{
    Ran, client, conda_index, copy_tree, digests, files, package_file, scratch, set_up, simpack, unpack,
};

/// The recipe beside a channel, in a directory of its own.
struct Linked {
    root: TempDir,
}

impl Linked {
    fn new() -> Option<Self> {
        let channel = set_up("SIMPACK_TEST_CHANNEL")?;
        let root = scratch();
        copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recipes/linked"), &root.path().join("recipe"));
        fs_err::os::unix::fs::symlink(channel, root.path().join("channel")).unwrap();
        Some(Self { root })
    }

    fn path(&self, below: &str) -> PathBuf {
        self.root.path().join(below)
    }

    fn change(&self, file: &str, from: &str, to: &str) {
        let path = self.path(file);
        let text = fs_err::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{text}");
        fs_err::write(path, text.replace(from, to)).unwrap();
    }

    fn simpack(&self, args: &[&str]) -> Ran {
        Ran::of(&mut simpack(&self.path("recipe"), args))
    }

    /// A build with a cache of steps of its own.
    fn build(&self, more: &[&str]) -> Ran {
        let work = ["build", "--work", "../work", "--dist", "../dist", "--json"];
        Ran::of(simpack(&self.path("recipe"), &[&work, more].concat()).env("SIMPACK_CACHE_SIZE", "1G"))
    }

    fn depends(&self, package: &str) -> Vec<String> {
        let index = conda_index(&package_file(&self.path("dist/conda"), package));
        index["depends"].as_array().unwrap().iter().map(|spec| spec.as_str().unwrap().to_owned()).collect()
    }
}

/// The recipe, locked and built once.
fn linked() -> Option<&'static Linked> {
    static LINKED: OnceLock<Option<Linked>> = OnceLock::new();
    let made = LINKED.get_or_init(|| {
        let linked = Linked::new()?;
        linked.simpack(&["lock"]).exit(0);
        linked.build(&["--locked"]).exit(0);
        Some(linked)
    });
    made.as_ref()
}

#[test]
fn the_lock_holds_every_package_with_its_digest() {
    let Some(linked) = linked() else { return };
    let lock: toml::Table = fs_err::read_to_string(linked.path("recipe/simpack.lock")).unwrap().parse().unwrap();
    let dependencies = &lock["dependencies"];
    assert_eq!(dependencies["needs"].to_string(), r#"["hdf5 >=1.10,<2", "openmpi >=4"]"#);
    let packages = dependencies["package"].as_array().unwrap();
    // What HDF5 needs in turn is there, too.
    let names: Vec<&str> = packages.iter().map(|package| package["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["hdf5", "libaec", "mpi", "openmpi"]);
    for package in packages {
        let file = linked.path("recipe").join(package["url"].as_str().unwrap());
        assert_eq!(Digest::of_file(&file).unwrap().to_string(), package["sha256"].as_str().unwrap());
        assert_eq!(fs_err::metadata(&file).unwrap().len() as i64, package["size"].as_integer().unwrap());
    }
    linked.simpack(&["lock", "--check", "--offline"]).exit(0);
}

#[test]
fn vendored_packages_serve_a_build_without_their_channel() {
    let Some(linked) = linked() else { return };
    let list = linked.simpack(&["vendor", ".", "--output", "../vendored", "--locked", "--json"]).exit(0).json();
    let lock: toml::Table = fs_err::read_to_string(linked.path("recipe/simpack.lock")).unwrap().parse().unwrap();
    for package in lock["dependencies"]["package"].as_array().unwrap() {
        let sha256 = package["sha256"].as_str().unwrap();
        assert!(list["files"].as_array().unwrap().iter().any(|file| file["sha256"] == sha256), "{package}: {list}");
    }
    // A machine that has the compilers, and of the channel an empty directory.
    let there = scratch();
    copy_tree(&linked.path("recipe"), &there.path().join("recipe"));
    let cache = there.path().join("cache");
    for dir in ["cache", "channel"] {
        fs_err::create_dir(there.path().join(dir)).unwrap();
    }
    let user = fs_err::canonicalize(simpack::fs::cache_dir().unwrap()).unwrap();
    for name in ["toolchains", "zig", "artifacts", "headers"] {
        fs_err::os::unix::fs::symlink(user.join(name), cache.join(name)).unwrap();
    }
    let build = |vendored: bool| {
        let args = ["build", "--offline", "--locked", "--work", "../work", "--dist", "../dist"];
        let mut command = simpack(&there.path().join("recipe"), &args);
        command.env("SIMPACK_CACHE_DIR", &cache);
        if vendored {
            command.env("SIMPACK_VENDOR_DIR", linked.path("vendored"));
        }
        Ran::of(&mut command)
    };
    assert_ne!(build(false).code, Some(0));
    build(true).exit(0);
    let packages = |root: &Path| {
        let all = digests(root).into_iter().filter(|(path, _)| path.ends_with(".conda"));
        all.collect::<Vec<_>>()
    };
    assert_eq!(packages(&there.path().join("dist")), packages(&linked.path("dist")));
}

#[test]
fn packages_depend_on_what_they_are_linked_with_and_hold_none_of_it() {
    let Some(linked) = linked() else { return };
    let depends = linked.depends("linked-core").join("\n");
    for spec in ["hdf5 >=1.10.8,<1.10.9.0a0", "openmpi >=4.1.4,<5.0a0"] {
        assert!(depends.contains(spec), "{depends}");
    }
    // libaec is HDF5's own business.
    assert!(!depends.contains("libaec"), "{depends}");
    let core = linked.path("core");
    unpack(&package_file(&linked.path("dist/conda"), "linked-core"), "pkg", &core);
    let held: Vec<String> = files(&core).into_iter().filter(|path| !path.starts_with("share/simpack/")).collect();
    let expected = ["bin/linked", "lib/liblinked.so.0.4.0"];
    assert_eq!(held, expected);
    let manifest: Value =
        serde_json::from_slice(&fs_err::read(core.join("share/simpack/linked-core/simpack.json")).unwrap()).unwrap();
    let outside: Vec<&str> =
        manifest["outside"].as_array().unwrap().iter().map(|one| one["library"].as_str().unwrap()).collect();
    assert_eq!(outside, ["libhdf5_serial.so.103", "libmpi.so.40"]);
    // No directory of this machine is in the files, though the prefix lies in the cache.
    let report = linked.simpack(&["verify", "../dist", "--json"]).exit(0).json();
    assert_eq!(report["findings"].as_array().unwrap().iter().filter(|it| it["level"] == "deny").count(), 0, "{report}");
    let plan = linked.simpack(&["plan", "--json"]).exit(0).json().to_string();
    assert!(plan.contains("package hdf5") && plan.contains("package libaec"), "{plan}");
}

/// Installs it with py-rattler into a prefix and runs it, as in an activated environment.
fn installed_and_run(linked: &Linked) -> Option<()> {
    let mut vendor = client("vendor.py")?;
    // What g++ links, which conda's compilers bring as packages.
    let runtime = linked.path("runtime");
    let beside = |name: &str| {
        let said = Ran::of(Command::new("g++").arg(format!("-print-file-name={name}"))).exit(0).stdout;
        fs_err::canonicalize(said.trim()).unwrap().parent().unwrap().to_owned()
    };
    Ran::of(vendor.arg(&runtime).args(["libstdcxx", "99.0"]).arg(beside("libstdc++.so.6"))).exit(0);
    let mut vendor = client("vendor.py")?;
    Ran::of(vendor.arg(&runtime).args(["libgcc", "99.0"]).arg(beside("libgcc_s.so.1"))).exit(0);
    let prefix = linked.path("prefix");
    let mut install = client("install.py").unwrap();
    for channel in [linked.path("dist/conda"), linked.path("channel"), runtime] {
        install.arg("--channel").arg(channel);
    }
    let installed = Ran::of(install.arg("--prefix").arg(&prefix).arg("linked")).exit(0).json();
    let names: Vec<&str> =
        installed.as_array().unwrap().iter().map(|package| package["name"].as_str().unwrap()).collect();
    for name in ["linked-core", "hdf5", "libaec", "openmpi"] {
        assert!(names.contains(&name), "{names:?}");
    }
    // As in an activated environment, and of nothing else of this machine's.
    let activate = r#". "$CONDA_PREFIX/etc/conda/activate.d/openmpi.sh"; exec "$CONDA_PREFIX/bin/linked" "$1""#;
    let mut run = Command::new("sh");
    run.env_clear().env("PATH", "/usr/bin:/bin").env("CONDA_PREFIX", &prefix).args(["-c", activate, "sh"]);
    let said = Ran::of(run.arg(linked.path("field.h5"))).exit(0).json();
    assert_eq!(said, serde_json::json!({"rank": 0, "size": 1, "sum": 5050.0}));
    assert!(fs_err::read(linked.path("field.h5")).unwrap().starts_with(b"\x89HDF"));
    Some(())
}

#[test]
fn a_client_installs_it_with_its_dependencies_and_it_runs() {
    let Some(linked) = linked() else { return };
    if installed_and_run(linked).is_none() {
        return;
    }
    // The doctor sees the same libraries in the prefix.
    let mut resolve = simpack(linked.root.path(), &["resolve", "prefix/bin/linked", "--json"]);
    let report = Ran::of(&mut resolve).exit(0).json();
    assert_eq!(report["files"][0]["report"]["verdict"], "pass");
    assert!(report.to_string().contains("prefix/bin/../lib/libhdf5_serial.so.103"));
}

#[test]
fn the_pinned_compiler_links_with_packages_that_have_an_interface_of_c() {
    let Some(linked) = Linked::new() else { return };
    linked.change("recipe/simpack.toml", "host = { use = \"system\" }", "host = \"zig\"");
    linked.simpack(&["lock"]).exit(0);
    linked.build(&["--locked"]).exit(0);
    // The code is for the recipe's glibc, whichever the packages were made with; nothing of g++ is in it.
    let depends = linked.depends("linked-core");
    let names: Vec<&str> = depends.iter().map(|spec| spec.split(' ').next().unwrap()).collect();
    assert_eq!(names, ["__glibc", "hdf5", "openmpi"]);
    installed_and_run(&linked);
}

#[test]
fn another_builder_is_given_the_same() {
    let Some(linked) = linked() else { return };
    let Some(cuda) = set_up("SIMPACK_TEST_CUDA") else { return };
    let Ok(gxx) = which::which("g++") else { return crate::support::skip("no g++") };
    let dir = scratch();
    let at = |below: &str| dir.path().join(below);
    copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recipes/linked"), &at("recipe"));
    fs_err::os::unix::fs::symlink(linked.path("channel"), at("channel")).unwrap();
    Ran::of(&mut simpack(dir.path(), &["generate", "conda", "recipe"])).exit(0);
    let compilers = compilers(dir.path(), &gxx, &cuda);
    let mut command = client("build.py").unwrap();
    command.arg(at("recipe/packaging/conda/recipe.yaml")).arg("--channel").arg(&compilers);
    command.arg("--channel").arg(linked.path("channel"));
    // It installs core with what that depends on and runs its test there.
    Ran::of(command.arg("--output").arg(at("theirs")).arg("--variants").arg(at("variants.yaml"))).exit(0);
    let theirs = conda_index(&package_file(&at("theirs"), "linked-core"));
    let asked = |depends: Vec<String>| -> Vec<String> {
        let is_asked = |spec: &String| spec.starts_with("hdf5") || spec.starts_with("openmpi");
        let mut asked: Vec<String> = depends.into_iter().filter(is_asked).collect();
        asked.sort();
        asked
    };
    let theirs = theirs["depends"].as_array().unwrap().iter().map(|spec| spec.as_str().unwrap().to_owned()).collect();
    assert_eq!(asked(theirs), asked(linked.depends("linked-core")));
    // Where conda's names mean nothing, it is said.
    let refused = Ran::of(&mut simpack(dir.path(), &["generate", "nix", "recipe"])).exit(3);
    assert!(refused.stderr.contains("cannot bring `hdf5`"), "{}", refused.stderr);
}

#[test]
fn what_is_locked_is_built_until_the_recipe_asks_for_something_else() {
    let Some(linked) = Linked::new() else { return };
    let stale = linked.build(&["--locked"]);
    assert!(stale.code != Some(0) && stale.stderr.contains("there is no"), "{}", stale.stderr);
    linked.simpack(&["lock"]).exit(0);
    linked.change("recipe/simpack.toml", "hdf5 >=1.10,<2", "hdf5 >=1.10.8,<2");
    let stale = linked.simpack(&["lock", "--check"]);
    assert_ne!(stale.code, Some(0));
    assert!(stale.stderr.contains("dependencies: hdf5 >=1.10,<2, openmpi >=4 from ../channel ->"), "{}", stale.stderr);
    let locked = linked.build(&["--locked", "--offline"]);
    assert!(locked.code != Some(0) && locked.stderr.contains("would change"), "{}", locked.stderr);
    linked.simpack(&["lock"]).exit(0);
    linked.simpack(&["lock", "--check"]).exit(0);
    // What a failing compiler names of the packages is declared.
    let cmake = fs_err::read_to_string(linked.path("recipe/CMakeLists.txt")).unwrap();
    linked.change("recipe/CMakeLists.txt", "target_compile_definitions(program PRIVATE OMPI_SKIP_MPICXX)", "");
    let failed = linked.build(&["--locked"]).exit(5);
    assert!(failed.stderr.contains("mpi.h") && !failed.stderr.contains("undeclared read"), "{}", failed.stderr);
    fs_err::write(linked.path("recipe/CMakeLists.txt"), cmake).unwrap();
    // A digest that is not the file's.
    let lock = fs_err::read_to_string(linked.path("recipe/simpack.lock")).unwrap();
    let digest = lock.lines().filter_map(|line| line.strip_prefix("sha256 = ")).next_back().unwrap().to_owned();
    let last = lock.rfind(&digest).unwrap();
    let wrong = format!("{}\"{}\"{}", &lock[..last], "0".repeat(64), &lock[last + digest.len()..]);
    fs_err::write(linked.path("recipe/simpack.lock"), wrong).unwrap();
    let refused = linked.build(&["--locked"]);
    assert!(
        refused.stderr.contains("is not the pinned file") && refused.stderr.contains("simpack.lock"),
        "{}",
        refused.stderr
    );
    linked.simpack(&["lock", "--update", "dependencies"]).exit(0);
    assert_eq!(fs_err::read_to_string(linked.path("recipe/simpack.lock")).unwrap(), lock);
    // Packages that do not fit together, and one that nobody has.
    linked.change("recipe/simpack.toml", "openmpi >=4", "openmpi >=9");
    let unsolved = linked.simpack(&["lock"]);
    assert!(unsolved.stderr.contains("fit together") && unsolved.stderr.contains("openmpi"), "{}", unsolved.stderr);
}

#[test]
fn what_comes_from_the_machine_is_said() {
    let has = Command::new("pkg-config").args(["--exists", "libcrypt"]).status().is_ok_and(|status| status.success());
    if !has {
        return crate::support::skip("pkg-config knows no libcrypt here");
    }
    let root = scratch();
    let linked = Linked { root };
    copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recipes/linked"), &linked.path("recipe"));
    linked.change(
        "recipe/simpack.toml",
        r#"needs = ["hdf5 >=1.10,<2", "openmpi >=4"]"#,
        r#"needs = ["system:libcrypt >=4"]"#,
    );
    linked.change("recipe/simpack.toml", "[dependencies]\nchannels = [\"../channel\"]\n", "");
    linked.change("recipe/simpack.toml", "options = { LINKED_BUILT_WITH = \"{dependencies}\" }\n", "");
    fs_err::write(
        linked.path("recipe/CMakeLists.txt"),
        "cmake_minimum_required(VERSION 3.24)\nproject(linked LANGUAGES CXX)\nadd_library(linked SHARED field.cc)\n\
         set_target_properties(linked PROPERTIES VERSION 0.4.0 SOVERSION 0)\ntarget_link_libraries(linked PRIVATE crypt)\n\
         install(TARGETS linked)\ninstall(FILES field.h DESTINATION include)\n",
    )
    .unwrap();
    fs_err::write(
        linked.path("recipe/field.cc"),
        "extern \"C\" char *crypt(const char *, const char *);\nchar *linked_hash() { return crypt(\"a\", \"bc\"); }\n",
    )
    .unwrap();
    linked.change(
        "recipe/simpack.toml",
        r#"files = ["lib/liblinked.so.*", "bin/linked"]"#,
        r#"files = ["lib/liblinked.so.*"]"#,
    );
    let built = linked.build(&[]).exit(0).json();
    let found: Vec<&Value> =
        built["report"]["findings"].as_array().unwrap().iter().filter(|it| it["lint"] == "system-library").collect();
    assert_eq!(found.len(), 1, "{built}");
    assert!(found[0].to_string().contains("libcrypt.so.1"), "{}", found[0]);
    assert!(linked.depends("linked-core").iter().all(|spec| !spec.contains("crypt")));
    let plan = linked.simpack(&["plan", "--json"]).exit(0).json().to_string();
    assert!(plan.contains("system libcrypt"), "{plan}");
    linked.change("recipe/simpack.toml", "libcrypt >=4", "libcrypt >=99");
    let absent = linked.build(&[]);
    assert!(absent.stderr.contains("this machine has no libcrypt >= 99"), "{}", absent.stderr);
}
