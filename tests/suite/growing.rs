//! What changes is compiled, and nothing else.

use std::path::Path;

use crate::support::{CacheView, FORMATS, Ran, changed, copy_tree, digests, scratch, simpack, volley};

/// Ids of the steps that a build compiled.
fn compiled(ran: &Ran) -> Vec<String> {
    let json = ran.json();
    let steps = json["steps"].as_array().unwrap().iter().filter(|step| step["cached"] == false);
    let mut ids: Vec<_> = steps.map(|step| step["id"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    ids
}

/// Every translation unit with every variant.
fn kernel_steps(sources: &[&str], targets: &[&str]) -> Vec<String> {
    let mut ids = Vec::new();
    for source in sources {
        for target in targets {
            ids.extend(["fixed", "float", "none"].map(|variant| format!("kernels/{source} {target} ({variant})")));
        }
    }
    ids.sort();
    ids
}

#[test]
fn one_capability_more_compiles_that_capability_and_never_the_host() {
    let volley = volley();
    let view = CacheView::with_artifacts();
    let dir = scratch();
    let run = |capabilities: &str| {
        let dist = dir.path().join("dist");
        let mut command =
            simpack(Path::new(env!("CARGO_MANIFEST_DIR")), &["build", "volley", "--format", FORMATS, "--json"]);
        command.args(["--capability", capabilities, "--dist"]).arg(&dist).arg("--work").arg(dir.path().join("work"));
        Ran::of(command.env("SIMPACK_CACHE_DIR", view.root.path())).exit(0)
    };
    let ran = run("7.5,8.0,8.6,8.7,8.9,9.0,10.0,12.0");
    assert_eq!(compiled(&ran), kernel_steps(&["neuron.cu", "synapse.cu"], &["sm_87"]));
    // Packages of before are still the same files; only the new one, its selector build and the index differ.
    let before = digests(&volley.dist);
    let after = digests(&dir.path().join("dist"));
    let packages: Vec<_> = changed(&before, &after)
        .into_iter()
        .filter(|path| path.ends_with(".conda") || path.ends_with(".zst"))
        .collect();
    let is_index = |path: &str| path.contains("/repodata.json") || path.contains("/run_exports.json");
    let new = |path: &&String| !path.contains("sm_87") && !is_index(path);
    assert_eq!(packages.iter().find(new), None, "{packages:?}");
    assert_eq!(packages.iter().filter(|path| path.ends_with(".conda")).count(), 2, "{packages:?}");
    // Fewer of them come from the cache.
    assert_eq!(compiled(&run("9.0,8.7")), [""; 0]);
}

#[test]
fn one_source_file_changed_recompiles_that_file() {
    let view = CacheView::with_artifacts();
    let dir = scratch();
    copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("recipes/volley"), &dir.path().join("recipe"));
    let run = |args: &[&str]| {
        let mut command = simpack(dir.path(), &["build", "recipe", "--json", "--component", "kernels"]);
        Ran::of(
            command
                .args(["--capability", "9.0", "--ptx", "none"])
                .args(args)
                .env("SIMPACK_CACHE_DIR", view.root.path()),
        )
    };
    assert_eq!(compiled(&run(&[]).exit(0)), [""; 0], "the same sources in another directory come from the cache");
    let original = digests(&dir.path().join("dist"));
    let source = dir.path().join("recipe/kernels/neuron.cu");
    let text = fs_err::read_to_string(&source).unwrap();
    fs_err::write(&source, format!("{text}\n__device__ int one_symbol_more = 1;\n")).unwrap();
    let dry = run(&["--dry-run"]).exit(0).json();
    let to_compile: Vec<_> = dry.as_array().unwrap().iter().filter(|step| step["cached"] == false).collect();
    assert_eq!(to_compile.len(), 3, "{dry}");
    assert_eq!(changed(&original, &digests(&dir.path().join("dist"))), [""; 0], "a dry run changed dist/");
    assert_eq!(compiled(&run(&[]).exit(0)), kernel_steps(&["neuron.cu"], &["sm_90"]));
    assert_ne!(changed(&original, &digests(&dir.path().join("dist"))), [""; 0]);
    // A header counts for the files that include it: both.
    let header = dir.path().join("recipe/kernels/volley_device.cuh");
    let header_text = fs_err::read_to_string(&header).unwrap();
    fs_err::write(&header, format!("{header_text}\n// one line more\n")).unwrap();
    fs_err::write(&source, &text).unwrap();
    assert_eq!(compiled(&run(&[]).exit(0)), kernel_steps(&["neuron.cu", "synapse.cu"], &["sm_90"]));
    fs_err::write(&header, header_text).unwrap();
    assert_eq!(compiled(&run(&[]).exit(0)), [""; 0]);
    assert_eq!(changed(&original, &digests(&dir.path().join("dist"))), [""; 0], "back to the first bytes");
}

#[test]
fn editing_a_kernel_builds_no_host_part() {
    let view = CacheView::with_artifacts();
    let dir = scratch();
    copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("recipes/volley"), &dir.path().join("recipe"));
    let source = dir.path().join("recipe/kernels/synapse.cu");
    let text = fs_err::read_to_string(&source).unwrap();
    fs_err::write(&source, format!("{text}\n// one line more\n")).unwrap();
    let mut command = simpack(
        dir.path(),
        &["build", "recipe", "--format", FORMATS, "--json", "--capability", "9.0", "--ptx", "none"],
    );
    // A part of the matrix needs no more options, although newer devices lack code.
    let ran = Ran::of(command.env("SIMPACK_CACHE_DIR", view.root.path())).exit(0);
    let mut expected = kernel_steps(&["synapse.cu"], &["sm_90"]);
    expected.insert(0, "host source".to_owned());
    assert_eq!(compiled(&ran), expected);
    // The packages of the host part are the same files as before.
    let (before, after) = (digests(&volley().dist), digests(&dir.path().join("dist")));
    let changed = changed(&before, &after);
    for part in ["core", "rtc", "dev"] {
        let is_part = |path: &&String| path.contains(&format!("volley-{part}-"));
        assert_eq!(changed.iter().find(is_part), None, "{changed:?}");
    }
    assert!(changed.iter().any(|path| path.contains("volley-source-")), "{changed:?}");
}

#[test]
fn a_dry_run_builds_nothing() {
    let dir = scratch();
    let view = CacheView::new(&[]);
    let mut command = simpack(dir.path(), &["build", "volley", "--dry-run"]);
    let ran = Ran::of(command.env("SIMPACK_CACHE_DIR", view.root.path())).exit(0);
    assert!(ran.stdout.contains("56 steps, 0 in the cache, 56 to compile; nothing done"), "{}", ran.stdout);
    assert!(!dir.path().join("dist").exists() && !view.root.path().join("artifacts").exists());
}
