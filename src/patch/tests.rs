//! Patching files: what is written is what was wanted, and everything around it stays.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use super::*;
use crate::elf::facts;
use crate::elf_fixture as fixture;

fn spec(directories: &[&str]) -> PatchSpec {
    PatchSpec { runpath: directories.iter().map(ToString::to_string).collect(), tag: PathTag::Runpath }
}

fn drivers() -> Drivers {
    crate::manifest::Manifests::load(&crate::data::Data::at("no such directory")).unwrap().drivers
}

/// As builds do it.
fn apply(path: &Path, spec: &PatchSpec, drivers: &Drivers) -> Result<PatchOutcome> {
    apply_own(path, &edits(spec, drivers))
}

fn set(directory: &str) -> Edits {
    let edit = SearchPathEdit::Set { directories: vec![directory.to_owned()], tag: PathTag::Runpath };
    Edits { search_path: Some(edit), ..Edits::default() }
}

/// Names of temporary files in `dir`.
fn leftovers(dir: &Path) -> Vec<String> {
    let names = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with(".simpack")).collect()
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
    let outcome = apply(&path, &wanted, &drivers()).unwrap();
    assert!(outcome.changed());
    assert_eq!(runpath(&path).as_deref(), Some("$ORIGIN:$ORIGIN/../lib:/usr/lib/wsl/lib:/run/opengl-driver/lib"));
    let bytes = std::fs::read(&path).unwrap();
    let inode = std::fs::metadata(&path).unwrap().ino();
    assert!(!apply(&path, &wanted, &drivers()).unwrap().changed());
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    assert_eq!(std::fs::metadata(&path).unwrap().ino(), inode, "an unchanged file is not written");
    apply(&path, &spec(&[]), &drivers()).unwrap();
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
    apply_edits(&link, &set("/opt/x")).unwrap();
    let after = std::fs::metadata(&path).unwrap();
    assert_eq!(after.permissions().mode() & 0o777, 0o750);
    assert_eq!(before.modified().unwrap(), after.modified().unwrap());
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(runpath(&path).as_deref(), Some("/opt/x"));
    assert_eq!(runpath(&other), None, "the other name keeps the old content");
    assert!(leftovers(dir.path()).is_empty());
}

#[test]
fn in_place_means_the_same_file_unless_it_has_other_names() {
    let dir = fixture::dir();
    let path = fixture::library(dir.path(), "libp1.so", &[]);
    let copy = dir.path().join("copy.so");
    std::fs::copy(&path, &copy).unwrap();
    let inode = |path: &Path| std::fs::metadata(path).unwrap().ino();
    let before = inode(&path);
    for directory in ["$ORIGIN".to_owned(), "/long".repeat(200), "/short".to_owned()] {
        apply_own(&path, &set(&directory)).unwrap();
        apply_edits(&copy, &set(&directory)).unwrap();
        assert_eq!(inode(&path), before);
        assert_eq!(std::fs::read(&path).unwrap(), std::fs::read(&copy).unwrap(), "both ways give the same bytes");
    }
    let other = dir.path().join("other-name.so");
    std::fs::hard_link(&path, &other).unwrap();
    apply_own(&path, &set("/another")).unwrap();
    assert_eq!((runpath(&path).as_deref(), runpath(&other).as_deref()), (Some("/another"), Some("/short")));
}

#[test]
fn attributes_and_holes_stay() {
    use xattr::FileExt;
    let dir = fixture::dir();
    let path = fixture::library(dir.path(), "liba1.so", &[]);
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    let attributes = file.set_xattr("user.origin", b"here").is_ok();
    // A hole of 256 MiB behind everything.
    file.set_len(256 << 20).unwrap();
    let blocks = std::fs::metadata(&path).unwrap().blocks();
    apply_edits(&path, &set(&"/path".repeat(100))).unwrap();
    let after = std::fs::metadata(&path).unwrap();
    assert!(after.len() > 256 << 20);
    assert!(after.blocks() <= blocks + 64, "{} blocks became {}", blocks, after.blocks());
    if attributes {
        assert_eq!(xattr::get(&path, "user.origin").unwrap().as_deref(), Some(&b"here"[..]));
    }
}

#[test]
fn what_a_killed_run_left_goes_and_what_a_running_one_writes_stays() {
    let dir = fixture::dir();
    let dead = dir.path().join(".simpack-patch-dead");
    std::fs::write(&dead, "half").unwrap();
    let foreign = dir.path().join(".simpack-other");
    std::fs::write(&foreign, "not ours").unwrap();
    let alive = leftover::temporary(dir.path(), &dir.path().metadata().unwrap()).unwrap().0;
    sweep_dir(dir.path());
    assert!(!dead.exists() && foreign.exists() && alive.path().exists());
    drop(alive);
    assert_eq!(leftovers(dir.path()), [".simpack-other"]);
}

#[test]
fn many_files_are_exchanged_and_leave_nothing() {
    let dir = fixture::dir();
    let one = fixture::library(dir.path(), "libx1.so", &[]);
    let paths: Vec<_> = (0..20).map(|index| dir.path().join(format!("copy{index}.so"))).collect();
    for path in &paths {
        std::fs::copy(&one, path).unwrap();
    }
    let replacement = |path: &std::path::PathBuf| {
        let subject = Subject::open(path).unwrap();
        prepare(&subject, path, &subject.plan(&subject.source().unwrap(), &set("/many")).unwrap()).unwrap()
    };
    let results = commit(paths.iter().map(replacement).collect()).results;
    assert!(results.len() == 20 && results.into_iter().all(|result| result.is_ok()));
    assert!(paths.iter().all(|path| runpath(path).as_deref() == Some("/many")));
    assert!(leftovers(dir.path()).is_empty());
}

#[test]
fn signed_files_are_refused() {
    let dir = fixture::dir();
    let path = fixture::library(dir.path(), "libs1.so", &["-Wl,-rpath,/a/path/with/room"]);
    let plain = std::fs::read(&path).unwrap();
    let refused = || apply_edits(&path, &set("/b")).unwrap_err().to_string();
    std::fs::write(&path, [&plain[..], b"PKCS#7~Module signature appended~\n"].concat()).unwrap();
    assert!(refused().contains("an appended signature covers it"), "{}", refused());
    std::fs::write(&path, &plain).unwrap();
    fixture::run("objcopy", &[&format!("--add-section=.text_sig={0}", path.display()), path.to_str().unwrap()]);
    assert!(refused().contains("a signature section covers it"), "{}", refused());
    std::fs::write(&path, &plain).unwrap();
    // Only root may set it, and not on every file system.
    if xattr::set(&path, "security.ima", b"\x03signature").is_ok() {
        assert!(refused().contains("IMA"), "{}", refused());
    }
}

#[test]
fn what_cannot_be_patched_names_the_file() {
    let dir = fixture::dir();
    let path = dir.path().join("text.so");
    std::fs::write(&path, "not a library").unwrap();
    let error = apply(&path, &spec(&["/x"]), &drivers()).unwrap_err();
    assert!(error.to_string().ends_with("text.so: not an ELF file"), "{error}");
    assert_eq!(error.kind(), crate::error::ErrorKind::File);
    std::fs::write(&path, "").unwrap();
    assert!(apply(&path, &spec(&["/x"]), &drivers()).is_err());
}

#[test]
fn a_copy_in_the_making_is_as_private_as_its_original() {
    let dir = fixture::dir();
    let original = dir.path().join("original");
    std::fs::write(&original, "").unwrap();
    for (mode, most) in [(0o644, 0o644), (0o4755, 0o755), (0o666, 0o644), (0o640, 0o600), (0o400, 0o600)] {
        std::fs::set_permissions(&original, std::fs::Permissions::from_mode(mode)).unwrap();
        let (_copy, data) = leftover::temporary(dir.path(), &original.metadata().unwrap()).unwrap();
        // What the user's mask takes away comes back when the copy is finished.
        assert_eq!(data.mode() & 0o7777 & !most, 0, "{mode:o}: {:o}", data.mode());
        assert_eq!(data.mode() & 0o600, 0o600, "{mode:o}");
    }
}

#[test]
fn what_changes_meanwhile_is_not_overwritten() {
    let dir = fixture::dir();
    let path = fixture::library(dir.path(), "libmeanwhile.so", &[]);
    let subject = Subject::open(&path).unwrap();
    let plan = subject.plan(&subject.source().unwrap(), &set("/meanwhile")).unwrap();
    // Neither length nor modification time tells.
    std::thread::sleep(std::time::Duration::from_millis(20));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
    let error = prepare(&subject, &path, &plan).err().unwrap();
    assert!(error.to_string().contains("changed while it was being patched"), "{error}");
    assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o700);
    assert_eq!(runpath(&path), None);
    assert!(leftovers(dir.path()).is_empty());
}
