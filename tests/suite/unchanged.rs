//! A build that has nothing to do knows that from the stamps of what the last one looked at; and no change is
//! overlooked for it.

use std::path::Path;
use std::time::Duration;

use simpack::fs::{Stamp, set_mode};

use crate::support::{Ran, Tiny, changed};

/// A simulator whose compiler is a program, not a script, which could ask anybody for its answers.
struct Watched(Tiny);

impl Watched {
    fn new() -> Self {
        let watched = Self(Tiny::new());
        watched.compiler_is(&fs_err::canonicalize(which::which("g++").unwrap()).unwrap());
        watched
    }

    fn compiler_is(&self, program: &Path) {
        let _ = std::fs::remove_file(self.0.path("bin/g++"));
        fs_err::os::unix::fs::symlink(program, self.0.path("bin/g++")).unwrap();
    }

    fn run(&self, variables: &[(&str, &str)]) -> Ran {
        Ran::of(self.0.build(&[]).envs(variables.iter().copied()))
    }

    /// What a build says about its steps: `1 compiled, 0 from cache`.
    fn build(&self, variables: &[(&str, &str)]) -> String {
        let said = self.run(variables).exit(0).stdout;
        let (_, rest) = said.split_once(" s (").unwrap();
        rest.split_once(')').unwrap().0.to_owned()
    }

    /// Builds until the stamps are old enough to be trusted; the record of them is there then.
    fn settle(&self) {
        self.build(&[]);
        std::thread::sleep(Duration::from_millis(2500));
        assert_eq!(self.build(&[]), NOTHING);
        assert!(self.watched().is_object());
    }

    fn record(&self) -> std::path::PathBuf {
        self.0.path("target/simpack/last-build.jsonl")
    }

    /// What the next build will look at.
    fn watched(&self) -> serde_json::Value {
        let record = fs_err::read_to_string(self.record()).unwrap();
        let head: serde_json::Value = serde_json::from_str(record.lines().next().unwrap()).unwrap();
        head["watched"].clone()
    }
}

const NOTHING: &str = "0 compiled, 1 from cache";
const ALL: &str = "1 compiled, 0 from cache";

#[test]
fn stamps_decide_and_every_change_is_seen() {
    let tiny = Watched::new();
    assert_eq!(tiny.build(&[]), ALL);
    assert!(tiny.watched().is_null(), "what was written just now may be written once more in the same instant");
    assert_eq!(tiny.build(&[]), NOTHING);
    tiny.settle();
    let first = tiny.0.dist();

    // The same size, and the time stamp put back.
    let source = tiny.0.path("recipe/sim.cc");
    let text = fs_err::read_to_string(&source).unwrap();
    let modified = fs_err::metadata(&source).unwrap().modified().unwrap();
    fs_err::write(&source, text.replace("return 1", "return 7")).unwrap();
    std::fs::File::options().write(true).open(&source).unwrap().set_modified(modified).unwrap();
    // Nothing else is read: a record that held the new stamp would hide the change.
    let record = fs_err::read_to_string(tiny.record()).unwrap();
    let (head, rest) = record.split_once('\n').unwrap();
    let mut forged: serde_json::Value = serde_json::from_str(head).unwrap();
    let entry = &mut forged["watched"]["paths"][fs_err::canonicalize(&source).unwrap().to_str().unwrap()];
    assert!(entry.is_object(), "{record}");
    *entry = serde_json::to_value(Stamp::of(&source)).unwrap();
    fs_err::write(tiny.record(), format!("{forged}\n{rest}")).unwrap();
    assert_eq!(tiny.build(&[]), NOTHING);
    assert_eq!(changed(&first, &tiny.0.dist()), [""; 0]);
    fs_err::write(tiny.record(), record).unwrap();
    assert_eq!(tiny.build(&[]), ALL);
    assert_ne!(changed(&first, &tiny.0.dist()), [""; 0]);
    fs_err::write(&source, text).unwrap();
    assert_eq!(tiny.build(&[]), NOTHING, "an earlier state, from the cache");
    assert_eq!(changed(&first, &tiny.0.dist()), [""; 0]);
}

#[test]
fn what_is_no_source_counts_too() {
    let tiny = Watched::new();
    tiny.settle();
    let first = tiny.0.dist();
    // A package is gone, and a file beside the packages is new.
    let package = first.keys().find(|path| path.ends_with(".conda")).unwrap();
    fs_err::remove_file(tiny.0.path("dist").join(package)).unwrap();
    fs_err::write(tiny.0.path("dist/conda/stranger"), "").unwrap();
    assert_eq!(tiny.build(&[]), NOTHING);
    assert_eq!(changed(&first, &tiny.0.dist()), [""; 0]);
    tiny.settle();

    // Settings, in a variable and in a file that appears.
    assert_eq!(tiny.run(&[("SOURCE_DATE_EPOCH", "yesterday")]).code, Some(2));
    tiny.build(&[("SOURCE_DATE_EPOCH", "1704067200")]);
    assert_ne!(changed(&first, &tiny.0.dist()), [""; 0]);
    tiny.settle();
    assert_eq!(changed(&first, &tiny.0.dist()), [""; 0]);
    tiny.0.write("home/.config/simpack/config.toml", "cache-size = \"much\"\n");
    let home = tiny.0.path("home").to_str().unwrap().to_owned();
    assert_ne!(tiny.run(&[("HOME", &home), ("XDG_CONFIG_HOME", "")]).code, Some(0));

    // Data beside the program's own counts only where the user says so.
    tiny.0.write("manifests/capabilities.toml", "edition = 0\n");
    assert_eq!(tiny.build(&[]), NOTHING);
    let here = tiny.0.path(".").to_str().unwrap().to_owned();
    assert_ne!(tiny.run(&[("SIMPACK_DATA_DIR", &here)]).code, Some(0));
    fs_err::remove_dir_all(tiny.0.path("manifests")).unwrap();
    assert_eq!(tiny.build(&[]), NOTHING);

    // The lock is gone.
    fs_err::remove_file(tiny.0.path("recipe/simpack.lock")).unwrap();
    assert_eq!(tiny.build(&[]), NOTHING);
    assert!(tiny.0.path("recipe/simpack.lock").exists());
    // A directory without files has one now, which nobody declares: the build is not the same, its packages are.
    fs_err::create_dir(tiny.0.path("recipe/empty")).unwrap();
    tiny.settle();
    tiny.0.write("recipe/empty/new.h", "");
    let watched = tiny.watched();
    assert_eq!(tiny.build(&[]), NOTHING);
    assert_ne!(tiny.watched(), watched);

    // Another compiler under the same name; it says another version.
    let real = fs_err::canonicalize(tiny.0.path("bin/g++")).unwrap();
    let other = tiny.0.path("other-g++");
    let version = "case \"$1\" in -dumpfullversion) echo 99.1.2; exit;; esac";
    fs_err::write(&other, format!("#!/bin/sh\n{version}\nexec '{}' \"$@\"\n", real.display())).unwrap();
    set_mode(&other, 0o755).unwrap();
    tiny.compiler_is(&other);
    assert_eq!(tiny.build(&[]), ALL);
    assert!(tiny.watched().is_null(), "a script is asked each time");
}
