//! What a user of `simpack resolve` sees.

use std::path::Path;

use super::oracle::LOADER;
use super::rules::Bench;
use crate::patching::compiler;
use crate::support::{Ran, need, set_up, simpack, tool};

fn resolve(bench: &Bench, args: &[&str]) -> Ran {
    Ran::of(&mut simpack(bench.path(), &[&["resolve"], args].concat()))
}

macro_rules! bench {
    () => {{
        need!(compiler().is_some() && Path::new(LOADER).exists(), "no C compiler or no glibc on x86-64");
        Bench::new()
    }};
}

/// A program, a library that it needs, a twin elsewhere.
fn small(bench: &Bench) {
    bench.library("lib/liba.so.1", &[], &[]);
    bench.copy("lib/liba.so.1", "env/liba.so.1");
    bench.program("bin/main", &["lib/liba.so.1"], &["-Wl,--enable-new-dtags", "-Wl,-rpath,$ORIGIN/../lib"]);
}

#[test]
fn the_winner_the_losers_and_the_rules() {
    let bench = bench!();
    small(&bench);
    let ran = resolve(&bench, &["bin/main"]).exit(0);
    assert!(ran.stdout.contains("RUNPATH $ORIGIN/../lib of main"), "{}", ran.stdout);
    let set = format!("LD_LIBRARY_PATH={}", bench.at("env"));
    let ran = resolve(&bench, &["bin/main", "--env", &set]).exit(0);
    for text in ["not reached: RUNPATH", "LD_LIBRARY_PATH", "warn  load-environment", "else "] {
        assert!(ran.stdout.contains(text), "{text}: {}", ran.stdout);
    }
    let json = resolve(&bench, &["bin/main", "--env", &set, "--json"]).exit(0).json();
    assert_eq!(json["schema"], 1);
    let file = &json["files"][0];
    assert_eq!(file["loader"]["libc"], "glibc");
    let link = file["links"].as_array().unwrap().iter().find(|link| link["name"] == "liba.so.1").unwrap();
    assert_eq!((&link["end"], &link["by"]["rule"]), (&"found".into(), &"library-path".into()));
    assert_eq!(link["candidates"][1]["outcome"], "shadowed");
    // The variable of the call counts, unless it is unset for the answer.
    let mut command = simpack(bench.path(), &["resolve", "bin/main"]);
    assert!(Ran::of(command.env("LD_LIBRARY_PATH", bench.at("env"))).stdout.contains("load-environment"));
    let mut command = simpack(bench.path(), &["resolve", "bin/main", "--env", "LD_LIBRARY_PATH="]);
    assert!(!Ran::of(command.env("LD_LIBRARY_PATH", bench.at("env"))).stdout.contains("load-environment"));
    let secure = resolve(&bench, &["bin/main", "--secure", "--env", &set]);
    assert!(!secure.stdout.contains("load-environment"), "{}", secure.stdout);
}

#[test]
fn what_is_missing_denies_and_impossible_calls_are_refused() {
    let bench = bench!();
    small(&bench);
    fs_err::remove_file(bench.path().join("lib/liba.so.1")).unwrap();
    let ran = resolve(&bench, &["bin/main"]).exit(1);
    assert!(ran.stdout.contains("deny  load-missing") && ran.stdout.contains("not found"), "{}", ran.stdout);
    resolve(&bench, &["bin/none"]).exit(6);
    resolve(&bench, &["bin"]).exit(6);
    fs_err::write(bench.path().join("text"), "no library").unwrap();
    resolve(&bench, &["text"]).exit(6);
    resolve(&bench, &["bin/main", "--profile", "amiga"]).exit(2);
    resolve(&bench, &["bin/main", "--env", "HOME=/"]).exit(2);
    resolve(&bench, &["bin/main", "--profile", "wsl", "--libc", "musl"]).exit(2);
    resolve(&bench, &["bin/main", "bin/main", "--svg", "x.svg"]).exit(2);
}

#[test]
fn trees_graphs_and_pictures() {
    let bench = bench!();
    small(&bench);
    let tree = resolve(&bench, &["--tree", "bin/main"]).exit(0).stdout;
    let first = format!("{} (interpreter => {LOADER})", bench.at("bin/main"));
    assert_eq!(tree.lines().next(), Some(&*first));
    assert!(tree.contains("\n    liba.so.1 => ") && tree.contains("\n    libc.so.6 => /"), "{tree}");
    let dot = resolve(&bench, &["--dot", "bin/main"]).exit(0).stdout;
    assert!(dot.starts_with("digraph process {") && dot.contains("label=\"RUNPATH\""), "{dot}");
    resolve(&bench, &["--svg", "out/process.svg", "bin/main"]).exit(0);
    let svg = fs_err::read_to_string(bench.path().join("out/process.svg")).unwrap();
    assert!(svg.contains("<svg") && svg.contains("liba.so.1") && svg.trim_end().ends_with("</svg>"), "{svg}");
    // The peer finds the same files.
    let Some(lddtree) = tool("lddtree") else { return };
    let list = |text: &str| -> std::collections::BTreeSet<String> {
        let lines = text.lines().skip(1).filter_map(|line| line.trim().split_once(" => "));
        lines.map(|(name, path)| format!("{name} {}", path.rsplit('/').next().unwrap())).collect()
    };
    let mut command = std::process::Command::new("/usr/bin/python3");
    let ran = Ran::of(command.arg(lddtree).arg(bench.at("bin/main"))).exit(0);
    assert_eq!(list(&tree), list(&ran.stdout));
}

#[test]
fn every_finding_fires_and_is_silent_on_a_look_alike() {
    let bench = bench!();
    let path = |text: &str| format!("-Wl,-rpath,{text}");
    let program = |name: &str, needs: &[&str], directories: &str| {
        let directories = path(directories);
        bench.program(name, needs, &["-Wl,--enable-new-dtags", &directories]);
    };
    let fired = |file: &str, args: &[&str], lint: &str| {
        let json = resolve(&bench, &[args, &[file, "--json"]].concat()).json();
        let findings = json["files"][0]["report"]["findings"].as_array().unwrap().clone();
        findings.iter().any(|finding| finding["lint"] == lint)
    };
    // A stub that wins, and a directory of that sound.
    bench.library("toolkit/lib/stubs/libcuda.so.1", &[], &[]);
    bench.copy("toolkit/lib/stubs/libcuda.so.1", "toolkit/lib/stubsy/libcuda.so.1");
    program("stub", &["toolkit/lib/stubs/libcuda.so.1"], "$ORIGIN/toolkit/lib/stubs");
    program("no-stub", &["toolkit/lib/stubs/libcuda.so.1"], "$ORIGIN/toolkit/lib/stubsy");
    assert!(fired("stub", &[], "load-stub") && !fired("no-stub", &[], "load-stub"));
    bench.copy("toolkit/lib/stubs/libcuda.so.1", "opt/cuda-13.0/compat/libcuda.so.1");
    let compat = format!("LD_LIBRARY_PATH={}", bench.at("opt/cuda-13.0/compat"));
    assert!(fired("no-stub", &["--env", &compat], "load-stub"), "the compat directory wins");
    // Two files for one SONAME: one by name, one by path.
    bench.library("lib/libone.so", &[], &[]);
    bench.copy("lib/libone.so", "other/libone.so");
    program("once", &["lib/libone.so"], "$ORIGIN/lib");
    assert!(!fired("once", &["--dlopen", &bench.at("lib/libone.so")], "load-twice"));
    assert!(fired("once", &["--dlopen", &bench.at("other/libone.so")], "load-twice"));
    // A vendor library of the system: a configured directory of a root.
    bench.library("root/usr/lib/libcudart.so.13", &[], &[]);
    bench.program("root/opt/app/from-system", &["root/usr/lib/libcudart.so.13"], &[]);
    bench.program(
        "root/opt/app/own",
        &["root/usr/lib/libcudart.so.13"],
        &["-Wl,--enable-new-dtags", "-Wl,-rpath,$ORIGIN/lib"],
    );
    bench.copy("root/usr/lib/libcudart.so.13", "root/opt/app/lib/libcudart.so.13");
    let root = ["--root", "root"];
    assert!(fired("/opt/app/from-system", &root, "load-vendor-system"));
    assert!(!fired("/opt/app/own", &root, "load-vendor-system"));
    // A library for another processor before the right one.
    let mut bytes = fs_err::read(bench.path().join("lib/libone.so")).unwrap();
    bytes[18] = 183;
    fs_err::create_dir_all(bench.path().join("arm")).unwrap();
    fs_err::write(bench.path().join("arm/libone.so"), bytes).unwrap();
    program("arm-first", &["lib/libone.so"], "$ORIGIN/arm:$ORIGIN/lib");
    assert!(fired("arm-first", &[], "load-wrong-machine") && !fired("once", &[], "load-wrong-machine"));
    // Entries that do not exist or count from the current directory.
    program("gone", &["lib/libone.so"], "$ORIGIN/lib:/no/such/place");
    program("relative", &["lib/libone.so"], "lib");
    assert!(fired("gone", &[], "load-path") && fired("relative", &[], "load-path"));
    assert!(!fired("once", &[], "load-path"));
    program("driver", &["lib/libone.so"], "$ORIGIN/lib:/usr/lib/wsl/lib:/run/opengl-driver/lib");
    assert!(!fired("driver", &[], "load-path"), "where the driver is on other machines");
    assert!(!fired("gone", &["--allow", "load-path"], "load-path"));
    resolve(&bench, &["gone", "--deny", "load-path"]).exit(1);
    resolve(&bench, &["gone", "--deny", "load-paths"]).exit(2);
    // A library of the same name without the version that is needed.
    let map = |nodes: &str| fs_err::write(bench.path().join("map"), nodes).unwrap();
    let script = format!("-Wl,--version-script={}", bench.at("map"));
    let flags = ["-shared", "-fPIC", "-nostdlib", "-Wl,-soname,libv.so", script.as_str()];
    map("V_1 { global: one; }; V_2 { global: two; } V_1;");
    bench.build("new/libv.so", "int one(void) { return 1; } int two(void) { return 2; }", &flags, &[]);
    map("V_1 { global: one; local: *; };");
    bench.build("old/libv.so", "int one(void) { return 1; }", &flags, &[]);
    let source = "int two(void); int main(void) { return two(); }";
    let new = path(&bench.at("new"));
    bench.build("versioned", source, &["-Wl,--enable-new-dtags", &new], &["new/libv.so"]);
    let old = format!("LD_LIBRARY_PATH={}", bench.at("old"));
    assert!(!fired("versioned", &[], "load-version") && fired("versioned", &["--env", &old], "load-version"));
    let ran = resolve(&bench, &["versioned", "--env", &old]).exit(1);
    assert!(ran.stdout.contains("needs V_2 of") && ran.stdout.contains("old/libv.so"), "{}", ran.stdout);
}

#[test]
fn profiles_over_this_machine_and_over_a_root() {
    let bench = bench!();
    small(&bench);
    let asked = |args: &[&str]| {
        let json = resolve(&bench, &[args, &["bin/main", "--dlopen", "libcuda.so.1", "--json"]].concat()).json();
        let links = json["files"][0]["links"].as_array().unwrap().clone();
        let link = links.into_iter().find(|link| link["name"] == "libcuda.so.1").unwrap();
        let object = link["object"].as_u64().map(|index| json["files"][0]["objects"][index as usize]["path"].clone());
        (object.and_then(|path| path.as_str().map(str::to_owned)), link["by"]["rule"].as_str().map(str::to_owned))
    };
    let (path, rule) = asked(&["--profile", "wsl"]);
    assert_eq!((path.as_deref(), rule.as_deref()), (Some("/usr/lib/wsl/lib/libcuda.so.1"), Some("cache")));
    let (path, rule) = asked(&["--profile", "container"]);
    assert_eq!(
        (path.as_deref(), rule.as_deref()),
        (Some("/usr/local/nvidia/lib64/libcuda.so.1"), Some("library-path"))
    );
    // NixOS has the driver in a place that only a RUNPATH names.
    assert_eq!(asked(&["--profile", "nixos"]), (None, None));
    let args =
        ["patch", "--add-runpath", "/run/opengl-driver/lib", "--allow-path", "/run/opengl-driver/lib", "bin/main"];
    Ran::of(&mut simpack(bench.path(), &args)).exit(0);
    let (path, rule) = asked(&["--profile", "nixos"]);
    assert_eq!((path.as_deref(), rule.as_deref()), (Some("/run/opengl-driver/lib/libcuda.so.1"), Some("runpath")));
}

/// A package's manifest says what its code opens under names that stand nowhere in it.
#[test]
fn what_a_package_declares_that_it_opens() {
    let bench = bench!();
    bench.library("lib/libplugin.so.2", &[], &[]);
    let source = "#include <dlfcn.h>\nint main(int n, char **names) { return !dlopen(names[n - 1], 1); }";
    bench.build("bin/main", source, &["-Wl,--enable-new-dtags", "-Wl,-rpath,$ORIGIN/../lib", "-ldl"], &[]);
    let mut manifest: serde_json::Value = serde_json::from_str(include_str!("../../schemas/manifest-1.json")).unwrap();
    manifest["opens"] = serde_json::json!(["libplugin.so.2", "libabsent.so.1"]);
    manifest["artifacts"] = serde_json::json!([{ "path": "bin/main", "kind": "link", "to": "elsewhere" }]);
    let place = bench.path().join("share/simpack/tiny-core");
    fs_err::create_dir_all(&place).unwrap();
    fs_err::write(place.join("simpack.json"), manifest.to_string()).unwrap();
    let said = resolve(&bench, &["bin/main"]).exit(0).stdout;
    assert!(said.contains("libabsent.so.1") && said.contains("lib/libplugin.so.2  RUNPATH"), "{said}");
    let said = resolve(&bench, &["bin/main", "--no-opened"]).exit(0).stdout;
    assert!(!said.contains("libplugin"), "{said}");
    // What a manifest that nobody can read declares is not known, and that is said.
    fs_err::write(place.join("simpack.json"), "{").unwrap();
    let said = resolve(&bench, &["bin/main"]).exit(7).stdout;
    assert!(said.contains("simpack.json is not valid"), "{said}");
    resolve(&bench, &["bin/main", "--no-opened"]).exit(0);
}

/// NVRTC of CUDA 13.0 opens its builtins by name, and only its own search path counts.
#[test]
fn what_a_vendor_library_opens() {
    let bench = bench!();
    let Some(cuda) = set_up("SIMPACK_TEST_CUDA") else { return };
    let nvrtc = cuda.join("lib/libnvrtc.so.13");
    need!(nvrtc.exists(), "no NVRTC 13 there");
    let found = |args: &[&str]| {
        let json = resolve(&bench, &[args, &[nvrtc.to_str().unwrap(), "--json"]].concat()).json();
        let links = json["files"][0]["links"].as_array().unwrap().clone();
        let link = links.into_iter().find(|link| link["name"] == "libnvrtc-builtins.so.13.0").unwrap();
        link["end"].as_str().unwrap().to_owned()
    };
    assert_eq!(found(&[]), "missing");
    let set = format!("LD_LIBRARY_PATH={}", cuda.join("lib").display());
    assert_eq!(found(&["--env", &set]), "found");
}
