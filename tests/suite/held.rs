//! The machine's g++, held to an older glibc: host code and what nvcc compiles, run as on a system of that age.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use simpack::arch::GlibcVersion;

use crate::contract::glibc_floor;
use crate::support::{Ran, conda_index, copy_tree, need, package_file, python, scratch, set_up, simpack, unpack};

/// What systems with glibc 2.28 have, as `manifests/glibc.toml` says.
const LEVEL: [&str; 4] = ["GLIBC=2.28", "GLIBCXX=3.4.24", "CXXABI=1.3.11", "GCC=7.0.0"];

/// This machine's libraries without the versions that those of an old system lack. What stands in is the set of versions, kept by
/// the loader itself; what the functions do is this machine's.
struct OldSystem(PathBuf);

impl OldSystem {
    fn new(dir: &Path) -> Self {
        let libraries = dir.join("old-system");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/setup/older-libraries");
        Ran::of(python().unwrap().arg(script).arg(&libraries).args(LEVEL)).exit(0);
        Self(libraries)
    }

    fn run(&self, program: &Path, args: &[&str]) -> Ran {
        let mut command = Command::new(self.0.join("ld-linux-x86-64.so.2"));
        command.args(["--inhibit-cache", "--library-path"]).arg(&self.0).arg(program).args(args).env_clear();
        Ran::of(&mut command)
    }
}

fn recipe(dir: &Path) {
    copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recipes/held"), &dir.join("recipe"));
}

/// Throws across libraries that g++ and nvcc compiled, starts threads, seeds a `random_device`, and uses what of the C++ library
/// is newer than that of the system: everything works where the loader has no newer version than the recipe's.
#[test]
fn host_code_and_what_nvcc_compiles_run_on_an_older_system() {
    need!(
        python().is_some() && which::which("g++").is_ok() && which::which("readelf").is_ok(),
        "no g++, python or readelf"
    );
    if set_up("SIMPACK_TEST_CUDA").is_none() {
        return;
    }
    let dir = scratch();
    recipe(dir.path());
    let cache = cache(dir.path(), "cache");
    let mut command = simpack(dir.path(), &["build", "recipe", "--json", "--format", "conda,wheel"]);
    let summary = Ran::of(command.env("SIMPACK_CACHE_DIR", &cache)).exit(0).json();
    let findings = summary["report"]["findings"].to_string();
    assert!(!findings.contains("ceiling"), "{findings}");

    let prefix = dir.path().join("prefix");
    let channel = dir.path().join("dist/conda");
    let files = ["bin/held", "lib/libheldio.so.0.3.0", "lib/libheld.so.0.3.0"];
    for package in ["held-core", "held-kernels-sm_90"] {
        let archive = package_file(&channel, package);
        unpack(&archive, "pkg", &prefix);
        let depends = conda_index(&archive)["depends"].to_string();
        let floor: Vec<&str> = depends.split("__glibc >=").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        let minor = |version: &&str| version.strip_prefix("2.").and_then(|minor| minor.parse::<u32>().ok());
        assert!(!floor.is_empty() && floor.iter().all(|version| minor(version) <= Some(28)), "{package}: {depends}");
        assert!(depends.contains("libstdcxx"), "{package}: {depends}");
    }
    for file in files {
        let floor = glibc_floor(&prefix.join(file)).unwrap();
        assert!(floor <= GlibcVersion::new(2, 28), "{file}: {floor}");
        // One C++ runtime: the shared one, and nothing of it is given to others.
        let said = |option: &str| {
            Ran::of(Command::new("readelf").args([option, "--wide"]).arg(prefix.join(file))).exit(0).stdout
        };
        assert!(said("--dynamic").contains("[libstdc++.so.6]"), "{file}");
        let exported = said("--dyn-syms");
        let own = |line: &&str| {
            line.contains("GLOBAL DEFAULT") && !line.contains(" UND ") && line.contains("_ZNSt10filesystem")
        };
        assert_eq!(exported.lines().find(own), None, "{file}");
    }
    let wheels: Vec<String> = fs_err::read_dir(dir.path().join("dist/wheel"))
        .map(|entries| entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect())
        .unwrap_or_default();
    let tagged = wheels.iter().filter(|name| name.contains("manylinux_2_"));
    let above = |name: &&String| {
        name.split("manylinux_2_").nth(1).and_then(|rest| rest.split('_').next()?.parse::<u32>().ok()) > Some(28)
    };
    assert!(tagged.clone().count() > 0 && !tagged.clone().any(|name| above(&name)), "{wheels:?}");

    let old = OldSystem::new(dir.path());
    let ran = old.run(&prefix.join("bin/held"), &[]).exit(0);
    assert_eq!(ran.stdout, "all is well\n", "{}", ran.stderr);

    // What the same compiler makes without a ceiling does not start there.
    let source = dir.path().join("recipe/src");
    let newer = dir.path().join("newer");
    let mut compiler = Command::new("g++");
    compiler
        .args(["-std=c++17", "-shared", "-fPIC", "-o"])
        .arg(dir.path().join("libnewer.so"))
        .arg(source.join("io.cc"));
    Ran::of(&mut compiler).exit(0);
    fs_err::write(dir.path().join("newer.cc"), "#include \"held.h\"\nint main() { return held_text(0.1).empty(); }\n")
        .unwrap();
    let mut compiler = Command::new("g++");
    compiler.args(["-std=c++17", "-o"]).arg(&newer).arg("-I").arg(&source).arg(dir.path().join("newer.cc"));
    Ran::of(compiler.arg(dir.path().join("libnewer.so"))).exit(0);
    let ran = old.run(&newer, &[]);
    assert_ne!(ran.code, Some(0));
    assert!(ran.stderr.contains("GLIBC_2.34' not found"), "{}", ran.stderr);

    what_is_newer_is_apart(&held(&cache).join("usr/lib"));
    links_of_all_kinds_run_there(&held(&cache).join("bin/g++"), dir.path(), &old);
    the_same_in_another_cache(dir.path(), &cache);
}

/// The directory of a cache that stands for the old system.
fn held(cache: &Path) -> PathBuf {
    let toolchains = fs_err::read_dir(cache.join("toolchains")).unwrap().map(|entry| entry.unwrap().path());
    let is_held = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("glibc-2.28-");
    let mut found: Vec<PathBuf> = toolchains.filter(is_held).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

/// A cache with this user's toolchains, but for what is made from them.
fn cache(dir: &Path, name: &str) -> PathBuf {
    let (real, own) = (simpack::fs::cache_dir().unwrap(), dir.join(name));
    fs_err::create_dir_all(own.join("toolchains")).unwrap();
    for entry in fs_err::read_dir(real.join("toolchains")).unwrap().map(|entry| entry.unwrap()) {
        let name = entry.file_name().into_string().unwrap();
        if !name.starts_with("glibc-") && !name.starts_with('.') {
            let link = own.join("toolchains").join(name);
            fs_err::os::unix::fs::symlink(fs_err::canonicalize(entry.path()).unwrap(), link).unwrap();
        }
    }
    own
}

/// The directory that stands for the old system is the same, byte for byte, wherever it is made; so is what it makes.
fn the_same_in_another_cache(dir: &Path, real: &Path) {
    let other = cache(dir, "other-cache");
    let mut command = simpack(dir, &["build", "recipe", "--format", "conda", "--dist", "dist-2", "--work", "work-2"]);
    let said = Ran::of(command.env("SIMPACK_CACHE_DIR", &other)).exit(0);
    assert!(said.stderr.contains("toolchain  glibc 2.28 for g++ "), "{}", said.stderr);
    let (first, second) = (held(real), held(&other));
    let compared = Ran::of(Command::new("diff").args(["-r", "--no-dereference"]).arg(first).arg(second));
    assert_eq!(compared.code, Some(0), "{}{}", compared.stdout, compared.stderr);
    let [first, second] = ["dist", "dist-2"].map(|dist| package_file(&dir.join(dist).join("conda"), "held-core"));
    assert_eq!(fs_err::read(first).unwrap(), fs_err::read(second).unwrap());
}

/// No object that is linked into others defines what the shared library of an old system has, as `nm` sees both: there is one
/// set of streams, locales and exception types.
fn what_is_newer_is_apart(lib: &Path) {
    let names = |options: &[&str], file: &str| -> BTreeSet<String> {
        let said = Ran::of(Command::new("nm").args(options).arg(lib.join(file))).exit(0).stdout;
        let names = said.lines().filter_map(|line| line.rsplit_once(' ')).map(|(_, name)| name);
        names.map(|name| name.split('@').next().unwrap().to_owned()).collect()
    };
    let shared = names(&["-D", "--defined-only"], "libstdc++.so.6");
    let newer = names(&["-g", "--defined-only"], "libstdc++_nonshared.a");
    assert!(shared.contains("_ZSt4cout") && shared.contains("_ZTISt9exception"));
    assert!(newer.iter().any(|name| name.starts_with("_ZNSt10filesystem")));
    assert_eq!(newer.intersection(&shared).collect::<Vec<_>>(), [""; 0]);
}

/// Links of other kinds. Static C++ libraries need functions of newer glibcs, for which others stand in; a program throws
/// through them.
fn links_of_all_kinds_run_there(compiler: &Path, dir: &Path, old: &OldSystem) {
    let program = "#include <filesystem>\n#include <iostream>\n#include <random>\n#include <thread>\nint main() {\n\
                   std::thread thread([] { try { throw std::random_device()(); } catch (unsigned) { std::cout << \"caught\\n\"; } });\n\
                   thread.join();\nreturn std::filesystem::exists(\"/\") ? 0 : 1;\n}\n";
    fs_err::write(dir.join("program.cc"), program).unwrap();
    for flags in ["-static-libstdc++ -static-libgcc", "-no-pie -O2", "-flto", "-fopenmp -g"] {
        let mut call = Command::new(compiler);
        call.current_dir(dir).args(["-std=c++17", "program.cc", "-o", "program"]).args(flags.split(' '));
        Ran::of(&mut call).exit(0);
        let ran = old.run(&dir.join("program"), &[]).exit(0);
        assert_eq!(ran.stdout, "caught\n", "{flags}: {}", ran.stderr);
        // The place of the cache is in no file.
        let bytes = fs_err::read(dir.join("program")).unwrap();
        let place = compiler.parent().unwrap().parent().unwrap().to_str().unwrap().as_bytes();
        assert!(!bytes.windows(place.len()).any(|window| window == place), "{flags}");
    }
}

/// What cannot be done is said at the key, before anything is fetched or compiled.
#[test]
fn check_says_where_a_compiler_cannot_be_held() {
    need!(which::which("g++").is_ok(), "no g++");
    let dir = scratch();
    recipe(dir.path());
    let file = dir.path().join("recipe/simpack.toml");
    let text = fs_err::read_to_string(&file).unwrap();
    let check = |text: &str, cxx: Option<&Path>, code: i32| {
        fs_err::write(&file, text).unwrap();
        let mut command = simpack(dir.path(), &["check", "recipe"]);
        command.env("SIMPACK_CACHE_DIR", dir.path().join("cache")).env_remove("CXX");
        if let Some(cxx) = cxx {
            command.env("CXX", cxx);
        }
        let ran = Ran::of(&mut command).exit(code);
        (ran.stdout + &ran.stderr).replace(dir.path().to_str().unwrap(), "DIR")
    };
    assert!(check(&text, None, 0).contains("the machine's compiler, for glibc 2.28"));
    let said = check(&text.replace("\"2.28\"", "\"2.17\""), None, 3);
    assert!(said.contains("can be held to glibc 2.28 or newer, not to 2.17") && said.contains("^^^^^^"), "{said}");
    let said = check(&text.replace("\"2.28\"", "\"2.29\""), None, 3);
    assert!(said.contains("no manylinux level has glibc 2.29"), "{said}");
    let compiler = |name: &str, banner: &str, version: &str, machine: &str| {
        let path = dir.path().join(name);
        let script = format!(
            "#!/bin/sh\ncase \"$*\" in *--version*) echo '{banner}';; *machine*) echo {machine};; *print-file*) echo x;; *) echo {version};; esac\n"
        );
        fs_err::write(&path, script).unwrap();
        simpack::fs::set_mode(&path, 0o755).unwrap();
        path
    };
    for (name, banner, version, machine, why) in [
        ("clang++", "clang version 14.0.6", "14.0.6", "x86_64-linux-gnu", "only g++ can"),
        ("g++-99", "g++ (GCC) 99.1.0", "99.1.0", "x86_64-linux-gnu", "it was tried with g++ 11 to 14"),
        ("g++-arm", "g++ (GCC) 12.2.0", "12.2.0", "aarch64-linux-gnu", "it compiles for aarch64-linux-gnu"),
        ("g++-bare", "g++ (GCC) 12.2.0", "12.2.0", "x86_64-linux-gnu", "it comes without libstdc++.a"),
    ] {
        let said = check(&text, Some(&compiler(name, banner, version, machine)), 3);
        assert!(said.contains("cannot be held to glibc 2.28") && said.contains(why), "{name}: {said}");
        assert!(
            said.contains("host = { use = \"system\", glibc = \"2.28\" }") && said.contains("^^^^^^"),
            "{name}: {said}"
        );
    }
}
