//! Vendors' wheels as they are published: expected findings, written down, and cuobjdump's opinion of them.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::cuobjdump::{counted, listed};
use crate::support::{Ran, scratch, set_up, simpack};

/// The wheel of this name, without its signs' habits: `nvidia_curand`.
fn wheel(name: &str) -> Option<PathBuf> {
    let dir = set_up("SIMPACK_TEST_WHEELS")?;
    let mut entries = fs_err::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path());
    let start = format!("{name}-");
    let found = entries.find(|path| path.file_name().unwrap().to_string_lossy().to_lowercase().starts_with(&start));
    Some(found.unwrap_or_else(|| panic!("{} has no {name}", dir.display())))
}

/// What simpack says of a wheel.
fn inspected(wheel: &Path, args: &[&str]) -> Value {
    let mut command = simpack(Path::new("/"), &["inspect", "--json"]);
    Ran::of(command.args(args).arg(wheel)).exit(0).json()["subjects"][0].clone()
}

fn file<'a>(subject: &'a Value, ending: &str) -> &'a Value {
    let files = subject["files"].as_array().unwrap();
    files.iter().find(|file| file["path"].as_str().unwrap().ends_with(ending)).unwrap()
}

/// Unpacks one member with another reader.
fn extract(wheel: &Path, ending: &str, to: &Path) -> PathBuf {
    let script = "import sys, zipfile, os\n\
                  with zipfile.ZipFile(sys.argv[1]) as z:\n\
                  \x20   print(z.extract(next(n for n in z.namelist() if n.endswith(sys.argv[2])), sys.argv[3]))\n";
    let ran = Ran::of(Command::new("python3").args(["-c", script]).arg(wheel).arg(ending).arg(to)).exit(0);
    PathBuf::from(ran.stdout.trim())
}

/// `6 x sm_90`, in the order of the columns.
fn columns(subject: &Value) -> Vec<String> {
    let columns = subject["coverage"]["columns"].as_array().unwrap().iter();
    columns
        .map(|column| {
            let (kind, device) = (column["kind"].as_str().unwrap(), column["device"].as_str().unwrap());
            format!("{} {kind} {device}", column["pieces"])
        })
        .collect()
}

/// Counts of a library equal cuobjdump's, but for what stands in ordinary data; the library's name ends like this.
fn as_cuobjdump_sees(name: &str, library: &str) -> Option<Value> {
    let (wheel, newest) = (wheel(name)?, set_up("SIMPACK_TEST_CUDA_NEWEST")?);
    let subject = inspected(&wheel, &[]);
    let dir = scratch();
    let unpacked = extract(&wheel, library, dir.path());
    assert_eq!(counted(file(&subject, library)), listed(&newest.join("bin/cuobjdump"), &unpacked), "{library}");
    Some(subject)
}

#[test]
fn curand() {
    let Some(subject) = as_cuobjdump_sees("nvidia_curand", "libcurand.so.10") else { return };
    assert_eq!(subject["packages"][0]["name"], "nvidia-curand");
    let elf = &file(&subject, "libcurand.so.10")["elf"];
    assert_eq!((elf["soname"].as_str(), elf["glibc"].as_str()), (Some("libcurand.so.10"), Some("2.27")));
    insta::assert_snapshot!(columns(&subject).join(", "), @"229 sass 7.5, 232 sass 8.0, 227 sass 8.6, 10 sass 8.7, 10 sass 8.9, 238 sass 9.0, 231 sass 10.0, 223 sass 11.0, 224 sass 12.0, 229 ptx 7.5, 10 ptx 8.0, 10 ptx 8.6, 10 ptx 8.7, 10 ptx 8.9, 10 ptx 9.0, 10 ptx 10.0, 10 ptx 11.0, 10 ptx 12.0");
}

#[test]
fn cusparse() {
    let Some(subject) = as_cuobjdump_sees("nvidia_cusparse", "libcusparse.so.12") else { return };
    insta::assert_snapshot!(columns(&subject).join(", "), @"34 sass 7.0, 137 sass 7.5, 171 sass 8.0, 137 sass 8.6, 137 sass 8.9, 171 sass 9.0, 171 sass 10.0, 137 sass 10.3, 137 sass 10.7, 137 sass 11.0, 137 sass 12.0, 34 ptx 7.0, 34 ptx 8.0, 34 ptx 9.0, 34 ptx 10.0, 137 ptx 12.0, 34 lto-ir 5.0, 34 lto-ir 6.0, 34 lto-ir 7.0, 2 lto-ir 7.5, 34 lto-ir 8.0, 34 lto-ir 9.0, 34 lto-ir 10.0");
}

/// Most of its code is relocatable, for programs that link it themselves; there is `f` code and loose LTO-IR.
#[test]
fn nccl() {
    let Some(subject) = as_cuobjdump_sees("nvidia_nccl_cu13", "libnccl.so.2") else { return };
    let images = file(&subject, "libnccl.so.2")["images"].as_array().unwrap();
    assert_eq!(images.iter().filter(|image| image["relocatable"] == true).count(), 1032);
    assert_eq!(images.iter().filter(|image| image["target"] == "sm_100f").count(), 20);
    assert_eq!(file(&subject, ".ltoir")["images"][0]["kind"], "lto-ir");
}

/// cuobjdump says that there is none: all of it stands in ordinary data.
#[test]
fn cufft_hides_its_code() {
    let Some(wheel) = wheel("nvidia_cufft") else { return };
    // The library opens the driver by its name, so its data are searched whoever asks.
    let (plain, deep) = (inspected(&wheel, &[]), inspected(&wheel, &["--deep"]));
    assert_eq!(plain["files"], deep["files"]);
    let images = file(&deep, "libcufft.so.12")["images"].as_array().unwrap();
    assert_eq!(images.len(), 18_236);
    assert!(images.iter().all(|image| image["hidden"] == true));
    insta::assert_snapshot!(columns(&deep).join(", "), @"310 sass 7.5, 357 sass 8.0, 359 sass 8.6, 156 sass 8.7, 359 sass 8.9, 394 sass 9.0, 447 sass 10.0, 369 sass 10.7, 355 sass 11.0, 421 sass 12.0, 7191 ptx 7.5, 585 ptx 8.0, 292 ptx 8.6, 68 ptx 9.0, 6573 lto-ir 7.5");
    let doctor = Ran::of(simpack(Path::new("/"), &["doctor"]).arg(&wheel));
    assert!(doctor.stdout.contains("natively") && !doctor.stdout.contains("it runs on the CPU"), "{}", doctor.stdout);
}

/// `-acc` was a flag for all files: every object has device code, needed or not.
#[test]
fn neuron_gpu() {
    let (Some(wheel), Some(newest)) = (wheel("neuron_gpu"), set_up("SIMPACK_TEST_CUDA_NEWEST")) else { return };
    let subject = inspected(&wheel, &["--kernels"]);
    let archive = file(&subject, "libcoreneuron.a");
    assert_eq!(archive["objects"], serde_json::json!({ "total": 68, "with_device_code": 68 }));
    let dir = scratch();
    let unpacked = extract(&wheel, "libcoreneuron.a", dir.path());
    let counts = counted(archive);
    assert_eq!(counts, listed(&newest.join("bin/cuobjdump"), &unpacked));
    for arch in ["60", "70", "80"] {
        assert_eq!(counts[&format!("sm_{arch}.cubin")], 68, "{counts:?}");
    }
    // Vendors' runtimes under mangled names.
    let mangled = |file: &&Value| file["path"].as_str().unwrap().starts_with("NEURON_gpu.libs/");
    assert_eq!(subject["files"].as_array().unwrap().iter().filter(mangled).count(), 11);
}

#[test]
fn openmm_compiles_at_run_time() {
    let Some(wheel) = wheel("openmm_cuda_13") else { return };
    let subject = inspected(&wheel, &["--deep"]);
    assert_eq!(subject["coverage"]["columns"], serde_json::json!([]));
    let depends = subject["packages"][0]["depends"].as_array().unwrap();
    assert!(depends.iter().any(|depend| depend.as_str().unwrap().starts_with("nvidia-cuda-nvrtc")), "{depends:?}");
}
