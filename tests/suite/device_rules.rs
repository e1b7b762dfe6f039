//! Rules about device code on real things: the clean set, a release with holes, and vendors' wheels with
//! what is wrong with each written down.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Ran, copy_tree, files, scratch, set_up, simpack, volley};

fn verify(dir: &Path, args: &[&str]) -> Ran {
    let args: Vec<&str> = ["verify", "--json"].into_iter().chain(args.iter().copied()).collect();
    Ran::of(&mut simpack(dir, &args))
}

/// `lint | subject | message` of all findings.
fn said(report: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let each = |found: &Value| -> Vec<String> {
        let also = found["also"].as_array().cloned().unwrap_or_default();
        let subjects = std::iter::once(&found["subject"]).chain(&also);
        subjects.map(|subject| [&found["lint"], subject, &found["message"]].map(text).join(" | ")).collect()
    };
    report["findings"].as_array().unwrap().iter().flat_map(each).collect()
}

fn recipe() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("recipes/volley")
}

#[test]
fn the_clean_set_gives_nothing_not_even_a_note() {
    let dir = scratch();
    let report = verify(dir.path(), &[volley().dist.to_str().unwrap(), "--recipe", "volley"]).exit(0).json();
    assert_eq!(said(&report), [""; 0]);
    assert_eq!(report["verdict"], "pass");
    assert_eq!(report["counts"]["note"], 0);
    assert!(report["examined"].as_array().unwrap().len() > 15, "{}", report["examined"]);
}

#[test]
fn packages_of_older_sources_are_stale() {
    let dir = scratch();
    copy_tree(&recipe(), &dir.path().join("sim"));
    let source = dir.path().join("sim/kernels/neuron.cu");
    let text = fs_err::read_to_string(&source).unwrap();
    fs_err::write(&source, format!("{text}\n// later\n")).unwrap();
    let report = verify(dir.path(), &[volley().dist.to_str().unwrap(), "--recipe", "sim"]).exit(1).json();
    let found = said(&report);
    assert!(found.iter().all(|line| line.starts_with("stale-kernels | volley-kernels-")), "{found:?}");
    assert_eq!(found.len(), 9, "seven capabilities and two of PTX: {found:?}");
    assert_eq!(report["findings"][0]["evidence"][0], "kernels/neuron.cu has changed");
}

#[test]
fn a_forgotten_package_is_missed() {
    let dir = scratch();
    let dist = dir.path().join("dist");
    copy_tree(&volley().dist, &dist);
    for file in files(&dist).iter().filter(|file| file.contains("volley-kernels-sm_90-")) {
        fs_err::remove_file(dist.join(file)).unwrap();
    }
    let report = verify(dir.path(), &["dist"]).exit(1).json();
    let found = said(&report);
    let selected = "release-incomplete | volley-kernels | selects sm_90, and there is no package volley-kernels-sm_90";
    assert!(found.contains(&selected.to_owned()), "{found:?}");
    let needed = found
        .iter()
        .filter(|line| line.starts_with("dependency-missing | volley-kernels | needs volley-kernels-sm_90"));
    assert_eq!(needed.count(), 1, "{found:?}");
    assert_eq!(found.len(), 2, "{found:?}");
    // Without its PTX a release ends at its highest machine code.
    copy_tree(&volley().dist, &dir.path().join("other"));
    let other = dir.path().join("other");
    for file in files(&other).iter().filter(|file| file.contains("kernels-compute_")) {
        fs_err::remove_file(other.join(file)).unwrap();
    }
    let found = said(&verify(dir.path(), &["other"]).exit(1).json());
    let uncovered =
        "device-coverage | volley-kernels | nothing runs on whatever comes: newer than sm_120, and it holds no PTX";
    assert!(found.contains(&uncovered.to_owned()), "{found:?}");
}

/// The wheel of a project; its file's name begins so in lower case.
fn wheel(start: &str) -> Option<PathBuf> {
    let dir = set_up("SIMPACK_TEST_WHEELS")?;
    let mut entries = fs_err::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path());
    let found = entries.find(|path| path.file_name().unwrap().to_string_lossy().to_lowercase().starts_with(start));
    Some(found.unwrap_or_else(|| panic!("{} has no {start}", dir.display())))
}

fn report_of(wheel: &Path, code: i32) -> Value {
    let dir = scratch();
    verify(dir.path(), &[wheel.to_str().unwrap()]).exit(code).json()
}

/// NEURON's wheel for GPUs, given up after this version: device code in all 68 objects of its archive, none of which
/// reaches newer devices once it is linked (the linked code stands in ordinary data), a vendor's runtime under another name, search paths that depend
/// on the current directory, executable stacks from the compiler's runtime.
#[test]
fn the_wheel_that_was_given_up() {
    let Some(wheel) = wheel("neuron_gpu-8.2.2-") else { return };
    let report = report_of(&wheel, 1);
    let found = said(&report);
    let count = |lint: &str| found.iter().filter(|line| line.starts_with(&format!("{lint} | "))).count();
    assert_eq!(
        (count("executable-stack"), count("runpath-build-path"), count("vendor-bundled"), found.len()),
        (5, 9, 1, 29),
        "{found:#?}"
    );
    // Its own compiler, and what it compiles for, stand in a makefile for users.
    let fixed =
        report["findings"].as_array().unwrap().iter().find(|finding| finding["lint"] == "machine-in-text").unwrap();
    assert!(fixed["evidence"].to_string().contains("22.1/compilers/bin/nvc"), "{fixed}");
    let lines: Vec<String> =
        report["findings"].as_array().unwrap().iter().map(|finding| finding["evidence"].to_string()).collect();
    assert!(lines.iter().any(|lines| lines.contains("code for GPUs that are chosen here: -gpu=")), "{lines:?}");
    let uncovered = "device-coverage | NEURON_gpu-8.2.2: neuron/.data/bin/nrniv-core | nothing runs on 9.0, 10.0, 10.3, 10.7, \
                     12.0, 12.1, whatever comes: newer than sm_80, and it holds no PTX";
    assert!(found.contains(&uncovered.to_owned()), "{found:#?}");
    let runtime = "vendor-bundled | NEURON_gpu-8.2.2: NEURON_gpu.libs/libcudart-4554289f.so.11.5.117 | \
                   is a renamed copy of the vendor's libcudart.so.11.5.117";
    assert!(found.contains(&runtime.to_owned()), "{found:#?}");
    let runtimes: Vec<&String> = found.iter().filter(|line| line.starts_with("runtime-renamed | ")).collect();
    assert_eq!(runtimes.len(), 9, "all but cudart, which the vendor has a wheel of: {runtimes:#?}");
    assert!(runtimes.iter().all(|line| line.ends_with("of the compilers of NVIDIA HPC SDK")), "{runtimes:#?}");
    // Its own library is in it twice, once as the repair tool renamed it.
    let twice = "library-twice | NEURON_gpu-8.2.2: neuron/.data/lib/libnrniv.so | \
                 exports exactly what NEURON_gpu.libs/libnrniv-b13f8654.so does, under another name: a process gets both";
    assert!(found.contains(&twice.to_owned()), "{found:#?}");
    assert_eq!(report["verdict"], "findings");
    assert_eq!(report["incomplete"], Value::Array(Vec::new()));
}

/// OpenMM compiles at run time: no device code, and so no rule about coverage; it is linked with the driver.
#[test]
fn a_wheel_without_device_code() {
    let Some(wheel) = wheel("openmm_cuda_13-8.6.1-") else { return };
    let found = said(&report_of(&wheel, 1));
    let wanted = |plugin: &str| {
        format!(
            "driver-linked | openmm_cuda_13-8.6.1: OpenMM.libs/lib/plugins/libOpenMM{plugin}.so | \
             is linked with the driver's libcuda.so.1"
        )
    };
    let mut wanted: Vec<String> = ["AmoebaCUDA", "CUDA", "DrudeCUDA", "RPMDCUDA"].map(wanted).to_vec();
    // An extra of `openmm` asks for it; by itself it asks for nothing that brings OpenMM's own libraries.
    wanted.push(
        "library-missing | openmm_cuda_13-8.6.1 | needs libOpenMM.so, libOpenMMAmoeba.so, libOpenMMDrude.so, libOpenMMRPMD.so, \
         outside of what manylinux_2_34_x86_64 allows and the wheel does not hold; not known to come with nvidia-cuda-cupti, \
         nvidia-cuda-nvcc, nvidia-cuda-nvrtc, nvidia-cuda-runtime, nvidia-cufft"
            .to_owned(),
    );
    // What nobody brings is denied, a link with the driver is a warning to those who maintain a package.
    wanted.rotate_right(1);
    assert_eq!(found, wanted);
}

/// The vendor's own library is a model of nearly all of it: every capability, PTX of the highest, nothing exported, and
/// no word of the runtime that it is linked with.
#[test]
fn the_vendors_own_wheel_is_clean() {
    let Some(wheel) = wheel("nvidia_curand-") else { return };
    let report = report_of(&wheel, 1);
    assert_eq!(
        said(&report),
        [
            "library-missing | nvidia_curand-10.4.5.25 | needs libcudart.so.13, outside of what manylinux_2_27_x86_64 allows and \
          the wheel does not hold; it requires nothing"
        ]
    );
    assert_eq!(report["incomplete"], Value::Array(Vec::new()));
}
