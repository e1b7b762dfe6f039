//! What others published, in two releases or with known mistakes: what `abi diff` and `verify` must say of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Ran, scratch, set_up, simpack};

/// The wheel whose file begins so in lower case.
pub fn wheel(start: &str) -> Option<PathBuf> {
    let dir = set_up("SIMPACK_TEST_WHEELS")?;
    let mut entries = fs_err::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path());
    let found = entries.find(|path| path.file_name().unwrap().to_string_lossy().to_lowercase().starts_with(start));
    Some(found.unwrap_or_else(|| panic!("{} has no {start}", dir.display())))
}

pub fn diff(old: &Path, new: &Path, more: &[&str], code: i32) -> Value {
    let dir = scratch();
    let args = [&["abi", "diff", old.to_str().unwrap(), new.to_str().unwrap(), "--json"], more].concat();
    Ran::of(&mut simpack(dir.path(), &args)).exit(code).json()
}

/// How many changes of each kind there are in libraries whose name begins so.
pub fn kinds(answer: &Value, library: &str) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for change in answer["changes"].as_array().unwrap() {
        if change["library"].as_str().unwrap().starts_with(library) {
            *found.entry(change["kind"].as_str().unwrap().to_owned()).or_insert(0) += 1;
        }
    }
    found
}

pub fn symbols<'a>(answer: &'a Value, kind: &str) -> Vec<&'a str> {
    let changes = answer["changes"].as_array().unwrap().iter().filter(|change| change["kind"] == kind);
    changes.map(|change| change["symbol"].as_str().unwrap()).collect()
}

pub fn counted<const N: usize>(counts: [(&str, usize); N]) -> BTreeMap<String, usize> {
    counts.into_iter().map(|(kind, count)| (kind.to_owned(), count)).collect()
}

/// CUDA 13 took out what 12 had deprecated, among it the `_v2` forms whose plain names now mean them, and
/// gave every symbol another version node: no program links over that, and the major number says so.
#[test]
fn the_cuda_runtime_from_12_to_13() {
    let (Some(old), Some(new)) = (wheel("nvidia_cuda_runtime_cu12-12.9.79-"), wheel("nvidia_cuda_runtime-13.5.37-"))
    else {
        return;
    };
    let answer = diff(&old, &new, &[], 0);
    assert_eq!((answer["verdict"].as_str(), answer["fits"].as_bool()), (Some("incompatible"), Some(true)));
    assert_eq!((&answer["old"]["release"], &answer["new"]["release"]), (&"12.9.79".into(), &"13.5.37".into()));
    let expected = [
        ("node-added", 1),
        ("node-changed", 405),
        ("node-removed", 1),
        ("soname-changed", 1),
        ("symbol-added", 458),
        ("symbol-removed", 30),
    ];
    assert_eq!(kinds(&answer, "libcudart.so"), counted(expected));
    let removed = symbols(&answer, "symbol-removed");
    for name in ["cudaThreadExit", "cudaGetDeviceProperties_v2", "cudaLaunchCooperativeKernelMultiDevice"] {
        assert!(removed.contains(&format!("{name}@libcudart.so.12").as_str()), "{name}");
    }
    // As a minor release of 12 nobody could have installed it.
    let answer = diff(&old, &new, &["--new-release", "12.10.0"], 1);
    assert_eq!((answer["lowest"].as_str(), answer["fits"].as_bool()), (Some("13.0.0"), Some(false)));
}

/// From 13.0 to 13.5 the runtime only grew: a program of 13.5 may need 13.5, one of 13.0 runs with both.
#[test]
fn the_cuda_runtime_within_13() {
    let (Some(cuda), Some(new)) = (set_up("SIMPACK_TEST_CUDA"), wheel("nvidia_cuda_runtime-13.5.37-")) else { return };
    let old = cuda.join("lib/libcudart.so.13");
    let answer = diff(&old, &new, &["--old-release", "13.0.96"], 0);
    assert_eq!((answer["verdict"].as_str(), answer["lowest"].as_str()), (Some("additions"), Some("13.1.0")));
    assert_eq!(kinds(&answer, ""), counted([("symbol-added", 36)]));
    assert!(symbols(&answer, "symbol-added").contains(&"cudaStreamGetDevResource@libcudart.so.13"));
    // The additions of a patch release: whoever uses one installs beside the release before, and dies at load.
    let answer = diff(&old, &new, &["--old-release", "13.0.96", "--new-release", "13.0.97"], 0);
    assert_eq!(answer["fits"], false);
}

/// auditwheel names NumPy's OpenBLAS by a hash of its bytes: the two are one library, whose interface grew.
#[test]
fn the_openblas_of_numpy() {
    let (Some(old), Some(new)) = (wheel("numpy-2.2.6-"), wheel("numpy-2.3.5-")) else { return };
    let answer = diff(&old, &new, &[], 1);
    assert_eq!((&answer["old"]["release"], &answer["new"]["release"]), (&"2.2.6".into(), &"2.3.5".into()));
    let expected = [("data-size-changed", 5), ("function-protected", 5), ("soname-changed", 1), ("symbol-added", 15)];
    assert_eq!(kinds(&answer, "libscipy_openblas64_-"), counted(expected));
    // Nothing that programs call went away.
    let removed = symbols(&answer, "symbol-removed");
    assert!(!removed.iter().any(|name| name.contains("cblas_") || name.contains("dgemm")), "{removed:?}");
}

/// Search paths of the machine that built NEURON's wheel, in six files, its compiler in two makefiles, an OpenMP runtime that nobody
/// brings, and nothing else.
#[test]
fn a_wheel_with_paths_of_its_build_machine() {
    let Some(wheel) = wheel("neuron-9.0.2-") else { return };
    let dir = scratch();
    let report = Ran::of(&mut simpack(dir.path(), &["verify", "--json", wheel.to_str().unwrap()])).exit(1).json();
    let each = |found: &serde_json::Value| -> Vec<String> {
        let also = found["also"].as_array().cloned().unwrap_or_default();
        let subjects = std::iter::once(&found["subject"]).chain(&also);
        subjects.map(|it| format!("{}: {}", it.as_str().unwrap(), found["message"].as_str().unwrap())).collect()
    };
    let mut said: Vec<String> = report["findings"].as_array().unwrap().iter().flat_map(each).collect();
    said.sort();
    let wanted = [
        ("bin/nrniv-core", "/project/build_wheel/lib"),
        ("lib/libcorenrnmech_internal.so", "/project/build_wheel/lib"),
        ("lib/libcorenrnmpi_mpich.so", "/tmp/tmpv8vptdx0/wheel/platlib/lib"),
        ("lib/libcorenrnmpi_ompi.so", "/tmp/tmpv8vptdx0/wheel/platlib/lib"),
        ("share/nrn/demo/release/x86_64/libnrnmech.so", "/project/build_wheel/lib"),
        ("share/nrn/demo/release/x86_64/special", "/project/build_wheel/lib"),
    ];
    let wanted = wanted.map(|(file, path)| {
        format!("neuron-9.0.2: neuron/.data/{file}: RUNPATH names {path}, a directory of the build machine")
    });
    let makefiles = ["bin/nrnmech_makefile", "share/coreneuron/nrnivmodl_core_makefile"];
    let makefiles =
        makefiles.map(|file| format!("neuron-9.0.2: neuron/.data/{file}: names what is on the machine of its build"));
    let mut wanted: Vec<String> = wanted.into_iter().chain(makefiles).collect();
    wanted.sort();
    assert!(said[0].starts_with("neuron-9.0.2: needs libgomp.so.1, outside of what manylinux_2_27_x86_64"), "{said:?}");
    assert_eq!(said[1..], wanted);
    let lint = |it: &serde_json::Value| it["lint"].as_str().unwrap().to_owned();
    let lints: BTreeSet<String> = report["findings"].as_array().unwrap().iter().map(lint).collect();
    assert_eq!(lints, ["library-missing", "machine-in-text", "runpath-build-path"].map(str::to_owned).into());
}
