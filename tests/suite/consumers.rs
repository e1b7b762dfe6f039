//! Programs of users build against the installed packages: CMake and pkg-config.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::installing::installed;
use crate::support::{Ran, need, python, scratch, simpack};

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/volley/consumer")
}

/// A build tool of simpack's own toolchain store, so that the machine needs none.
fn tool(name: &str) -> PathBuf {
    let shown = Ran::of(&mut simpack(Path::new("."), &["toolchain", "show", name, "--json"])).exit(0).json();
    PathBuf::from(shown["program"].as_str().unwrap_or_else(|| panic!("{shown}")))
}

/// What the program prints: version, count, digest.
fn run(program: &Path) -> String {
    let ran = Ran::of(Command::new(program).env_clear()).exit(0);
    assert!(ran.stdout.starts_with("volley 1.0.0: "), "{}", ran.stdout);
    ran.stdout
}

#[test]
fn cmake_and_pkg_config_consumers_build_and_run() {
    need!(python().is_some(), "SIMPACK_TEST_PYTHON names no Python with py-rattler");
    need!(which::which("cc").is_ok(), "no C compiler");
    need!(which::which("pkg-config").is_ok(), "pkg-config is not here");
    let prefix = &installed().unwrap().prefix;
    let dir = scratch();

    let (cmake, build) = (tool("cmake"), dir.path().join("build"));
    let mut command = Command::new(&cmake);
    command.arg("-S").arg(source()).arg("-B").arg(&build).args(["-G", "Ninja"]);
    command.arg(format!("-DCMAKE_MAKE_PROGRAM={}", tool("ninja").display()));
    command.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display()));
    Ran::of(&mut command).exit(0);
    Ran::of(Command::new(&cmake).arg("--build").arg(&build)).exit(0);
    let by_cmake = run(&build.join("consumer"));

    let mut command = Command::new("pkg-config");
    command.args(["--cflags", "--libs", "volley"]).env("PKG_CONFIG_LIBDIR", prefix.join("lib/pkgconfig"));
    let flags = Ran::of(&mut command).exit(0).stdout;
    let program = dir.path().join("consumer");
    let mut command = Command::new("cc");
    command.arg(source().join("main.c")).arg("-o").arg(&program).args(flags.split_whitespace());
    Ran::of(command.arg(format!("-Wl,-rpath,{}", prefix.join("lib").display()))).exit(0);
    assert_eq!(run(&program), by_cmake);

    // Another major is not taken.
    let other = dir.path().join("other");
    fs_err::create_dir(&other).unwrap();
    let text = "cmake_minimum_required(VERSION 3.16)\nproject(other LANGUAGES C)\nfind_package(volley 2 REQUIRED)\n";
    fs_err::write(other.join("CMakeLists.txt"), text).unwrap();
    let mut command = Command::new(&cmake);
    command.arg("-S").arg(&other).arg("-B").arg(other.join("build")).args(["-G", "Ninja"]);
    command.arg(format!("-DCMAKE_MAKE_PROGRAM={}", tool("ninja").display()));
    let ran = Ran::of(command.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display())));
    assert!(ran.code != Some(0) && ran.stderr.contains("version: 1.0.0"), "{ran:?}");
}
