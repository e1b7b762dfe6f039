//! Recipes for other builders of what ships cut: nothing cuts there, so conda builds everything once for each target, and nix once for
//! all that its configuration asks for.

use std::path::Path;
use std::process::Command;

use simpack::fs::Digest;

use crate::generating_conda::{checkout, compilers_with, facts};
use crate::generating_nix::{Nix, tools};
use crate::slicing_recipe::in_two_widths;
use crate::support::{Ran, client, copy_tree, files, need, python, scratch, set_up, shellcheck, simpack, unpack};

/// A program for GPUs alone beside a module, without the libraries of the vendor that stand-ins lack. It is built from an archive, which
/// the recipe patches and puts files over.
fn program(dir: &Path) {
    copy_tree(&checkout("tests/recipes/alone"), &dir.join("recipe"));
    let change = |file: &str, change: &dyn Fn(&str) -> bool, texts: &[(&str, &str)]| {
        let text = fs_err::read_to_string(dir.join("recipe").join(file)).unwrap();
        let kept: String = text.lines().filter(|line| change(line)).flat_map(|line| [line, "\n"]).collect();
        let changed = texts.iter().fold(kept, |text, (from, to)| {
            assert!(text.contains(from), "{file}: {from}");
            text.replace(from, to)
        });
        fs_err::write(dir.join("recipe").join(file), changed).unwrap();
    };
    let is_plain =
        |line: &str| !["curand", "profiler", "cudaProfiler", "int version"].iter().any(|it| line.contains(it));
    change("first.cu", &is_plain, &[]);
    change("Makefile", &|_| true, &[(" -lcurand", " -cudadevrt none")]);
    let without_uses = |line: &str| !line.contains("uses") && line != "[component.kernels]";
    change(
        "simpack.toml",
        &without_uses,
        &[("[component.core]", "[component.core]\nuses = [\"conda:python >=3.11\"]")],
    );
    // The makefile comes from the recipe's side.
    let at = |below: &str| dir.join("recipe").join(below);
    for below in ["up", "files", "patches"] {
        fs_err::create_dir(at(below)).unwrap();
    }
    for name in ["first.cu", "second.cu", "alone", "LICENSE"] {
        fs_err::rename(at(name), at(&format!("up/{name}"))).unwrap();
    }
    fs_err::rename(at("Makefile"), at("files/Makefile")).unwrap();
    fs_err::write(at("patches/0001-answer.patch"), PATCH).unwrap();
    let archive = dir.join("up.tar.gz");
    Ran::of(Command::new("tar").args(["-C"]).arg(dir.join("recipe")).arg("-czf").arg(&archive).arg("up")).exit(0);
    fs_err::remove_dir_all(at("up")).unwrap();
    let source = format!(
        "[source]\nurl = \"file://{}\"\nsha256 = \"{}\"\npatches = [\"patches/0001-answer.patch\"]\noverlay = \"files\"\n\n[matrix]",
        archive.display(),
        Digest::of_file(&archive).unwrap()
    );
    change("simpack.toml", &|_| true, &[("[matrix]", &source)]);
}

const PATCH: &str = "--- a/alone/__init__.py\n+++ b/alone/__init__.py\n@@ -1 +1 @@\n-ANSWER = 42\n+ANSWER = 43\n";

/// The targets of the device code in files, sorted.
fn targets(file: &Path) -> Vec<String> {
    let mut inspect = simpack(Path::new("."), &["inspect", "--json"]);
    let inspected = Ran::of(inspect.arg(file)).exit(0).json();
    let files = inspected["subjects"][0]["files"].as_array().unwrap_or_else(|| panic!("{inspected}"));
    let images = files.iter().flat_map(|file| file["images"].as_array().into_iter().flatten());
    let mut found: Vec<String> = images.map(|image| image["target"].as_str().unwrap().to_owned()).collect();
    found.sort();
    found.dedup();
    found
}

/// Each package holds code for its own target, whether it was built from PTX or machine code, and py-rattler chooses among them.
#[test]
fn rattler_build_makes_a_program_for_each_target() {
    if python().is_none() {
        return;
    }
    let Some(cuda) = set_up("SIMPACK_TEST_CUDA") else { return };
    let gxx = which::which("g++");
    need!(gxx.is_ok(), "no g++");
    let dir = scratch();
    program(dir.path());
    let at = |below: &str| dir.path().join(below);
    let plain = ["--plain".as_ref(), "python=3.11.9".as_ref()];
    let (channel, major) = compilers_with(dir.path(), &gxx.unwrap(), &cuda, &plain);
    fs_err::write(
        at("variants.yaml"),
        format!("c_compiler_version: [\"{major}\"]\ncxx_compiler_version: [\"{major}\"]\n"),
    )
    .unwrap();
    Ran::of(&mut simpack(dir.path(), &["generate", "conda", "recipe"])).exit(0);
    let mut command = client("build.py").unwrap();
    command.arg(at("recipe/packaging/conda/recipe.yaml")).arg("--channel").arg(&channel).arg("--fast");
    Ran::of(command.arg("--output").arg(at("out")).arg("--variants").arg(at("variants.yaml"))).exit(0);
    let mut held = Vec::new();
    for entry in fs_err::read_dir(at("out/linux-64")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if let Some((target, _)) = name.strip_prefix("alone-kernels-").and_then(|rest| rest.split_once("-1.2.0")) {
            held.push((target.to_owned(), targets(&path)));
        }
    }
    held.sort();
    let core = fs_err::read_dir(at("out/noarch")).unwrap().map(|entry| entry.unwrap().path());
    let core = core.into_iter().find(|path| path.to_str().unwrap().contains("alone-core-")).unwrap();
    unpack(&core, "pkg", &at("core"));
    let module = at("core/site-packages/alone/__init__.py");
    assert_eq!(fs_err::read_to_string(module).unwrap(), "ANSWER = 43\n");
    let expected = ["compute_80", "sm_80", "sm_90"].map(|target| (target.to_owned(), vec![target.to_owned()]));
    assert_eq!(held, expected);
    for (gpu, package) in [("9.0", "sm_90"), ("8.6", "sm_80"), ("12.0", "compute_80")] {
        let solved = solve(&at("out"), &channel, Some(gpu), "alone").exit(0).json();
        let names = solved.as_array().unwrap().iter().map(|package| package["name"].as_str().unwrap());
        let kernels: Vec<&str> = names.filter(|name| name.starts_with("alone-kernels-")).collect();
        assert_eq!(kernels, [format!("alone-kernels-{package}")], "{gpu}");
    }
    let refused = solve(&at("out"), &channel, None, "alone").exit(1);
    assert!(refused.stderr.contains("__cuda"), "{}", refused.stderr);
}

fn solve(packages: &Path, others: &Path, gpu: Option<&str>, name: &str) -> Ran {
    let mut command = client("solve.py").unwrap();
    command.arg("--channel").arg(packages).arg("--channel").arg(others).arg(name);
    command.env("CONDA_OVERRIDE_CUDA", gpu.map_or("", |_| "13.0")).env("CONDA_OVERRIDE_CUDA_ARCH", gpu.unwrap_or(""));
    Ran::of(&mut command)
}

/// nix builds one program with the code that was asked for, out of the source with what the recipe puts over it.
#[test]
fn nix_builds_one_program_for_what_is_asked_for() {
    let Some(nix) = Nix::new() else { return };
    let Some(cuda) = set_up("SIMPACK_TEST_CUDA") else { return };
    let Some(python) = set_up("SIMPACK_TEST_PYTHON") else { return };
    need!(which::which("g++").is_ok(), "no g++");
    program(nix.root.path());
    Ran::of(&mut simpack(nix.root.path(), &["generate", "nix", "recipe"])).exit(0);
    let whole = format!(
        "let pkgs = import {} {{ config.allowUnfree = true; overlays = [ (import {}) ]; }}; in pkgs.alone.override {{ \
         cudaCapabilities = [ \"9.0\" ]; cudaForwardCompat = true; }}",
        nix.path("nixpkgs").display(),
        nix.path("recipe/packaging/nix/overlay.nix").display()
    );
    let mut command = nix.command("nix-build");
    command.env("STANDIN_PATH", tools(&python)).env("STANDIN_CUDA", &cuda);
    Ran::of(command.args(["-E", &whole, "--out-link"]).arg(nix.path("package"))).exit(0);
    assert_eq!(targets(&nix.path("package/bin/alone")), ["compute_80", "sm_90"]);
    let module = nix.path("package/site-packages/alone/__init__.py");
    assert_eq!(fs_err::read_to_string(module).unwrap(), "ANSWER = 43\n");
}

/// The recipes of simulators that ship cut have texts of both: rattler-build renders every package, py-rattler chooses among them for a
/// machine, and nix reads its expressions. Whole builds are hours, and have commands of their own.
#[test]
fn simulators_that_ship_cut_have_texts_that_solve() {
    if python().is_none() {
        return;
    }
    let dir = scratch();
    let at = |below: &str| dir.path().join(below);
    for (name, version) in [
        ("brian2", "2.10.1"),
        ("libcurand", "10.4.0"),
        ("python", "3.12.9"),
        ("libgcc", "15.1.0"),
        ("libstdcxx", "15.1.0"),
    ] {
        fs_err::create_dir_all(at(name)).unwrap();
        fs_err::write(at(name).join(format!("stand-in-for-{name}")), "").unwrap();
        let mut vendor = client("vendor.py").unwrap();
        vendor.current_dir(dir.path()).args([
            "others",
            name,
            version,
            name,
            "--files",
            &format!("stand-in-for-{name}"),
        ]);
        Ran::of(&mut vendor).exit(0);
    }
    let nix = Nix::new();
    for name in ["brian2cuda", "arbor", "neuron", "openmm"] {
        for target in ["conda", "nix"] {
            let mut generate = simpack(Path::new(env!("CARGO_MANIFEST_DIR")), &["generate", target, name, "--output"]);
            Ran::of(generate.arg(at(name).join(target))).exit(0);
            for script in files(&at(name).join(target)).iter().filter(|file| file.ends_with(".sh")) {
                shellcheck(&at(name).join(target).join(script));
            }
        }
        for file in ["package.nix", "overlay.nix", "flake.nix"] {
            let Some(nix) = &nix else { continue };
            Ran::of(nix.command("nix-instantiate").arg("--parse").arg(at(name).join("nix").join(file))).exit(0);
        }
    }
    for (name, without) in [("brian2cuda", None), ("arbor", Some("arbor-kernels-cpu"))] {
        let channel = at(name).join("channel");
        let mut render = client("render.py").unwrap();
        Ran::of(render.arg(at(name).join("conda/recipe.yaml")).arg("--channel").arg(&channel)).exit(0);
        for (gpu, wanted) in [(Some("9.0"), Some("sm_90")), (Some("8.6"), Some("sm_86")), (None, None)] {
            let solved = solve(&channel, &at("others"), gpu, name);
            let wanted = wanted.map(|target| format!("{name}-kernels-{target}")).or(without.map(str::to_owned));
            let Some(wanted) = wanted else {
                assert!(solved.code == Some(1) && solved.stderr.contains("__cuda"), "{}", solved.stderr);
                continue;
            };
            let solved = solved.exit(0).json();
            let names = solved.as_array().unwrap().iter().map(|package| package["name"].as_str().unwrap());
            let start = format!("{name}-kernels-");
            let kernels: Vec<&str> = names.filter(|name| name.starts_with(&start)).collect();
            assert_eq!(kernels, [wanted], "{name} {gpu:?}");
        }
    }
}

/// What nobody but simpack builds is said in a sentence that names why.
#[test]
fn what_has_no_text_is_said() {
    let dir = scratch();
    for (name, target, why) in [
        ("neuron", "spack", "its source is put together from several"),
        ("openmm", "easybuild", "its source is put together from several"),
    ] {
        let refused = Ran::of(
            simpack(Path::new(env!("CARGO_MANIFEST_DIR")), &["generate", target, name, "--output"])
                .arg(dir.path().join(name)),
        )
        .exit(3);
        assert!(refused.stderr.contains(why), "{}", refused.stderr);
    }
}

/// Two variants of a library that ships cut: others call its build for each, and take nothing of the second but the library.
#[test]
fn others_build_every_variant_of_what_ships_cut() {
    if python().is_none() {
        return;
    }
    let Some(cuda) = set_up("SIMPACK_TEST_CUDA") else { return };
    let gxx = which::which("g++");
    need!(gxx.is_ok(), "no g++");
    let dir = scratch();
    let at = |below: &str| dir.path().join(below);
    in_two_widths(&at("recipe"));
    let (channel, major) = compilers_with(dir.path(), &gxx.unwrap(), &cuda, &[]);
    fs_err::write(
        at("variants.yaml"),
        format!("c_compiler_version: [\"{major}\"]\ncxx_compiler_version: [\"{major}\"]\n"),
    )
    .unwrap();
    Ran::of(&mut simpack(dir.path(), &["generate", "conda", "recipe"])).exit(0);
    shellcheck(&at("recipe/packaging/conda/host.sh"));
    let mut command = client("build.py").unwrap();
    command.arg(at("recipe/packaging/conda/recipe.yaml")).arg("--channel").arg(&channel).arg("--fast");
    Ran::of(command.arg("--output").arg(at("out")).arg("--variants").arg(at("variants.yaml"))).exit(0);
    for file in files(&at("out/linux-64")).iter().filter(|file| file.ends_with(".conda")) {
        let name = file.rsplitn(3, '-').nth(2).unwrap();
        unpack(&at("out/linux-64").join(file), "pkg", &at("trees").join(name));
    }
    let libraries = ["lib/libwhole-narrow.so.1.2.0", "lib/libwhole-wide.so.1.2.0"];
    for library in libraries {
        assert_eq!(targets(&at("trees/whole-kernels-sm_90").join(library)), ["sm_90"], "{library}");
    }
    assert_eq!(files(&at("trees/whole-core/bin")), ["whole"]);
    let needed = facts(&fs_err::read(at("trees/whole-core/bin/whole")).unwrap()).0;
    assert!(needed.iter().any(|word| word == "NEEDED libwhole-narrow.so.1"), "{needed:?}");
    let link = |name: &str| at("trees/whole-dev/lib").join(name).symlink_metadata().is_ok();
    assert!(link("libwhole-narrow.so") && !link("libwhole-wide.so"), "what is linked with is the first's");

    let Some(nix) = Nix::new() else { return };
    let Some(python) = set_up("SIMPACK_TEST_PYTHON") else { return };
    Ran::of(&mut simpack(dir.path(), &["generate", "nix", "recipe"])).exit(0);
    let whole = format!(
        "let pkgs = import {} {{ config.allowUnfree = true; overlays = [ (import {}) ]; }}; in pkgs.whole",
        nix.path("nixpkgs").display(),
        at("recipe/packaging/nix/overlay.nix").display()
    );
    let mut command = nix.command("nix-build");
    command.env("STANDIN_PATH", tools(&python)).env("STANDIN_CUDA", &cuda);
    Ran::of(command.args(["-E", &whole, "--out-link"]).arg(nix.path("package"))).exit(0);
    for library in libraries {
        assert_eq!(targets(&nix.path("package").join(library)), ["sm_90"], "{library}");
    }
}
