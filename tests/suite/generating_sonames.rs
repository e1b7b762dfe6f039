//! SONAMEs that a recipe gives: what `host.sh` of generated texts does to libraries is what a build does.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use simpack::fs::EntryKind;

use crate::generating_conda::{facts, listing, packages};
use crate::generating_nix::tools;
use crate::support::{Ran, copy_tree, need, scratch, set_up, shellcheck, simpack, unpack};

const RECIPE: &str = r#"edition = 1

[simulator]
name = "tiny"
version = "2.1.0"
license = "MIT"
summary = "two libraries and a program"

[source]
path = "."

[matrix]
cuda = ["13.0"]

[toolchain]
host = { use = "system" }

[component.core]
soname = ["libtiny.so.2", "libtinyio.so.2"]
files = ["bin/tiny", "lib/libtiny*.so.*"]
uses = ["conda:libgcc"]

[component.core.build]
driver = "make"
inputs = ["Makefile", "*.c"]
options = { CC = "{cxx} -x c" }

[component.rtc]
files = ["lib/tiny/*"]

[component.dev]
files = ["lib/libtiny*.so", "lib/cmake/**"]
"#;

/// One library has a SONAME without a version, the other none, so that what needs it names the file. A plug-in lies deeper.
const MAKEFILE: &str = "\
LIB = $(DESTDIR)$(PREFIX)/lib
LINK = $(CC) -shared -fPIC -s
all:
\tmkdir -p out
\t$(LINK) -Wl,-soname,libtiny.so -o out/libtiny.so tiny.c
\t$(LINK) -o out/libtinyio.so io.c -x none -Lout -ltiny
\t$(LINK) -o out/plugin.so plugin.c -x none -Lout -ltinyio -ltiny
\t$(CC) -s -o out/tiny main.c -x none -Lout -ltinyio -ltiny -Wl,-rpath-link,out
install: all
\tinstall -D -t $(LIB) out/libtiny.so out/libtinyio.so
\tinstall -D -t $(LIB)/tiny out/plugin.so
\tinstall -D -t $(DESTDIR)$(PREFIX)/bin out/tiny
\tmkdir -p $(LIB)/cmake
\tprintf '  IMPORTED_SONAME_RELEASE \"libtiny.so\"\\n# \"libtiny.so\"\\n' > $(LIB)/cmake/tiny.cmake
";

/// What a loader and others read of all files of a tree.
fn read(root: &Path) -> BTreeMap<String, String> {
    let told = |(path, kind): (String, EntryKind)| {
        let bytes = || fs_err::read(root.join(&path)).unwrap();
        let text = match &kind {
            EntryKind::Link(to) => format!("to {to}"),
            _ if bytes().starts_with(b"\x7fELF") => facts(&bytes()).0.join("\n"),
            _ => String::from_utf8(bytes()).unwrap(),
        };
        (path, text)
    };
    listing(root).into_iter().map(told).collect()
}

/// `host.sh` of the texts for `dir/recipe` installs into `dir/theirs` what `dir/ours` holds: files as [`read`] tells them.
pub fn host_sh_makes_the_same(dir: &Path, python: &Path) -> BTreeMap<String, String> {
    let at = |below: &str| -> PathBuf { dir.join(below) };
    Ran::of(&mut simpack(dir, &["generate", "conda", "recipe", "--output", "texts"])).exit(0);
    shellcheck(&at("texts/host.sh"));
    copy_tree(&at("recipe"), &at("source"));
    let mut host = Command::new("bash");
    host.arg(at("texts/host.sh")).current_dir(at("source")).env("PREFIX", at("theirs")).env("PATH", tools(python));
    Ran::of(&mut host).exit(0);
    let (ours, theirs) = (read(&at("ours")), read(&at("theirs")));
    assert_eq!(ours, theirs);
    theirs
}

#[test]
fn host_sh_gives_the_sonames_that_a_build_gives() {
    let Some(python) = set_up("SIMPACK_TEST_PYTHON") else { return };
    need!(which::which("g++").is_ok() && which::which("make").is_ok(), "no compiler or no make");
    let dir = scratch();
    let at = |below: &str| -> PathBuf { dir.path().join(below) };
    fs_err::create_dir(at("recipe")).unwrap();
    for (path, text) in [
        ("simpack.toml", RECIPE),
        ("LICENSE", "MIT\n"),
        ("Makefile", MAKEFILE),
        ("tiny.c", "int tiny(void) { return 42; }\n"),
        ("io.c", "int tiny(void);\nint io(void) { return tiny(); }\n"),
        ("plugin.c", "int io(void);\nint tiny(void);\nint plugin(void) { return io() + tiny(); }\n"),
        ("main.c", "int io(void);\nint tiny(void);\nint main(void) { return io() != tiny(); }\n"),
    ] {
        fs_err::write(at("recipe").join(path), text).unwrap();
    }
    Ran::of(&mut simpack(dir.path(), &["build", "recipe"])).exit(0);
    for (_, package) in packages(&at("dist/conda")) {
        unpack(&package, "pkg", &at("ours"));
    }
    fs_err::remove_dir_all(at("target")).unwrap();

    let theirs = host_sh_makes_the_same(dir.path(), &python);
    for (path, word) in [
        ("lib/libtiny.so.2", "SONAME libtiny.so.2"),
        ("lib/libtinyio.so.2", "SONAME libtinyio.so.2"),
        ("lib/libtinyio.so.2", "NEEDED libtiny.so.2"),
        ("lib/tiny/plugin.so", "NEEDED libtinyio.so.2"),
        ("bin/tiny", "NEEDED libtinyio.so.2"),
        ("lib/libtiny.so", "to libtiny.so.2"),
        ("lib/cmake/tiny.cmake", "IMPORTED_SONAME_RELEASE \"libtiny.so.2\""),
        ("lib/cmake/tiny.cmake", "# \"libtiny.so\""),
    ] {
        assert!(theirs[path].lines().any(|line| line.trim() == word), "{path}: {}", theirs[path]);
    }
    // The loader finds both through the plug-in and the program.
    Ran::of(Command::new(at("theirs/bin/tiny")).env_clear()).exit(0);
}
