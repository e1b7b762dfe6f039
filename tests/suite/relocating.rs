//! Texts that name the prefix of their build: CMake packages and `.pc` files are found by their clients wherever a package lies, scripts
//! are refused.

use std::path::Path;
use std::process::Command;

use crate::consumers::configure;
use crate::support::{Ran, need, scratch, simpack};

const RECIPE: &str = r#"edition = 1

[simulator]
name = "moved"
version = "1.0.0"
license = "MIT"
summary = "texts with the prefix of their build"

[toolchain]
host = { use = "system" }

[component.core]
files = ["share/**"]

[component.core.build]
driver = "cmake"
inputs = ["CMakeLists.txt", "*.in", "data.txt"]

[component.dev]
files = ["lib/**", "bin/**"]
"#;

const CMAKE: &str = r#"cmake_minimum_required(VERSION 3.16)
project(moved NONE)
foreach(file moved-config.cmake moved.pc moved-tool)
    configure_file(${file}.in ${file} @ONLY)
endforeach()
install(FILES "${PROJECT_BINARY_DIR}/moved-config.cmake" DESTINATION lib/cmake/moved)
install(FILES "${PROJECT_BINARY_DIR}/moved.pc" DESTINATION lib/pkgconfig)
install(PROGRAMS "${PROJECT_BINARY_DIR}/moved-tool" DESTINATION bin)
install(FILES data.txt DESTINATION share/moved)
"#;

const CONFIG: &str = r#"set(MOVED_DATA "@CMAKE_INSTALL_PREFIX@/share/moved/data.txt")
function(moved_data to)
    set(${to} @CMAKE_INSTALL_PREFIX@/share/moved/data.txt PARENT_SCOPE)
endfunction()
"#;

const PC: &str = "prefix=@CMAKE_INSTALL_PREFIX@\ndata=@CMAKE_INSTALL_PREFIX@/share/moved/data.txt\n\
                  Name: moved\nDescription: texts\nVersion: 1\nCflags: -I@CMAKE_INSTALL_PREFIX@/include\n";

const CONSUMER: &str = r#"cmake_minimum_required(VERSION 3.16)
project(consumer NONE)
find_package(moved REQUIRED)
moved_data(data)
foreach(path ${MOVED_DATA} ${data})
    file(READ ${path} text)
    message("found: ${text}")
endforeach()
"#;

fn write(dir: &Path, files: &[(&str, &str)]) {
    fs_err::create_dir_all(dir).unwrap();
    for (name, text) in files {
        fs_err::write(dir.join(name), text).unwrap();
    }
}

#[test]
fn texts_find_their_prefix_wherever_a_package_lies() {
    need!(crate::support::tool("pkg-config").is_some(), "no pkg-config");
    let dir = scratch();
    let script = "#!/bin/sh\nexec cat \"$(dirname \"$0\")/../share/moved/data.txt\"\n";
    let recipe = dir.path().join("recipe");
    let files = [
        ("simpack.toml", RECIPE),
        ("LICENSE", "MIT"),
        ("CMakeLists.txt", CMAKE),
        ("moved-config.cmake.in", CONFIG),
        ("moved.pc.in", PC),
        ("moved-tool.in", script),
        ("data.txt", "some data"),
    ];
    write(&recipe, &files);
    Ran::of(&mut simpack(dir.path(), &["build", "recipe"])).exit(0);
    let bundles = ["target/simpack/bundles/moved-core", "target/simpack/bundles/moved-dev"];
    Ran::of(simpack(dir.path(), &["compose", "-o", "prefix"]).args(bundles)).exit(0);
    fs_err::create_dir(dir.path().join("elsewhere")).unwrap();
    let prefix = dir.path().join("elsewhere/prefix");
    fs_err::rename(dir.path().join("prefix"), &prefix).unwrap();
    write(&dir.path().join("consumer"), &[("CMakeLists.txt", CONSUMER)]);
    let place = format!("CMAKE_PREFIX_PATH={}", prefix.display());
    let configured = Ran::of(&mut configure(&dir.path().join("consumer"), &dir.path().join("build"), &place)).exit(0);
    assert_eq!(configured.stderr.matches("found: some data").count(), 2, "{}", configured.stderr);
    let modules = prefix.join("lib/pkgconfig");
    let asked = |what: &str| {
        let mut command = Command::new("pkg-config");
        command.args([what, "moved"]).env("PKG_CONFIG_LIBDIR", &modules);
        Ran::of(&mut command).exit(0).stdout.trim().to_owned()
    };
    assert_eq!(fs_err::read_to_string(asked("--variable=data")).unwrap(), "some data");
    let include = asked("--cflags");
    assert_eq!(Path::new(&include[2..]).parent().unwrap().canonicalize().unwrap(), prefix.canonicalize().unwrap());

    // A script has no such words.
    fs_err::write(recipe.join("moved-tool.in"), "#!/bin/sh\nexec cat @CMAKE_INSTALL_PREFIX@/share/moved/data.txt\n")
        .unwrap();
    let refused = Ran::of(&mut simpack(dir.path(), &["build", "recipe"])).exit(1);
    let said = format!("{}{}", refused.stdout, refused.stderr);
    assert!(said.contains("prefix-in-text") && said.contains("bin/moved-tool: names /opt/simpack"), "{said}");
    assert!(said.contains("line 2: exec cat /opt/simpack/share/moved/data.txt"), "{said}");
}
