//! A build that does not name its inputs reads what its source directory does not leave out: what people and builds leave
//! beside the sources neither fails a build nor repeats it.

use std::io::Write;
use std::os::unix::fs::MetadataExt;

use crate::support::{Ran, Tiny, changed};

const NOTHING: &str = "0 compiled, 1 from cache";

/// A simulator whose build names no inputs.
fn unsaid() -> Tiny {
    let tiny = Tiny::new();
    tiny.change("inputs = [\"build.sh\", \"sim.cc\"]\n", "");
    tiny
}

fn steps(ran: &Ran) -> String {
    let (_, rest) = ran.stdout.split_once(" s (").unwrap_or_else(|| panic!("{}{}", ran.stdout, ran.stderr));
    rest.split_once(')').unwrap().0.to_owned()
}

/// A build in the recipe's own directory, as people type it.
fn build_inside(tiny: &Tiny) -> Ran {
    let mut command = tiny.simpack(&["build", "--sandbox", "off"]);
    Ran::of(command.current_dir(tiny.path("recipe"))).exit(0)
}

#[test]
fn a_log_that_tee_writes_and_packages_in_the_tree_repeat_nothing() {
    let tiny = unsaid();
    tiny.write("recipe/.gitignore", "*.log\n");
    // The log grows while the build runs, as that of `simpack build | tee build.log` does.
    tiny.compiler(&format!("echo compiling >> {}", tiny.path("recipe/build.log").display()));
    tiny.write("recipe/build.log", "simpack build\n");
    assert_eq!(steps(&build_inside(&tiny)), "1 compiled, 0 from cache");
    let dist = tiny.path("recipe/dist");
    let made = fs_err::metadata(&dist).unwrap().ino();
    tiny.write("recipe/build.log", "again\n");
    assert_eq!(steps(&build_inside(&tiny)), NOTHING);
    assert_eq!(fs_err::metadata(&dist).unwrap().ino(), made, "the packages were made again");
    // From the directory above, `dist` and the work directory of the other builds lie in the source.
    let above = Ran::of(&mut tiny.build(&[])).exit(0);
    assert_eq!(steps(&above), NOTHING);
    assert_eq!(changed(&crate::support::digests(&dist), &tiny.dist()), [""; 0]);
    let made = fs_err::metadata(tiny.path("dist")).unwrap().ino();
    tiny.write("recipe/dist/conda/more", "");
    tiny.write("recipe/.idea/settings", "");
    assert_eq!(steps(&Ran::of(&mut tiny.build(&[])).exit(0)), NOTHING);
    assert_eq!(fs_err::metadata(tiny.path("dist")).unwrap().ino(), made);
    // What counts still counts, and so does another pattern.
    tiny.write("recipe/note.txt", "");
    assert_eq!(steps(&Ran::of(&mut tiny.build(&[])).exit(0)), "1 compiled, 0 from cache");
    tiny.write("recipe/.gitignore", "*.log\n*.txt\n");
    assert_eq!(steps(&Ran::of(&mut tiny.build(&[])).exit(0)), NOTHING);
}

#[test]
fn a_file_that_grows_and_counts_is_named_with_what_keeps_it_out() {
    let tiny = unsaid();
    tiny.write("recipe/build.log", "");
    // The copy is compared before the compiler starts, so that somebody else has to write.
    let log = tiny.path("recipe/build.log");
    let stop = std::sync::atomic::AtomicBool::new(false);
    let ran = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                let mut log = fs_err::OpenOptions::new().append(true).open(&log).unwrap();
                log.write_all(b"compiling\n").unwrap();
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        });
        let ran = Ran::of(&mut tiny.build(&[]));
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        ran
    });
    assert_eq!(ran.code, Some(5), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("build.log was changed while it was built"), "{}", ran.stderr);
    assert!(ran.stderr.contains("`inputs` of a build name what it reads"), "{}", ran.stderr);
}

#[test]
fn a_clone_and_an_archive_of_one_tree_have_equal_keys() {
    let keys = |tiny: &Tiny| {
        let plan = Ran::of(&mut tiny.simpack(&["plan", "recipe", "--json"])).exit(0).json();
        plan["steps"].as_array().unwrap().iter().map(|step| step["key"].clone()).collect::<Vec<_>>()
    };
    let clone = unsaid();
    let archive = unsaid();
    assert_eq!(keys(&clone), keys(&archive));
    for (path, text) in [
        (".git/HEAD", "ref: refs/heads/main\n"),
        (".git/index", "binary"),
        (".gitignore", "/out/\n__pycache__/\n"),
        ("out/left.o", ""),
        ("tools/__pycache__/a.pyc", ""),
        (".venv/bin/python", ""),
    ] {
        clone.write(&format!("recipe/{path}"), text);
    }
    archive.write("recipe/.gitignore", "/out/\n__pycache__/\n");
    assert_eq!(keys(&clone), keys(&archive));
    // A build that names a hidden file reads it, and a change of the recipe's words is no change of the source.
    clone.change("summary = \"one neuron\"", "summary = \"one neuron, leaky\"");
    assert_eq!(keys(&clone), keys(&archive));
    clone.change(
        "targets = [\"build.sh\"]\n",
        "targets = [\"build.sh\"]\ninputs = [\"*.sh\", \"*.cc\", \".venv/bin/*\"]\n",
    );
    let plan = Ran::of(&mut clone.simpack(&["plan", "recipe", "--json"])).exit(0).stdout;
    assert!(
        plan.contains("file .venv/bin/python") && !plan.contains(".git/") && !plan.contains("out/left.o"),
        "{plan}"
    );
}

#[test]
fn check_says_what_counts_where_nothing_is_said() {
    let tiny = unsaid();
    tiny.write("recipe/.gitignore", "*.log\n");
    for file in ["build.log", ".hidden", "include/a.h", "include/b.h", "simpack.lock", "dist/build.json"] {
        tiny.write(&format!("recipe/{file}"), "");
    }
    let check =
        |args: &[&str]| Ran::of(tiny.simpack(&[&["check"], args].concat()).current_dir(tiny.path("recipe"))).exit(0);
    insta::assert_snapshot!(check(&[]).stdout);
    let json = check(&["--json"]).json();
    assert_eq!(json["warnings"][0]["line"], 19, "{json}");
    tiny.change("targets = [\"build.sh\"]\n", "targets = [\"build.sh\"]\ninputs = [\"build.sh\", \"sim.cc\"]\n");
    let said = check(&[]).stdout;
    assert!(!said.contains("warning") && check(&["--json"]).json()["warnings"].is_null(), "{said}");
}
