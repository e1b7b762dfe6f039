//! `simpack.lock`: written, kept, checked, updated, and believed by builds.

use std::path::{Path, PathBuf};
use std::process::Command;

use simpack::fs::Digest;

use crate::support::{FORMATS, Ran, need, scratch, simpack, volley};

/// A recipe `tiny` in a directory of its own, with an empty cache.
struct Scene(tempfile::TempDir);

impl Scene {
    fn new() -> Self {
        let scene = Self(scratch());
        scene.run(&["init", "tiny", "--dir", "tiny"]).exit(0);
        scene
    }

    fn path(&self, below: &str) -> PathBuf {
        self.0.path().join(below)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = simpack(self.0.path(), args);
        command.env("SIMPACK_CACHE_DIR", self.path("cache"));
        command
    }

    fn run(&self, args: &[&str]) -> Ran {
        Ran::of(&mut self.command(args))
    }

    fn lock(&self) -> String {
        fs_err::read_to_string(self.path("tiny/simpack.lock")).unwrap()
    }

    /// Replaces text in a file of the recipe.
    fn edit(&self, file: &str, from: &str, to: &str) {
        let path = self.path("tiny").join(file);
        let text = fs_err::read_to_string(&path).unwrap();
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from}");
        fs_err::write(path, changed).unwrap();
    }

    /// The digest that the lock names for the wheel of a project.
    fn digest(&self, project: &str) -> String {
        let lock = self.lock();
        let (_, after) = lock.split_once(&format!("project = \"{project}\"")).unwrap();
        after.split_once("sha256 = \"").unwrap().1[..64].to_owned()
    }
}

/// The committed lock is what this simpack would write, here and out of the binary.
#[test]
fn the_lock_of_volley_is_current() {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR"));
    let ran = Ran::of(&mut simpack(checkout, &["lock", "recipes/volley", "--check", "--update"])).exit(0);
    assert!(ran.stdout.contains("recipes/volley/simpack.lock is up to date: 4 tools, 9 wheels"), "{}", ran.stdout);
    let dir = scratch();
    let mut command = simpack(dir.path(), &["lock", "volley", "--check", "--json"]);
    let answer = Ran::of(command.env("SIMPACK_CACHE_DIR", dir.path().join("cache"))).exit(0).json();
    let projects: Vec<&str> = answer["lock"]["tool"][1]["wheel"]
        .as_array()
        .unwrap()
        .iter()
        .map(|wheel| wheel["project"].as_str().unwrap())
        .collect();
    assert!(projects.contains(&"nvidia-cuda-nvcc") && projects.contains(&"nvidia-nvvm"), "{projects:?}");
    Ran::of(command.arg("--offline")).exit(0);
    let mut plan = simpack(dir.path(), &["plan", "volley", "--locked"]);
    Ran::of(plan.env("SIMPACK_CACHE_DIR", dir.path().join("cache"))).exit(0);
}

#[test]
fn a_lock_is_written_once_and_then_kept() {
    let scene = Scene::new();
    let absent = scene.run(&["plan", "tiny", "--locked"]).exit(8);
    assert!(
        absent.stderr.contains("there is no tiny/simpack.lock") && absent.stderr.contains("simpack lock"),
        "{absent:?}"
    );
    scene.run(&["lock", "tiny", "--check"]).exit(8);
    assert!(!scene.path("tiny/simpack.lock").exists(), "a check wrote");
    let ran = scene.run(&["lock", "tiny"]).exit(0);
    assert!(ran.stdout.contains("tiny/simpack.lock written: 4 tools, 9 wheels"), "{}", ran.stdout);
    let first = scene.lock();
    let ran = scene.run(&["lock", "tiny", "--json"]).exit(0).json();
    assert_eq!((&ran["changed"], &ran["written"]), (&false.into(), &false.into()));
    assert_eq!(scene.lock(), first);
    scene.run(&["plan", "tiny", "--locked"]).exit(0);

    // Another recipe needs another lock: what differs is named.
    scene.edit("simpack.toml", "[component.core]", "[toolchain]\nhost = { use = \"system\" }\n\n[component.core]");
    let stale = scene.run(&["build", "tiny", "--locked"]).exit(8);
    assert!(stale.stderr.contains("tiny/simpack.lock would change"), "{}", stale.stderr);
    for difference in ["host: zig for glibc 2.28 -> the machine's", "tool zig: 1 wheel -> nothing", "wheel ziglang: "] {
        assert!(stale.stderr.contains(difference), "{}", stale.stderr);
    }
    assert!(!scene.path("dist").exists());
    scene.run(&["lock", "tiny"]).exit(0);
    scene.run(&["plan", "tiny", "--locked"]).exit(0);
    assert_ne!(scene.lock(), first);
}

#[test]
fn a_build_takes_what_is_locked_until_it_is_updated() {
    let scene = Scene::new();
    scene.run(&["lock", "tiny"]).exit(0);
    let (now, pinned) = (scene.lock(), scene.digest("ninja"));
    let older = Digest::of(b"an older wheel").to_string();
    scene.edit("simpack.lock", &pinned, &older);
    let (_, after) = now.split_once("project = \"ninja\"\nversion = \"").unwrap();
    let version = after.split('"').next().unwrap();
    scene.edit("simpack.lock", &format!("version = \"{version}\""), "version = \"1.0.1\"");
    let plan = scene.run(&["plan", "tiny", "--locked", "--json"]).exit(0).json();
    assert_eq!(plan["tools"]["ninja"]["version"], "1.0.1");
    let ran = scene.run(&["lock", "tiny"]).exit(0);
    assert!(ran.stderr.contains(&format!("ninja 1.0.1 is locked, this simpack pins {version}")), "{}", ran.stderr);

    let wrong = scene.run(&["lock", "tiny", "--update", "ninjas"]).exit(2);
    assert!(wrong.stderr.contains("did you mean `ninja`?"), "{}", wrong.stderr);
    let path = scene.run(&["lock", "tiny", "--update", "some/recipe"]).exit(2);
    assert!(path.stderr.contains("simpack lock some/recipe --update"), "{}", path.stderr);
    scene.run(&["lock", "tiny", "--update", "cmake"]).exit(0);
    assert!(scene.lock().contains(&older));
    let ran = scene.run(&["lock", "tiny", "--update", "ninja"]).exit(0);
    assert!(ran.stdout.contains("wheel ninja: 1.0.1 sha256"), "{}", ran.stdout);
    assert_eq!(scene.lock(), now);
}

/// What was fetched must be what the lock says, whoever changed the one or the other.
#[test]
fn a_changed_digest_is_caught_when_the_wheel_is_fetched() {
    let scene = Scene::new();
    scene.run(&["lock", "tiny"]).exit(0);
    let pinned = scene.digest("ninja");
    let wheel = scene.lock().lines().find_map(|line| Some(line.strip_prefix("file = \"ninja-")?.to_owned())).unwrap();
    let wheels = scene.path("wheels");
    fs_err::create_dir(&wheels).unwrap();
    fs_err::write(wheels.join(format!("ninja-{}", wheel.trim_end_matches('"'))), "not the wheel").unwrap();
    let fetch = || {
        let mut command = scene.command(&["build", "tiny", "--component", "core", "--offline"]);
        Ran::of(command.env("PIP_FIND_LINKS", &wheels)).exit(4)
    };
    let got = Digest::of(b"not the wheel").to_string();
    let ran = fetch();
    assert!(ran.stderr.contains(&got) && ran.stderr.contains(&pinned), "{}", ran.stderr);
    // Where this simpack's pins know the file, too, the lock alone is enough to tell, and its line is named.
    let tampered = Digest::of(b"tampered").to_string();
    let right = scene.lock();
    scene.edit("simpack.lock", &pinned, &tampered);
    let line = scene.lock().lines().position(|line| line.contains(&tampered)).unwrap() + 1;
    for args in [&["build", "tiny", "--offline"][..], &["plan", "tiny"], &["lock", "tiny", "--check"]] {
        let said = scene.run(args).exit(8).stderr;
        assert!(said.contains(&format!("tiny/simpack.lock:{line}: the digest of ninja-")), "{said}");
        assert!(said.contains(&tampered) && said.contains(&pinned), "{said}");
        assert!(said.contains("simpack lock tiny --update ninja"), "{said}");
    }
    scene.run(&["lock", "tiny", "--update", "ninja"]).exit(0);
    assert_eq!(scene.lock(), right);
    // Another version is the lock's own affair until its file is fetched.
    scene.edit("simpack.lock", &pinned, &tampered);
    let (_, after) = right.split_once("project = \"ninja\"\nversion = \"").unwrap();
    let version = after.split('"').next().unwrap();
    scene.edit("simpack.lock", &format!("version = \"{version}\""), "version = \"1.0.1\"");
    let ran = fetch();
    let line = scene.lock().lines().position(|line| line.contains(&tampered)).unwrap() + 1;
    assert!(ran.stderr.contains(&format!("tiny/simpack.lock:{line} has the digest")), "{}", ran.stderr);
    assert!(ran.stderr.contains(&got) && ran.stderr.contains(&tampered), "{}", ran.stderr);
    assert!(!scene.path("dist").exists());
    // Fetching for a recipe, or beside its lock, takes what is locked, too; elsewhere simpack's own pins hold.
    let toolchain = |args: &[&str], dir: &str| {
        let mut command = scene.command(&[&["toolchain", "fetch", "--offline"], args].concat());
        Ran::of(command.current_dir(scene.path(dir)).env("PIP_FIND_LINKS", &wheels)).exit(4).stderr
    };
    let said = toolchain(&["--recipe", "tiny", "ninja"], ".");
    assert!(said.contains(&got) && said.contains(&tampered), "{said}");
    let said = toolchain(&["ninja"], "tiny");
    assert!(said.contains(&got) && said.contains(&tampered), "{said}");
    let said = toolchain(&["ninja"], ".");
    assert!(said.contains(&got) && said.contains(&pinned), "{said}");
    // A lock that is no lock is refused with its line.
    scene.edit("simpack.lock", "edition = 1", "edition = 1\nediton = 2");
    let ran = scene.run(&["plan", "tiny"]).exit(3);
    assert!(
        ran.stderr.contains("tiny/simpack.lock: TOML parse error at line") && ran.stderr.contains("editon"),
        "{ran:?}"
    );
}

#[test]
fn compilers_that_no_lock_can_hold_are_refused() {
    let scene = Scene::new();
    scene.run(&["lock", "tiny"]).exit(0);
    for (args, said) in [
        (["--toolchain", "system"], "`--toolchain system` exclude each other"),
        (["--host", "system"], "has another host compiler than `--host`"),
    ] {
        let mut command = scene.command(&["plan", "tiny", "--locked"]);
        let ran = Ran::of(command.args(args)).exit(2);
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
    }
}

#[test]
fn an_offline_run_names_everything_that_it_lacks() {
    let scene = Scene::new();
    let ran = scene.run(&["build", "tiny", "--offline"]).exit(4);
    assert!(ran.stderr.contains("this run is offline and lacks cuda-13.0, cmake, ninja, zig"), "{}", ran.stderr);
    assert!(ran.stderr.contains("once without --offline"), "{}", ran.stderr);
    assert!(scene.path("tiny/simpack.lock").exists(), "the lock needs no network");
}

/// With every toolchain here, an offline build is content without any network interface.
#[test]
fn an_offline_build_needs_no_network() {
    let volley = volley();
    let can = Command::new("unshare").args(["-n", "true"]).output().is_ok_and(|output| output.status.success());
    need!(can, "`unshare -n` is not allowed here");
    let dir = scratch();
    let call = simpack(Path::new(env!("CARGO_MANIFEST_DIR")), &[]);
    let mut command = Command::new("unshare");
    command.arg("-n").arg(call.get_program()).args([
        "build",
        "volley",
        "--format",
        FORMATS,
        "--offline",
        "--locked",
        "--quiet",
    ]);
    command.current_dir(env!("CARGO_MANIFEST_DIR")).arg("--dist").arg(dir.path().join("dist"));
    Ran::of(command.arg("--work").arg(dir.path().join("work"))).exit(0);
    let (one, other) = (volley.dist.join("build.json"), dir.path().join("dist/build.json"));
    assert_eq!(fs_err::read(one).unwrap(), fs_err::read(other).unwrap());
}

/// A commit's files are locked beside its id, and other files under that id are refused.
#[test]
fn the_files_of_a_commit_are_locked() {
    need!(Command::new("git").arg("--version").output().is_ok(), "git is not here");
    let scene = Scene::new();
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command.current_dir(scene.path("tiny")).args(["-c", "user.name=x", "-c", "user.email=x@x.example"]).args(args);
        let ran = Ran::of(&mut command).exit(0);
        ran.stdout.trim().to_owned()
    };
    git(&["init", "--quiet"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "one"]);
    let rev = git(&["rev-parse", "HEAD"]);
    fs_err::create_dir_all(scene.path("elsewhere/kernels")).unwrap();
    fs_err::copy(scene.path("tiny/kernels/table.toml"), scene.path("elsewhere/kernels/table.toml")).unwrap();
    let recipe = fs_err::read_to_string(scene.path("tiny/simpack.toml")).unwrap();
    let source = format!("git = \"file://{}\"\nrev = \"{rev}\"", scene.path("tiny").display());
    fs_err::write(scene.path("elsewhere/simpack.toml"), recipe.replace("path = \".\"", &source)).unwrap();
    scene.run(&["lock", "elsewhere"]).exit(0);
    let path = scene.path("elsewhere/simpack.lock");
    let lock = fs_err::read_to_string(&path).unwrap();
    let tree = lock.split_once("tree = \"").unwrap().1[..64].to_owned();
    scene.run(&["plan", "elsewhere", "--locked"]).exit(0);
    fs_err::write(&path, lock.replace(&tree, &Digest::of(b"other files").to_string())).unwrap();
    let ran = scene.run(&["plan", "elsewhere"]).exit(3);
    assert!(ran.stderr.contains("has other files than the lock says") && ran.stderr.contains(&tree), "{}", ran.stderr);
    scene.run(&["lock", "elsewhere", "--update", "source"]).exit(0);
    assert_eq!(fs_err::read_to_string(&path).unwrap(), lock);
}
