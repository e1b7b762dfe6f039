//! `simpack patch` on libraries and programs of this machine's compiler, judged by `readelf`, by the
//! loader, and by what is left on disk.

use std::collections::BTreeSet;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::{Ran, need, scratch, simpack};

/// The C compiler; the tests need one, and `readelf`.
pub fn compiler() -> Option<PathBuf> {
    which::which("readelf").ok()?;
    ["cc", "gcc", "clang"].iter().find_map(|name| which::which(name).ok())
}

pub fn compile(dir: &Path, name: &str, source: &str, flags: &[&str]) -> PathBuf {
    let text = dir.join("source.c");
    fs_err::write(&text, source).unwrap();
    let output = dir.join(name);
    fs_err::create_dir_all(output.parent().unwrap()).unwrap();
    Ran::of(Command::new(compiler().unwrap()).arg("-o").arg(&output).arg(&text).args(flags)).exit(0);
    fs_err::remove_file(text).unwrap();
    output
}

/// A library whose `answer` gives a number.
pub fn library(dir: &Path, name: &str, answer: u8) -> PathBuf {
    let soname = format!("-Wl,-soname,{}", name.rsplit('/').next().unwrap());
    compile(dir, name, &format!("int answer(void) {{ return {answer}; }}"), &["-shared", "-fPIC", &soname])
}

/// A program that loads the library it is given and ends with what `answer` gives.
fn caller(dir: &Path) -> PathBuf {
    let source = "#include <dlfcn.h>\n\
        int main(int count, char **args) {\n\
            void *library = dlopen(args[1], RTLD_NOW);\n\
            int (*answer)(void) = library ? (int (*)(void))dlsym(library, \"answer\") : 0;\n\
            return answer ? answer() : 99; }";
    compile(dir, "caller", source, &["-ldl"])
}

pub fn patch(dir: &Path, args: &[&str]) -> Ran {
    let args: Vec<&str> = ["patch"].into_iter().chain(args.iter().copied()).collect();
    Ran::of(&mut simpack(dir, &args))
}

/// Values of a kind of dynamic entry, as `readelf` sees them; it must have nothing to complain about.
pub fn dynamic(file: &Path, tag: &str) -> Vec<String> {
    let ran = Ran::of(Command::new("readelf").env("LC_ALL", "C").args(["-dlSW"]).arg(file)).exit(0);
    assert!(ran.stderr.is_empty(), "{}", ran.stderr);
    let lines = ran.stdout.lines().filter(|line| line.contains(&format!("({tag})")));
    lines.map(|line| line[line.find('[').unwrap() + 1..line.rfind(']').unwrap()].to_owned()).collect()
}

/// Everything on disk below `dir`: names, inodes, sizes, modes and content.
fn snapshot(dir: &Path) -> Vec<(PathBuf, u64, u32, Vec<u8>)> {
    let mut found: Vec<_> = walkdir::WalkDir::new(dir)
        .into_iter()
        .map(|entry| entry.unwrap().into_path())
        .filter(|path| path.is_file())
        .map(|path| {
            let data = fs_err::metadata(&path).unwrap();
            let bytes = fs_err::read(&path).unwrap();
            (path, data.ino(), data.mode(), bytes)
        })
        .collect();
    found.sort();
    found
}

#[test]
fn all_edits_of_a_call_are_made_and_the_library_still_answers() {
    need!(compiler().is_some(), "no C compiler or no readelf");
    let dir = scratch();
    let caller = caller(dir.path());
    library(dir.path(), "deps/libdep.so", 1);
    let dep = format!("-L{}", dir.path().join("deps").display());
    let source = "int answer(void); int both(void) { return answer() + 41; }";
    let user = compile(dir.path(), "libuser.so", source, &["-shared", "-fPIC", &dep, "-ldep", "-Wl,--no-as-needed"]);
    fs_err::set_permissions(&user, std::fs::Permissions::from_mode(0o640)).unwrap();
    let load = || Ran::of(Command::new(&caller).arg(&user)).code;
    assert_eq!(load(), Some(99), "nothing leads to its need yet");

    let long = "$ORIGIN/deps:$ORIGIN/a-directory-with-a-long-name/that-does-not-fit/into-what-was-there";
    let args = ["--set-runpath", long, "--driver-profile", "wsl", "--set-soname", "libother.so.7", "libuser.so"];
    let ran = patch(dir.path(), &args).exit(0);
    assert!(ran.stdout.starts_with("changed  libuser.so\n"), "{}", ran.stdout);
    assert!(ran.stdout.ends_with("\n1 changed\n"), "{}", ran.stdout);
    assert_eq!(dynamic(&user, "RUNPATH"), [format!("{long}:/usr/lib/wsl/lib")]);
    assert_eq!(dynamic(&user, "SONAME"), ["libother.so.7"]);
    assert_eq!(fs_err::metadata(&user).unwrap().mode() & 0o777, 0o640);
    assert_eq!(load(), Some(1));

    // The same again changes nothing, not even the file's identity.
    let before = snapshot(dir.path());
    let ran = patch(dir.path(), &args).exit(0);
    assert_eq!(ran.stdout, "unchanged  libuser.so\n1 unchanged\n");
    assert_eq!(snapshot(dir.path()), before);

    // Needs: another library takes the place.
    library(dir.path(), "deps/libdep2.so", 2);
    let needed = || dynamic(&user, "NEEDED").into_iter().filter(|name| name.contains("dep")).collect::<Vec<_>>();
    patch(dir.path(), &["--replace-needed", "libdep.so=libdep2.so", "libuser.so"]).exit(0);
    assert_eq!((needed(), load()), (vec!["libdep2.so".to_owned()], Some(2)));
    patch(dir.path(), &["--remove-needed", "libdep2.so", "--add-needed", "libdep.so", "libuser.so"]).exit(0);
    assert_eq!((needed(), load()), (vec!["libdep.so".to_owned()], Some(1)));
    patch(dir.path(), &["--tag", "rpath", "libuser.so"]).exit(0);
    assert_eq!(dynamic(&user, "RPATH"), [format!("{long}:/usr/lib/wsl/lib")]);
    patch(dir.path(), &["--remove-runpath", "libuser.so"]).exit(0);
    assert!(dynamic(&user, "RPATH").is_empty() && dynamic(&user, "RUNPATH").is_empty());
}

#[test]
fn print_is_for_scripts_and_check_writes_nothing() {
    need!(compiler().is_some(), "no C compiler or no readelf");
    let dir = scratch();
    library(dir.path(), "lib/libone.so.1", 1);
    patch(dir.path(), &["--set-runpath", "$ORIGIN", "lib"]).exit(0);
    let ran = patch(dir.path(), &["--print", "lib/libone.so.1"]).exit(0);
    let lines: Vec<&str> = ran.stdout.lines().filter(|line| !line.starts_with("needed: ")).collect();
    assert_eq!(lines, ["file: lib/libone.so.1", "soname: libone.so.1", "runpath: $ORIGIN"]);

    let before = snapshot(dir.path());
    let ran = patch(dir.path(), &["--check", "--add-runpath", "$ORIGIN/../lib", "lib"]).exit(0);
    assert_eq!(snapshot(dir.path()), before);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines[0], "would change  lib/libone.so.1");
    assert_eq!(lines[1], "  runpath     $ORIGIN -> $ORIGIN:$ORIGIN/../lib");
    assert!(lines[2].starts_with("  writes      ") && lines[2].contains(" at 0x"), "{}", lines[2]);
    assert_eq!(lines.last(), Some(&"1 would change"));

    // What --check announces is what happens: exactly these bytes.
    let args = ["--check", "--json", "--add-runpath", "$ORIGIN/../lib", "lib"];
    let plan = patch(dir.path(), &args).exit(0).json()["files"][0]["plan"].clone();
    patch(dir.path(), &["--add-runpath", "$ORIGIN/../lib", "lib"]).exit(0);
    let (old, new) = (&before[0].3, fs_err::read(dir.path().join("lib/libone.so.1")).unwrap());
    assert_eq!(
        (plan["size-before"].as_u64(), plan["size-after"].as_u64()),
        (Some(old.len() as u64), Some(new.len() as u64))
    );
    let announced: BTreeSet<u64> = plan["writes"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|write| {
            let at = write["at"].as_u64().unwrap();
            at..at + write["bytes"].as_u64().unwrap()
        })
        .collect();
    for (at, byte) in new.iter().enumerate() {
        assert!(
            old.get(at).unwrap_or(&0) == byte || announced.contains(&(at as u64)),
            "byte {at:#x} was not announced"
        );
    }
}

#[test]
fn the_json_report_has_its_fields() {
    need!(compiler().is_some(), "no C compiler or no readelf");
    let dir = scratch();
    library(dir.path(), "lib/libone.so", 1);
    fs_err::write(dir.path().join("lib/broken.so"), b"\x7fELF\x02\x01 and no more").unwrap();
    fs_err::write(dir.path().join("lib/readme.txt"), "text").unwrap();
    let report = patch(dir.path(), &["--json", "--set-runpath", "$ORIGIN", "lib"]).exit(6).json();
    assert_eq!(report["schema"], 1);
    let files = report["files"].as_array().unwrap();
    let keys = |index: usize| files[index].as_object().unwrap().keys().map(String::as_str).collect::<BTreeSet<_>>();
    assert_eq!(keys(0), BTreeSet::from(["file", "outcome", "reason", "hints"]));
    assert_eq!((&files[0]["file"], &files[0]["outcome"]), (&"lib/broken.so".into(), &"failed".into()));
    assert_eq!(keys(1), BTreeSet::from(["file", "outcome", "plan"]));
    let change = serde_json::json!([{ "what": "runpath", "from": null, "to": "$ORIGIN" }]);
    assert_eq!((&files[1]["outcome"], &files[1]["plan"]["changes"]), (&"changed".into(), &change));
    let totals = serde_json::json!({
        "changed": 1, "would-change": 0, "unchanged": 0, "shown": 0, "left-out": 0, "failed": 1
    });
    assert_eq!(report["totals"], totals);
    let state = patch(dir.path(), &["--json", "--print", "lib/libone.so"]).exit(0).json()["files"][0]["state"].clone();
    assert_eq!((&state["runpath"], &state["soname"]), (&"$ORIGIN".into(), &"libone.so".into()));
}

/// One bad file does not stop the others, and says why and what to do.
#[test]
fn a_directory_is_done_but_for_what_cannot_be() {
    need!(compiler().is_some(), "no C compiler or no readelf");
    let dir = scratch();
    let names: Vec<String> = (0..40).map(|index| format!("lib/sub{}/lib{index}.so", index % 3)).collect();
    library(dir.path(), "one.so", 7);
    for name in &names {
        fs_err::create_dir_all(dir.path().join(name).parent().unwrap()).unwrap();
        fs_err::copy(dir.path().join("one.so"), dir.path().join(name)).unwrap();
    }
    let bytes = fs_err::read(dir.path().join("one.so")).unwrap();
    let changed = |at: usize, byte: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = byte;
        bytes
    };
    fs_err::write(dir.path().join("lib/big-endian.so"), changed(5, 2)).unwrap();
    fs_err::write(dir.path().join("lib/short.so"), changed(4, 1)).unwrap();
    fs_err::write(dir.path().join("lib/cut.so"), &bytes[..bytes.len() / 3]).unwrap();
    compile(dir.path(), "lib/part.o", "int part(void) { return 1; }", &["-c"]);
    std::os::unix::fs::symlink("../one.so", dir.path().join("lib/outside.so")).unwrap();
    let ran = patch(dir.path(), &["--set-runpath", "$ORIGIN/..", "lib"]).exit(6);
    assert_eq!(ran.stdout.lines().last(), Some("40 changed, 1 left out, 3 failed"), "{}", ran.stdout);
    assert!(ran.stdout.contains("left out  lib/part.o: it is not linked yet"), "{}", ran.stdout);
    for (file, reason) in [("big-endian", "big-endian"), ("short", "32-bit"), ("cut", "damaged")] {
        let line = ran.stderr.lines().find(|line| line.starts_with(&format!("error: lib/{file}.so: ")));
        assert!(line.is_some_and(|line| line.contains(reason)), "{file}: {}", ran.stderr);
    }
    assert_eq!(ran.stderr.matches("hint: ").count(), 3, "{}", ran.stderr);
    for name in &names {
        assert_eq!(dynamic(&dir.path().join(name), "RUNPATH"), ["$ORIGIN/.."], "{name}");
    }
    assert!(dynamic(&dir.path().join("one.so"), "RUNPATH").is_empty(), "links lead out of the directory");
    assert!(!snapshot(dir.path()).iter().any(|(path, ..)| path.to_string_lossy().contains(".simpack-")));
}

/// A static-pie executable, as far as this machine's compiler makes one.
#[test]
fn static_executables_are_refused_by_name_and_left_out_of_directories() {
    need!(compiler().is_some(), "no C compiler or no readelf");
    let dir = scratch();
    fs_err::create_dir(dir.path().join("bin")).unwrap();
    let text = dir.path().join("start.c");
    fs_err::write(&text, "void _start(void) { for (;;); }").unwrap();
    let flags = ["-nostdlib", "-static-pie", "-fPIE", "-o", "bin/tool", "start.c"];
    let made = Ran::of(Command::new(compiler().unwrap()).current_dir(dir.path()).args(flags));
    need!(made.code == Some(0), "no static-pie here: {}", made.stderr);
    let ran = patch(dir.path(), &["--set-runpath", "$ORIGIN", "bin/tool"]).exit(6);
    assert!(ran.stderr.contains("bin/tool: cannot be changed: ") && ran.stderr.contains("hint: "), "{}", ran.stderr);
    let ran = patch(dir.path(), &["--set-runpath", "$ORIGIN", "bin"]).exit(0);
    assert!(ran.stdout.starts_with("left out  bin/tool: it is "), "{}", ran.stdout);
}

#[test]
fn contradictions_and_what_breaks_elsewhere_are_refused_before_any_file() {
    need!(compiler().is_some(), "no C compiler or no readelf");
    let dir = scratch();
    for name in ["a.so", "b.so"] {
        library(dir.path(), name, 1);
    }
    let before = snapshot(dir.path());
    for (args, word) in [
        (&["--set-runpath", "$ORIGIN", "--remove-runpath"] as &[&str], "cannot be used with"),
        (&["--set-runpath", "$ORIGIN", "--add-runpath", "$ORIGIN"], "cannot be used with"),
        (&["--remove-runpath", "--driver-profile", "wsl"], "cannot be used with"),
        (&["--print", "--set-soname", "x"], "cannot be used with"),
        (&["--add-needed", "libx.so", "--remove-needed", "libx.so"], "contradictory edits"),
        (&["--replace-needed", "libx.so"], "write OLD=NEW"),
        (&["--driver-profile", "nix"], "known are conventional, nixos"),
        (&["--driver-profile", "wsl:before"], "neither `append` nor `prepend`"),
        (&["--set-runpath", "/usr/local/cuda/lib64/stubs"], "stubs of the driver"),
        (&["--set-runpath", "$ORIGIN:/home/me/build/lib"], "is a directory of this machine"),
        (&["--add-runpath", "/../lib"], "single quotes"),
        (&["--add-runpath", "lib"], "current directory"),
        (&["--set-runpath", "/usr/lib64"], "no directory remains"),
        (&["--add-needed", "/home/me/libx.so"], "other machines do not have it"),
        (&["--set-interpreter", "ld.so"], "absolute path"),
        (&["--set-soname", "libx.so", "b.so"], "two have the same name"),
        (&["--remove-runpath", "--output", "c.so", "b.so"], "--output is for one file"),
        (&[], "nothing to change"),
    ] {
        let args: Vec<&str> = args.iter().copied().chain(["a.so"]).collect();
        let ran = patch(dir.path(), &args).exit(2);
        assert!(ran.stderr.contains(word), "{args:?}: {}", ran.stderr);
    }
    patch(dir.path(), &["--remove-runpath", "no-such-file.so"]).exit(6);
    assert_eq!(snapshot(dir.path()), before);
    let ran = patch(dir.path(), &["--set-runpath", "/opt/site/lib", "--allow-path", "/opt/site/lib", "a.so"]).exit(0);
    assert!(ran.stderr.is_empty(), "{}", ran.stderr);
    assert_eq!(dynamic(&dir.path().join("a.so"), "RUNPATH"), ["/opt/site/lib"]);
}

#[test]
fn the_driver_is_looked_for_where_it_is_used() {
    need!(compiler().is_some(), "no C compiler or no readelf");
    let dir = scratch();
    let shared = ["-shared", "-fPIC"];
    let opens = "void *dlopen(const char *, int); void *go(void) { return dlopen(\"libcuda.so.1\", 2); }";
    compile(dir.path(), "lib/opens.so", opens, &shared);
    compile(dir.path(), "lib/calls.so", "int cuInit(int); int go(void) { return cuInit(0); }", &shared);
    compile(dir.path(), "lib/plain.so", "const char *name(void) { return \"libcudart.so.13\"; }", &shared);
    let listed = patch(dir.path(), &["--for-driver", "lib"]).exit(0).stdout;
    for line in [
        "shown     lib/calls.so: imports cuInit",
        "shown     lib/opens.so: opens libcuda.so.1",
        "left out  lib/plain.so: it does not look for the driver",
        "2 shown, 1 left out",
    ] {
        assert!(listed.lines().any(|it| it == line), "{line}\n{listed}");
    }
    let printed = patch(dir.path(), &["--for-driver", "--print", "lib"]).exit(0).stdout;
    assert!(printed.contains("driver: opens libcuda.so.1") && !printed.contains("plain.so"), "{printed}");

    let profiles = ["--driver-profile", "conventional", "--driver-profile", "nixos", "--driver-profile", "wsl:prepend"];
    let args = [&["--for-driver", "--add-runpath", "$ORIGIN"], &profiles[..], &["lib"]].concat();
    let ran = patch(dir.path(), &args).exit(0);
    assert!(ran.stderr.contains("`conventional` adds nothing"), "{}", ran.stderr);
    for name in ["opens", "calls"] {
        let path = dir.path().join(format!("lib/{name}.so"));
        assert_eq!(dynamic(&path, "RUNPATH"), ["/usr/lib/wsl/lib:$ORIGIN:/run/opengl-driver/lib"]);
    }
    assert!(dynamic(&dir.path().join("lib/plain.so"), "RUNPATH").is_empty());
    let ran = patch(dir.path(), &args).exit(0);
    assert!(ran.stdout.ends_with("2 unchanged, 1 left out\n"), "{}", ran.stdout);
}

/// Every name in the help is a profile, and every profile is in the help.
#[test]
fn the_help_names_all_driver_profiles() {
    let known: toml::Table = toml::from_str(&fs_err::read_to_string("manifests/drivers.toml").unwrap()).unwrap();
    let names: Vec<&str> = known["profile"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    let help = patch(Path::new("."), &["--help"]).exit(0).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains(&names.join(", ")), "{names:?}\n{help}");
}

/// A running program, another name of the file, and whoever opens it meanwhile keep the old file or
/// see the new one: never half.
#[test]
fn running_programs_and_hard_links_never_see_half() {
    need!(compiler().is_some(), "no C compiler or no readelf");
    let dir = scratch();
    let program = compile(
        dir.path(),
        "bin/wait",
        "#include <stdio.h>\nint main(void) { return getchar() == 'x' ? 42 : 1; }",
        &[],
    );
    let link = dir.path().join("bin/same");
    fs_err::hard_link(&program, &link).unwrap();
    let old = fs_err::read(&program).unwrap();
    let mut running = Command::new(&program).stdin(Stdio::piped()).spawn().unwrap();
    patch(dir.path(), &["--set-runpath", "$ORIGIN/../lib", "bin/wait"]).exit(0);
    assert_eq!(fs_err::read(&link).unwrap(), old);
    std::io::Write::write_all(running.stdin.as_mut().unwrap(), b"x").unwrap();
    assert_eq!(running.wait().unwrap().code(), Some(42));
    assert_eq!(dynamic(&program, "RUNPATH"), ["$ORIGIN/../lib"]);

    // Killed at any time: the file is the old one or the new one.
    let new = fs_err::read(&program).unwrap();
    for pause in 0..12 {
        fs_err::write(&program, &old).unwrap();
        let mut command = simpack(dir.path(), &["patch", "--set-runpath", "$ORIGIN/../lib", "bin/wait"]);
        let mut run = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_micros(pause * 700));
        run.kill().unwrap();
        run.wait().unwrap();
        let now = fs_err::read(&program).unwrap();
        assert!(now == old || now == new, "neither the old nor the new file after {pause}");
    }
}

#[test]
fn output_leaves_the_original() {
    need!(compiler().is_some(), "no C compiler or no readelf");
    let dir = scratch();
    let program = compile(dir.path(), "tool", "int main(void) { return 42; }", &[]);
    fs_err::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let before = snapshot(dir.path());
    let out = dir.path().join("tool2");
    for _ in 0..2 {
        patch(dir.path(), &["--add-runpath", "$ORIGIN", "--output", "tool2", "tool"]).exit(0);
        assert_eq!(snapshot(dir.path())[0], before[0]);
        assert_eq!(dynamic(&out, "RUNPATH"), ["$ORIGIN"]);
        assert_eq!(fs_err::metadata(&out).unwrap().mode() & 0o777, 0o755);
        assert_eq!(Ran::of(&mut Command::new(&out)).code, Some(42));
    }
    // Without a change the output is a copy.
    patch(dir.path(), &["--remove-runpath", "-o", "tool3", "tool"]).exit(0);
    assert_eq!(fs_err::read(dir.path().join("tool3")).unwrap(), before[0].3);
    let same = dynamic(&out, "NEEDED");
    let loader = patch(dir.path(), &["--print", "tool"]).exit(0).stdout;
    let loader = loader.lines().find_map(|line| line.strip_prefix("interpreter: ")).unwrap().to_owned();
    let spelled = loader.replacen('/', "//", 1);
    patch(dir.path(), &["--set-interpreter", &spelled, "tool2"]).exit(0);
    assert_eq!(Ran::of(&mut Command::new(&out)).code, Some(42));
    assert_eq!(dynamic(&out, "NEEDED"), same);
}

/// The new search path does not lead to what the file needs: said, with what it was.
#[test]
fn libraries_that_a_change_loses_are_named() {
    need!(compiler().is_some(), "no C compiler");
    let dir = scratch();
    let library = compile(
        dir.path(),
        "own/libown.so.1",
        "int own(void) { return 1; }",
        &["-shared", "-fPIC", "-Wl,-soname,libown.so.1"],
    );
    let flags = ["-Wl,--enable-new-dtags,-rpath,$ORIGIN/own", library.to_str().unwrap()];
    compile(dir.path(), "main", "int own(void); int main(void) { return own(); }", &flags);
    let patch = |args: &[&str]| Ran::of(&mut simpack(dir.path(), &[&["patch", "--check"], args, &["main"]].concat()));
    let said = patch(&["--set-runpath", "$ORIGIN/other"]).exit(0).stdout;
    assert!(said.contains("loses       libown.so.1, which was ") && said.contains("own/libown.so.1:"), "{said}");
    assert!(!said.contains("libc.so.6"), "{said}");
    let json = patch(&["--remove-runpath", "--json"]).exit(0).json();
    assert_eq!(json["files"][0]["lost"][0]["name"], "libown.so.1");
    for keeps in [["--add-runpath", "$ORIGIN/other"], ["--set-runpath", "$ORIGIN/other:$ORIGIN/own"]] {
        assert!(!patch(&keeps).exit(0).stdout.contains("loses"));
    }
}
