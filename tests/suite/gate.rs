//! A denied finding stops before packing: nothing of such a build reaches `dist/`.

use std::path::Path;

use crate::support::{CacheView, Ran, changed, copy_tree, digests, need, scratch, simpack, volley};

/// Replaces `from` by `to` in a file of a copied recipe.
#[track_caller]
fn patch(recipe: &Path, file: &str, from: &str, to: &str) {
    let path = recipe.join(file);
    let text = fs_err::read_to_string(&path).unwrap();
    assert_eq!(text.matches(from).count(), 1, "{file} has changed: {from}");
    fs_err::write(path, text.replace(from, to)).unwrap();
}

/// Ids of denied findings of a report, sorted, each once.
fn denied(report: &serde_json::Value) -> Vec<&str> {
    let findings = report["findings"].as_array().unwrap().iter().filter(|finding| finding["level"] == "deny");
    let mut ids: Vec<_> = findings.map(|finding| finding["lint"].as_str().unwrap()).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

#[test]
fn a_core_that_breaks_its_promises_is_not_packed() {
    need!(["c++", "g++"].iter().any(|name| which::which(name).is_ok()), "no C++ compiler");
    let dir = scratch();
    let (recipe, dist) = (dir.path().join("recipe"), dir.path().join("dist"));
    copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("recipes/volley"), &recipe);
    // The wrong SONAME for policy `major`, CUDA's runtime needed by core, an executable stack.
    patch(&recipe, "CMakeLists.txt", "LINKER:-z,noexecstack", "LINKER:-z,execstack");
    patch(&recipe, "CMakeLists.txt", "SOVERSION ${PROJECT_VERSION_MAJOR} INSTALL", "SOVERSION 7 INSTALL");
    patch(
        &recipe,
        "CMakeLists.txt",
        "target_link_options(volley PRIVATE ${export_options})",
        "add_library(cudart SHARED src/cudart.cc)\n\
         set_target_properties(cudart PROPERTIES SOVERSION 13)\n\
         add_dependencies(volley cudart)\n\
         target_link_options(volley PRIVATE LINKER:--no-as-needed $<TARGET_FILE:cudart>)\n\
         target_link_options(volley PRIVATE ${export_options})",
    );
    fs_err::write(recipe.join("src/cudart.cc"), "extern \"C\" int cudaRuntimeGetVersion() { return 0; }\n").unwrap();
    copy_tree(&volley().dist, &dist);
    let before = digests(&dist);
    let view = CacheView::new(&["zig"]);
    let mut command = simpack(dir.path(), &["build", "recipe", "--component", "core", "--host", "system", "--json"]);
    let report = Ran::of(command.env("SIMPACK_CACHE_DIR", view.root.path())).exit(1).json();
    let ids = denied(&report);
    for id in ["soname-policy", "core-device-code", "executable-stack"] {
        assert!(ids.contains(&id), "{id} did not fire: {ids:?}");
    }
    assert_eq!(changed(&before, &digests(&dist)), [""; 0], "dist/ changed");

    // Said to be accepted, with a level on the command line, the same build is packed.
    let allowed: Vec<_> = ids.iter().flat_map(|id| ["--allow", id]).collect();
    let mut command = simpack(dir.path(), &["build", "recipe", "--component", "core", "--host", "system"]);
    Ran::of(command.args(allowed).env("SIMPACK_CACHE_DIR", view.root.path())).exit(0);
    assert_ne!(changed(&before, &digests(&dist)), [""; 0]);
}

/// The declared table says 8 bytes where the compiled kernel takes 4.
#[test]
fn kernels_that_differ_from_their_table_are_not_packed() {
    let dir = scratch();
    let recipe = dir.path().join("recipe");
    copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("recipes/volley"), &recipe);
    let table = recipe.join("kernels/table.toml");
    let text = fs_err::read_to_string(&table).unwrap();
    let changed = text.replacen("{ name = \"first\", type = \"u32\" }", "{ name = \"first\", type = \"u64\" }", 1);
    assert_ne!(text, changed);
    fs_err::write(&table, changed).unwrap();
    let view = CacheView::with_artifacts();
    let mut command = simpack(dir.path(), &["build", "recipe", "--json", "--component", "kernels"]);
    command.args(["--capability", "9.0", "--ptx", "7.5"]).env("SIMPACK_CACHE_DIR", view.root.path());
    let report = Ran::of(&mut command).exit(1).json();
    assert!(denied(&report).contains(&"kernel-abi"), "{report}");
    let subjects = report["findings"].to_string();
    assert!(subjects.contains("sm_90") && subjects.contains("compute_75"), "{subjects}");
    assert!(!dir.path().join("dist").exists());
}
