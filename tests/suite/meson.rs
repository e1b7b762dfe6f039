//! A simulator that is built by Meson, by the pinned one on the machine's Python: the packages, what Meson says
//! of mistakes, and generated texts, whose script makes the same files.

use std::process::Command;

use simpack::fs::set_mode;

use crate::support::{Ran, Tiny, digests, files, set_up, shellcheck};

const PROJECT: &str = r#"
project('tiny', 'cpp', version: '1.0.0', default_options: ['cpp_std=c++17'])
args = get_option('fast') ? ['-DFAST'] : []
tiny = shared_library('tiny', 'sim.cc', cpp_args: args, gnu_symbol_visibility: 'hidden', version: '1.0.0', soversion: '1', install: true)
executable('tiny-run', 'main.cc', link_with: tiny, install: true, install_rpath: '$ORIGIN/../lib')
install_data('sim.cc', install_dir: get_option('datadir') / 'tiny')
"#;

/// The tiny simulator, by Meson.
fn tiny() -> Tiny {
    let tiny = Tiny::new();
    tiny.write("recipe/meson.build", PROJECT);
    tiny.write("recipe/meson_options.txt", "option('fast', type: 'boolean', value: false)\n");
    tiny.write("recipe/main.cc", "extern \"C\" int tiny();\nint main() { return tiny() - 1; }\n");
    tiny.change(r#"files = ["lib/**", "share/**"]"#, r#"files = ["bin/**", "lib/**", "share/**"]"#);
    tiny.change(
        "driver = \"script\"\ntargets = [\"build.sh\"]\ninputs = [\"build.sh\", \"sim.cc\"]\n",
        "driver = \"meson\"\ninputs = [\"meson.build\", \"meson_options.txt\", \"*.cc\"]\noptions = { fast = true }\n",
    );
    tiny
}

#[test]
fn meson_builds_the_host_part() {
    let tiny = tiny();
    let build = ["build", "recipe", "--format", "tar"];
    let ran = Ran::of(&mut tiny.simpack(&build)).exit(0);
    assert!(ran.stderr.contains("host core"), "{}", ran.stderr);
    let first = digests(&tiny.path("dist"));
    let keys = Ran::of(&mut tiny.simpack(&["plan", "recipe", "--json"])).exit(0);
    for words in ["\"meson\"", "\"ninja\"", "\"1.12.1"] {
        assert!(keys.stdout.contains(words), "{words}: {}", keys.stdout);
    }

    // The same bytes from nothing.
    for dir in ["cache/artifacts", "target", "dist"] {
        fs_err::remove_dir_all(tiny.path(dir)).unwrap();
    }
    Ran::of(&mut tiny.simpack(&build)).exit(0);
    assert_eq!(digests(&tiny.path("dist")), first);

    // Meson's own words for a mistake.
    tiny.change("options = { fast = true }", "options = { slow = true }");
    let ran = Ran::of(&mut tiny.simpack(&build)).exit(5);
    for words in ["host core", "Unknown option", "slow"] {
        assert!(ran.stderr.contains(words), "{words}: {}", ran.stderr);
    }
    tiny.change("options = { slow = true }", "targets = [\"all\"]");
    let ran = Ran::of(&mut tiny.simpack(&["check", "recipe"])).exit(3);
    assert!(ran.stdout.contains("`targets` cannot be combined with driver `meson`"), "{}", ran.stdout);
}

#[test]
fn texts_of_a_recipe_with_meson_install_the_same_files() {
    let Some(python) = set_up("SIMPACK_TEST_PYTHON") else { return };
    let tiny = tiny();
    Ran::of(&mut tiny.simpack(&["build", "recipe", "--format", "tar"])).exit(0);
    Ran::of(&mut tiny.simpack(&["generate", "conda", "recipe", "--output", "texts"])).exit(0);
    let recipe = fs_err::read_to_string(tiny.path("texts/recipe.yaml")).unwrap();
    assert!(recipe.contains("- meson\n") && recipe.contains("- ninja\n"), "{recipe}");
    shellcheck(&tiny.path("texts/host.sh"));

    // Its packages are the pinned tools, under the names that they have in an environment of conda.
    let tools = |name: &str| {
        let told = Ran::of(&mut tiny.simpack(&["toolchain", "show", name, "--json"])).exit(0);
        let told: serde_json::Value = serde_json::from_str(&told.stdout).unwrap();
        told["status"]["root"].as_str().unwrap_or_else(|| panic!("{told}")).to_owned()
    };
    let modules = tools("meson");
    tiny.write(
        "tools/meson",
        &format!("#!/bin/sh\nPYTHONPATH='{modules}' exec python3 -m mesonbuild.mesonmain \"$@\"\n"),
    );
    set_mode(&tiny.path("tools/meson"), 0o755).unwrap();
    let path = [
        tiny.path("tools").display().to_string(),
        format!("{}/bin", tools("ninja")),
        python.parent().unwrap().display().to_string(),
        "/usr/bin:/bin".to_owned(),
    ];
    let prefix = tiny.path("prefix");
    let mut script = Command::new("bash");
    script.arg(tiny.path("texts/host.sh")).current_dir(tiny.path("recipe"));
    script.env("PREFIX", &prefix).env("PATH", path.join(":")).env_remove("CXX");
    Ran::of(&mut script).exit(0);
    assert_eq!(files(&prefix), ["bin/tiny-run", "lib/libtiny.so.1.0.0", "share/tiny/sim.cc"]);
    Ran::of(&mut Command::new(prefix.join("bin/tiny-run"))).exit(0);
}
