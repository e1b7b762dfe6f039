//! A user's neuron model becomes machine code on the user's machine, with the installed NVRTC.

use std::path::Path;

use crate::installing::installed;
use crate::support::{Prefix, Ran, python, scratch};

fn model(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/volley/models/{name}.toml"))
}

#[test]
fn a_user_model_compiles_without_any_environment() {
    if python().is_none() {
        return;
    }
    let installed = installed().unwrap();
    let dir = scratch();
    let mut seen = Vec::new();
    for arch in ["sm_90", "sm_75"] {
        let out = dir.path().join(arch);
        fs_err::create_dir(&out).unwrap();
        let mut command = installed.volley();
        Ran::of(command.arg("rtc").arg(model("lif_user")).args(["--arch", arch, "-o"]).arg(&out)).exit(0);
        let cubins: Vec<_> = crate::support::files(&out).into_iter().filter(|file| file.ends_with(".cubin")).collect();
        assert!(!cubins.is_empty());
        for cubin in cubins {
            let bytes = fs_err::read(out.join(&cubin)).unwrap();
            // An ELF file of machine 190 (EM_CUDA): machine code, not PTX.
            assert_eq!((&bytes[..4], bytes[18]), (&b"\x7fELF"[..], 190), "{cubin}");
            seen.push(bytes);
        }
    }
    seen.dedup();
    assert!(seen.len() >= 2, "both architectures gave the same bytes");
}

#[test]
fn a_mistake_in_a_model_is_told_in_its_own_lines() {
    if python().is_none() {
        return;
    }
    let dir = scratch();
    let text = fs_err::read_to_string(model("lif_user")).unwrap();
    let wrong = text.replacen("in_exc", "in_excess", 1);
    assert_ne!(text, wrong);
    let file = dir.path().join("wrong.toml");
    fs_err::write(&file, wrong).unwrap();
    let mut command = installed().unwrap().volley();
    let ran = Ran::of(command.arg("rtc").arg(&file).args(["--arch", "sm_90", "-o"]).arg(dir.path())).exit(2);
    assert!(ran.stderr.contains("in_excess"), "{}", ran.stderr);
}

#[test]
fn without_the_component_or_without_nvrtc_the_missing_part_is_named() {
    let dir = scratch();
    let compile = |prefix: &Prefix| {
        let mut command = prefix.volley(&["rtc", "--arch", "sm_90", "-o"]);
        Ran::of(command.arg(dir.path()).arg(model("lif_user")))
    };
    let ran = compile(&Prefix::of(&["volley-core"]));
    assert!(ran.code != Some(0) && ran.stderr.contains("libvolley_rtc.so.1.0"), "{ran:?}");
    let ran = compile(&Prefix::of(&["volley-core", "volley-rtc"]));
    assert!(ran.code != Some(0) && ran.stderr.contains("libnvrtc"), "{ran:?}");
}
