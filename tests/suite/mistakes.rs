//! Typical mistakes, and what a terminal shows of each: at 80 columns in colour, at 100 without. A message is at the right
//! place, says what to do, and says it in plain words.

use std::fs::File;
use std::io::Read;
use std::os::fd::FromRawFd;
use std::process::{Command, Stdio};

use crate::support::{CacheView, Ran, Tiny, scratch, simpack};

/// Runs a command on a terminal of so many columns; answers what it shows and the exit code.
fn on_terminal(command: &mut Command, columns: u16, colour: bool) -> (String, Option<i32>) {
    let size = libc::winsize { ws_row: 50, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    let (mut master, mut slave) = (0, 0);
    let null = std::ptr::null_mut();
    // SAFETY: both descriptors are written, and the size outlives the call.
    let opened = unsafe { libc::openpty(&mut master, &mut slave, null, std::ptr::null(), &size) };
    assert_eq!(opened, 0, "{}", std::io::Error::last_os_error());
    // SAFETY: openpty has just opened them, and nobody else has them.
    let (mut master, slave) = unsafe { (File::from_raw_fd(master), File::from_raw_fd(slave)) };
    for name in ["CLICOLOR_FORCE", "SIMPACK_COLOR", "COLUMNS", "NO_COLOR"] {
        command.env_remove(name);
    }
    if !colour {
        command.env("NO_COLOR", "1");
    }
    command.env("TERM", "xterm-256color").env("SIMPACK_PROGRESS", "never").stdin(Stdio::null());
    command.stdout(slave.try_clone().unwrap()).stderr(slave.try_clone().unwrap());
    let mut child = command.spawn().unwrap();
    // The terminal ends when the last descriptor of its other side is closed.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    drop(slave);
    let (mut text, mut buffer) = (Vec::new(), [0; 4096]);
    while let Ok(count @ 1..) = master.read(&mut buffer) {
        text.extend_from_slice(&buffer[..count]);
    }
    let text = String::from_utf8(text).unwrap().replace("\r\n", "\n");
    (text, child.wait().unwrap().code())
}

/// The text without colours.
fn plain(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| all + part.split_once('m').map_or(part, |(_, rest)| rest))
}

/// What both terminals show, in one snapshot.
fn shown(name: &str, exit: i32, mut command: impl FnMut() -> Command) {
    let (narrow, code) = on_terminal(&mut command(), 80, true);
    assert_eq!(code, Some(exit), "{name}: {narrow}");
    let (wide, code) = on_terminal(&mut command(), 100, false);
    assert_eq!(code, Some(exit), "{name}: {wide}");
    assert!(!wide.contains('\x1b'), "{name}: {wide}");
    assert!(narrow.contains("\x1b["), "{name} has no colour: {narrow}");
    for (text, columns) in [(plain(&narrow), 80), (wide.clone(), 100)] {
        // A path or a name that is longer than a line stays whole; a recipe's line and a compiler's words, too.
        let is_long = |line: &&str| line.chars().count() > columns && line.trim_start().contains(' ');
        let long: Vec<&str> = text.lines().filter(is_long).collect();
        assert!(long.is_empty(), "{name} at {columns} columns: {long:#?}");
    }
    let narrow = narrow.replace('\x1b', "^");
    insta::with_settings!({ filters => vec![
        // What differs between two runs, and two compilers.
        (r"logs/[0-9a-f]{4}-", "logs/KEY-"),
        (r"\((\d+) ms\)", "(TIME)"),
        // Which of two targets fails first.
        (r"(kernels/tiny.cu |kernels-tiny-cu-)sm_(?:80|90)( \(|-)default", "${1}sm_80${2}default"),
        (r"(?m)^(package|tiny(-[a-z_0-9-]+)?) +[^\n]*\n", ""),
        (r"built 3 steps in[^\n]*(\n  [^\n]*)?\n", "built 3 steps in ...\n"),
    ], omit_expression => true, prepend_module_to_snapshot => false, snapshot_path => "snapshots/mistakes" }, {
        insta::assert_snapshot!(name, format!("exit {exit}, 80 columns, in colour\n{narrow}\n100 columns\n{wide}"));
    });
}

/// A mistake in a recipe that builds, as a change of one of its files.
struct Mistake {
    name: &'static str,
    /// File below the project, what stands there, and what somebody writes instead.
    change: (&'static str, &'static str, &'static str),
    exit: i32,
}

const fn mistake(name: &'static str, change: (&'static str, &'static str, &'static str), exit: i32) -> Mistake {
    Mistake { name, change, exit }
}

const RECIPE: &str = "recipe/simpack.toml";
const BUILD: &str = "recipe/build.sh";
const TABLE: &str = "recipe/kernels/table.toml";

/// What stops before anything is compiled.
const IN_RECIPE: &[Mistake] = &[
    mistake("key-misspelt", (RECIPE, "policy = \"major\"", "polcy = \"major\""), 3),
    mistake("key-of-table-misspelt", (TABLE, "params", "parms"), 3),
    mistake("capability-unknown", (RECIPE, "\"9.0\"", "\"9.2\""), 3),
    mistake("capability-not-in-this-cuda", (RECIPE, "\"9.0\"", "\"7.0\""), 3),
    mistake("capability-without-minor", (RECIPE, "\"8.0\"", "\"8\""), 3),
    mistake("capability-as-compilers-write-it", (RECIPE, "\"9.0\"", "\"sm_90\""), 3),
    mistake("file-missing", (RECIPE, "kernels/tiny.cu", "kernels/tinny.cu"), 3),
];

/// What a compiler, a linker or verification finds.
const IN_BUILD: &[Mistake] = &[
    mistake("glob-matches-nothing", (RECIPE, "\"share/**\"", "\"share/**\", \"libexec/**\""), 0),
    mistake("file-of-nobody", (RECIPE, ", \"share/**\"", ""), 1),
    mistake(
        "file-of-two",
        (RECIPE, "[driver]", "[component.dev]\npolicy = \"major\"\nfiles = [\"share/**\"]\n[driver]"),
        1,
    ),
    mistake("compile-error", ("recipe/sim.cc", "return", "retrun"), 5),
    mistake("compile-error-in-kernel", ("recipe/kernels/tiny.cu", "1.f", "step"), 5),
    mistake("soname-absent", (BUILD, "-Wl,-soname,libtiny.so.1 ", ""), 1),
    mistake("soname-against-policy", (BUILD, "-soname,libtiny.so.1 ", "-soname,libtiny.so.1.0 "), 1),
    mistake("driver-not-there-to-link", (BUILD, "sim.cc", "sim.cc -lcuda"), 5),
    mistake("library-not-there-to-link", (BUILD, "sim.cc", "sim.cc -ltinyblas"), 5),
    mistake(
        "driver-linked-by-a-stub",
        (
            BUILD,
            "$CXX ",
            "echo 'extern \"C\" int cuInit(int) { return 0; }' > s.cc && $CXX -shared -fPIC -Wl,-soname,libcuda.so.1 -o libcuda.so s.cc\n\
             $CXX -Wl,--no-as-needed -L. -lcuda ",
        ),
        1,
    ),
    mistake("cudart-linked", (BUILD, "$CXX ", "$CXX -Wl,--no-as-needed -L@CUDA@/lib -l:libcudart.so.13 "), 1),
    mistake("runpath-absolute", (BUILD, "$CXX ", "$CXX -Wl,-rpath,/opt/tiny/lib "), 0),
    mistake("header-outside-inputs", ("recipe/sim.cc", "extern", "#include \"tiny.h\"\nextern"), 5),
    mistake("header-not-searched", ("recipe/kernels/tiny.cu", "extern", "#include \"tiny.h\"\nextern"), 5),
    mistake("kernel-misspelt", (TABLE, "tiny_step", "tiny_stpe"), 1),
    mistake("kernel-mangled", ("recipe/kernels/tiny.cu", "extern \"C\" ", ""), 1),
    mistake("kernel-parameters", (TABLE, "u32", "u64"), 1),
];

impl Mistake {
    fn show(&self, tiny: &Tiny, args: &[&str]) {
        let (file, from, to) = self.change;
        let to = &to.replace("@CUDA@", &std::env::var("SIMPACK_TEST_CUDA").unwrap_or_default());
        let right = fs_err::read_to_string(tiny.path(file)).unwrap();
        assert!(right.contains(from), "{}: {file} has no {from}", self.name);
        tiny.write(file, &right.replacen(from, to, 1));
        shown(self.name, self.exit, || tiny.simpack(args));
        tiny.write(file, &right);
    }
}

#[test]
fn mistakes_in_a_recipe() {
    let tiny = Tiny::at(scratch(), Some("/nowhere".into()));
    for mistake in IN_RECIPE {
        mistake.show(&tiny, &["build", "recipe"]);
    }
    for (name, args, exit) in [
        ("verb-unknown", &["biuld", "recipe"][..], 2),
        ("flag-unknown", &["build", "recipe", "--capabilty", "9.0"], 2),
        ("jobs-no-number", &["build", "recipe", "--jobs", "many"], 2),
        ("jobs-none", &["build", "recipe", "--jobs", "0"], 2),
        ("jobs-too-many", &["build", "recipe", "--jobs", "100000"], 2),
        ("capability-asked-as-compilers-write-it", &["build", "recipe", "--capability", "sm_90"], 2),
        ("recipe-absent", &["build"], 2),
        ("lint-misspelt", &["verify", "--explain", "kernel-api"], 2),
    ] {
        shown(name, exit, || tiny.simpack(args));
    }
    fs_err::write(tiny.path("latin.toml"), b"edition = 1\n[simulator]\nname = \"m\xfcller\"\n").unwrap();
    shown("recipe-not-utf-8", 3, || tiny.simpack(&["check", "latin.toml"]));
    tiny.write("other/mine.txt", "not made by simpack");
    shown("dist-with-other-files", 2, || tiny.simpack(&["build", "recipe", "--dist", "other"]));
    // Without a network and with an empty cache everything that is missing is named at once.
    shown("offline-with-an-empty-cache", 4, || {
        tiny.simpack(&["build", "recipe", "--offline", "--host", "zig", "--quiet"])
    });
    let licence = fs_err::read(tiny.path("recipe/LICENSE")).unwrap();
    fs_err::remove_file(tiny.path("recipe/LICENSE")).unwrap();
    shown("licence-text-absent", 0, || tiny.simpack(&["check", "recipe"]));
    // Told before anything is compiled.
    let built = Ran::of(tiny.simpack(&["build", "recipe"]).env("PATH", "/nowhere"));
    assert_eq!(built.code, Some(3), "{}", built.stderr);
    assert!(built.stderr.contains("no licence text"), "{}", built.stderr);
    // What lies outside of the source is not read into packages.
    tiny.write("private", "nobody's business\n");
    fs_err::os::unix::fs::symlink("../private", tiny.path("recipe/LICENSE")).unwrap();
    let built = Ran::of(tiny.simpack(&["build", "recipe"]).env("PATH", "/nowhere"));
    assert!(built.code.is_some_and(|code| code > 0) && built.stderr.contains("LICENSE"), "{}", built.stderr);
    fs_err::remove_file(tiny.path("recipe/LICENSE")).unwrap();
    fs_err::write(tiny.path("recipe/LICENSE"), licence).unwrap();
    let lock = fs_err::read_to_string(tiny.path("recipe/simpack.lock")).unwrap();
    let start = lock.find("sha256 = \"").unwrap() + 10;
    tiny.write("recipe/simpack.lock", &format!("{}0000{}", &lock[..start], &lock[start + 4..]));
    shown("lock-with-a-wrong-digest", 8, || tiny.simpack(&["build", "recipe", "--offline"]));
    shown("lock-with-a-wrong-digest-checked", 8, || tiny.simpack(&["lock", "recipe", "--check"]));
}

#[test]
fn mistakes_in_a_build() {
    let Some(tiny) = Tiny::with_kernels() else { return };
    tiny.write("recipe/include/tiny.h", "#define TINY 1\n");
    let args = ["build", "recipe", "--quiet", "--jobs", "1", "--sandbox", "off", "--toolchain", "system"];
    let args = [&args[..], &["--allow", "device-coverage", "--allow", "kernel-tag-absent"]].concat();
    for mistake in IN_BUILD {
        mistake.show(&tiny, &args);
    }
}

/// A package or library that is empty or cut is never sound, whoever looks, and the exit code is one.
#[test]
fn damaged_files_have_one_verdict() {
    let dir = scratch();
    let whole = std::env::current_exe().unwrap();
    let mut start = vec![0; 3000];
    File::open(whole).unwrap().read_exact(&mut start).unwrap();
    for (name, bytes, said) in [
        ("empty-1.0-py3-none-any.whl", &b""[..], "the file is empty"),
        ("empty-1.0-0.conda", b"", "the file is empty"),
        ("libempty.so", b"", "the file is empty"),
        ("cut-1.0-py3-none-any.whl", b"PK\x03\x04\x14\0\0\0\0\0", "it is cut short"),
        ("cut-1.0-0.conda", b"PK\x03\x04\x14\0\0\0\0\0", "it is cut short"),
        ("libcut.so", &start, "the file ends"),
    ] {
        fs_err::write(dir.path().join(name), bytes).unwrap();
        for verb in ["doctor", "inspect", "verify", "resolve"] {
            let ran = Ran::of(&mut simpack(dir.path(), &[verb, name])).exit(7);
            let all = format!("{}{}", ran.stdout, ran.stderr);
            assert!(all.contains(said) || all.contains("cut short") || all.contains("damaged"), "{verb} {name}: {all}");
        }
        if name.starts_with("cut") || name == "libempty.so" {
            shown(&format!("verify-{name}"), 7, || simpack(dir.path(), &["verify", name]));
            shown(&format!("resolve-{name}"), 7, || simpack(dir.path(), &["resolve", name]));
        }
    }
}

/// A cache that somebody removes while a build runs costs time, not the build; and nothing is said to be kept that is not.
#[test]
fn the_cache_is_removed_while_a_build_runs() {
    let Some(tiny) = Tiny::with_kernels() else { return };
    Ran::of(&mut tiny.build(&[])).exit(0);
    let before = tiny.dist();
    let first = fs_err::read_to_string(tiny.path("recipe/build.sh")).unwrap();
    let remove = format!("rm -rf '{}'\n", tiny.path("cache/artifacts").display());
    tiny.write("recipe/build.sh", &format!("{remove}{first}"));
    let ran = Ran::of(&mut tiny.build(&[])).exit(0);
    assert!(ran.stderr.contains("2 finished steps were removed from the cache"), "{}", ran.stderr);
    assert!(ran.stderr.contains("they are made again"), "{}", ran.stderr);
    assert_eq!(tiny.dist().len(), before.len());
    tiny.write("recipe/build.sh", &format!("{remove}exit 3\n"));
    let ran = Ran::of(&mut tiny.build(&[])).exit(5);
    assert!(ran.stderr.contains("2 finished steps are lost: the cache was removed"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("kept"), "{}", ran.stderr);
}

/// What CMake warns of does not hide why it fails.
#[test]
fn a_configuration_that_fails() {
    let view = CacheView::new(&["zig"]);
    let tiny = Tiny::at(scratch(), None);
    let driver = "driver = \"script\"\ntargets = [\"build.sh\"]\ninputs = [\"build.sh\", \"sim.cc\"]";
    tiny.change(driver, "driver = \"cmake\"\ninputs = [\"CMakeLists.txt\"]");
    let warnings = "message(WARNING \"an option is old\")\n".repeat(8);
    let text =
        format!("cmake_minimum_required(VERSION 3.20)\nproject(tiny CXX)\n{warnings}find_package(Nosuch REQUIRED)\n");
    tiny.write("recipe/CMakeLists.txt", &text);
    shown("cmake-fails", 5, || {
        let mut command = tiny.simpack(&["build", "recipe", "--quiet", "--sandbox", "off"]);
        command.env("SIMPACK_CACHE_DIR", view.root.path());
        command
    });
}
