//! `simpack patch-source`: a source is unpacked and changed, and a patch of the changes gives the changed tree again, by the
//! code that builds apply patches with and by GNU patch.

use std::path::PathBuf;
use std::process::Command;

use simpack::fs::Digest;

use crate::support::{Ran, digests, scratch, simpack};

/// A recipe with a patch and an overlay over an archive.
struct Scene(tempfile::TempDir);

const PATCH: &str = "--- a/src/main.c\n+++ b/src/main.c\n@@ -1,3 +1,3 @@\n // top\n-int main(void) { return 1; }\n\
                     +int main(void) { return 2; }\n // end\n";

impl Scene {
    fn new() -> Self {
        let scene = Self(scratch());
        for (path, text) in [
            ("up/src/main.c", "// top\nint main(void) { return 1; }\n// end\n"),
            ("up/src/with space.c", "one\ntwo\n"),
            ("up/src/gone.c", "gone\n"),
            ("up/src/empty.c", ""),
            ("up/src/bare.c", "no final newline"),
            ("up/src/latin.c", "x\n"),
            ("up/tools/run.sh", "#!/bin/sh\n"),
            ("up/becomes", "a directory\n"),
            ("up/version.h", "old\n"),
            ("up/.git", "gitdir: elsewhere\n"),
            ("recipe/over/version.h", "ours\n"),
            ("recipe/patches/0001-two.patch", PATCH),
        ] {
            scene.write(path, text);
        }
        fs_err::write(scene.path("up/logo.bin"), b"\x00\x01\x02").unwrap();
        fs_err::write(scene.path("up/src/latin.c"), b"caf\xe9\nend\n").unwrap();
        fs_err::os::unix::fs::symlink("src/main.c", scene.path("up/link.c")).unwrap();
        let tar = Command::new("tar").args(["-czf", "up.tar.gz", "up"]).current_dir(scene.0.path()).status();
        assert!(tar.unwrap().success());
        scene.recipe("patches = [\"patches/0001-two.patch\"]\noverlay = \"over\"");
        scene
    }

    fn recipe(&self, changes: &str) {
        let digest = Digest::of_file(&self.path("up.tar.gz")).unwrap();
        let url = format!("file://{}", self.path("up.tar.gz").display());
        self.write(
            "recipe/simpack.toml",
            &format!(
                "edition = 1\n[simulator]\nname = \"tiny\"\nversion = \"1.0\"\nlicense = \"MIT\"\nsummary = \"tiny\"\n\
                 [source]\nurl = \"{url}\"\nsha256 = \"{digest}\"\n{changes}\n[matrix]\ncuda = [\"13.0\"]\n\
                 [component.core]\nbuild = {{ driver = \"copy\" }}\nfiles = [\"share/tiny/**\"]\n"
            ),
        );
    }

    fn path(&self, below: &str) -> PathBuf {
        self.0.path().join(below)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, text).unwrap();
    }

    fn text(&self, path: &str) -> String {
        fs_err::read_to_string(self.path(path)).unwrap()
    }

    fn run(&self, args: &[&str]) -> Ran {
        let args = [&["patch-source", "recipe"], args].concat();
        Ran::of(simpack(self.0.path(), &args).env("SIMPACK_CACHE_DIR", self.path("cache")))
    }

    fn refused(&self, args: &[&str], words: &str) {
        let ran = self.run(args).exit(2);
        assert!(ran.stderr.contains(words), "{words}: {}", ran.stderr);
    }

    /// Changes of every kind that a patch carries.
    fn change(&self) {
        self.write("tree/src/main.c", "// top\nint main(void) { return 3; }\n// end\n-- not a header\n");
        self.write("tree/src/with space.c", "one\nTWO\n");
        fs_err::remove_file(self.path("tree/src/gone.c")).unwrap();
        fs_err::remove_file(self.path("tree/src/empty.c")).unwrap();
        self.write("tree/src/bare.c", "no final newline, either");
        fs_err::write(self.path("tree/src/latin.c"), b"caf\xe9s\nend\n").unwrap();
        self.write("tree/new/deep/file.c", "new\nwithout an end");
        self.write("tree/new/nothing.c", "");
        self.write("tree/new/grüße.c", "names\n");
        self.write("tree/new/program.sh", "#!/bin/sh\n");
        for program in ["tree/new/program.sh", "tree/tools/run.sh"] {
            simpack::fs::set_mode(&self.path(program), 0o755).unwrap();
        }
        fs_err::create_dir(self.path("tree/hollow")).unwrap();
    }

    /// Files of a tree with their execute bits, without the mark.
    fn files(&self, tree: &str) -> Vec<(String, String, bool)> {
        let entries = simpack::fs::walk(&self.path(tree)).unwrap();
        let bytes = digests(&self.path(tree));
        let kept = entries.into_iter().filter_map(|entry| match entry.kind {
            simpack::fs::EntryKind::File { executable, .. } => Some((entry.path, executable)),
            _ => None,
        });
        let kept = kept.filter(|(path, _)| path != ".simpack-source.json");
        kept.map(|(path, executable)| (path.clone(), format!("{:?}", bytes[&path]), executable)).collect()
    }
}

#[test]
fn a_patch_of_changes_gives_the_changed_tree_again() {
    let scene = Scene::new();
    let ran = scene.run(&["--edit", "tree"]).exit(0);
    assert!(ran.stdout.contains("simpack patch-source recipe --from tree --name"), "{}", ran.stdout);
    assert!(scene.text("tree/src/main.c").contains("return 2"), "patched");
    assert_eq!(scene.text("tree/version.h"), "ours\n", "with the overlay");
    assert_eq!(fs_err::read_link(scene.path("tree/link.c")).unwrap(), PathBuf::from("src/main.c"));
    let unchanged = scene.run(&["--from", "tree", "--name", "none.patch", "--json"]).exit(0).json();
    assert!(unchanged["patch"].is_null() && !scene.path("recipe/patches/none.patch").exists(), "{unchanged}");
    // Other tools begin with what builds begin with; the file `.git` of the archive is no repository of git's.
    for copy in ["gnu", "git"] {
        let copied = Command::new("cp").args(["-a", "tree", copy]).current_dir(scene.0.path()).status();
        assert!(copied.unwrap().success());
    }
    fs_err::remove_file(scene.path("git/.git")).unwrap();
    scene.change();
    // Whoever changes a tree may keep a repository in it.
    scene.write("tree/.gitignore", "*.o\n");
    let answer = scene.run(&["--from", "tree", "--name", "0002-three.patch", "--json"]).exit(0).json();
    assert_eq!(answer["patches"], serde_json::json!(["patches/0001-two.patch", "patches/0002-three.patch"]));
    assert_eq!(answer["not-carried"], serde_json::json!(["hollow/: an empty directory"]));
    let altered = answer["altered"].as_array().unwrap();
    assert_eq!(altered.len(), 12, "{answer}");
    scene.refused(&["--from", "tree", "--name", "0002-three.patch"], "is there already");

    let patch = fs_err::File::open(scene.path("recipe/patches/0002-three.patch")).unwrap();
    let mut gnu = Command::new("patch");
    gnu.args(["-p1", "--force", "--fuzz=0", "--no-backup-if-mismatch"])
        .current_dir(scene.path("gnu"))
        .stdin(patch.into_file());
    Ran::of(&mut gnu).exit(0);
    assert_eq!(scene.files("gnu"), scene.files("tree"), "GNU patch");
    let mut git = Command::new("git");
    git.args(["apply", "../recipe/patches/0002-three.patch"]).current_dir(scene.path("git"));
    Ran::of(git.env("GIT_CEILING_DIRECTORIES", scene.0.path())).exit(0);
    scene.write("git/.git", "gitdir: elsewhere\n");
    assert_eq!(scene.files("git"), scene.files("tree"), "git");

    // The line that was said, and the tree as a build sees it.
    scene.recipe("patches = [\"patches/0001-two.patch\", \"patches/0002-three.patch\"]\noverlay = \"over\"");
    scene.run(&["--edit", "again"]).exit(0);
    assert_eq!(scene.files("again"), scene.files("tree"), "as builds apply it");
    // The first tree is what the recipe makes now: it may be changed further, or written anew.
    scene.write("tree/src/main.c", "further\n");
    scene.run(&["--from", "tree", "--name", "0003.patch"]).exit(0);
    fs_err::remove_file(scene.path("recipe/patches/0003.patch")).unwrap();
    scene.run(&["--edit", "again"]).exit(0);
}

#[test]
fn what_no_patch_carries_is_refused() {
    let scene = Scene::new();
    let from = ["--from", "tree", "--name", "x.patch"];
    let fresh = || {
        let _ = fs_err::remove_dir_all(scene.path("tree"));
        scene.run(&["--edit", "tree"]).exit(0);
    };
    fresh();
    fs_err::write(scene.path("tree/logo.bin"), b"\x00\x02").unwrap();
    scene.refused(&from, "logo.bin is or was binary");
    fresh();
    fs_err::remove_file(scene.path("tree/logo.bin")).unwrap();
    scene.refused(&from, "logo.bin is or was binary");
    fresh();
    scene.write("tree/version.h", "theirs\n");
    scene.refused(&from, "version.h comes from the overlay");
    fresh();
    fs_err::remove_file(scene.path("tree/link.c")).unwrap();
    scene.refused(&from, "link.c is or was a link");
    // A link in the place of a directory leads nowhere: its files are gone, and it is new.
    fresh();
    scene.write("outside/run.sh", "theirs\n");
    fs_err::remove_dir_all(scene.path("tree/tools")).unwrap();
    fs_err::os::unix::fs::symlink(scene.path("outside"), scene.path("tree/tools")).unwrap();
    scene.refused(&from, "tools is or was a link");
    fresh();
    fs_err::remove_file(scene.path("tree/becomes")).unwrap();
    scene.write("tree/becomes/one.c", "one\n");
    scene.refused(&from, "becomes/one.c lies where a file was or is");
    fresh();
    fs_err::remove_dir_all(scene.path("tree/tools")).unwrap();
    scene.write("tree/tools", "a file\n");
    scene.refused(&from, "tools/run.sh lies where a file was or is");
    for (name, text) in [("two\nlines.c", "x\n"), (" first.c", "x\n"), ("last.c ", "x\n"), ("empty file.c", "")] {
        fresh();
        scene.write(&format!("tree/{name}"), text);
        scene.refused(&from, "a name that tools for patches read in several ways");
    }
    fresh();
    fs_err::write(scene.path("tree/large.c"), vec![b'x'; (8 << 20) + 1]).unwrap();
    scene.refused(&from, "larger than 8 MiB");
    assert!(!scene.path("recipe/patches/x.patch").exists());

    fresh();
    scene.write("tree/src/main.c", "changed\n");
    for name in ["../x.patch", "a/b.patch", ".hidden", "-p1", "", "two\nlines"] {
        scene.refused(&["--from", "tree", &format!("--name={name}")], "is no name for a patch");
    }
    // Nothing is written through a link beside the recipe.
    fs_err::os::unix::fs::symlink(scene.path("outside/new"), scene.path("recipe/patches/x.patch")).unwrap();
    scene.refused(&from, "is there already");
    fs_err::remove_file(scene.path("recipe/patches/x.patch")).unwrap();
    // Changes are never lost, and other directories are none of ours.
    scene.refused(&["--edit", "tree"], "was changed since it was written");
    scene.refused(&["--edit", "outside"], "holds something else");
    assert_eq!(scene.text("tree/src/main.c"), "changed\n");
    // A recipe that has other patches meanwhile.
    scene.recipe("overlay = \"over\"");
    scene.refused(&from, "was made of another source, other patches or another overlay");
    let named = scene.run(&["--edit", "new", "--source", "none"]).exit(2);
    assert!(named.stderr.contains("fetches no source `none`"), "{}", named.stderr);
    scene.run(&["--edit", "new", "--from", "tree", "--name", "x.patch"]).exit(2);
    scene.run(&[]).exit(2);
}
