//! Recipes for other builders of what is put together from wheels: each is fetched by its digest, and installed as simpack installs it.

use std::path::{Path, PathBuf};

use simpack::fs::{Digest, EntryKind};

use crate::generating_conda::{compilers_with, facts, listing, packages};
use crate::generating_nix::{Nix, tools};
use crate::support::{Ran, client, files, need, python, set_up, simpack, tool, unpack};

/// What is OpenMM's, and the page that has it: the address in a text is one of this machine.
fn wheels(dir: &Path) -> PathBuf {
    let mut download = python().unwrap();
    download.args([
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--only-binary=:all:",
        "--python-version",
        "3.11",
        "--dest",
    ]);
    Ran::of(download.arg(dir.join("wheels")).args(["OpenMM==8.6.1", "OpenMM-CUDA-13==8.6.1"])).exit(0);
    let link = |name: &String| {
        let file = dir.join("wheels").join(name);
        format!("<a href=\"file://{}#sha256={}\">{name}</a>", file.display(), Digest::of_file(&file).unwrap())
    };
    let page: String = files(&dir.join("wheels")).iter().map(link).collect();
    fs_err::write(dir.join("page.html"), page).unwrap();
    dir.join("page.html")
}

fn generate(dir: &Path, target: &str, page: &Path) {
    let mut generate = simpack(dir, &["generate", target, "recipe"]);
    Ran::of(generate.env("PIP_NO_INDEX", "1").env("PIP_FIND_LINKS", page)).exit(0);
}

/// rattler-build and nix, neither of which knows wheels, make of OpenMM's two what simpack made of them in `dir`.
pub fn others_install_wheels_as_simpack_does(dir: &Path) {
    need!(tool("unzip").is_some(), "no unzip");
    let Some(cuda) = set_up("SIMPACK_TEST_CUDA") else { return };
    let gxx = which::which("g++");
    need!(gxx.is_ok(), "no g++");
    let at = |below: &str| dir.join(below);
    let page = wheels(dir);

    let others = ["python=3.11.9", "numpy=2.2.6", "ocl-icd=2.3.3", "libcufft=12.0.0", "libcufft-dev=12.0.0"];
    let plain: Vec<&std::ffi::OsStr> = others.iter().flat_map(|name| ["--plain".as_ref(), name.as_ref()]).collect();
    let (channel, major) = compilers_with(dir, &gxx.unwrap(), &cuda, &plain);
    let variants = format!(
        "c_compiler_version: [\"{major}\"]\ncxx_compiler_version: [\"{major}\"]\nc_stdlib_version: [\"2.28\"]\n"
    );
    fs_err::write(at("variants.yaml"), variants).unwrap();
    generate(dir, "conda", &page);
    let mut build = client("build.py").unwrap();
    build.arg(at("recipe/packaging/conda/recipe.yaml")).arg("--channel").arg(&channel).arg("--fast");
    Ran::of(build.arg("--output").arg(at("theirs")).arg("--variants").arg(at("variants.yaml"))).exit(0);
    let (ours, theirs) = (packages(&at("dist/conda")), packages(&at("theirs")));
    assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>());
    let mut compared = 0;
    for (name, our) in &ours {
        let (mine, other) = (at(&format!("trees/ours/{name}")), at(&format!("trees/theirs/{name}")));
        unpack(our, "pkg", &mine);
        unpack(&theirs[name], "pkg", &other);
        compared += same(&mine, &other);
    }
    assert!(compared > 500, "{compared} files");

    let Some(nix) = Nix::new() else { return };
    generate(dir, "nix", &page);
    let whole = format!(
        "let pkgs = import {} {{ config.allowUnfree = true; overlays = [ (import {}) ]; }}; in pkgs.openmm",
        nix.path("nixpkgs").display(),
        at("recipe/packaging/nix/overlay.nix").display()
    );
    let mut command = nix.command("nix-build");
    command.env("STANDIN_PATH", tools(&set_up("SIMPACK_TEST_PYTHON").unwrap())).env("STANDIN_CUDA", &cuda);
    Ran::of(command.args(["-E", &whole, "--out-link"]).arg(at("package"))).exit(0);
    for component in ["openmm-core", "openmm-rtc"] {
        let mine = at(&format!("trees/ours/{component}"));
        for path in listing(&mine).into_keys() {
            assert!(at("package").join(&path).is_file(), "{path}");
        }
    }
    let plugin = "lib/python3.11/site-packages/OpenMM.libs/lib/plugins/libOpenMMCUDA.so";
    let (words, _) = facts(&fs_err::read(at("package").join(plugin)).unwrap());
    assert!(words.iter().any(|word| word.starts_with("RUNPATH $ORIGIN/..:")), "{words:?}");
}

/// Files of two trees are the same but for who has installed them: how many.
fn same(mine: &Path, other: &Path) -> usize {
    let (left, right) = (listing(mine), listing(other));
    assert_eq!(left.keys().collect::<Vec<_>>(), right.keys().collect::<Vec<_>>(), "{}", mine.display());
    for (path, kind) in &left {
        if let EntryKind::Link(_) = kind {
            assert_eq!(Some(kind), right.get(path), "{path}");
            continue;
        }
        let (x, y) = (fs_err::read(mine.join(path)).unwrap(), fs_err::read(other.join(path)).unwrap());
        if path.ends_with("dist-info/INSTALLER") {
            assert_eq!((x.as_slice(), y.trim_ascii()), (&b"simpack\n"[..], &b"conda"[..]), "{path}");
        } else if x.starts_with(b"\x7fELF") {
            let (x, y) = (facts(&x), facts(&y));
            assert_eq!(x.0, y.0, ".dynamic of {path}");
            assert!(x.1 == y.1, "sections of {path}");
        } else {
            assert!(x == y, "{path}");
        }
    }
    left.len()
}
