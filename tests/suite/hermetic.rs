//! Steps see what they declare and nothing else, by every means that this machine has; and what only
//! looks at a recipe or a package runs nothing of it.

use std::path::{Path, PathBuf};

use simpack::process::{Isolation, candidates};

use crate::support::{Ran, changed, digests, scratch, set_up, simpack};

/// A recipe with a library and no kernels, built by the machine's compiler.
pub struct Small {
    pub dir: tempfile::TempDir,
}

const CMAKE: &str = "\
cmake_minimum_required(VERSION 3.16)
project(tiny LANGUAGES C)
add_library(tiny SHARED src/tiny.c)
set_target_properties(tiny PROPERTIES SOVERSION 2)
install(TARGETS tiny LIBRARY DESTINATION lib NAMELINK_SKIP)
";

impl Small {
    pub fn new(driver: &str, files: &[(&str, &str)]) -> Self {
        let small = Self { dir: scratch() };
        let recipe = format!(
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
inputs = [\"src/**\", \"CMakeLists.txt\", \"build.sh\"]
"
        );
        let source = "const char *where(void) { return __FILE__; }\nint tiny_answer(void) { return 42; }\n";
        for (name, text) in [("simpack.toml", recipe.as_str()), ("src/tiny.c", source), ("LICENSE", "free\n")] {
            small.write(name, text);
        }
        files.iter().for_each(|(name, text)| small.write(name, text));
        small
    }

    pub fn cmake(extra: &str) -> Self {
        Self::new("driver = \"cmake\"", &[("CMakeLists.txt", &format!("{CMAKE}{extra}"))])
    }

    pub fn script(text: &str) -> Self {
        let compile = "mkdir -p \"$PREFIX/lib\"\n$CC -shared -fPIC -Wl,-soname,libtiny.so.2 -o \"$PREFIX/lib/libtiny.so.2\" src/tiny.c\n";
        Self::new("driver = \"script\"\ntargets = [\"build.sh\"]", &[("build.sh", &format!("{text}\n{compile}"))])
    }

    pub fn path(&self, below: &str) -> PathBuf {
        self.dir.path().join("tiny").join(below)
    }

    pub fn write(&self, below: &str, text: &str) {
        fs_err::create_dir_all(self.path(below).parent().unwrap()).unwrap();
        fs_err::write(self.path(below), text).unwrap();
    }

    /// A build with a cache of its own: everything runs.
    pub fn build(&self, args: &[&str]) -> Ran {
        let mut command = simpack(self.dir.path(), &["build", "tiny", "--json"]);
        Ran::of(command.args(args).env("SIMPACK_CACHE_DIR", self.view()))
    }

    /// A cache without artifacts that has this user's tools.
    pub fn view(&self) -> PathBuf {
        let root = tempfile::Builder::new().prefix("cache-").tempdir_in(self.dir.path()).unwrap().keep();
        let real = simpack::fs::cache_dir().unwrap();
        for name in ["toolchains", "downloads"] {
            let real = real.join(name);
            fs_err::create_dir_all(&real).unwrap();
            fs_err::os::unix::fs::symlink(fs_err::canonicalize(&real).unwrap(), root.join(name)).unwrap();
        }
        root
    }
}

/// Whether steps are isolated here at all; without, the test is skipped.
pub fn isolated() -> bool {
    let small = Small::script("");
    let works = small.build(&["--sandbox", "require"]).code == Some(0);
    if !works {
        crate::support::skip("this machine has no means to isolate a step");
    }
    works
}

#[test]
fn undeclared_reads_are_named_with_their_file() {
    if !isolated() {
        return;
    }
    let hosts = "/etc/passwd";
    // By CMake, by a script, by a compiler.
    for small in [Small::cmake(&format!("file(READ {hosts} text)\n")), Small::script(&format!("cat {hosts}"))] {
        let ran = small.build(&[]).exit(5);
        assert!(ran.stderr.contains(&format!("undeclared read: {hosts}")), "{}", ran.stderr);
        assert!(!small.dir.path().join("dist").exists());
        small.build(&["--sandbox", "off"]).exit(0);
    }
    for include in ["../../outside.h", "../extra/undeclared.h"] {
        let small = Small::cmake("");
        small.write("../outside.h", "");
        small.write("extra/undeclared.h", "");
        small.write("src/tiny.c", &format!("#include \"{include}\"\nint tiny_answer(void) {{ return 42; }}\n"));
        let ran = small.build(&[]).exit(5);
        let real = fs_err::canonicalize(small.path("src").join(include)).unwrap();
        assert!(ran.stderr.contains(&format!("undeclared read: {}", real.display())), "{}", ran.stderr);
        // What the compiler says speaks of the user's file, not of the step's copy.
        let real = fs_err::canonicalize(small.path("src/tiny.c")).unwrap();
        assert!(ran.stderr.contains(&format!("{}:1:10: fatal error", real.display())), "{}", ran.stderr);
        if include.starts_with("../extra") {
            assert!(
                ran.stderr
                    .contains("add \"extra/undeclared.h\", or \"extra/**\" to `inputs` of [component.core.build]; `simpack check` lists what counts"),
                "{}",
                ran.stderr
            );
        }
    }
}

#[test]
fn a_step_reaches_no_network() {
    if !isolated() {
        return;
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let small = Small::script(&format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'"));
    let ran = small.build(&[]).exit(5);
    assert!(ran.stderr.contains("sh failed on host core"), "{}", ran.stderr);
    assert!(ran.stderr.contains("steps have no network") || ran.stderr.contains("Permission denied"), "{}", ran.stderr);
    small.build(&["--sandbox", "off"]).exit(0);
}

#[test]
fn every_step_has_its_own_home_and_temporary_directory() {
    let small = Small::script(
        "test \"$HOME\" != \"$TMPDIR\"; touch \"$HOME/mark\" \"$TMPDIR/mark\"; test ! -e /tmp/simpack-hermetic-mark
case \"$HOME$TMPDIR\" in *step-*step-*) ;; *) exit 7;; esac
env | cut -d= -f1 | sort > names; ! grep -qE '^(USER|LOGNAME|SECRET|DISPLAY)$' names",
    );
    let mut command = simpack(small.dir.path(), &["build", "tiny"]);
    let ran = Ran::of(command.env("SECRET", "1").env("SIMPACK_CACHE_DIR", small.view()));
    ran.exit(0);
}

#[test]
fn with_and_without_a_sandbox_the_same_bytes() {
    for small in [Small::cmake(""), Small::script("")] {
        let mut packages = Vec::new();
        let mut means = Vec::new();
        let bwrap = candidates().into_iter().find_map(|by| match by {
            Isolation::Bubblewrap(path) => Some(path),
            _ => None,
        });
        // Without bubblewrap on its path, the program uses its own means.
        let path = std::env::var("PATH").unwrap();
        let has = |dir: &&str| bwrap.as_deref().and_then(Path::parent) == Some(Path::new(dir));
        let without: Vec<&str> = path.split(':').filter(|dir| !has(dir) || *dir == "/usr/bin").collect();
        let without = without.join(":");
        for (name, mode, path) in [("a", "auto", path.as_str()), ("b", "auto", &without), ("c", "off", &path)] {
            let mut command =
                simpack(small.dir.path(), &["build", "tiny", "--json", "--sandbox", mode, "--dist", name]);
            let ran = Ran::of(command.env("SIMPACK_CACHE_DIR", small.view()).env("PATH", path)).exit(0);
            let summary = ran.json();
            assert!(summary["steps"].as_array().unwrap().iter().all(|step| step["cached"] == false));
            means.push(summary["sandbox"].as_str().unwrap().to_owned());
            let mut files = digests(&small.dir.path().join(name));
            assert!(files.remove("build.json").is_some());
            packages.push(files);
        }
        assert_eq!(changed(&packages[0], &packages[1]), [""; 0], "{means:?}");
        assert_eq!(changed(&packages[0], &packages[2]), [""; 0], "{means:?}");
        assert_eq!(means[2], "none");
    }
}

#[test]
fn files_named_git_and_empty_directories_of_a_source_are_there() {
    let looks = "test -f src/one/.git && test ! -e src/two/.git && test -f src/two/kept && test -d src/empty/deep\n";
    let small = Small::script(looks);
    small.write("src/one/.git", "gitdir: ../../.git/modules/one\n");
    small.write("src/two/.git/HEAD", "ref: refs/heads/main\n");
    small.write("src/two/kept", "");
    fs_err::create_dir_all(small.path("src/empty/deep")).unwrap();
    small.build(&[]).exit(0);
    // What a build can see is in its key.
    let key = || {
        let mut plan = simpack(small.dir.path(), &["plan", "tiny", "--json"]);
        Ran::of(plan.env("SIMPACK_CACHE_DIR", small.view())).exit(0).json()["steps"][0]["key"].clone()
    };
    let with = key();
    fs_err::remove_dir(small.path("src/empty/deep")).unwrap();
    assert_ne!(key(), with);
    fs_err::create_dir(small.path("src/empty/deep")).unwrap();
    assert_eq!(key(), with);
    // The same out of an archive.
    let archive = small.dir.path().join("tiny-1.tar.gz");
    let mut tar = std::process::Command::new("tar");
    Ran::of(tar.current_dir(small.dir.path()).arg("-czf").arg(&archive).arg("tiny")).exit(0);
    let digest = simpack::fs::Digest::of_file(&archive).unwrap();
    let recipe = fs_err::read_to_string(small.path("simpack.toml")).unwrap();
    fs_err::remove_dir_all(small.path("src")).unwrap();
    let source = format!("[source]\nurl = \"file://{}\"\nsha256 = \"{digest}\"\n[matrix]", archive.display());
    small.write("simpack.toml", &recipe.replacen("[matrix]", &source, 1));
    small.build(&[]).exit(0);
}

#[test]
fn files_that_a_step_does_not_declare_are_named() {
    let small = Small::cmake("install(FILES src/tiny.c DESTINATION /etc/tiny)\n");
    let ran = small.build(&[]).exit(5);
    assert!(
        ran.stderr.contains("host core installs /etc/tiny/tiny.c, which lies outside of its prefix"),
        "{}",
        ran.stderr
    );
}

#[test]
fn looking_at_a_recipe_or_a_package_runs_nothing_of_it() {
    let small = Small::cmake("");
    let mark = fs_err::canonicalize(small.dir.path()).unwrap().join("mark");
    let touch = format!("touch '{}'\n", mark.display());
    // Every way in which a recipe can have a program run leaves a mark.
    let cmake = format!("execute_process(COMMAND touch \"{}\")\n{CMAKE}", mark.display());
    small.write("CMakeLists.txt", &cmake);
    small.write("Makefile", &format!("ran := $(shell {touch})\nall install:\n\t{touch}"));
    small.write("build.sh", &touch);
    small.write("conftest.py", &format!("open('{}', 'w')\n", mark.display()));
    small.write(
        "src/tiny.c",
        &format!(
            "#include <stdio.h>\n__attribute__((constructor)) static void mark(void) {{ fopen(\"{}\", \"w\"); }}\n",
            mark.display()
        ),
    );
    let recipe = fs_err::read_to_string(small.path("simpack.toml")).unwrap();
    for driver in ["driver = \"cmake\"", "driver = \"make\"", "driver = \"script\"\ntargets = [\"build.sh\"]"] {
        let text = recipe
            .replace("driver = \"cmake\"", driver)
            .replace("\"CMakeLists.txt\", ", "\"CMakeLists.txt\", \"Makefile\", ");
        small.write("simpack.toml", &text);
        for args in [
            &["check", "tiny"][..],
            &["plan", "tiny"],
            &["plan", "tiny", "--json"],
            &["plan", "tiny", "--why", "host core"],
            &["build", "tiny", "--dry-run"],
        ] {
            let ran = Ran::of(&mut simpack(small.dir.path(), args)).exit(0);
            assert!(!mark.exists(), "{driver}, {args:?} ran something of the recipe:\n{}{}", ran.stdout, ran.stderr);
        }
    }
    // The package's library would leave the mark when it is loaded.
    small.write("simpack.toml", &recipe);
    small.build(&["--sandbox", "off"]).exit(0);
    assert!(mark.exists(), "the build ran the recipe's commands");
    fs_err::remove_file(&mark).unwrap();
    Ran::of(&mut simpack(small.dir.path(), &["verify", "dist"])).exit(0);
    Ran::of(&mut simpack(small.dir.path(), &["patch", "--print", "target/simpack/bundles/tiny-core"])).exit(0);
    assert!(!mark.exists(), "looking at a package ran something of it");
}

#[test]
fn tools_come_with_the_compiler_and_strangers_are_told() {
    let small = Small::script(
        "for tool in \"$AR\" \"$RANLIB\" \"$LD\" \"$NM\" \"$STRIP\"; do test -x \"$tool\"; \"$tool\" --version; done >&2
case \"$AR\" in /*) ;; *) exit 9;; esac",
    );
    let run = |set: &[(&str, &str)]| {
        let mut command = simpack(small.dir.path(), &["build", "tiny"]);
        let command = command.env("SIMPACK_CACHE_DIR", small.view());
        Ran::of(set.iter().fold(command, |command, (name, value)| command.env(name, value)))
    };
    let ran = run(&[("CC", "other-cc"), ("AR", "/opt/other/ar")]).exit(0);
    assert!(
        ran.stderr.contains("CC=other-cc is not used: ") && ran.stderr.contains("CXX is not set"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("AR=/opt/other/ar is not used: ar comes with g++"), "{}", ran.stderr);
    assert!(!run(&[]).exit(0).stderr.contains("is not used"));
    // The linker's version is in the key.
    let why = Ran::of(&mut simpack(small.dir.path(), &["plan", "tiny", "--why", "host core"])).exit(0);
    assert!(why.stdout.contains("tool binutils  GNU ld"), "{}", why.stdout);
}

#[test]
fn lists_of_capabilities_in_a_source_are_reported_or_given() {
    let dir = scratch();
    Ran::of(&mut simpack(dir.path(), &["init", "tiny", "--dir", "tiny"])).exit(0);
    let cmake = dir.path().join("tiny/CMakeLists.txt");
    let text = fs_err::read_to_string(&cmake).unwrap();
    let lines = text.lines().count();
    // A project that compiles device code by itself is told for what; nothing here needs the compiler.
    let more = "if(FALSE)
  enable_language(CUDA)
  set(CMAKE_CUDA_ARCHITECTURES 70)
endif()
file(WRITE ${CMAKE_BINARY_DIR}/given.txt \"${CMAKE_CUDA_ARCHITECTURES}|$ENV{CUDAARCHS}\")
install(FILES ${CMAKE_BINARY_DIR}/given.txt DESTINATION share/licenses/tiny)
";
    fs_err::write(&cmake, format!("{text}{more}")).unwrap();
    let args = ["build", "tiny", "--host", "system", "--component", "core", "--capability", "7.5,9.0", "--ptx", "7.5"];
    let ran = Ran::of(&mut simpack(dir.path(), &args)).exit(0);
    let found = format!("hard-coded-capability source: fixes capabilities by itself: CMakeLists.txt:{}:", lines + 3);
    let said: Vec<&str> = ran.stdout.split_whitespace().collect();
    assert!(said.join(" ").contains(&found), "{}", ran.stdout);
    let given = dir.path().join("target/simpack/bundles/tiny-core/share/licenses/tiny/given.txt");
    assert_eq!(fs_err::read_to_string(given).unwrap(), "75-real;90-real;75-virtual|75-real;90-real;75-virtual");
    // One that compiles none is not told, so that one capability more does not build it again.
    fs_err::write(&cmake, text).unwrap();
    let why = Ran::of(&mut simpack(dir.path(), &["plan", "tiny", "--why", "host core"])).exit(0);
    assert!(!why.stdout.contains("CUDA_ARCHITECTURES") && !why.stdout.contains("nvcc"), "{}", why.stdout);
}

/// The list reaches the real compiler below CMake: what it leaves holds these targets and no others.
#[test]
fn device_code_below_cmake_is_that_of_the_recipes_targets() {
    let Some(_) = set_up("SIMPACK_TEST_CUDA") else { return };
    let dir = scratch();
    Ran::of(&mut simpack(dir.path(), &["init", "tiny", "--dir", "tiny"])).exit(0);
    let cmake = dir.path().join("tiny/CMakeLists.txt");
    let more = "enable_language(CUDA)
file(WRITE ${CMAKE_BINARY_DIR}/dev.cu \"__global__ void dev(float *v) { v[threadIdx.x] += 1; }\\n\")
add_library(dev OBJECT ${CMAKE_BINARY_DIR}/dev.cu)
install(FILES $<TARGET_OBJECTS:dev> DESTINATION share/licenses/tiny)
";
    fs_err::write(&cmake, fs_err::read_to_string(&cmake).unwrap() + more).unwrap();
    let args = ["build", "tiny", "--host", "system", "--component", "core", "--capability", "7.5,9.0", "--ptx", "7.5"];
    let ran = Ran::of(&mut simpack(dir.path(), &args)).exit(1);
    let said: Vec<&str> = ran.stdout.split_whitespace().collect();
    let found = "tiny-core: share/licenses/tiny/dev.cu.o: core holds device code: compute_75, sm_75, sm_90";
    assert!(said.join(" ").contains(found), "{}", ran.stdout);
}
