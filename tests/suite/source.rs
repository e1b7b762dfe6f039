//! A recipe whose source is an archive: from `simpack init` to `simpack plan`, without any compiler.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use simpack::fs::Digest;

use crate::support::skip;

/// A recipe `tiny` whose source is an archive, with everything else below one directory.
struct Scene(tempfile::TempDir);

impl Scene {
    /// `table_inside`: the kernel table is in the archive only.
    fn new(table_inside: bool) -> Self {
        let scene = Self(tempfile::tempdir().unwrap());
        let made = scene.run(&["init", "tiny", "--dir", "whole"]);
        assert!(made.status.success(), "{}", said(&made));
        let status = Command::new("tar")
            .current_dir(scene.path("."))
            .args(["-czf", "tiny-1.0.tar.gz", "whole"])
            .status()
            .unwrap();
        assert!(status.success());
        std::fs::create_dir_all(scene.path("recipe/kernels")).unwrap();
        if !table_inside {
            std::fs::copy(scene.path("whole/kernels/table.toml"), scene.path("recipe/kernels/table.toml")).unwrap();
        }
        scene.pin(&Digest::of_file(&scene.path("tiny-1.0.tar.gz")).unwrap().to_string());
        scene
    }

    /// Writes the recipe with this digest of its source.
    fn pin(&self, sha256: &str) {
        let text = std::fs::read_to_string(self.path("whole/simpack.toml")).unwrap();
        let source = format!("url = \"file://{}\"\nsha256 = \"{sha256}\"", self.path("tiny-1.0.tar.gz").display());
        let changed = text.replace("path = \".\"", &source);
        assert_ne!(changed, text);
        std::fs::write(self.path("recipe/simpack.toml"), changed).unwrap();
    }

    fn path(&self, below: &str) -> PathBuf {
        self.0.path().join(below)
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_simpack"));
        command.args(args).current_dir(self.0.path()).env("SIMPACK_CACHE_DIR", self.path("cache"));
        command.output().unwrap()
    }
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn trees(cache: &Path) -> usize {
    let entries = std::fs::read_dir(cache.join("sources")).into_iter().flatten().flatten();
    entries.filter(|entry| entry.path().join("source.json").is_file()).count()
}

#[test]
fn an_archive_is_checked_and_planned_like_a_directory() {
    for table_inside in [true, false] {
        let scene = Scene::new(table_inside);
        let checked = scene.run(&["check", "recipe"]);
        assert!(checked.status.success(), "{}", said(&checked));
        assert!(said(&checked).contains("1 kernel in 1 source"), "{}", said(&checked));
        assert_eq!(trees(&scene.path("cache")), 1);
        // From here on the cache has it.
        std::fs::remove_file(scene.path("tiny-1.0.tar.gz")).unwrap();
        let planned = scene.run(&["plan", "recipe", "--offline", "--json"]);
        if said(&planned).contains("host compiler") && !planned.status.success() {
            skip("no compiler here that the CUDA release accepts");
            continue;
        }
        assert!(planned.status.success(), "{}", said(&planned));
        let whole = scene.run(&["plan", "whole", "--json"]);
        assert!(whole.status.success(), "{}", said(&whole));
        let steps = |output: &Output| {
            let plan: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            plan["steps"].as_array().unwrap().iter().map(|step| step["id"].to_string()).collect::<Vec<_>>()
        };
        assert!(!steps(&planned).is_empty());
        assert_eq!(steps(&planned), steps(&whole));
    }
}

#[test]
fn a_source_that_is_not_there_says_what_is_missing() {
    let scene = Scene::new(true);
    std::fs::rename(scene.path("tiny-1.0.tar.gz"), scene.path("elsewhere")).unwrap();
    let checked = scene.run(&["check", "recipe"]);
    assert_eq!(checked.status.code(), Some(4), "{}", said(&checked));
    assert!(said(&checked).contains("cannot get the source"), "{}", said(&checked));
    let offline = scene.run(&["check", "recipe", "--offline"]);
    assert_eq!(offline.status.code(), Some(3), "{}", said(&offline));
    assert!(said(&offline).contains("`kernels/table.toml` is neither beside the recipe"), "{}", said(&offline));
    std::fs::rename(scene.path("elsewhere"), scene.path("tiny-1.0.tar.gz")).unwrap();
    scene.pin(&"0".repeat(64));
    let wrong = scene.run(&["plan", "recipe"]);
    assert_eq!(wrong.status.code(), Some(4), "{}", said(&wrong));
    assert!(said(&wrong).contains("is not the pinned file"), "{}", said(&wrong));
}

/// Without its source a recipe cannot be resolved; what else an offline build would miss stands in the lock.
#[test]
fn an_offline_build_without_its_source_names_the_toolchains_too() {
    let scene = Scene::new(true);
    let locked = scene.run(&["lock", "recipe"]);
    assert!(locked.status.success(), "{}", said(&locked));
    std::fs::remove_file(scene.path("tiny-1.0.tar.gz")).unwrap();
    std::fs::remove_dir_all(scene.path("cache")).unwrap();
    let built = scene.run(&["build", "recipe", "--offline"]);
    assert_eq!(built.status.code(), Some(4), "{}", said(&built));
    let text = said(&built);
    assert!(text.contains("cannot get the source"), "{text}");
    assert!(text.contains("lacks cmake, cuda-13.0, ninja, zig, too"), "{text}");
}

#[test]
fn files_that_the_archive_lacks_are_mistakes() {
    let scene = Scene::new(true);
    let recipe = scene.path("recipe/simpack.toml");
    let text = std::fs::read_to_string(&recipe).unwrap();
    std::fs::write(&recipe, text.replace("kernels/tiny.cu", "kernels/tony.cu")).unwrap();
    let checked = scene.run(&["check", "recipe"]);
    assert_eq!(checked.status.code(), Some(3), "{}", said(&checked));
    assert!(said(&checked).contains("no such file `kernels/tony.cu`"), "{}", said(&checked));
    assert!(said(&checked).contains("tiny.cu"), "{}", said(&checked));
}

/// What the cache has by its digest says nothing of an address: `check` asks there, and offline it says that it did not.
#[test]
fn a_digest_in_the_cache_hides_no_wrong_address() {
    let scene = Scene::new(true);
    let recipe = scene.path("recipe/simpack.toml");
    let text = std::fs::read_to_string(&recipe).unwrap();
    // The version of the simulator is that of the archive: the address need not repeat it.
    let versioned = text.replace("tiny-1.0.tar.gz", "tiny-{version}.tar.gz").replace("\"0.1.0\"", "\"1.0\"");
    assert_ne!(versioned, text);
    std::fs::write(&recipe, &versioned).unwrap();
    let checked = scene.run(&["check", "recipe"]);
    assert!(checked.status.success(), "{}", said(&checked));
    std::fs::rename(scene.path("tiny-1.0.tar.gz"), scene.path("tiny-2.0.tar.gz")).unwrap();
    assert!(scene.run(&["check", "recipe"]).status.success(), "it came from there");

    // A release later, and the digest was forgotten: nothing of that address was ever here.
    let later = versioned.replace("\"1.0\"", "\"1.1\"");
    std::fs::write(&recipe, &later).unwrap();
    let checked = scene.run(&["check", "recipe"]);
    assert_eq!(checked.status.code(), Some(4), "{}", said(&checked));
    assert!(said(&checked).contains("cannot get the source file:") && said(&checked).contains("tiny-1.1.tar.gz"));
    let offline = scene.run(&["check", "recipe", "--offline"]);
    assert!(offline.status.success() && said(&offline).contains("not asked for there"), "{}", said(&offline));
    let planned = scene.run(&["lock", "recipe"]);
    assert!(planned.status.success() && said(&planned).contains("`simpack check` asks"), "{}", said(&planned));

    // Other bytes are there: they are not the recipe's. The same bytes are, and from then on that is known.
    std::fs::write(scene.path("tiny-1.1.tar.gz"), "others").unwrap();
    let checked = scene.run(&["check", "recipe"]);
    assert!(said(&checked).contains("is not the pinned file"), "{}", said(&checked));
    std::fs::rename(scene.path("tiny-2.0.tar.gz"), scene.path("tiny-1.1.tar.gz")).unwrap();
    assert!(scene.run(&["check", "recipe"]).status.success());
    let offline = scene.run(&["check", "recipe", "--offline"]);
    assert!(!said(&offline).contains("not asked"), "{}", said(&offline));

    std::fs::write(&recipe, versioned.replace("{version}", "{release}")).unwrap();
    let checked = scene.run(&["check", "recipe"]);
    assert_eq!(checked.status.code(), Some(3), "{}", said(&checked));
    assert!(said(&checked).contains("unknown placeholder `{release}`"), "{}", said(&checked));
}
