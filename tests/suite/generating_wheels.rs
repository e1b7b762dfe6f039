//! Recipes for other builders of what is put together from wheels: each is fetched by its digest, and installed as simpack installs it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use simpack::fs::{Digest, EntryKind};

use crate::composed::Scene;
use crate::generating_conda::{compilers_with, facts, listing, packages};
use crate::generating_nix::{Nix, tools};
use crate::support::{Ran, client, files, need, python, set_up, shellcheck, simpack, tool, unpack};

/// A simulator of wheels that was built, and what other builders need for it.
pub struct OfWheels {
    pub name: &'static str,
    /// Projects of the package index whose wheels it is made of.
    pub projects: &'static [&'static str],
    /// Packages of conda that its own ask for, and the compilers' channel lacks.
    pub others: &'static [&'static str],
    /// How many files all of its packages hold, at least.
    pub files: usize,
    /// A library, and how its search path begins.
    pub library: (&'static str, &'static str),
}

pub const OPENMM: OfWheels = OfWheels {
    name: "openmm",
    projects: &["OpenMM==8.6.1", "OpenMM-CUDA-13==8.6.1"],
    others: &["python=3.11.9", "numpy=2.2.6", "ocl-icd=2.3.3", "libcufft=12.0.0", "libcufft-dev=12.0.0"],
    files: 500,
    library: ("lib/python3.11/site-packages/OpenMM.libs/lib/plugins/libOpenMMCUDA.so", "RUNPATH $ORIGIN/..:"),
};

pub const NEURON: OfWheels = OfWheels {
    name: "neuron",
    projects: &["neuron==9.0.2"],
    others: &[
        "python=3.11.9",
        "find-libpython=0.5.1",
        "numpy=2.2.6",
        "packaging=26.0",
        "setuptools=80.9.0",
        "sympy=1.14.0",
        "libgomp=15.1.0",
        "xorg-libice=1.1.2",
        "xorg-libsm=1.2.6",
        "xorg-libx11=1.8.12",
        "xorg-libxext=1.3.6",
    ],
    files: 1200,
    library: ("lib/python3.11/site-packages/neuron/.data/lib/libnrniv.so", "RUNPATH $ORIGIN"),
};

/// The wheels in `wheels`, and the page that has them: the address in a text is one of this machine.
fn wheels(dir: &Path, projects: &[&str]) -> PathBuf {
    let mut download = python().unwrap();
    download.args(["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--python-version", "3.11"]);
    Ran::of(download.arg("--dest").arg(dir.join("wheels")).args(projects)).exit(0);
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

/// rattler-build makes of the texts in `dir/recipe` the packages that lie in `dir/dist`: how many files were compared.
fn conda_makes_the_same(dir: &Path, cuda: &Path, others: &[&str]) -> usize {
    let at = |below: &str| dir.join(below);
    let plain: Vec<&OsStr> = others.iter().flat_map(|name| ["--plain".as_ref(), name.as_ref()]).collect();
    let (channel, major) = compilers_with(dir, &which::which("g++").unwrap(), cuda, &plain);
    let variants = format!(
        "c_compiler_version: [\"{major}\"]\ncxx_compiler_version: [\"{major}\"]\nc_stdlib_version: [\"2.28\"]\n"
    );
    fs_err::write(at("variants.yaml"), variants).unwrap();
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
    compared
}

/// nix makes of the texts one package, whose outputs hold all files that lie in `dir/trees/ours`: where one lies.
fn nix_makes_the_same(nix: &Nix, dir: &Path, name: &str, cuda: &Path) -> impl Fn(&str) -> PathBuf {
    let whole = format!(
        "let pkgs = import {} {{ config.allowUnfree = true; overlays = [ (import {}) ]; }}; in \
         map (output: pkgs.{name}.${{output}}) pkgs.{name}.outputs",
        nix.path("nixpkgs").display(),
        dir.join("recipe/packaging/nix/overlay.nix").display()
    );
    let mut command = nix.command("nix-build");
    command.env("STANDIN_PATH", tools(&set_up("SIMPACK_TEST_PYTHON").unwrap())).env("STANDIN_CUDA", cuda);
    let ran = Ran::of(command.args(["-E", &whole, "--no-out-link"])).exit(0);
    let outputs: Vec<PathBuf> = ran.stdout.lines().map(PathBuf::from).collect();
    let place = move |path: &str| {
        let mut places = outputs.iter().map(|output| output.join(path));
        places.find(|place| place.symlink_metadata().is_ok()).unwrap_or_else(|| panic!("no output has {path}"))
    };
    for entry in fs_err::read_dir(dir.join("trees/ours")).unwrap() {
        for path in listing(&entry.unwrap().path()).into_keys() {
            place(&path);
        }
    }
    place
}

/// rattler-build and nix, neither of which knows wheels, make of a simulator's what simpack made of them in `dir`.
pub fn others_install_wheels_as_simpack_does(dir: &Path, simulator: &OfWheels) {
    need!(tool("unzip").is_some(), "no unzip");
    let Some(cuda) = set_up("SIMPACK_TEST_CUDA") else { return };
    need!(which::which("g++").is_ok(), "no g++");
    let page = wheels(dir, simulator.projects);
    generate(dir, "conda", &page);
    let compared = conda_makes_the_same(dir, &cuda, simulator.others);
    assert!(compared > simulator.files, "{compared} files");
    let Some(nix) = Nix::new() else { return };
    generate(dir, "nix", &page);
    let place = nix_makes_the_same(&nix, dir, simulator.name, &cuda);
    let (library, begins) = simulator.library;
    let (words, _) = facts(&fs_err::read(place(library)).unwrap());
    assert!(words.iter().any(|word| word.starts_with(begins)), "{words:?}");
}

/// Wheels that a recipe patches and puts files over, one of them read by another build, too, beside an archive of zip: others make of
/// them what simpack makes.
#[test]
fn others_change_wheels_as_simpack_does() {
    need!(tool("unzip").is_some(), "no unzip");
    need!(which::which("g++").is_ok(), "no g++");
    let Some(cuda) = set_up("SIMPACK_TEST_CUDA") else { return };
    if python().is_none() {
        return;
    }
    let scene = Scene::new();
    let dir = scene.path("");
    let digest = |name: &str| Digest::of_file(&scene.path(name)).unwrap().to_string();
    let zipped = |name: &str, from: &str, of: &str| {
        let old = digest(name);
        fs_err::remove_file(scene.path(name)).unwrap();
        let mut zip = python().unwrap();
        Ran::of(zip.current_dir(scene.path(from)).args(["-m", "zipfile", "-c"]).arg(scene.path(name)).arg(of)).exit(0);
        scene.change("recipe/simpack.toml", &old, &digest(name));
    };
    // A program of the simulator's name would be started, and there is no Python.
    scene.change("wheel/tiny-1.0.dist-info/entry_points.txt", "tiny = ", "tiny-main = ");
    scene.change("recipe/simpack.toml", "\"bin/*\"", "\"bin/tiny-*\"");
    zipped("tiny-1.0.whl", "wheel", ".");
    zipped("headers.tar.gz", "", "headers");
    fs_err::rename(scene.path("headers.tar.gz"), scene.path("headers.zip")).unwrap();
    scene.change("recipe/simpack.toml", "headers.tar.gz", "headers.zip");
    // A directory of the recipe's licences, and a wheel that is a directory of modules to a build that copies.
    scene.change("recipe/simpack.toml", "\"LICENSE\",", "\"texts/LICENSE\",");
    scene.change(
        "recipe/simpack.toml",
        "[component.dev]",
        "[component.rtc]\nbuild = { driver = \"copy\", source = \"wheel/tiny\" }\nfiles = [\"share/tiny/*.py\"]\n\n[component.dev]",
    );
    scene.change(
        "recipe/simpack.toml",
        "files = [\"share/tiny/**\"]",
        "files = [\"share/tiny/tiny.h\", \"share/tiny/.git\"]",
    );
    scene.change("recipe/simpack.toml", "\"0002.patch\"]", "\"0002.patch\"]\noverlay = \"over\"");
    fs_err::create_dir(scene.path("recipe/files/texts")).unwrap();
    fs_err::rename(scene.path("recipe/files/LICENSE"), scene.path("recipe/files/texts/LICENSE")).unwrap();
    scene.write("recipe/over/tiny/over.py", "OVER = 1\n");
    scene.simpack(&["build", "recipe"]).exit(0);
    scene.simpack(&["generate", "conda", "recipe"]).exit(0);
    shellcheck(&scene.path("recipe/packaging/conda/host.sh"));
    let compared = conda_makes_the_same(&dir, &cuda, &[]);
    assert!(compared >= 10, "{compared} files");
    let site = "trees/theirs/tiny-core/lib/python3.11/site-packages/tiny";
    assert_eq!(files(&scene.path(site)), ["__init__.py", "added.py", "over.py"]);
    assert_eq!(scene.text(&format!("{site}/added.py")), "ADDED = 2\n");
    assert_eq!(scene.text("trees/theirs/tiny-rtc/share/tiny/over.py"), "OVER = 1\n");
    let core = packages(&scene.path("theirs")).remove("tiny-core").unwrap();
    unpack(&core, "info", &scene.path("info"));
    assert_eq!(files(&scene.path("info/info/licenses")), ["simpack-overlay/texts/LICENSE"]);

    let Some(nix) = Nix::new() else { return };
    scene.simpack(&["generate", "nix", "recipe"]).exit(0);
    let place = nix_makes_the_same(&nix, &dir, "tiny", &cuda);
    assert_eq!(fs_err::read_to_string(place("share/tiny/tiny.h")).unwrap(), "two\n");
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
