//! Edits proven by the loader, by `readelf` and by reading back.

mod libraries;
mod properties;
mod refusals;
mod small;
mod texts;

use std::path::{Path, PathBuf};

use super::*;
use crate::elf::{Facts, facts, fixture};

fn set(path: &str) -> Edits {
    runpath(SearchPathEdit::Set { directories: path.split(':').map(String::from).collect(), tag: PathTag::Runpath })
}

fn runpath(edit: SearchPathEdit) -> Edits {
    Edits { search_path: Some(edit), ..Edits::default() }
}

fn remove() -> Edits {
    runpath(SearchPathEdit::Remove)
}

fn edit(bytes: &[u8], edits: &Edits) -> Vec<u8> {
    let plan = plan(bytes, edits).unwrap();
    let edited = plan.apply(bytes).unwrap();
    assert_eq!(edited.len() as u64, plan.new_length());
    let again = super::plan(&edited, edits).unwrap();
    assert!(again.is_empty(), "not idempotent: {:?}", again.changes);
    assert_eq!(State::read(&edited).unwrap(), plan.wanted);
    edited
}

/// Loads the library with the real loader and calls `answer` in it.
fn answer(bytes: &[u8], dir: &Path) -> i32 {
    answered(bytes, dir).unwrap()
}

/// As [`answer`], or what the loader says.
fn answered(bytes: &[u8], dir: &Path) -> Result<i32, String> {
    use std::os::unix::ffi::OsStrExt;
    let path = tempfile::Builder::new().suffix(".so").tempfile_in(dir).unwrap().into_temp_path();
    std::fs::write(&path, bytes).unwrap();
    let name = std::ffi::CString::new(path.as_os_str().as_bytes()).unwrap();
    // SAFETY: the library is one of the fixtures; `answer` takes nothing and gives an int.
    unsafe {
        let handle = libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
        if handle.is_null() {
            return Err(std::ffi::CStr::from_ptr(libc::dlerror()).to_string_lossy().into_owned());
        }
        let symbol = libc::dlsym(handle, c"answer".as_ptr());
        assert!(!symbol.is_null());
        let function: extern "C" fn() -> i32 = std::mem::transmute(symbol);
        let answer = function();
        libc::dlclose(handle);
        Ok(answer)
    }
}

fn no_new_warnings(before: &[u8], after: &[u8], dir: &Path) {
    let warnings = |bytes: &[u8]| {
        let path = dir.join("looked-at.so");
        std::fs::write(&path, bytes).unwrap();
        let output = std::process::Command::new("readelf").args(["-lSdVW", "--dyn-syms"]).arg(&path).output().unwrap();
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    if warnings(before).is_empty() {
        assert_eq!(warnings(after), "");
    }
}

/// Everything but the edited texts stays.
fn same_otherwise(before: &Facts, after: &Facts) {
    assert_eq!(before.exports, after.exports);
    assert_eq!(before.imports, after.imports);
    assert_eq!(before.build_id, after.build_id);
    assert_eq!(before.version_definitions, after.version_definitions);
    assert_eq!((before.flags, before.flags_1, before.relro), (after.flags, after.flags_1, after.relro));
}

/// The same library by different linkers, with and without spare entries and section headers.
fn libraries(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let variants: &[(&str, &[&str])] = &[
        ("plain", &[]),
        ("with-path", &["-Wl,-rpath,/a/rather/long/path/that/leaves/room"]),
        ("with-rpath", &["-Wl,-rpath,/old,--disable-new-dtags"]),
        ("full", &["-Wl,--spare-dynamic-tags=0"]),
        ("full-now", &["-Wl,--spare-dynamic-tags=0", "-Wl,-z,now", "-Wl,-rpath,/x"]),
        ("sysv", &["-Wl,--hash-style=both"]),
        ("wide", &["-Wl,-z,max-page-size=0x200000"]),
        ("relr", &["-Wl,-z,pack-relative-relocs"]),
        ("stripped", &["-s"]),
        ("gold", &["-fuse-ld=gold"]),
        ("one-segment", &["-Wl,-z,noseparate-code"]),
    ];
    let mut all: Vec<(String, Vec<u8>)> = variants
        .iter()
        .map(|(name, flags)| {
            let path: PathBuf = fixture::library(dir, &format!("lib{name}.so"), flags);
            ((*name).to_owned(), std::fs::read(path).unwrap())
        })
        .collect();
    let mut headless = all[0].1.clone();
    headless[40..48].fill(0);
    headless[58..64].fill(0);
    let end = crate::elf::Image::parse(&headless).unwrap().loads().map(|load| load.offset + load.file_size).max();
    headless.truncate(end.unwrap() as usize);
    all.push(("headless".into(), headless));
    all
}

fn contains(bytes: &[u8], text: &[u8]) -> bool {
    text.len() > 4 && bytes.windows(text.len()).any(|window| window == text)
}
