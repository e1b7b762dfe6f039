//! Host components that are built by make and by a script of their own.

use std::path::Path;

use crate::support::{Ran, files, scratch, simpack};

const SOURCE: &str = "int tiny_answer(void) { return 42; }\n";

const MAKEFILE: &str = "\
lib = libtiny.so.2

$(lib): tiny.c
\t$(CC) -shared -fPIC -Wl,-soname,$(lib) -DANSWER=$(ANSWER) -o $@ $<

install: $(lib)
\tmkdir -p $(DESTDIR)$(PREFIX)/lib
\tcp $(lib) $(DESTDIR)$(PREFIX)/lib/
";

const SCRIPT: &str = "\
mkdir -p \"$PREFIX/lib\"
$CC -shared -fPIC -Wl,-soname,libtiny.so.2 -DANSWER=$ANSWER -o \"$PREFIX/lib/libtiny.so.2\" tiny.c
";

fn recipe(driver: &str) -> String {
    format!(
        "edition = 1

[simulator]
name = \"tiny\"
version = \"2.1.0\"
license = \"BSD-3-Clause\"
summary = \"a library and nothing else\"

[matrix]
cuda = [\"13.0\"]
capabilities = []

[toolchain]
host = \"system\"

[component.core]
policy = \"major\"
files = [\"lib/libtiny.so.*\"]

[component.core.build]
{driver}
options = {{ ANSWER = \"42\" }}
"
    )
}

fn build(dir: &Path, name: &str, driver: &str, file: &str, text: &str) -> Ran {
    build_recipe(dir, name, &recipe(driver), file, text)
}

fn build_recipe(dir: &Path, name: &str, recipe: &str, file: &str, text: &str) -> Ran {
    let root = dir.join(name);
    fs_err::create_dir_all(&root).unwrap();
    for (name, text) in [("simpack.toml", recipe), ("tiny.c", SOURCE), ("LICENSE", "free\n"), (file, text)] {
        fs_err::write(root.join(name), text).unwrap();
    }
    Ran::of(
        simpack(dir, &["build", name, "--dist", &format!("{name}-dist"), "--work", &format!("{name}-work"), "--json"])
            .env_remove("CFLAGS"),
    )
}

#[test]
fn make_and_scripts_build_the_same_library() {
    let dir = scratch();
    let mut libraries = Vec::new();
    for (name, driver, file, text) in [
        ("by-make", "driver = \"make\"", "Makefile", MAKEFILE),
        ("by-script", "driver = \"script\"\ntargets = [\"build.sh\"]", "build.sh", SCRIPT),
    ] {
        let summary = build(dir.path(), name, driver, file, text).exit(0).json();
        assert_eq!(summary["simulator"], "tiny");
        let bundle = dir.path().join(format!("{name}-work/bundles/tiny-core"));
        assert_eq!(files(&bundle), ["lib/libtiny.so.2", "share/simpack/tiny-core/simpack.json"]);
        libraries.push(fs_err::read(bundle.join("lib/libtiny.so.2")).unwrap());
        // What was built is a library that answers.
        let call = "import ctypes, sys; sys.exit(ctypes.CDLL(sys.argv[1]).tiny_answer() != 42)";
        let status = std::process::Command::new("python3")
            .args(["-c", call])
            .arg(bundle.join("lib/libtiny.so.2"))
            .status()
            .unwrap();
        assert!(status.success());
    }
    assert!(libraries[0] == libraries[1], "the same compiler with the same flags made different bytes");
}

#[test]
fn a_script_that_fails_is_told_with_its_log() {
    let dir = scratch();
    let ran = build(
        dir.path(),
        "broken",
        "driver = \"script\"\ntargets = [\"build.sh\"]",
        "build.sh",
        "echo before; false; echo after\n",
    );
    let ran = ran.exit(5);
    assert!(ran.stderr.contains("sh failed on host core, exit 1"), "{}", ran.stderr);
    assert!(ran.stderr.contains("before") && !ran.stderr.contains("after\n"), "{}", ran.stderr);
    assert!(!dir.path().join("broken-dist").exists());
}

/// What the pinned compiler links in names directories of its cache, and an unoptimized build would check for undefined
/// behaviour: a build that passes no flag gets neither.
#[test]
fn a_build_without_flags_ships_nothing_of_the_compilers_own() {
    let dir = scratch();
    let pinned = recipe("driver = \"script\"\ntargets = [\"build.sh\"]").replace("host = \"system\"\n", "");
    let script = "\
mkdir -p \"$PREFIX/lib\"
cat >words.cc <<'END'
#include <string>
extern \"C\" int tiny_words(const char *text, int many) { return many * (int)std::string(text).find(' '); }
END
$CXX -fPIC -c -o words.o words.cc
$CXX -shared -Wl,-soname,libtiny.so.2 -o \"$PREFIX/lib/libtiny.so.2\" words.o
";
    let summary = build_recipe(dir.path(), "plain", &pinned, "build.sh", script).exit(0).json();
    let denied: Vec<_> = summary["report"]["findings"].as_array().unwrap().iter().map(|one| &one["lint"]).collect();
    assert!(!denied.iter().any(|lint| *lint == "build-path-leak"), "{summary}");
    let library = dir.path().join("plain-work/bundles/tiny-core/lib/libtiny.so.2");
    let bytes = fs_err::read(library).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    use object::{Object, ObjectSection, ObjectSymbol};
    assert!(file.dynamic_symbols().any(|symbol| symbol.name() == Ok("tiny_words")));
    assert!(!file.sections().any(|section| section.name().unwrap().starts_with(".debug")));
    assert!(!file.dynamic_symbols().any(|symbol| symbol.name().unwrap().contains("ubsan")));
}
