//! ELF files for tests: built by the system's compiler, and the libraries of this system.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A directory that goes away with the test.
pub(crate) fn dir() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// Runs a program and gives its output; the test fails when the program does.
pub(crate) fn run(program: &str, args: &[&str]) -> String {
    let mut command = Command::new(program);
    command.args(args).env("LC_ALL", "C");
    let output = crate::process::retry_text_busy(|| command.output()).unwrap();
    assert!(output.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Compiles C source text into `name` below `dir`.
pub(crate) fn compile(dir: &Path, name: &str, source: &str, flags: &[&str]) -> PathBuf {
    let text = dir.join(format!("{name}.c"));
    std::fs::write(&text, source).unwrap();
    let output = dir.join(name);
    let mut args = vec!["-o", output.to_str().unwrap(), text.to_str().unwrap()];
    args.extend(flags);
    run("gcc", &args);
    output
}

/// A shared library with one function `answer` that gives 42, a SONAME and a version script's node.
pub(crate) fn library(dir: &Path, name: &str, flags: &[&str]) -> PathBuf {
    let map = dir.join("map");
    std::fs::write(&map, "V_1 { global: answer; table; local: *; };").unwrap();
    let script = format!("-Wl,--version-script={}", map.display());
    let soname = format!("-Wl,-soname,{name}");
    let mut all = vec!["-shared", "-fPIC", &*script, &*soname];
    all.extend(flags);
    compile(dir, name, "#include <stdio.h>\nint table[4]; int answer(void) { puts(\"\"); return 42; }", &all)
}

/// A library with `answer` as the Rust compiler makes it, on x86-64 with LLD.
pub(crate) fn rust_library(dir: &Path) -> PathBuf {
    let (text, output) = (dir.join("answer.rs"), dir.join("librust.so"));
    let source = "#[unsafe(no_mangle)] pub extern \"C\" fn answer() -> i32 { println!(); 42 }";
    std::fs::write(&text, source).unwrap();
    let compiler = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let place = ["-o", output.to_str().unwrap(), text.to_str().unwrap()];
    run(&compiler, &[&["--edition=2024", "--crate-type=cdylib"][..], &place].concat());
    output
}

/// Shared libraries of this system, at most `most`, sorted: real files of many makers.
pub(crate) fn system_libraries(most: usize) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"]
        .iter()
        .filter_map(|dir| std::fs::read_dir(dir).ok())
        .flatten()
        .filter_map(|entry| std::fs::canonicalize(entry.ok()?.path()).ok())
        .filter(|path| path.to_string_lossy().contains(".so"))
        .filter(|path| path.is_file() && std::fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF\x02\x01")))
        .collect();
    found.sort();
    found.dedup();
    found.truncate(most);
    found
}
