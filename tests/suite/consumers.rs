//! Programs of users build against the installed packages: CMake and pkg-config.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::installing::installed;
use crate::support::{Prefix, Ran, need, python, scratch, simpack};

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/volley/consumer")
}

/// A build tool of simpack's own toolchain store, so that the machine needs none.
pub fn tool(name: &str) -> PathBuf {
    let shown = Ran::of(&mut simpack(Path::new("."), &["toolchain", "show", name, "--json"])).exit(0).json();
    PathBuf::from(shown["program"].as_str().unwrap_or_else(|| panic!("{shown}")))
}

/// CMake that configures a project; `dir` is where it finds the config package, as a variable.
pub fn configure(project: &Path, build: &Path, dir: &str) -> Command {
    let mut command = Command::new(tool("cmake"));
    command.arg("-S").arg(project).arg("-B").arg(build).args(["-G", "Ninja"]);
    command.arg(format!("-DCMAKE_MAKE_PROGRAM={}", tool("ninja").display())).arg(format!("-D{dir}"));
    command
}

/// Ninja, which makes one target of a configured project.
pub fn make(build: &Path, target: &str) -> Command {
    let mut command = Command::new(tool("cmake"));
    command.arg("--build").arg(build).args(["--target", target]);
    command
}

/// Configures the project and builds it.
pub fn by_cmake(project: &Path, build: &Path, dir: &str) {
    Ran::of(&mut configure(project, build, dir)).exit(0);
    Ran::of(&mut make(build, "all")).exit(0);
}

/// Compiles one file with what pkg-config says of a module, for libraries below `prefix`.
pub fn by_pkg_config(main: &Path, module: &str, modules: &Path, prefix: &Path, program: &Path) {
    let mut command = Command::new("pkg-config");
    command.args(["--cflags", "--libs", module]).env("PKG_CONFIG_LIBDIR", modules);
    let flags = Ran::of(&mut command).exit(0).stdout;
    let mut command = Command::new("cc");
    command.arg(main).arg("-o").arg(program).args(flags.split_whitespace());
    Ran::of(command.arg(format!("-Wl,-rpath,{}", prefix.join("lib").display()))).exit(0);
}

/// Whether both kinds of consumers can be built here.
pub fn can_build() -> bool {
    ["cc", "pkg-config"].iter().all(|name| crate::support::tool(name).is_some())
}

/// A program that is built by CMake and one by pkg-config against volley below a prefix run and say the same.
pub fn serves(prefix: &Path) {
    let dir = scratch();
    let build = dir.path().join("build");
    by_cmake(&source(), &build, &format!("CMAKE_PREFIX_PATH={}", prefix.display()));
    let program = dir.path().join("consumer");
    by_pkg_config(&source().join("main.c"), "volley", &prefix.join("lib/pkgconfig"), prefix, &program);
    assert_eq!(run(&program), run(&build.join("consumer")));
}

/// What the program prints: version, count, digest.
fn run(program: &Path) -> String {
    let ran = Ran::of(Command::new(program).env_clear()).exit(0);
    assert!(ran.stdout.starts_with("volley 1.0.0: "), "{}", ran.stdout);
    ran.stdout
}

#[test]
fn cmake_and_pkg_config_consumers_build_and_run() {
    if python().is_none() {
        return;
    }
    need!(can_build(), "no consumer can be built");
    let prefix = &installed().unwrap().prefix;
    serves(prefix);

    let dir = scratch();
    let place = format!("CMAKE_PREFIX_PATH={}", prefix.display());
    // Another major is not taken.
    let other = dir.path().join("other");
    fs_err::create_dir(&other).unwrap();
    let text = "cmake_minimum_required(VERSION 3.16)\nproject(other LANGUAGES C)\nfind_package(volley 2 REQUIRED)\n";
    fs_err::write(other.join("CMakeLists.txt"), text).unwrap();
    let ran = Ran::of(&mut configure(&other, &other.join("build"), &place));
    assert!(ran.code != Some(0) && ran.stderr.contains("version: 1.0.0"), "{ran:?}");
}

/// The same program by the generated files, which know the components.
#[test]
fn consumers_find_components_by_generated_files() {
    need!(which::which("cc").is_ok(), "no C compiler");
    need!(which::which("pkg-config").is_ok(), "pkg-config is not here");
    let prefix = Prefix::of(&["volley-core", "volley-rtc", "volley-dev"]);
    let dir = scratch();
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR"));
    // Beside the simulator's own files, under a name of their own.
    let (config, modules) = (prefix.path().join("lib/cmake/generated"), prefix.path().join("lib/generated"));
    for (target, output) in [("cmake", &config), ("pkgconfig", &modules)] {
        Ran::of(simpack(checkout, &["generate", target, "recipes/volley", "--output"]).arg(output)).exit(0);
    }
    let text = "cmake_minimum_required(VERSION 3.16)\nproject(consumer LANGUAGES C)\n\
                find_package(volley 1 REQUIRED COMPONENTS core rtc)\n\
                if(NOT volley_KERNEL_ABI MATCHES \"^k[0-9a-f]+$\")\n  message(FATAL_ERROR \"no tag\")\nendif()\n\
                add_executable(consumer main.c)\ntarget_link_libraries(consumer PRIVATE volley::core)\n";
    fs_err::copy(source().join("main.c"), dir.path().join("main.c")).unwrap();
    fs_err::write(dir.path().join("CMakeLists.txt"), text).unwrap();
    let (build, place) = (dir.path().join("build"), format!("volley_DIR={}", config.display()));
    by_cmake(dir.path(), &build, &place);
    let program = dir.path().join("by-pkg-config");
    // The module believes that it lies in lib/pkgconfig, as this directory does.
    by_pkg_config(&source().join("main.c"), "volley-core", &modules, prefix.path(), &program);
    assert_eq!(run(&program), run(&build.join("consumer")));

    // A component that is not installed is missed, and so is another major.
    fs_err::remove_file(prefix.path().join("lib/libvolley_rtc.so.1.0")).unwrap();
    let ran = Ran::of(&mut configure(dir.path(), &dir.path().join("without"), &place));
    assert!(ran.code != Some(0) && ran.stderr.contains("component rtc is not installed"), "{}", ran.stderr);
    fs_err::write(dir.path().join("CMakeLists.txt"), text.replace("volley 1", "volley 2")).unwrap();
    let ran = Ran::of(&mut configure(dir.path(), &dir.path().join("major"), &place));
    assert!(ran.code != Some(0) && ran.stderr.contains("version: 1.0.0"), "{}", ran.stderr);
}
