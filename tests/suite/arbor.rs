//! A part of Arbor out of its source distribution, as its recipe has it: configured by the pinned tools, with its compiler of mechanisms made, and
//! what that writes of one mechanism compiled for one GPU. The whole takes half an hour here: `tests/evidence/arbor`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::consumers::{make, tool};
use crate::support::{Ran, copy_tree, scratch, set_up, simpack};

/// Options of the recipe's own build, with what simpack says of the pinned toolkit.
fn options(recipe: &Path, cuda: &Path) -> Vec<String> {
    let text = fs_err::read_to_string(recipe.join("simpack.toml")).unwrap();
    let recipe: toml::Table = text.parse().unwrap();
    let options = recipe["component"]["core"]["build"]["options"].as_table().unwrap();
    let value = |value: &toml::Value| match value {
        toml::Value::Boolean(is) => if *is { "ON" } else { "OFF" }.to_owned(),
        other => other.as_str().unwrap().replace("{cuda-root}", cuda.to_str().unwrap()),
    };
    options.iter().map(|(name, it)| format!("-D{name}={}", value(it))).collect()
}

#[test]
fn a_mechanism_of_arbors_is_compiled_for_a_gpu() {
    let Some(cuda) = set_up("SIMPACK_TEST_CUDA") else { return };
    let dir = scratch();
    let at = |below: &str| -> PathBuf { dir.path().join(below) };
    copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("recipes/arbor"), &at("recipe"));
    Ran::of(&mut simpack(dir.path(), &["patch-source", "recipe", "--source", "arbor", "--edit", "source"])).exit(0);
    let mut configure = Command::new(tool("cmake"));
    configure.args(["-G", "Ninja", "-S", "source", "-B", "build", "-DCMAKE_BUILD_TYPE=None"]);
    configure.arg(format!("-DCMAKE_MAKE_PROGRAM={}", tool("ninja").display())).args(options(&at("recipe"), &cuda));
    configure.env("CUDAARCHS", "90").env("CUDACXX", cuda.join("bin/nvcc")).env("CUDAHOSTCXX", "g++");
    Ran::of(configure.current_dir(dir.path())).exit(0);
    Ran::of(&mut make(&at("build"), "modcc")).exit(0);
    let mut modcc = Command::new(at("build/bin/modcc"));
    modcc.args(["-t", "gpu", "-t", "cpu", "-N", "arb", "-c", "part", "-o"]).arg(dir.path());
    Ran::of(modcc.arg(at("source/mechanisms/default/hh.mod"))).exit(0);
    let mut nvcc = Command::new(cuda.join("bin/nvcc"));
    nvcc.args([
        "-std=c++17",
        "-rdc=true",
        "-gencode=arch=compute_90,code=[sm_90,compute_90]",
        "-DARB_CUDA",
        "-DARB_HAVE_GPU",
    ]);
    nvcc.args(["-Isource/arbor/include", "-Isource/arbor", "-Ibuild/arbor/include", "-c", "hh_gpu.cu", "-o", "hh.o"]);
    Ran::of(nvcc.current_dir(dir.path())).exit(0);
    let inspected = Ran::of(&mut simpack(dir.path(), &["inspect", "--kernels", "--json", "hh.o"])).exit(0).json();
    let images = inspected["subjects"][0]["files"][0]["images"].as_array().unwrap();
    let mut targets: Vec<&str> = images.iter().map(|image| image["target"].as_str().unwrap()).collect();
    targets.sort_unstable();
    assert_eq!(targets, ["compute_90", "sm_90"]);
    for image in images {
        let kernels: Vec<&str> =
            image["kernels"].as_array().unwrap().iter().map(|kernel| kernel["name"].as_str().unwrap()).collect();
        for of_mechanism in ["init", "advance_state", "compute_currents"] {
            assert!(kernels.iter().any(|name| name.contains(of_mechanism)), "{of_mechanism}: {kernels:?}");
        }
    }
}
