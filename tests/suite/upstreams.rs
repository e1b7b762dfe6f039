//! What recipes say of builds that others wrote: no target that installs, libraries without SONAMEs, tools that only options
//! choose, tests of their own.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::generating_sonames::host_sh_makes_the_same;
use crate::support::{Ran, files, need, package_file, scratch, set_up, simpack, unpack};

/// A library and a program that make builds and leaves where they are.
struct Scene(tempfile::TempDir);

const RECIPE: &str = r#"edition = 1

[simulator]
name = "tiny"
version = "2.1.0"
license = "MIT"
summary = "a library and a program"

[matrix]
cuda = ["13.0"]

[toolchain]
host = { use = "system" }

[component.core]
soname = "libtiny.so.2"

[component.core.build]
driver = "make"
inputs = ["Makefile", "*.c"]
options = { CC_OF_MINE = "{cxx}", HERE = "{source}", SCRATCH = "{work}/scratch" }
install = [
    { from = "out/libtiny.so", to = "lib/" },
    { from = "out/plugin.so", to = "lib/tiny/plugin.so" },
    { from = "out/bin/*", to = "bin/" },
    { from = "*.cmake", to = "lib/cmake/tiny/" },
]

[component.rtc]
files = ["lib/tiny/*"]

[component.dev]

[test.answer]
command = ["bin/tiny", "{source}"]
env = { TINY_HOME = "{prefix}" }
prints = ["the answer is 42"]

[test.shell]
command = ["sh", "-c", "test -x $0/bin/tiny && touch here && ! touch $0/bin/other", "{prefix}"]
limit = 20
"#;

/// The compiler's name is fixed in it, as that of nvcc in Brian2CUDA's: only make's command line goes before it.
const MAKEFILE: &str = "\
CC_OF_MINE = /no/such/compiler
all:
\tmkdir -p out/bin $(SCRATCH)
\ttest $(HERE) = $(CURDIR)
\t$(CC_OF_MINE) -x c -shared -fPIC -s -o out/libtiny.so tiny.c
\t$(CC_OF_MINE) -x c -shared -fPIC -s -o out/plugin.so plugin.c -x none -Lout -ltiny
\t$(CC_OF_MINE) -x c -s -o out/bin/tiny main.c -x none -Lout -ltiny
\tprintf 'IMPORTED_SONAME_RELEASE \"libtiny.so\"\\n' > tiny.cmake
";

impl Scene {
    fn new() -> Self {
        let scene = Self(scratch());
        for (path, text) in [
            ("simpack.toml", RECIPE),
            ("LICENSE", "MIT\n"),
            ("Makefile", MAKEFILE),
            ("tiny.c", "int tiny(void) { return 42; }\n"),
            ("plugin.c", "int tiny(void);\nint plugin(void) { return tiny(); }\n"),
            (
                "main.c",
                "#include <stdio.h>\n#include <stdlib.h>\nint tiny(void);\nint main(void) {\n  printf(\"the answer is %d\\n\", tiny());\n  return getenv(\"TINY_HOME\") ? 0 : 1;\n}\n",
            ),
        ] {
            fs_err::create_dir_all(scene.path("recipe")).unwrap();
            fs_err::write(scene.path("recipe").join(path), text).unwrap();
        }
        scene
    }

    fn path(&self, below: &str) -> PathBuf {
        self.0.path().join(below)
    }

    fn change(&self, path: &str, from: &str, to: &str) {
        let text = fs_err::read_to_string(self.path(path)).unwrap();
        assert!(text.contains(from), "{text}");
        fs_err::write(self.path(path), text.replacen(from, to, 1)).unwrap();
    }

    fn simpack(&self, args: &[&str]) -> Ran {
        Ran::of(simpack(self.0.path(), args).env("SIMPACK_CACHE_DIR", self.path("cache")))
    }
}

fn dynamic(path: PathBuf) -> String {
    let outcome = Command::new("readelf").arg("-dW").arg(path).output().unwrap();
    String::from_utf8(outcome.stdout).unwrap()
}

#[test]
fn a_build_that_installs_nothing_becomes_packages_with_sonames() {
    need!(["g++", "make", "readelf"].iter().all(|name| which::which(name).is_ok()), "no compiler");
    let scene = Scene::new();
    let built = scene.simpack(&["build", "recipe", "--json"]).exit(0).json();
    let verdicts: Vec<(&str, &str)> = built["tests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|test| (test["name"].as_str().unwrap(), test["verdict"].as_str().unwrap()))
        .collect();
    assert_eq!(verdicts, [("answer", "passed"), ("shell", "passed")], "{built}");
    scene.simpack(&["verify", "dist"]).exit(0);
    for package in ["tiny-core", "tiny-rtc", "tiny-dev"] {
        unpack(&package_file(&scene.path("dist/conda"), package), "pkg", &scene.path("prefix"));
    }
    let installed = files(&scene.path("prefix"));
    for path in ["bin/tiny", "lib/libtiny.so.2", "lib/tiny/plugin.so", "lib/cmake/tiny/tiny.cmake"] {
        assert!(installed.iter().any(|it| it == path), "{path}: {installed:?}");
    }
    assert_eq!(fs_err::read_link(scene.path("prefix/lib/libtiny.so")).unwrap(), PathBuf::from("libtiny.so.2"));
    assert!(dynamic(scene.path("prefix/lib/libtiny.so.2")).contains("soname: [libtiny.so.2]"));
    for path in ["bin/tiny", "lib/tiny/plugin.so"] {
        let text = dynamic(scene.path("prefix").join(path));
        assert!(text.contains("Shared library: [libtiny.so.2]") && !text.contains("[libtiny.so]"), "{text}");
    }
    let cmake = fs_err::read_to_string(scene.path("prefix/lib/cmake/tiny/tiny.cmake")).unwrap();
    assert_eq!(cmake, "IMPORTED_SONAME_RELEASE \"libtiny.so.2\"\n");
    Ran::of(Command::new(scene.path("prefix/bin/tiny")).env("TINY_HOME", "x")).exit(0);
    // Others build without simpack, and make the same.
    let Some(python) = set_up("SIMPACK_TEST_PYTHON") else { return };
    fs_err::rename(scene.path("prefix"), scene.path("ours")).unwrap();
    let made = host_sh_makes_the_same(scene.0.path(), &python);
    assert!(made["bin/tiny"].contains("NEEDED libtiny.so.2"), "{made:?}");
}

#[test]
fn what_a_test_finds_is_in_the_report() {
    need!(which::which("g++").is_ok() && which::which("make").is_ok(), "no compiler");
    let scene = Scene::new();
    scene.change("recipe/simpack.toml", "\"the answer is 42\"", "\"the answer is 43\"");
    scene.change("recipe/simpack.toml", "\"sh\", \"-c\"", "\"no-such-shell\", \"-c\"");
    let stopped = scene.simpack(&["build", "recipe"]);
    assert_eq!(stopped.code, Some(1), "{}", stopped.stderr);
    for words in ["test `answer` fails: it does not print", "the answer is 42", "test `shell` was not run"] {
        assert!(stopped.stdout.contains(words), "{}", stopped.stdout);
    }
    assert!(!scene.path("dist").exists(), "nothing is packed");
    // What is built is kept, and what cannot be tested here is a warning alone.
    scene.change("recipe/simpack.toml", "the answer is 43", "the answer");
    let built: Value = scene.simpack(&["build", "recipe", "--json"]).exit(0).json();
    assert_eq!(built["steps"][0]["cached"], true, "{built}");
    assert_eq!(built["tests"][1]["verdict"], "not-run");
}

#[test]
fn a_build_that_gives_another_soname_is_not_overruled() {
    need!(which::which("g++").is_ok() && which::which("make").is_ok(), "no compiler");
    let scene = Scene::new();
    scene.change("recipe/Makefile", "-o out/libtiny.so", "-Wl,-soname,libtiny.so.5 -o out/libtiny.so");
    let refused = scene.simpack(&["build", "recipe"]);
    assert!(
        refused.code != Some(0)
            && refused.stderr.contains("has the SONAME libtiny.so.5, and the recipe says libtiny.so.2"),
        "{}",
        refused.stderr
    );
    let scene = Scene::new();
    scene.change("recipe/simpack.toml", "out/bin/*\"", "out/bin/none*\"");
    let refused = scene.simpack(&["build", "recipe"]);
    assert!(refused.stderr.contains("`out/bin/none*` of install matches nothing"), "{}", refused.stderr);
}

#[test]
fn mistakes_about_builds_of_others_have_carets() {
    let scene = Scene::new();
    let mut said = String::new();
    for (from, to) in [
        ("\"libtiny.so.2\"", "\"libtiny.so.2.1\""),
        ("\"libtiny.so.2\"", "[\"libtiny.so.3\"]"),
        ("\"libtiny.so.2\"", "\"tiny.so\""),
        ("\"{cxx}\"", "\"{cx}\""),
        ("\"{cxx}\"", "\"{nvcc}\""),
        ("to = \"lib/\"", "too = \"lib/\""),
        ("to = \"lib/\"", "to = \"/usr/lib/\""),
        ("driver = \"make\"", "driver = \"copy\""),
        ("\"bin/tiny\", \"{source}\"", "\"/bin/tiny\", \"{sourc}\""),
        ("TINY_HOME", "LD_PRELOAD"),
        ("[test.shell]", "[test.Shell]"),
    ] {
        let text = fs_err::read_to_string(scene.path("recipe/simpack.toml")).unwrap();
        scene.change("recipe/simpack.toml", from, to);
        let ran = scene.simpack(&["check", "recipe"]);
        assert_ne!(ran.code, Some(0), "{to}");
        said.push_str(&format!("## {to}\n{}{}\n", ran.stdout, ran.stderr));
        fs_err::write(scene.path("recipe/simpack.toml"), text).unwrap();
    }
    insta::assert_snapshot!(said);
}
