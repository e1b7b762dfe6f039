//! Layouts in memory: machines that this one is not.

use std::path::Path;

use super::*;
use crate::elf::fixture;

/// A library with needs and flags, as bytes. The needed ones are stand-ins of that name.
fn library(dir: &Path, name: &str, needs: &[&str], flags: &[&str]) -> Vec<u8> {
    let soname = format!("-Wl,-soname,{name}");
    let base = ["-shared", "-fPIC", "-nostdlib", "-Wl,--no-as-needed"];
    let mut all: Vec<String> = base.iter().map(|flag| (*flag).to_owned()).collect();
    all.push(soname);
    all.extend(flags.iter().map(|flag| (*flag).to_owned()));
    for need in needs {
        let stand_in = dir.join(need);
        if !stand_in.exists() {
            let soname = format!("-Wl,-soname,{need}");
            fixture::compile(dir, need, "int here;", &["-shared", "-fPIC", "-nostdlib", &soname]);
        }
        all.push(stand_in.to_str().unwrap().to_owned());
    }
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let out = dir.join("built");
    fs_err::create_dir_all(&out).unwrap();
    std::fs::read(fixture::compile(&out, name, "int here;", &all)).unwrap()
}

fn environment() -> Environment {
    Environment { directory: "/".to_owned(), ..Environment::default() }
}

fn end(tree: &MemoryTree, loader: &Loader, environment: &Environment, file: &str, name: &str) -> Option<String> {
    let found = Process::start(tree, loader, environment, file).unwrap().finish();
    let link = found.links.iter().find(|link| link.name == name).unwrap();
    match link.end {
        End::Found { object, .. } => Some(found.objects[object].path.clone()),
        _ => None,
    }
}

#[test]
fn one_layout_two_loaders() {
    let dir = fixture::dir();
    let rpath = ["-Wl,--enable-new-dtags", "-Wl,-rpath,/opt/deep:/opt/mid"];
    let mut tree = MemoryTree::default();
    tree.file("/opt/liba.so", library(dir.path(), "liba.so", &["libmid.so"], &rpath));
    tree.file("/opt/mid/libmid.so", library(dir.path(), "libmid.so", &["libdeep.so"], &[]));
    tree.file("/opt/deep/libdeep.so", library(dir.path(), "libdeep.so", &[], &[]));
    let glibc = Loader::glibc(62, &["/lib"]);
    let musl = Loader { libc: Libc::Musl, ..glibc.clone() };
    // RUNPATH is inherited by musl and not by glibc.
    assert_eq!(end(&tree, &glibc, &environment(), "/opt/liba.so", "libdeep.so"), None);
    assert_eq!(
        end(&tree, &musl, &environment(), "/opt/liba.so", "libdeep.so").as_deref(),
        Some("/opt/deep/libdeep.so")
    );
    // A directory that ldconfig was told of serves whoever the cache does not.
    let told = Loader { configured: vec!["/opt/deep".to_owned()], ..glibc };
    assert_eq!(
        end(&tree, &told, &environment(), "/opt/liba.so", "libdeep.so").as_deref(),
        Some("/opt/deep/libdeep.so")
    );
}

#[test]
fn raised_rights_ignore_the_environment_and_foreign_origins() {
    let dir = fixture::dir();
    let rpath = ["-Wl,--enable-new-dtags", "-Wl,-rpath,$ORIGIN:/opt/own"];
    let mut tree = MemoryTree::default();
    tree.file("/home/x/liba.so", library(dir.path(), "liba.so", &["libb.so"], &rpath));
    for place in ["/home/x", "/env", "/opt/own"] {
        tree.file(format!("{place}/libb.so"), library(dir.path(), "libb.so", &[], &[]));
    }
    let loader = Loader::glibc(62, &["/lib"]);
    let with = |secure| Environment { library_path: Some("/env".into()), secure, ..environment() };
    let found = |secure| end(&tree, &loader, &with(secure), "/home/x/liba.so", "libb.so").unwrap();
    assert_eq!(found(false), "/env/libb.so");
    assert_eq!(found(true), "/opt/own/libb.so");
}

#[test]
fn a_file_in_the_place_of_another_is_no_other_file() {
    let dir = fixture::dir();
    let mut tree = MemoryTree::default();
    let bytes = |name, needs: &[&str]| library(dir.path(), name, needs, &["-Wl,-rpath,/lib"]);
    for _ in 0..2 {
        tree.file("/bin/liba.so", bytes("liba.so", &["libb.so"]));
        tree.file("/lib/libb.so", bytes("libb.so", &[]));
    }
    let loader = Loader::glibc(62, &[]);
    assert_eq!(end(&tree, &loader, &environment(), "/bin/liba.so", "libb.so").as_deref(), Some("/lib/libb.so"));
}

#[test]
fn links_of_directories_are_the_same_files() {
    let dir = fixture::dir();
    let mut tree = MemoryTree::default();
    tree.file("/usr/lib/liba.so", library(dir.path(), "liba.so", &["libb.so"], &[]));
    tree.file("/usr/lib/libb.so", library(dir.path(), "libb.so", &[], &[]));
    tree.link("/lib", "/usr/lib");
    let loader = Loader::glibc(62, &["/lib", "/usr/lib"]);
    let found = Process::start(&tree, &loader, &environment(), "/usr/lib/liba.so").unwrap().finish();
    let link = &found.links[0];
    assert_eq!(link.candidates.iter().map(|it| &it.outcome).collect::<Vec<_>>(), [&Outcome::Wins, &Outcome::Same]);
    assert_eq!(tree.real("/lib/libb.so").as_deref(), Some("/usr/lib/libb.so"));
}

/// What this machine's loader says of itself, against its own `--help` and `--version`.
#[test]
fn a_loader_is_described_by_its_own_file() {
    let path = "/lib64/ld-linux-x86-64.so.2";
    let Ok(bytes) = std::fs::read(path) else { return crate::skip::skip("no glibc on x86-64 here") };
    let mut loader = Loader::glibc(62, &[]);
    loader.read(&bytes);
    let help = fixture::run(path, &["--help"]);
    let said: Vec<&str> = help.lines().filter_map(|line| line.trim().strip_suffix(" (system search path)")).collect();
    assert_eq!(loader.directories, said);
    assert_eq!(loader.cache_path.as_deref(), Some("/etc/ld.so.cache"));
    let version = fixture::run(path, &["--version"]);
    let version = version.lines().next().unwrap().trim_end_matches('.').rsplit(' ').next().unwrap();
    assert_eq!(loader.version.map(|version| version.to_string()).as_deref(), Some(version));
}

#[test]
fn legacy_subdirectories_are_counted_down() {
    let mut loader = Loader::glibc(62, &[]);
    loader.version = "2.36".parse().ok();
    loader.cpu = Cpu { level: 2, platform: "haswell".into(), legacy: vec!["avx512_1".into(), "x86_64".into()] };
    let found = loader.subdirectories();
    assert_eq!(found[..3], ["glibc-hwcaps/x86-64-v2/", "tls/haswell/avx512_1/x86_64/", "tls/haswell/avx512_1/"]);
    assert_eq!(found.last().map(String::as_str), Some("x86_64/"));
    assert_eq!(found.len(), 16);
    loader.version = "2.37".parse().ok();
    assert_eq!(loader.subdirectories(), ["glibc-hwcaps/x86-64-v2/"]);
}
