//! `simpack compile`: installed packages compile on the user's machine, and are trusted in nothing.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use simpack::fs::set_mode;

use crate::support::{Ran, Tiny, copy_tree, digests, set_up};
use crate::wheels::{Client, Environment};

/// Looks around, then compiles a model of C files.
const PROGRAM: &str = r#"#!/bin/sh
set -e
if cat "$1/secret" 2> /dev/null; then exit 3; fi
if test -e "$2/slow.c"; then sleep 60; fi
mkdir out
"$3" -shared -fPIC -o out/libmodel.so "$2"/*.c
if test -e "$2/link.c"; then ln -s / out/liblink.so; fi
"#;

const COMPONENTS: &str = r#"
[component.rtc]
files = ["libexec/**"]
[component.rtc.compile]
command = ["libexec/tiny-compile", "{prefix}", "{model}", "{cxx}"]
inputs = ["*.c"]
outputs = ["out/*.so"]
compiler = "g++ >=9"
sets = { TINY_MODEL = "{compiled}/out/libmodel.so" }
[component.source]
build = { driver = "copy", inputs = ["kernels/*.cu"] }
"#;

/// A prefix with a simulator that leaves models and kernels to its users.
struct Installed {
    tiny: Tiny,
}

impl Installed {
    fn new() -> Option<Self> {
        let tiny = Tiny::with_kernels()?;
        tiny.change("[component.kernels]", &format!("{COMPONENTS}[component.kernels]"));
        tiny.change("\"share/**\"", "\"share/tiny/*.cc\"");
        tiny.change("inputs = [\"build.sh\", \"sim.cc\"]", "inputs = [\"build.sh\", \"sim.cc\", \"tiny-compile\"]");
        tiny.write("recipe/tiny-compile", PROGRAM);
        let build = fs_err::read_to_string(tiny.path("recipe/build.sh")).unwrap();
        let install = "mkdir -p $PREFIX/libexec\ncp tiny-compile $PREFIX/libexec\nchmod 755 $PREFIX/libexec/*\n";
        tiny.write("recipe/build.sh", &format!("{build}{install}"));
        Ran::of(&mut tiny.build(&["--work", "work", "--capability", "9.0"])).exit(0);
        for bundle in ["core", "rtc", "source"] {
            copy_tree(&tiny.path(&format!("work/bundles/tiny-{bundle}")), &tiny.path("prefix"));
        }
        tiny.write("prefix/secret", "nothing of the simulator\n");
        tiny.write("model/a.c", "int a(void) { return 1; }\n");
        fs_err::create_dir(tiny.path("nothing")).unwrap();
        let none = Ran::of(&mut tiny.simpack(&["doctor", "--json", "--root", "nothing"]));
        tiny.write("no-gpu.json", &none.stdout);
        Some(Self { tiny })
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.tiny.simpack(&["compile"]);
        command.args(args).env("SIMPACK_COMPILED_DIR", self.tiny.path("compiled"));
        // A compiler is seen with what it was installed with: the machine's own, not that beside the prefix.
        command.env_remove("CXX").env_remove("CONDA_PREFIX").env_remove("VIRTUAL_ENV");
        command
    }

    /// A model, on a machine without a GPU.
    fn model(&self, code: i32) -> Ran {
        Ran::of(&mut self.command(&["model", "--prefix", "prefix", "--machine", "no-gpu.json", "--json"])).exit(code)
    }

    fn states(answer: &Value) -> Vec<(&str, &str)> {
        let items = answer["items"].as_array().unwrap().iter();
        items.map(|item| (item["what"].as_str().unwrap(), item["state"].as_str().unwrap())).collect()
    }

    fn list(&self) -> Value {
        Ran::of(&mut self.command(&["--list", "--json"])).exit(0).json()
    }
}

#[test]
fn models_and_kernels_are_compiled_once_for_what_is_there() {
    let Some(installed) = Installed::new() else { return };
    let planned = Ran::of(&mut installed.command(&["model", "--prefix", "prefix", "--capability", "9.0", "--dry-run"]));
    assert!(planned.exit(0).stdout.contains("to be compiled by g++"));
    assert_eq!(Installed::states(&installed.list()), []);
    // Without a GPU the models are compiled, and it is said.
    let first = installed.model(0).json();
    assert_eq!(Installed::states(&first), [("model", "compiled")], "{first}");
    assert!(first["notes"][0].as_str().unwrap().contains("no GPU"), "{first}");
    let library = PathBuf::from(first["items"][0]["sets"]["TINY_MODEL"].as_str().unwrap());
    let before = fs_err::read(&library).unwrap();
    assert_eq!(Installed::states(&installed.model(0).json()), [("model", "current")]);
    // Another content is another model in the same place, and damage is repaired.
    installed.tiny.write("model/a.c", "int a(void) { return 2; }\n");
    assert_eq!(Installed::states(&installed.model(0).json()), [("model", "compiled")]);
    assert_ne!(fs_err::read(&library).unwrap(), before);
    fs_err::write(&library, "").unwrap();
    assert_eq!(Installed::states(&installed.list()), [("model", "damaged")]);
    assert_eq!(Installed::states(&installed.model(0).json()), [("model", "compiled")]);

    let args = ["--prefix", "prefix", "--capability", "9.0", "--json"];
    let made = Ran::of(&mut installed.command(&args)).exit(0).json();
    assert_eq!(Installed::states(&made), [("kernels", "compiled")], "{made}");
    assert_eq!(Installed::states(&Ran::of(&mut installed.command(&args)).exit(0).json()), [("kernels", "current")]);
    // The same place, bytes and list as in the package for that GPU.
    let package = digests(&installed.tiny.path("work/bundles/tiny-kernels-sm_90/lib/tiny/kernels"));
    let here = digests(&installed.tiny.path("compiled/tiny-1.0.0/kernels"));
    assert_eq!(here.keys().collect::<Vec<_>>(), package.keys().collect::<Vec<_>>());
    let cubin = here.keys().find(|path| path.ends_with(".cubin")).unwrap();
    assert_eq!(here[cubin], package[cubin]);
    assert_eq!(Installed::states(&installed.list()), [("kernels", "current"), ("model", "current")]);
    let gone = Ran::of(&mut installed.command(&["--clean", "--json"])).exit(0).json();
    assert_eq!(Installed::states(&gone), [("kernels", "removed"), ("model", "removed")]);
    assert_eq!(installed.tiny.names("compiled"), ["lock"]);
}

#[test]
fn compilers_that_do_not_fit_are_refused_in_a_sentence() {
    let Some(installed) = Installed::new() else { return };
    installed.tiny.write("bin/old", "#!/bin/sh\necho 8.1.0\n");
    set_mode(&installed.tiny.path("bin/old"), 0o755).unwrap();
    let mut old = installed.command(&["model", "--prefix", "prefix", "--machine", "no-gpu.json"]);
    let said = Ran::of(old.env("CXX", installed.tiny.path("bin/old"))).exit(4).stderr;
    assert!(said.contains("tiny-rtc 1.0.0 compiles with g++ >=9; ") && said.contains("is g++ 8.1.0"), "{said}");
    let Some(cuda) = set_up("SIMPACK_TEST_CUDA_SYSTEM") else { return };
    let mut other = installed.command(&["--prefix", "prefix", "--capability", "9.0"]);
    let said = Ran::of(other.env("CUDA_HOME", cuda)).exit(4).stderr;
    assert!(said.contains("tiny-source 1.0.0 was made with CUDA 13.0, and"), "{said}");
    assert!(said.contains("is CUDA 11.8") && said.contains("--toolchain wheels"), "{said}");
    assert_eq!(Installed::states(&installed.list()), []);
}

#[test]
fn what_fails_or_is_interrupted_leaves_what_was_there() {
    let Some(installed) = Installed::new() else { return };
    installed.model(0);
    let before = digests(&installed.tiny.path("compiled/tiny-1.0.0/models"));
    installed.tiny.write("model/b.c", "int b(void) { return nothing; }\n");
    let said = installed.model(5).stderr;
    assert!(said.contains("b.c:1:") && said.contains("'nothing' was not declared"), "{said}");
    installed.tiny.write("model/b.c", "");
    installed.tiny.write("model/link.c", "");
    assert!(installed.model(5).stderr.contains("leaves a link, out/liblink.so"));
    fs_err::remove_file(installed.tiny.path("model/link.c")).unwrap();
    installed.tiny.write("model/slow.c", "");
    let mut slow = installed.command(&["model", "--prefix", "prefix", "--machine", "no-gpu.json"]);
    let mut child = slow.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("tiny-rtc run"));
    // SAFETY: a signal for a child that was not waited for yet.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    let said: Vec<String> = lines.map(Result::unwrap).collect();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{said:?}");
    assert_eq!(digests(&installed.tiny.path("compiled/tiny-1.0.0/models")), before);
    fs_err::remove_file(installed.tiny.path("model/slow.c")).unwrap();
    assert_eq!(installed.tiny.names("compiled"), ["lock", "tiny-1.0.0"]);
    assert_eq!(Installed::states(&installed.list()), [("model", "current")]);
    // What a model does not leave any more goes with it.
    let library = PathBuf::from(installed.model(0).json()["items"][0]["path"].as_str().unwrap());
    fs_err::create_dir(library.join("old")).unwrap();
    installed.tiny.write("model/a.c", "");
    installed.model(0);
    assert!(!library.join("old").exists() && library.join("out/libmodel.so").is_file());
    Ran::of(&mut installed.command(&["--clean", "--simulator", "other"])).exit(0);
    assert_eq!(installed.tiny.names("compiled"), ["lock", "tiny-1.0.0"]);
}

/// Installed by pip, below `site-packages`.
#[test]
fn wheels_compile_as_packages_of_conda_do() {
    let Some(installed) = Installed::new() else { return };
    let Some(environment) = Environment::new(Client::Pip) else { return };
    let args = ["--work", "work", "--capability", "9.0", "--format", "wheel"];
    Ran::of(&mut installed.tiny.build(&args)).exit(0);
    environment.install(&installed.tiny.path("dist/wheel"), &["tiny-rtc", "tiny-source"]).exit(0);
    let place = environment.path();
    let args = ["model", "--prefix", place.to_str().unwrap(), "--capability", "9.0", "--json"];
    let made = Ran::of(&mut installed.command(&args)).exit(0).json();
    assert_eq!(Installed::states(&made), [("model", "compiled"), ("kernels", "compiled")], "{made}");
}

/// A change of an installed package, and what is said of it.
type Change = (fn(&Path), &'static str);

fn manifest(prefix: &Path, name: &str, change: impl FnOnce(&mut Value)) {
    let path = prefix.join(format!("share/simpack/tiny-{name}/simpack.json"));
    let mut value: Value = serde_json::from_slice(&fs_err::read(&path).unwrap()).unwrap();
    change(&mut value);
    fs_err::write(path, value.to_string()).unwrap();
}

fn rtc(prefix: &Path, pointer: &str, to: Value) {
    manifest(prefix, "rtc", |it| *it.pointer_mut(pointer).unwrap() = to);
}

const CHANGES: [Change; 9] = [
    (|it| rtc(it, "/compile/command/0", json!("../bin/g++")), "leaves its directory"),
    (|it| rtc(it, "/compile/command/0", json!("/bin/sh")), "is absolute"),
    (|it| rtc(it, "/compile/command/0", json!("secret")), "is no program of the package"),
    (|it| rtc(it, "/compile/outputs/0", json!("../../**")), "leaves its directory"),
    (|it| manifest(it, "rtc", |it| it["compile"]["reads"] = json!(["../.."])), "leaves its directory"),
    (|it| manifest(it, "rtc", |it| it["compile"]["env"] = json!({"LD_PRELOAD": "x"})), "cannot be set"),
    (
        |it| {
            manifest(it, "source", |it| {
                *it.pointer_mut("/device-sources/groups/0/variants/0/name").unwrap() = json!("../../x");
            });
        },
        "is not the name of a variant",
    ),
    (
        |it| {
            let program = it.join("libexec/tiny-compile");
            fs_err::copy(&program, it.parent().unwrap().join("elsewhere")).unwrap();
            fs_err::remove_file(&program).unwrap();
            fs_err::os::unix::fs::symlink("../../elsewhere", program).unwrap();
        },
        "leads out of the prefix",
    ),
    (|it| fs_err::write(it.join("libexec/tiny-compile"), "#!/bin/sh\n").unwrap(), "is not as it was installed"),
];

#[test]
fn what_a_package_says_of_paths_is_not_believed() {
    let Some(installed) = Installed::new() else { return };
    let whole = installed.tiny.path("whole");
    fs_err::rename(installed.tiny.path("prefix"), &whole).unwrap();
    for (change, said) in CHANGES {
        let prefix = installed.tiny.path("prefix");
        copy_tree(&whole, &prefix);
        change(&prefix);
        let ran = installed.model(7);
        assert!(ran.stderr.contains(said), "{said}: {}", ran.stderr);
        assert_eq!(installed.tiny.names("compiled"), ["lock"]);
        fs_err::remove_dir_all(prefix).unwrap();
    }
    // What the package reads may not lead out of the prefix, either.
    let prefix = installed.tiny.path("prefix");
    copy_tree(&whole, &prefix);
    manifest(&prefix, "rtc", |it| it["compile"]["reads"] = json!(["home"]));
    fs_err::os::unix::fs::symlink("/root", prefix.join("home")).unwrap();
    assert!(installed.model(7).stderr.contains("leads out of the prefix, and the package reads it"));
}

#[test]
fn nothing_to_compile_is_said() {
    let Some(installed) = Installed::new() else { return };
    for (args, said) in [
        (&["--prefix", "nothing"][..], "nothing that is installed there compiles"),
        (&[][..], "no environment is active"),
        (&["nothing", "--prefix", "prefix", "--machine", "no-gpu.json"][..], "holds nothing to compile"),
    ] {
        let ran = Ran::of(&mut installed.command(args)).exit(2);
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
    }
    let here = Ran::of(&mut installed.command(&["--prefix", "prefix", "--machine", "no-gpu.json"])).exit(0).stdout;
    assert!(here.contains("no GPU that runs CUDA was found") && here.contains("no model is here"), "{here}");
}
