//! Host steps go on in the build trees of earlier builds: what has not changed is not compiled again, and what comes out
//! is what a clean build gives, or a clean build says that it is not.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::hermetic::Small;
use crate::support::{Ran, changed, digests, files, need, simpack};

const CMAKE: &str = "\
cmake_minimum_required(VERSION 3.18)
project(tiny LANGUAGES C)
file(GLOB sources src/*.c)
file(GLOB headers src/*.h)
add_library(tiny SHARED ${sources})
set_target_properties(tiny PROPERTIES SOVERSION 2)
target_link_options(tiny PRIVATE -Wl,--no-undefined)
install(TARGETS tiny LIBRARY DESTINATION lib NAMELINK_SKIP)
install(FILES ${headers} DESTINATION include)
";

const MAKE: &str = "\
OBJECTS = src/tiny.o src/one.o src/two.o
libtiny.so.2: $(OBJECTS)
\t$(CC) -shared -Wl,-soname,$@ -Wl,--no-undefined -o $@ $(OBJECTS)
%.o: %.c
\t$(CC) -O1 -fPIC -c -o $@ $<
install:
\tmkdir -p $(DESTDIR)$(PREFIX)/lib $(DESTDIR)$(PREFIX)/include
\tcp libtiny.so.2 $(DESTDIR)$(PREFIX)/lib/
\tcp src/*.h $(DESTDIR)$(PREFIX)/include/
";

/// A simulator of three sources and a header, with one cache and one work directory for all builds.
struct Project {
    small: Small,
    cache: PathBuf,
}

impl Project {
    fn new(driver: &str, file: (&str, &str)) -> Self {
        let small = Small::new(driver, &[file]);
        let recipe = fs_err::read_to_string(small.path("simpack.toml")).unwrap();
        let recipe = recipe.replace("\"lib/libtiny.so.*\"", "\"lib/libtiny.so.*\", \"include/**\"");
        small.write("simpack.toml", &recipe.replace("\"build.sh\"]\n", "\"build.sh\", \"Makefile\"]\n"));
        let cache = small.view();
        let project = Self { small, cache };
        project.write("src/one.c", "#include \"tiny.h\"\nint one(void) { return ONE; }\n");
        project.write("src/two.c", "#include \"tiny.h\"\nint two(void) { return 2; }\n");
        project.write("src/tiny.h", "#define ONE 1\n");
        project
    }

    fn cmake() -> Self {
        Self::new("driver = \"cmake\"", ("CMakeLists.txt", CMAKE))
    }

    fn make() -> Self {
        Self::new("driver = \"make\"", ("Makefile", MAKE))
    }

    fn write(&self, below: &str, text: &str) {
        self.small.write(below, text);
    }

    fn work(&self) -> PathBuf {
        self.small.dir.path().join("target/simpack")
    }

    /// A build as people call it, whose machine is no CI.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = simpack(self.small.dir.path(), &["build", "tiny"]);
        command.args(args).env("SIMPACK_CACHE_DIR", &self.cache).env_remove("CI");
        command
    }

    fn build(&self, args: &[&str]) -> Ran {
        Ran::of(&mut self.command(args))
    }

    /// How many files the last build compiled, by what its build system said.
    fn compiled(&self) -> usize {
        let logs = self.work().join("logs");
        let logs = fs_err::read_dir(&logs).unwrap().map(|entry| entry.unwrap().path());
        let last = logs.max_by_key(|path| fs_err::metadata(path).unwrap().modified().unwrap()).unwrap();
        let text = fs_err::read_to_string(last).unwrap();
        text.lines().filter(|line| line.contains("Building C object") || line.contains(" -fPIC -c ")).count()
    }

    /// The packages, without what is said beside them.
    fn packages(&self, dist: &str) -> std::collections::BTreeMap<String, simpack::fs::Digest> {
        digests(&self.small.dir.path().join(dist).join("conda"))
    }

    /// The packages of a clean build in directories that nothing else uses.
    fn reference(&self) -> std::collections::BTreeMap<String, simpack::fs::Digest> {
        let mut command = self.command(&["--quiet", "--clean", "--dist", "other/dist", "--work", "other/work"]);
        Ran::of(command.env("SIMPACK_CACHE_DIR", self.small.view())).exit(0);
        self.packages("other/dist")
    }

    #[track_caller]
    fn is_as_clean(&self) {
        assert_eq!(changed(&self.reference(), &self.packages("dist")), [""; 0]);
    }

    fn incremental(&self) -> Value {
        let text = fs_err::read_to_string(self.small.dir.path().join("dist/build.json")).unwrap();
        serde_json::from_str::<Value>(&text).unwrap()["incremental"].clone()
    }

    fn trees(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs_err::read_dir(self.work()) else { return Vec::new() };
        let entries = entries.map(|entry| entry.unwrap().path());
        let is_tree =
            |path: &PathBuf| path.is_dir() && path.file_name().unwrap().to_string_lossy().starts_with("tree-");
        entries.filter(is_tree).collect()
    }

    /// Removes a file from all trees.
    fn remove(&self, at: &str) {
        for tree in self.trees() {
            let _ = std::fs::remove_file(tree.join(at));
        }
    }

    /// Starts a build and ends it by a signal when the file `at` of its tree is there.
    fn signalled(&self, at: &str, signal: i32) -> Ran {
        let child = self.command(&[]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let begun = Instant::now();
        while !self.trees().iter().any(|tree| tree.join(at).exists()) {
            assert!(begun.elapsed() < Duration::from_secs(120), "{at} is never there");
            std::thread::sleep(Duration::from_millis(10));
        }
        // SAFETY: a process that this test started and has not waited for.
        unsafe { libc::kill(child.id() as i32, signal) };
        Ran::from(child.wait_with_output().unwrap())
    }
}

const GOES_ON: &str = "host core goes on in its build tree";

#[test]
fn after_a_link_error_only_what_changed_is_compiled_and_the_bytes_are_those_of_a_clean_build() {
    let project = Project::cmake();
    project.write("src/two.c", "int three(void);\nint two(void) { return three(); }\n");
    let ran = project.build(&[]).exit(5);
    assert!(ran.stderr.contains("undefined reference to `three'"), "{}", ran.stderr);
    assert!(ran.stderr.contains("its build tree is kept"), "{}", ran.stderr);
    assert_eq!(project.compiled(), 3);
    // One source is mended.
    project.write("src/two.c", "int two(void) { return 2; }\n");
    let ran = project.build(&[]).exit(0);
    assert!(ran.stderr.contains(&format!("{GOES_ON}: 1 source has changed")), "{}", ran.stderr);
    assert!(ran.stderr.contains("built incrementally: host core"), "{}", ran.stderr);
    assert_eq!(project.compiled(), 1);
    assert_eq!(project.incremental(), serde_json::json!(["host core"]));
    project.is_as_clean();
    // It is neither in the cache nor for others; for this work directory it is there, and again it is said.
    let dry = project.build(&["--dry-run", "--json"]).exit(0).json();
    assert_eq!((&dry[0]["cached"], &dry[0]["incremental"]), (&false.into(), &true.into()), "{dry}");
    let dry = project.build(&["--dry-run"]).exit(0).stdout;
    assert!(
        dry.contains("incremental  host core") && dry.contains("1 built incrementally before, 0 to compile"),
        "{dry}"
    );
    let dry = project.build(&["--dry-run", "--clean"]).exit(0).stdout;
    assert!(dry.contains("0 in the cache, 1 to compile"), "{dry}");
    let provenance = fs_err::read_to_string(project.small.dir.path().join("dist/provenance.json")).unwrap();
    assert!(provenance.contains("\"incremental\": true"), "{provenance}");
    let publish = Ran::of(&mut simpack(project.small.dir.path(), &["publish", "channel", "dist"])).exit(2);
    assert!(publish.stderr.contains("simpack build --clean"), "{}", publish.stderr);
    let again = project.build(&["--dist", "again"]).exit(0);
    assert!(again.stdout.contains("0 compiled") && again.stderr.contains("built incrementally"), "{again:?}");
    // A clean build proves it, and stands in its place.
    let clean = project.build(&["--clean"]).exit(0);
    assert!(clean.stderr.contains("what was built incrementally was the same, byte for byte"), "{}", clean.stderr);
    assert_eq!((project.compiled(), project.incremental()), (3, Value::Null));
    let after = project.build(&["--dist", "again"]).exit(0);
    assert!(!after.stderr.contains("built incrementally"), "{}", after.stderr);
    Ran::of(&mut simpack(project.small.dir.path(), &["publish", "channel", "dist"])).exit(0);
    // And CI is always clean.
    project.write("src/two.c", "int two(void) { return 22; }\n");
    let ran = Ran::of(project.command(&[]).env("CI", "true")).exit(0);
    assert!(!ran.stderr.contains(GOES_ON), "{}", ran.stderr);
    assert_eq!((project.compiled(), project.incremental()), (3, Value::Null));
}

#[test]
fn headers_removed_sources_and_changed_projects_are_seen() {
    let project = Project::cmake();
    project.write("src/old.h", "");
    project.write("src/old.c", "int old(void) { return 0; }\n");
    project.build(&[]).exit(0);
    assert_eq!((project.compiled(), project.incremental()), (4, Value::Null));
    project.write("src/tiny.h", "#define ONE 11\n");
    for gone in ["src/old.h", "src/old.c"] {
        fs_err::remove_file(project.small.path(gone)).unwrap();
    }
    let ran = project.build(&[]).exit(0);
    assert!(ran.stderr.contains(&format!("{GOES_ON}: 3 sources have changed")), "{}", ran.stderr);
    assert_eq!(project.compiled(), 2, "those that include the header");
    project.is_as_clean();
    // A default in the project, which CMake would remember.
    let option = "set(WORD first CACHE STRING \"\")\nadd_compile_definitions(WORD=${WORD})\n";
    project.write("CMakeLists.txt", &CMAKE.replace("file(GLOB s", &format!("{option}file(GLOB s")));
    project.build(&[]).exit(0);
    assert_eq!(project.compiled(), 3);
    project.write(
        "CMakeLists.txt",
        &CMAKE.replace("file(GLOB s", &format!("{}file(GLOB s", option.replace("first", "other"))),
    );
    project.build(&[]).exit(0);
    assert_eq!(project.compiled(), 3);
    project.is_as_clean();
    // Another option of the recipe is another tree.
    let recipe = fs_err::read_to_string(project.small.path("simpack.toml")).unwrap();
    project.write(
        "simpack.toml",
        &recipe.replace("driver = \"cmake\"", "driver = \"cmake\"\noptions = { WORD = \"third\" }"),
    );
    let ran = project.build(&[]).exit(0);
    assert!(!ran.stderr.contains(GOES_ON) && project.trees().len() == 2, "{}", ran.stderr);
    assert_eq!((project.compiled(), project.incremental()), (3, Value::Null));
    // The first one is still there.
    project.write("simpack.toml", &recipe);
    project.write("src/two.c", "int two(void) { return 7; }\n");
    project.build(&[]).exit(0);
    assert_eq!(project.compiled(), 1);
    project.is_as_clean();
}

#[test]
fn a_clean_build_says_that_an_incremental_one_was_wrong() {
    let project = Project::cmake();
    // Nobody says that the command reads the file.
    let command = "\
add_custom_command(OUTPUT value.h COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_CURRENT_SOURCE_DIR}/src/value.txt value.h)
target_sources(tiny PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/value.h)
target_include_directories(tiny PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
";
    project.write("CMakeLists.txt", &format!("{CMAKE}{command}"));
    project.write("src/value.txt", "#define VALUE 1\n");
    project.write("src/two.c", "#include \"value.h\"\nint two(void) { return VALUE; }\n");
    project.build(&[]).exit(0);
    project.write("src/value.txt", "#define VALUE 2\n");
    let ran = project.build(&[]).exit(0);
    assert!(ran.stderr.contains(GOES_ON) && ran.stderr.contains("built incrementally"), "{}", ran.stderr);
    let wrong = project.packages("dist");
    let clean = project.build(&["--clean"]).exit(0);
    assert!(
        clean.stderr.contains(
            "warning: host core: what was built incrementally was not what a clean build gives: lib/libtiny.so.2"
        ),
        "{}",
        clean.stderr
    );
    assert_ne!(changed(&wrong, &project.packages("dist")), [""; 0]);
    project.is_as_clean();
}

#[test]
fn make_goes_on_where_that_is_safe_and_begins_anew_elsewhere() {
    let project = Project::make();
    project.write("src/two.c", "int three(void);\nint two(void) { return three(); }\n");
    project.build(&[]).exit(5);
    assert_eq!(project.compiled(), 3);
    project.write("src/two.c", "int two(void) { return 2; }\n");
    let ran = project.build(&[]).exit(0);
    assert!(ran.stderr.contains(GOES_ON), "{}", ran.stderr);
    assert_eq!(project.compiled(), 1);
    project.is_as_clean();
    // The makefile names no headers.
    project.write("src/tiny.h", "#define ONE 11\n");
    let ran = project.build(&[]).exit(0);
    assert!(ran.stderr.contains("begins in an empty build tree: its build system would not notice"), "{}", ran.stderr);
    assert_eq!((project.compiled(), project.incremental()), (3, Value::Null));
    project.is_as_clean();
    // A command that fails leaves no half file behind that the next build takes for a whole one.
    let rule = "\nsrc/one.o: half\nhalf:\n\techo half > half; test -e /nowhere\n";
    project.write("Makefile", &format!("{MAKE}{rule}"));
    for _ in 0..2 {
        let ran = project.build(&[]).exit(5);
        assert!(ran.stderr.contains("half] Error 1"), "{}", ran.stderr);
    }
}

#[test]
fn what_was_killed_or_interrupted_is_gone_on_with_or_begun_anew() {
    // The second of three sources is slow to come.
    let slow = "\
add_custom_command(OUTPUT slow.c DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/two.c src/slow COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/src/slow COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_CURRENT_SOURCE_DIR}/src/two.c slow.c)
target_sources(tiny PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/slow.c)
target_include_directories(tiny PRIVATE src)
";
    let project = Project::cmake();
    let text = CMAKE.replace("file(GLOB headers", "list(FILTER sources EXCLUDE REGEX two.c)\nfile(GLOB headers");
    // Objects do not wait for what is generated when nothing says that they include it.
    project.write(
        "CMakeLists.txt",
        &format!("{text}add_library(first OBJECT src/one.c)\n{slow}add_dependencies(tiny first)\n"),
    );
    let object = "build/CMakeFiles/first.dir/src/one.c.o";
    for (signal, code) in [(libc::SIGKILL, None), (libc::SIGINT, Some(130)), (libc::SIGTERM, Some(130))] {
        project.write("src/slow", "sleep 30\n");
        project.write("src/one.c", &format!("int one(void) {{ return {signal}; }}\n"));
        project.remove(object);
        let ran = project.signalled(object, signal);
        assert_eq!(ran.code, code, "{}", ran.stderr);
        project.write("src/slow", "true\n");
        let ran = project.build(&[]).exit(0);
        assert!(ran.stderr.contains(GOES_ON), "{}", ran.stderr);
        project.is_as_clean();
    }
    // make takes half a file for a whole one.
    let project = Project::make();
    project.write(
        "Makefile",
        &MAKE.replace("src/two.o\n", "src/two.o slow.o\n").replace(
            "%.o: %.c",
            "slow.o: slow.c\nslow.c:\n\techo 'int' > slow.c; sleep 30; echo 'slow;' >> slow.c\n%.o: %.c",
        ),
    );
    for signal in [libc::SIGKILL, libc::SIGINT] {
        project.remove("source/slow.c");
        project.signalled("source/slow.c", signal);
        project.remove("source/slow.c");
        let ran = project.signalled("source/slow.c", libc::SIGINT);
        assert!(ran.stderr.contains("begins in an empty build tree: its build system was killed"), "{}", ran.stderr);
    }
}

#[test]
fn by_every_means_of_isolation_a_step_goes_on() {
    let path = std::env::var("PATH").unwrap();
    let project = Project::cmake();
    // Where compilers are and bubblewrap is not, simpack's own means are used.
    let without = project.small.dir.path().join("bin");
    fs_err::create_dir(&without).unwrap();
    for name in ["cc", "c++", "gcc", "g++", "ar", "as", "ld", "nm", "ranlib", "strip", "pkg-config"] {
        if let Ok(program) = which::which(name) {
            fs_err::os::unix::fs::symlink(fs_err::canonicalize(program).unwrap(), without.join(name)).unwrap();
        }
    }
    let without = without.to_str().unwrap().to_owned();
    // A machine that allows no namespaces, but Landlock.
    let landlock = project.small.dir.path().join("with-landlock");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/without_sandbox.c");
    Ran::of(Command::new("cc").args(["-DKEEP_LANDLOCK", "-o"]).arg(&landlock).arg(source)).exit(0);
    let landlock = landlock.to_str().unwrap();
    let mut means = Vec::new();
    for (number, (before, mode, path)) in
        [(None, "auto", &path), (None, "auto", &without), (Some(landlock), "auto", &path), (None, "off", &path)]
            .into_iter()
            .enumerate()
    {
        let build = |expected: &str| {
            let plain = project.command(&["--sandbox", mode, "--json"]);
            let mut command = match before {
                None => plain,
                Some(program) => {
                    let mut command = Command::new(program);
                    command.arg(plain.get_program()).args(plain.get_args()).current_dir(project.small.dir.path());
                    command.env_remove("CI").env("SIMPACK_CACHE_DIR", &project.cache);
                    command
                }
            };
            let ran = Ran::of(command.env("PATH", path)).exit(0);
            assert_eq!(ran.stderr.contains(GOES_ON), expected == "goes on", "{mode} {path}: {}", ran.stderr);
            ran.json()["sandbox"].as_str().unwrap().to_owned()
        };
        project.write("src/two.c", &format!("int two(void) {{ return {number}; }}\n"));
        let first = build("begins");
        project.write("src/two.c", &format!("int two(void) {{ return 1{number}; }}\n"));
        assert_eq!(build("goes on"), first);
        assert_eq!(project.compiled(), 1);
        project.is_as_clean();
        means.push(first);
    }
    assert_eq!(means[3], "none");
    need!(means[0] != "none", "this machine has no means to isolate a step");
}

#[test]
fn a_tree_in_use_or_tampered_with_is_not_gone_on_with() {
    let project = Project::cmake();
    project.build(&[]).exit(0);
    let tree = project.trees().remove(0);
    let change = |number: u32| project.write("src/two.c", &format!("int two(void) {{ return {number}; }}\n"));
    // Another build holds it.
    let lock = std::fs::File::options().write(true).open(tree.with_extension("lock")).unwrap();
    lock.lock().unwrap();
    change(3);
    let ran = project.build(&[]).exit(0);
    assert!(!ran.stderr.contains(GOES_ON) && project.incremental().is_null(), "{}", ran.stderr);
    assert_eq!(project.compiled(), 3);
    drop(lock);
    // A build put a link in the place of a directory, or somebody wrote a record.
    let theirs = project.small.dir.path().join("theirs");
    fs_err::create_dir(&theirs).unwrap();
    fs_err::write(theirs.join("CMakeCache.txt"), "theirs").unwrap();
    for place in ["build", "source"] {
        change(place.len() as u32);
        fs_err::remove_dir_all(tree.join(place)).unwrap();
        fs_err::os::unix::fs::symlink(&theirs, tree.join(place)).unwrap();
        let ran = project.build(&[]).exit(0);
        assert!(ran.stderr.contains("begins in an empty build tree: its "), "{place}: {}", ran.stderr);
        assert_eq!(files(&theirs), ["CMakeCache.txt"]);
        assert_eq!(project.incremental(), Value::Null);
    }
    change(9);
    fs_err::write(tree.with_extension("json"), "{").unwrap();
    let ran = project.build(&[]).exit(0);
    assert!(!ran.stderr.contains(GOES_ON), "{}", ran.stderr);
    project.is_as_clean();
}

#[test]
fn the_room_of_trees_is_seen_and_bounded() {
    let project = Project::cmake();
    project.build(&[]).exit(0);
    let cache = |args: &[&str]| {
        let mut command = simpack(project.small.dir.path(), &["cache"]);
        Ran::of(command.args(args).env("SIMPACK_CACHE_DIR", &project.cache)).exit(0)
    };
    let stat = cache(&["stat", "--json"]).json();
    assert!(stat["build-trees"]["entries"] == 1 && stat["build-trees"]["bytes"].as_u64() > Some(10_000), "{stat}");
    assert!(cache(&["stat"]).stdout.contains("build trees in target/simpack"));
    assert_eq!(cache(&["stat", "--json", "--work", "elsewhere"]).json()["build-trees"]["entries"], 0);
    let gone = cache(&["gc", "--max-size", "0", "--json"]).json();
    assert_eq!(gone["removed-build-trees"]["entries"], 1, "{gone}");
    assert!(project.trees().is_empty() && !files(&project.work()).iter().any(|file| file.starts_with("tree-")));
    // Without room for any, none stays, and every build is clean.
    for number in [3, 4] {
        project.write("src/two.c", &format!("int two(void) {{ return {number}; }}\n"));
        Ran::of(project.command(&[]).env("SIMPACK_BUILD_TREES_SIZE", "0")).exit(0);
        assert!(project.trees().is_empty() && project.incremental().is_null());
    }
}
