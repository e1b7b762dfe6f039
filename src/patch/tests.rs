//! Patching files: what is written is what was wanted, and everything around it stays.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use super::*;
use crate::elf::{facts, fixture};

fn spec(directories: &[&str]) -> PatchSpec {
    PatchSpec { runpath: directories.iter().map(ToString::to_string).collect(), tag: PathTag::Runpath }
}

fn runpath(path: &Path) -> Option<String> {
    facts(&std::fs::read(path).unwrap()).unwrap().runpath
}

#[test]
fn a_component_gets_its_search_path() {
    let dir = fixture::dir();
    let path = fixture::library(dir.path(), "libc1.so", &["-Wl,-rpath,/build/tree"]);
    let wanted =
        spec(&["$ORIGIN", "$ORIGIN/../lib", "/usr/lib64", "/usr/lib/wsl/lib", "$ORIGIN", "/run/opengl-driver/lib"]);
    let outcome = apply(&path, &wanted).unwrap();
    assert!(outcome.changed());
    assert_eq!(runpath(&path).as_deref(), Some("$ORIGIN:$ORIGIN/../lib:/usr/lib/wsl/lib:/run/opengl-driver/lib"));
    let bytes = std::fs::read(&path).unwrap();
    let inode = std::fs::metadata(&path).unwrap().ino();
    assert!(!apply(&path, &wanted).unwrap().changed());
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    assert_eq!(std::fs::metadata(&path).unwrap().ino(), inode, "an unchanged file is not written");
    apply(&path, &spec(&[])).unwrap();
    assert_eq!(runpath(&path), None);
}

#[test]
fn mode_times_and_other_names_stay() {
    let dir = fixture::dir();
    let path = fixture::library(dir.path(), "libm1.so", &[]);
    crate::fs::set_mode(&path, 0o750).unwrap();
    let other = dir.path().join("hard-link.so");
    std::fs::hard_link(&path, &other).unwrap();
    let link = dir.path().join("link.so");
    std::os::unix::fs::symlink("libm1.so", &link).unwrap();
    let before = std::fs::metadata(&path).unwrap();
    apply(&link, &spec(&["/opt/x"])).unwrap();
    let after = std::fs::metadata(&path).unwrap();
    assert_eq!(after.permissions().mode() & 0o777, 0o750);
    assert_eq!(before.modified().unwrap(), after.modified().unwrap());
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(runpath(&path).as_deref(), Some("/opt/x"));
    assert_eq!(runpath(&other), None, "the other name keeps the old content");
    assert_eq!(
        std::fs::read_dir(dir.path())
            .unwrap()
            .filter(|entry| { entry.as_ref().unwrap().file_name().to_string_lossy().starts_with(".simpack") })
            .count(),
        0
    );
}

#[test]
fn what_cannot_be_patched_names_the_file() {
    let dir = fixture::dir();
    let path = dir.path().join("text.so");
    std::fs::write(&path, "not a library").unwrap();
    let error = apply(&path, &spec(&["/x"])).unwrap_err();
    assert!(error.to_string().ends_with("text.so: not an ELF file"), "{error}");
    assert_eq!(error.kind(), crate::error::ErrorKind::File);
    std::fs::write(&path, "").unwrap();
    assert!(apply(&path, &spec(&["/x"])).is_err());
}
