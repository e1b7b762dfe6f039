//! Releases of the vendor's libraries: what `abi diff` must say of two of them, and the floors that follow.
//!
//! The wheels weigh 1.5 GB, so their baselines are committed (`tests/setup/vendor-baselines` makes them); those of
//! releases that other tests need anyway are made anew here and must be the committed ones.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::registry_pairs::{counted, diff, kinds, symbols, wheel};
use crate::support::{Ran, scratch, set_up, simpack};

fn baseline(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/abi").join(format!("{name}.json"))
}

/// How two releases must compare: policy, verdict, lowest release, whether the number fits, changes of the library.
struct Pair {
    old: &'static str,
    new: &'static str,
    library: &'static str,
    policy: &'static str,
    verdict: &'static str,
    lowest: &'static str,
    fits: bool,
    changes: &'static [(&'static str, usize)],
}

const PAIRS: &[Pair] = &[
    // A patch release that keeps its promise.
    Pair {
        old: "nvidia_cusparse_cu12-12.0.1.140",
        new: "nvidia_cusparse_cu12-12.0.2.55",
        library: "libcusparse.so",
        policy: "major",
        verdict: "compatible",
        lowest: "12.0.1.140",
        fits: true,
        changes: &[],
    },
    // Minor releases with new functions: a program that uses one does not start with the release before.
    Pair {
        old: "nvidia_cusparse_cu12-12.0.2.55",
        new: "nvidia_cusparse_cu12-12.1.0.106",
        library: "libcusparse.so",
        policy: "major",
        verdict: "additions",
        lowest: "12.1.0",
        fits: true,
        changes: &[("symbol-added", 6)],
    },
    Pair {
        old: "nvidia_cusparse_cu12-12.1.0.106",
        new: "nvidia_cusparse_cu12-12.3.0.142",
        library: "libcusparse.so",
        policy: "major",
        verdict: "additions",
        lowest: "12.2.0",
        fits: true,
        changes: &[("symbol-added", 2)],
    },
    Pair {
        old: "nvidia_cusparse_cu12-12.3.0.142",
        new: "nvidia_cusparse-12.9.4.2",
        library: "libcusparse.so",
        policy: "major",
        verdict: "additions",
        lowest: "12.4.0",
        fits: true,
        changes: &[("symbol-added", 27)],
    },
    Pair {
        old: "nvidia_cusolver_cu12-11.4.4.55",
        new: "nvidia_cusolver_cu12-11.4.5.107",
        library: "libcusolver.so",
        policy: "major",
        verdict: "compatible",
        lowest: "11.4.4.55",
        fits: true,
        changes: &[],
    },
    // Minor releases that lose functions and keep the SONAME: undocumented ones, and linked programs do not ask.
    Pair {
        old: "nvidia_cusolver_cu12-11.4.5.107",
        new: "nvidia_cusolver_cu12-11.5.2.141",
        library: "libcusolver.so",
        policy: "major",
        verdict: "incompatible",
        lowest: "12.0.0",
        fits: false,
        changes: &[("symbol-added", 2), ("symbol-removed", 15)],
    },
    Pair {
        old: "nvidia_cusolver_cu12-11.5.2.141",
        new: "nvidia_cusolver_cu12-11.6.0.99",
        library: "libcusolver.so",
        policy: "major",
        verdict: "incompatible",
        lowest: "12.0.0",
        fits: false,
        changes: &[("symbol-added", 4), ("symbol-removed", 24)],
    },
    // NVRTC itself only grows within 12; the wheel is major.minor, because the library of built-in functions beside
    // it carries the minor number in its SONAME and in its symbols.
    Pair {
        old: "nvidia_cuda_nvrtc_cu12-12.0.140",
        new: "nvidia_cuda_nvrtc_cu12-12.9.86",
        library: "libnvrtc.so",
        policy: "major.minor",
        verdict: "incompatible",
        lowest: "12.1.0",
        fits: true,
        changes: &[("symbol-added", 5)],
    },
    Pair {
        old: "nvidia_cuda_nvrtc_cu12-12.0.140",
        new: "nvidia_cuda_nvrtc_cu12-12.9.86",
        library: "libnvrtc-builtins.so",
        policy: "major",
        verdict: "incompatible",
        lowest: "13.0.0",
        fits: false,
        changes: &[
            ("node-added", 1),
            ("node-changed", 2),
            ("node-removed", 1),
            ("soname-changed", 1),
            ("symbol-added", 23),
            ("symbol-removed", 16),
        ],
    },
    // 13 took out two functions and put every symbol under its own node.
    Pair {
        old: "nvidia_cuda_nvrtc_cu12-12.9.86",
        new: "nvidia_cuda_nvrtc-13.0.88",
        library: "libnvrtc.so",
        policy: "major",
        verdict: "incompatible",
        lowest: "13.0.0",
        fits: true,
        changes: &[
            ("node-added", 1),
            ("node-changed", 25),
            ("node-removed", 1),
            ("soname-changed", 1),
            ("symbol-added", 25),
            ("symbol-removed", 2),
        ],
    },
];

#[test]
fn releases_of_the_vendors_libraries() {
    for pair in PAIRS {
        let code = i32::from(pair.verdict == "incompatible" && !pair.fits);
        let answer = diff(&baseline(pair.old), &baseline(pair.new), &["--policy", pair.policy], code);
        let said = (answer["verdict"].as_str(), answer["lowest"].as_str(), answer["fits"].as_bool());
        assert_eq!(said, (Some(pair.verdict), Some(pair.lowest), Some(pair.fits)), "{} {}", pair.old, pair.new);
        let wanted: BTreeMap<String, usize> = pair.changes.iter().map(|(kind, n)| ((*kind).to_owned(), *n)).collect();
        assert_eq!(kinds(&answer, pair.library), wanted, "{} {}", pair.old, pair.new);
    }
    let answer = diff(&baseline(PAIRS[1].old), &baseline(PAIRS[1].new), &[], 0);
    assert!(symbols(&answer, "symbol-added").contains(&"cusparseCreateSlicedEll@libcusparse.so.12"));
    let answer = diff(&baseline(PAIRS[9].old), &baseline(PAIRS[9].new), &[], 0);
    assert!(symbols(&answer, "symbol-removed").contains(&"nvrtcGetNVVM@libnvrtc.so.12"));
}

/// The library of a release as JSON, without what is not the interface's.
fn interface(baseline: &Value, library: &str) -> Value {
    let found = &baseline["libraries"][library];
    assert!(found["symbols"].as_object().is_some_and(|symbols| !symbols.is_empty()), "{library}");
    found.clone()
}

#[test]
fn committed_baselines_are_what_the_libraries_say() {
    let (Some(cusparse), Some(cuda)) = (wheel("nvidia_cusparse-12.9.4.2-"), set_up("SIMPACK_TEST_CUDA")) else {
        return;
    };
    let dir = scratch();
    for (subject, name, library) in [
        (cusparse, "nvidia_cusparse-12.9.4.2", "libcusparse.so.12"),
        (cuda.join("lib/libnvrtc.so.13"), "nvidia_cuda_nvrtc-13.0.88", "libnvrtc.so.13"),
    ] {
        let args = ["abi", "dump", subject.to_str().unwrap()];
        let made: Value = Ran::of(&mut simpack(dir.path(), &args)).exit(0).json();
        let committed: Value = serde_json::from_slice(&fs_err::read(baseline(name)).unwrap()).unwrap();
        assert_eq!(interface(&made, library), interface(&committed, library), "{name}");
    }
}

/// A library that uses functions of a vendor's library; a stub of it has them under the node that the vendor's has.
fn consumer(dir: &Path, name: &str, library: &str, functions: &[&str]) -> String {
    let declared: String = functions.iter().map(|function| format!("int {function}(void);")).collect();
    let defined: String = functions.iter().map(|function| format!("int {function}(void) {{ return 0; }}")).collect();
    let called: Vec<String> = functions.iter().map(|function| format!("{function}()")).collect();
    let user = format!("{declared} int use_{name}(void) {{ return {}; }}", called.join(" + "));
    fs_err::write(dir.join("stub.c"), defined).unwrap();
    fs_err::write(dir.join("user.c"), user).unwrap();
    fs_err::write(dir.join("map"), format!("{library} {{ global: *; }};")).unwrap();
    let (soname, output) = (format!("-Wl,-soname,{library}"), format!("lib{name}.so"));
    let cc = |args: &[&str]| {
        Ran::of(Command::new("cc").current_dir(dir).args(["-shared", "-fPIC", "-o"]).args(args)).exit(0);
    };
    cc(&[library, "stub.c", &soname, "-Wl,--version-script=map"]);
    cc(&[&output, "user.c", library]);
    output
}

#[test]
fn programs_need_the_release_of_the_newest_function_that_they_use() {
    let dir = scratch();
    let dir = dir.path();
    let (cusparse, cusolver) = ("nvidia_cusparse_cu12", "nvidia_cusolver_cu12");
    for (package, name) in [
        // Releases may be recorded in any order.
        ("libcusparse", format!("{cusparse}-12.1.0.106")),
        ("libcusparse", format!("{cusparse}-12.0.1.140")),
        ("libcusparse", format!("{cusparse}-12.0.2.55")),
        ("libcusparse", format!("{cusparse}-12.3.0.142")),
        ("libcusparse", "nvidia_cusparse-12.9.4.2".to_owned()),
        ("libcusolver", format!("{cusolver}-11.4.4.55")),
        ("libcusolver", format!("{cusolver}-11.4.5.107")),
        ("libcusolver", format!("{cusolver}-11.5.2.141")),
        ("libcusolver", format!("{cusolver}-11.6.0.99")),
    ] {
        let path = baseline(&name);
        let args = ["abi", "update", path.to_str().unwrap(), "--symbols", "symbols", "--package", package];
        Ran::of(&mut simpack(dir, &args)).exit(0);
    }
    let cases: [(&str, &str, &[&str], &str); 6] = [
        ("plain", "libcusparse.so.12", &["cusparseCreate"], "libcusparse >=12.0.1.140,<13"),
        ("sliced", "libcusparse.so.12", &["cusparseCreate", "cusparseCreateSlicedEll"], "libcusparse >=12.1.0.106,<13"),
        ("prepared", "libcusparse.so.12", &["cusparseSpMV_preprocess"], "libcusparse >=12.3.0.142,<13"),
        ("newest", "libcusparse.so.12", &["cusparseSpGEAM"], "libcusparse >=12.9.4.2,<13"),
        // The functions that went away end the range, whatever the SONAME says.
        ("lost", "libcusolver.so.11", &["cusolverDnDorgqrHost"], "libcusolver >=11.4.4.55,<11.5.2.141"),
        ("norm", "libcusolver.so.11", &["cusolverDnXlansy"], "libcusolver >=11.6.0.99,<12"),
    ];
    for (name, library, functions, depends) in cases {
        let file = consumer(dir, name, library, functions);
        let args = ["abi", "floor", &file, "--against", "symbols", "--json"];
        let floors = Ran::of(&mut simpack(dir, &args)).exit(0).json();
        assert_eq!(floors[0]["floors"][0]["depends"], depends, "{name}: {floors:#}");
    }
    // The declared dependency of a package that holds them all.
    let file = consumer(dir, "unknown", "libcusparse.so.12", &["cusparseCreate", "cusparseOfTomorrow"]);
    let ran = Ran::of(&mut simpack(dir, &["abi", "floor", &file, "--against", "symbols"])).exit(1);
    assert!(ran.stdout.contains("in no recorded release of libcusparse.so.12: cusparseOfTomorrow@"), "{}", ran.stdout);
}

/// SciPy's newer OpenBLAS has BLAS in extended precision for five kinds of processors (1906 new names, and longer
/// tables of functions), and a few single-precision functions of LAPACK went away.
#[test]
fn the_openblas_of_scipy() {
    let (Some(old), Some(new)) = (wheel("scipy-1.15.3-"), wheel("scipy-1.16.3-")) else { return };
    let answer = diff(&old, &new, &[], 1);
    assert_eq!((&answer["old"]["release"], &answer["new"]["release"]), (&"1.15.3".into(), &"1.16.3".into()));
    let expected = [("data-size-changed", 5), ("soname-changed", 1), ("symbol-added", 1906), ("symbol-removed", 15)];
    assert_eq!(kinds(&answer, "libscipy_openblas-"), counted(expected));
    let removed = symbols(&answer, "symbol-removed");
    assert!(
        removed.contains(&"cgelst_") && !removed.contains(&"dgelst_") && !removed.contains(&"dgemm_"),
        "{removed:?}"
    );
}

fn promises(dir: &Path, wheel: &Path) -> Vec<String> {
    let report = Ran::of(&mut simpack(dir, &["verify", "--symbols", "--json", wheel.to_str().unwrap()])).json();
    let all = report["findings"].as_array().unwrap().iter();
    let ceilings = all.filter(|it| it["lint"].as_str().unwrap().ends_with("-ceiling"));
    ceilings.map(|it| format!("{}: {}", it["subject"].as_str().unwrap(), it["message"].as_str().unwrap())).collect()
}

/// A wheel's platform tag is a promise about the machine's libraries: NumPy keeps its own, and would not keep a lower.
#[test]
fn wheels_keep_to_their_platform_tag() {
    let (Some(numpy), Some(cusparse)) = (wheel("numpy-2.3.5-"), wheel("nvidia_cusparse-12.9.4.2-")) else { return };
    let dir = scratch();
    assert_eq!(promises(dir.path(), &numpy), [""; 0]);
    // The vendor's tag says 2.17, and a machine of that age has no libstdc++ that this cuSPARSE starts with.
    let wanted = "nvidia_cusparse-12.9.4.2: needs CXXABI_1.3.9 of libstdc++.so.6 and GLIBCXX_3.4.21 of libstdc++.so.6; machines \
                  of manylinux_2_17 have CXXABI_1.3.7 and GLIBCXX_3.4.19";
    assert_eq!(promises(dir.path(), &cusparse), [wanted]);
    let lower = dir.path().join("numpy-2.3.5-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl");
    fs_err::copy(&numpy, &lower).unwrap();
    let broken = promises(dir.path(), &lower);
    let tags = "its platform tag manylinux_2_17_x86_64.manylinux2014_x86_64 promises 2.17";
    assert!(broken.iter().any(|line| line.contains("_multiarray_umath") && line.ends_with(tags)), "{broken:?}");
}
