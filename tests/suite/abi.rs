//! `simpack abi`: compiled pairs of every class of change, beside `abidiff`, and floors of consumers.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::{Ran, scratch, simpack, skip};

/// One class of change: two sources of one library and what must be said.
struct Pair {
    name: &'static str,
    /// `c` or `cc`.
    language: &'static str,
    old: &'static str,
    new: &'static str,
    /// Flags of the new library beyond those of both; `{dir}` is the directory.
    flags: &'static [&'static str],
    /// Kinds of the changes that are not harmless.
    kinds: &'static [&'static str],
    verdict: &'static str,
    /// Why `abidiff` says something else over the same stripped files, when it does.
    abidiff: (&'static str, &'static str),
}

const SAME: (&str, &str) = ("", "");

const PAIRS: &[Pair] = &[
    Pair {
        name: "nothing",
        language: "c",
        old: "int f(int a) { return a; }",
        new: "int f(int a) { return a + 1 - 1; } static int g(void) { return 1; } int (*h)(void) __attribute__((visibility(\"hidden\"))) = g;",
        flags: &[],
        kinds: &[],
        verdict: "compatible",
        abidiff: SAME,
    },
    Pair {
        name: "function added",
        language: "c",
        old: "int f(void) { return 1; }",
        new: "int f(void) { return 1; } int g(void) { return 2; }",
        flags: &[],
        kinds: &["symbol-added"],
        verdict: "additions",
        abidiff: SAME,
    },
    Pair {
        name: "function removed",
        language: "c",
        old: "int f(void) { return 1; } int g(void) { return 2; }",
        new: "int f(void) { return 1; }",
        flags: &[],
        kinds: &["symbol-removed"],
        verdict: "incompatible",
        abidiff: SAME,
    },
    Pair {
        name: "function renamed",
        language: "c",
        old: "int f(void) { return 1; } int g(void) { return 2; }",
        new: "int f(void) { return 1; } int g2(void) { return 2; }",
        flags: &[],
        kinds: &["symbol-removed", "symbol-added"],
        verdict: "incompatible",
        abidiff: SAME,
    },
    Pair {
        name: "made hidden",
        language: "c",
        old: "int f(void) { return 1; } int g(void) { return 2; }",
        new: "int f(void) { return 1; } __attribute__((visibility(\"hidden\"))) int g(void) { return 2; }",
        flags: &[],
        kinds: &["symbol-removed"],
        verdict: "incompatible",
        abidiff: SAME,
    },
    Pair {
        name: "array grew",
        language: "c",
        old: "int f(void) { return 1; } int table[4] = {1};",
        new: "int f(void) { return 1; } int table[8] = {1};",
        flags: &[],
        kinds: &["data-size-changed"],
        verdict: "incompatible",
        abidiff: ("compatible", "sizes of data are compared from debug information only"),
    },
    Pair {
        name: "function became data",
        language: "c",
        old: "int f(void) { return 1; } int g(void) { return 2; }",
        new: "int f(void) { return 1; } int g = 2;",
        flags: &[],
        kinds: &["kind-changed"],
        verdict: "incompatible",
        abidiff: SAME,
    },
    Pair {
        name: "data became thread-local",
        language: "c",
        old: "int f(void) { return 1; } int state = 1;",
        new: "int f(void) { return 1; } __thread int state = 1;",
        flags: &[],
        kinds: &["kind-changed"],
        verdict: "incompatible",
        abidiff: ("compatible", "kinds of variables are compared from debug information only"),
    },
    Pair {
        name: "thread-local data grew",
        language: "c",
        old: "int f(void) { return 1; } __thread int state[2] = {1};",
        new: "int f(void) { return 1; } __thread int state[9] = {1};",
        flags: &[],
        kinds: &["tls-size-changed"],
        verdict: "incompatible",
        abidiff: ("compatible", "sizes of data are compared from debug information only"),
    },
    Pair {
        name: "static TLS model",
        language: "c",
        old: "static __thread int state; int f(void) { return ++state; }",
        new: "static __thread int state __attribute__((tls_model(\"initial-exec\"))); int f(void) { return ++state; }",
        flags: &[],
        kinds: &["static-tls-gained"],
        verdict: "incompatible",
        abidiff: ("compatible", "the TLS model is no part of its comparison"),
    },
    Pair {
        name: "data protected",
        language: "c",
        old: "int f(void) { return 1; } int state = 1;",
        new: "int f(void) { return 1; } __attribute__((visibility(\"protected\"))) int state = 1;",
        flags: &[],
        kinds: &["data-protected"],
        verdict: "incompatible",
        abidiff: ("compatible", "protected symbols count as exported"),
    },
    Pair {
        name: "function protected",
        language: "c",
        old: "int f(void) { return 1; }",
        new: "__attribute__((visibility(\"protected\"))) int f(void) { return 1; }",
        flags: &[],
        kinds: &[],
        verdict: "compatible",
        abidiff: SAME,
    },
    Pair {
        name: "made weak",
        language: "c",
        old: "int f(void) { return 1; }",
        new: "__attribute__((weak)) int f(void) { return 1; }",
        flags: &[],
        kinds: &[],
        verdict: "compatible",
        abidiff: SAME,
    },
    Pair {
        name: "SONAME raised",
        language: "c",
        old: "int f(void) { return 1; }",
        new: "int f(void) { return 1; }",
        flags: &["-Wl,-soname,libpair.so.2"],
        kinds: &["soname-changed"],
        verdict: "incompatible",
        abidiff: SAME,
    },
    Pair {
        name: "version node dropped",
        language: "c",
        old: "int f(void) { return 1; } int g(void) { return 2; }",
        new: "int f(void) { return 1; } int g(void) { return 2; }",
        flags: &["-Wl,--version-script={dir}/one-node"],
        kinds: &["node-removed", "node-changed", "symbol-added"],
        verdict: "incompatible",
        abidiff: SAME,
    },
    Pair {
        name: "version node added",
        language: "c",
        old: "int f(void) { return 1; } int g(void) { return 2; }",
        new: "int f(void) { return 1; } int g(void) { return 2; } int h(void) { return 3; }",
        flags: &["-Wl,--version-script={dir}/three-nodes"],
        kinds: &["node-added", "symbol-added"],
        verdict: "additions",
        abidiff: SAME,
    },
    Pair {
        name: "virtual function added",
        language: "cc",
        old: "struct B { virtual int a(); virtual ~B(); }; int B::a() { return 1; } B::~B() {}",
        new: "struct B { virtual int a(); virtual ~B(); virtual int b(); }; int B::a() { return 1; } B::~B() {} int B::b() { return 2; }",
        flags: &[],
        kinds: &["vtable-size-changed", "symbol-added"],
        verdict: "incompatible",
        abidiff: ("changed", "sizes of tables are compared from debug information only"),
    },
    Pair {
        name: "base class added",
        language: "cc",
        old: "struct A { virtual int z(); }; int A::z() { return 0; } struct B { virtual int a(); }; int B::a() { return 1; }",
        new: "struct A { virtual int z(); }; int A::z() { return 0; } struct B : A { virtual int a(); }; int B::a() { return 1; }",
        flags: &[],
        kinds: &["vtable-size-changed", "typeinfo-size-changed"],
        verdict: "incompatible",
        abidiff: ("compatible", "sizes of tables are compared from debug information only"),
    },
    Pair {
        name: "parameter changed in C++",
        language: "cc",
        old: "int f(int a) { return a; }",
        new: "int f(long a) { return (int)a; }",
        flags: &[],
        kinds: &["symbol-removed", "symbol-added"],
        verdict: "incompatible",
        abidiff: SAME,
    },
    Pair {
        name: "template instance of the standard library gone",
        language: "cc",
        old: "#include <vector>\nint f(int n) { std::vector<int> v; for (int i = 0; i < n; ++i) v.push_back(i); return v.back(); }",
        new: "int f(int n) { return n - 1; }",
        flags: &[],
        kinds: &[],
        verdict: "compatible",
        abidiff: ("incompatible", "it counts weak template instances, of which every user has a copy"),
    },
    Pair {
        name: "parameter changed in C (not visible in symbols)",
        language: "c",
        old: "int f(int a) { return a; }",
        new: "int f(long a, long b) { return (int)(a + b); }",
        flags: &[],
        kinds: &[],
        verdict: "compatible",
        abidiff: SAME,
    },
];

fn library(dir: &Path, name: &str, language: &str, source: &str, flags: &[String]) -> PathBuf {
    let text = dir.join(format!("{name}.{language}"));
    std::fs::write(&text, source).unwrap();
    let output = dir.join(format!("{name}.so"));
    let compiler = if language == "c" { "cc" } else { "c++" };
    let mut command = Command::new(compiler);
    command.args(["-shared", "-fPIC", "-O0", "-s", "-o"]).arg(&output).arg(&text).args(flags);
    Ran::of(&mut command).exit(0);
    output
}

/// The two libraries of a pair.
fn build(dir: &Path, pair: &Pair) -> (PathBuf, PathBuf) {
    for (name, text) in [
        ("one-node", "V_1 { global: *; };"),
        ("two-nodes", "V_1 { global: f; }; V_2 { global: *; } V_1;"),
        ("three-nodes", "V_1 { global: f; }; V_2 { global: g; } V_1; V_3 { global: h; local: *; } V_2;"),
    ] {
        std::fs::write(dir.join(name), text).unwrap();
    }
    let nodes = format!("-Wl,--version-script={}/two-nodes", dir.display());
    let versioned = pair.flags.iter().any(|flag| flag.contains("version-script"));
    let soname = "-Wl,-soname,libpair.so.1".to_owned();
    let old: Vec<String> = [Some(soname.clone()), versioned.then_some(nodes)].into_iter().flatten().collect();
    let mut new: Vec<String> = pair.flags.iter().map(|flag| flag.replace("{dir}", dir.to_str().unwrap())).collect();
    if !new.iter().any(|flag| flag.contains("soname")) {
        new.push(soname);
    }
    (library(dir, "old", pair.language, pair.old, &old), library(dir, "new", pair.language, pair.new, &new))
}

fn diff(dir: &Path, old: &Path, new: &Path, more: &[&str]) -> (Option<i32>, Value) {
    let args = [&["abi", "diff", old.to_str().unwrap(), new.to_str().unwrap(), "--json"], more].concat();
    let ran = Ran::of(&mut simpack(dir, &args));
    let answer = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"));
    (ran.code, answer)
}

#[test]
fn every_class_of_change_is_caught_or_silent() {
    let mut wrong = Vec::new();
    for pair in PAIRS {
        let dir = scratch();
        let (old, new) = build(dir.path(), pair);
        let (code, answer) = diff(dir.path(), &old, &new, &[]);
        let mut kinds: Vec<&str> = Vec::new();
        for change in answer["changes"].as_array().unwrap() {
            let kind = change["kind"].as_str().unwrap();
            if change["weight"] != "harmless" && !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        kinds.sort_unstable();
        let mut expected = pair.kinds.to_vec();
        expected.sort_unstable();
        if kinds != expected
            || answer["verdict"] != pair.verdict
            || code != Some(i32::from(pair.verdict == "incompatible"))
        {
            wrong.push(format!("{}: exit {code:?} {:#}", pair.name, answer["changes"]));
        }
        assert_eq!(answer["depth"], "symbols");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_table_beside_abidiff() {
    if which::which("abidiff").is_err() {
        return skip("abidiff is not installed (Debian: abigail-tools)");
    }
    let mut wrong = Vec::new();
    println!("{:<50} {:<14} {:<14} why they differ", "change", "simpack", "abidiff");
    for pair in PAIRS {
        let dir = scratch();
        let (old, new) = build(dir.path(), pair);
        let (_, answer) = diff(dir.path(), &old, &new, &["--second-opinion"]);
        let abidiff = answer["second-opinion"][0]["verdict"].as_str().unwrap_or("none").to_owned();
        // abidiff has one word for what it knows to break and one for what somebody must look at.
        let comparable = match pair.verdict {
            "additions" => vec!["changed"],
            "incompatible" => vec!["incompatible", "changed"],
            other => vec![other],
        };
        let (expected, why) = pair.abidiff;
        println!("{:<50} {:<14} {abidiff:<14} {why}", pair.name, pair.verdict);
        let as_expected =
            if expected.is_empty() { comparable.contains(&abidiff.as_str()) } else { abidiff == expected };
        if !as_expected {
            wrong.push(format!("{}: abidiff says {abidiff}\n{}", pair.name, answer["second-opinion"][0]["report"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_version_that_would_be_right() {
    let dir = scratch();
    let flags = ["-Wl,-soname,libpair.so.1".to_owned()];
    let one = library(dir.path(), "one", "c", "int f(void) { return 1; }", &flags);
    let more = library(dir.path(), "more", "c", "int f(void) { return 1; } int g(void) { return 2; }", &flags);
    let cases = [
        // A break.
        (&more, &one, "major", "1.2.3", "1.2.4", 1, "2.0.0", false),
        (&more, &one, "major", "1.2.3", "2.0.0", 0, "2.0.0", true),
        (&more, &one, "major.minor", "1.2.3", "1.3.0", 0, "1.3.0", true),
        // An addition: no reason to stop, but the number is named.
        (&one, &more, "major", "1.2.3", "1.2.4", 0, "1.3.0", false),
        (&one, &more, "major.minor", "1.2.3", "1.2.4", 0, "1.2.4", true),
        (&one, &one, "major", "1.2.3", "1.2.4", 0, "1.2.3", true),
    ];
    for (old, new, policy, from, to, code, lowest, fits) in cases {
        let more = ["--policy", policy, "--old-release", from, "--new-release", to];
        let (exit, answer) = diff(dir.path(), old, new, &more);
        assert_eq!((exit, answer["lowest"].as_str()), (Some(code), Some(lowest)), "{policy} {from} {to}");
        assert_eq!(answer["fits"], fits, "{policy} {from} {to}");
    }
}

#[test]
fn a_baseline_stands_for_the_library_it_was_taken_from() {
    let dir = scratch();
    let flags = ["-Wl,-soname,libpair.so.1".to_owned()];
    let one = library(dir.path(), "one", "c", "int f(void) { return 1; } int g(void) { return 2; }", &flags);
    let less = library(dir.path(), "less", "c", "int f(void) { return 1; }", &flags);
    let args = ["abi", "dump", one.to_str().unwrap(), "--release", "1.0.0", "-o", "baseline.json"];
    Ran::of(&mut simpack(dir.path(), &args)).exit(0);
    let baseline = dir.path().join("baseline.json");
    assert_eq!(diff(dir.path(), &baseline, &one, &[]).1["verdict"], "compatible");
    let (code, answer) = diff(dir.path(), &baseline, &less, &["--new-release", "1.0.1"]);
    assert_eq!((code, answer["lowest"].as_str()), (Some(1), Some("2.0.0")));
    // A half-written baseline is no baseline.
    let text = std::fs::read(&baseline).unwrap();
    std::fs::write(&baseline, &text[..text.len() / 2]).unwrap();
    let args = ["abi", "diff", "baseline.json", one.to_str().unwrap()];
    assert!(Ran::of(&mut simpack(dir.path(), &args)).exit(6).stderr.contains("baseline"));
}

/// A library and its stub, two plug-ins of one file name: neither stands for the other.
#[test]
fn libraries_of_one_name_are_kept_apart() {
    let dir = scratch();
    for (place, source) in [("lib", "int f(void) { return 1; }"), ("lib/stubs", "int g(void) { return 0; }")] {
        let place = dir.path().join("tree").join(place);
        std::fs::create_dir_all(&place).unwrap();
        library(&place, "libpair", "c", source, &["-Wl,-soname,libpair.so.1".to_owned()]);
    }
    let baseline = Ran::of(&mut simpack(dir.path(), &["abi", "dump", "tree"])).exit(0).json();
    let names: Vec<&String> = baseline["libraries"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["lib/libpair.so", "lib/stubs/libpair.so"]);
    std::fs::copy(dir.path().join("tree/lib/libpair.so"), dir.path().join("tree/lib/stubs/libpair.so")).unwrap();
    let baseline = Ran::of(&mut simpack(dir.path(), &["abi", "dump", "tree"])).exit(0).json();
    assert!(baseline["libraries"]["libpair.so.1"]["symbols"]["f"].is_object());
}

#[test]
fn a_diff_reads_well() {
    let dir = scratch();
    let pair = PAIRS.iter().find(|pair| pair.name == "virtual function added").unwrap();
    build(dir.path(), pair);
    let args = ["abi", "diff", "old.so", "new.so", "--old-release", "1.0.0", "--new-release", "1.0.1"];
    insta::assert_snapshot!(Ran::of(&mut simpack(dir.path(), &args)).exit(1).stdout);
}

/// A consumer gets the floor of the symbols that it uses, not of the release that was there.
#[test]
fn floors_follow_from_the_symbols_that_are_used() {
    let dir = scratch();
    let soname = "-Wl,-soname,libpair.so.1".to_owned();
    let script = |name: &str, text: &str| {
        std::fs::write(dir.path().join(name), text).unwrap();
        format!("-Wl,--version-script={}/{name}", dir.path().display())
    };
    let (first, second) =
        (script("a", "V_1 { global: *; };"), script("b", "V_1 { global: f; }; V_2 { global: g; local: *; } V_1;"));
    let old = library(dir.path(), "libold", "c", "int f(void) { return 1; }", &[soname.clone(), first]);
    let new =
        library(dir.path(), "libpair", "c", "int f(void) { return 1; } int g(void) { return 2; }", &[soname, second]);
    for (path, release) in [(&old, "1.0.0"), (&new, "1.0.1"), (&new, "1.1.0")] {
        let args = [
            "abi",
            "update",
            path.to_str().unwrap(),
            "--symbols",
            "symbols",
            "--package",
            "pair",
            "--release",
            release,
        ];
        Ran::of(&mut simpack(dir.path(), &args)).exit(0);
    }
    let text = std::fs::read_to_string(dir.path().join("symbols/libpair.so.1.symbols")).unwrap();
    assert!(text.contains("f@V_1 1.0.0\n") && text.contains("g@V_2 1.0.1\n"), "{text}");
    for (name, source, spec) in [
        ("plain", "int f(void); int main(void) { return f(); }", "pair >=1.0.0,<2"),
        ("eager", "int f(void), g(void); int main(void) { return f() + g(); }", "pair >=1.0.1,<2"),
    ] {
        let text = dir.path().join(format!("{name}.c"));
        std::fs::write(&text, source).unwrap();
        let mut command = Command::new("cc");
        Ran::of(command.arg("-o").arg(dir.path().join(name)).arg(&text).arg("-L").arg(dir.path()).arg("-lpair"))
            .exit(0);
        let args = ["abi", "floor", name, "--against", "symbols", "--json"];
        let floors = Ran::of(&mut simpack(dir.path(), &args)).exit(0).json();
        assert_eq!(floors[0]["floors"][0]["depends"], spec, "{floors:#}");
    }
    // A release that lost a symbol ends those that use it.
    let lost = library(
        dir.path(),
        "lost",
        "c",
        "int f(void) { return 1; }",
        &["-Wl,-soname,libpair.so.1".into(), script("c", "V_1 { global: *; }; V_2 { } V_1;")],
    );
    let args = ["abi", "update", lost.to_str().unwrap(), "--symbols", "symbols", "--release", "1.2.0"];
    Ran::of(&mut simpack(dir.path(), &args)).exit(0);
    let floors = Ran::of(&mut simpack(dir.path(), &["abi", "floor", "eager", "--against", "symbols", "--json"])).json();
    assert_eq!(floors[0]["floors"][0]["depends"], "pair >=1.0.1,<1.2.0", "{floors:#}");
}

/// What a compiler makes of C, without a SONAME unless one is given.
fn shared(dir: &Path, name: &str, source: &str, soname: &str) {
    let path = dir.join(name);
    fs_err::create_dir_all(path.parent().unwrap()).unwrap();
    fs_err::write(dir.join("source.c"), source).unwrap();
    let mut gcc = Command::new("gcc");
    gcc.current_dir(dir).args(["-shared", "-fPIC", "source.c", "-o"]).arg(&path);
    if !soname.is_empty() {
        gcc.arg(format!("-Wl,-soname,{soname}"));
    }
    Ran::of(&mut gcc).exit(0);
}

/// Two files that are named are meant for each other, whatever they are called; another SONAME is a change, another
/// file name is none.
#[test]
fn named_files_are_compared_whatever_they_are_called() {
    let dir = scratch();
    let (both, one) = ("int f(void) { return 1; } int g(void) { return 2; }", "int f(void) { return 1; }");
    let kinds = |old: &str, new: &str| -> Vec<String> {
        let answer = Ran::of(&mut simpack(dir.path(), &["abi", "diff", "--json", old, new])).json();
        answer["changes"].as_array().unwrap().iter().map(|change| change["kind"].as_str().unwrap().to_owned()).collect()
    };
    shared(dir.path(), "old-build.so", both, "");
    shared(dir.path(), "candidate.bin", one, "");
    assert_eq!(kinds("old-build.so", "candidate.bin"), ["symbol-removed"]);
    assert_eq!(kinds("old-build.so", "old-build.so"), [""; 0]);
    shared(dir.path(), "libone.so.1", both, "libone.so.1");
    shared(dir.path(), "libother.so.2", one, "libother.so.2");
    let mut found = kinds("libone.so.1", "libother.so.2");
    found.sort();
    assert_eq!(found, ["soname-changed", "symbol-removed"]);
}

/// Nobody links with a module of Python: of a tree it is no interface, named by itself it is.
#[test]
fn modules_are_no_libraries() {
    let dir = scratch();
    let module = |body: &str| format!("void *PyInit_demo(void) {{ return 0; }} {body}");
    for (tree, helper) in [("old", "int helper(void) { return 1; }"), ("new", "")] {
        shared(dir.path(), &format!("{tree}/demo.cpython-311-x86_64-linux-gnu.so"), &module(helper), "");
        shared(dir.path(), &format!("{tree}/libreal.so.1"), "int f(void) { return 1; }", "libreal.so.1");
    }
    let diff = |old: &str, new: &str| Ran::of(&mut simpack(dir.path(), &["abi", "diff", "--json", old, new]));
    assert_eq!(diff("old", "new").exit(0).json()["changes"], Value::Array(Vec::new()));
    let name = "demo.cpython-311-x86_64-linux-gnu.so";
    let answer = diff(&format!("old/{name}"), &format!("new/{name}")).exit(1).json();
    assert_eq!(answer["changes"][0]["kind"], "symbol-removed", "{answer}");
}
