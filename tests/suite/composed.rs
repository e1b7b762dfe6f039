//! Source trees that are put together from several sources, with patches and files of the recipe, and wheels that are
//! installed as they are.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use simpack::fs::Digest;

use crate::support::{Ran, files, need, package_file, python, scratch, simpack, unpack};

/// A simulator out of a wheel and an archive.
pub struct Scene(tempfile::TempDir);

const RECIPE: &str = r#"edition = 1

[simulator]
name = "tiny"
version = "1.0"
license = "MIT"
summary = "a wheel and an archive"
licence-files = ["LICENSE", "wheel/tiny-1.0.dist-info/LICENSE"]

[source]
overlay = "files"

[sources.wheel]
url = "file://{dir}/tiny-1.0.whl"
sha256 = "{wheel}"
patches = ["0001.patch", "0002.patch"]

[sources.headers]
url = "file://{dir}/headers.tar.gz"
sha256 = "{headers}"
overlay = "more"

[matrix]
cuda = ["13.0"]

[component.core]
build = { driver = "wheel", source = "wheel" }
files = ["bin/*", "lib/libtiny.so", "lib/python3.11/**"]

[component.dev]
build = { driver = "copy", source = "headers" }
files = ["share/tiny/**"]

[[lint.waivers]]
id = "soname-policy"
subject = "tiny-core: lib/libtiny.so"
reason = "upstream gives it none"
"#;

const PATCH: &str = "\
diff --git a/tiny/__init__.py b/tiny/__init__.py
--- a/tiny/__init__.py
+++ b/tiny/__init__.py
@@ -1,2 +1,2 @@
 def main():
-    print('before')
+    print('after')
diff --git a/tiny/added.py b/tiny/added.py
new file mode 100644
--- /dev/null
+++ b/tiny/added.py
@@ -0,0 +1 @@
+ADDED = 1
diff --git a/tiny/gone.py b/tiny/gone.py
deleted file mode 100644
--- a/tiny/gone.py
+++ /dev/null
@@ -1 +0,0 @@
-GONE = 1
";

impl Scene {
    pub fn new() -> Self {
        let scene = Self(scratch());
        let info = "wheel/tiny-1.0.dist-info";
        for (path, text) in [
            ("wheel/tiny/__init__.py", "def main():\n    print('before')\n"),
            ("wheel/tiny/gone.py", "GONE = 1\n"),
            (&format!("{info}/WHEEL"), "Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: cp311-cp311-linux_x86_64\n"),
            (&format!("{info}/METADATA"), "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n"),
            (&format!("{info}/LICENSE"), "the wheel's\n"),
            (&format!("{info}/RECORD"), ""),
            (&format!("{info}/entry_points.txt"), "[console_scripts]\ntiny = tiny:main\n"),
            ("wheel/tiny-1.0.data/scripts/tiny-script", "#!python\nimport tiny\ntiny.main()\n"),
            ("wheel/tiny-1.0.data/data/lib/empty", ""),
            ("headers/tiny.h", "one\n"),
            ("headers/.git", "gitdir: elsewhere\n"),
            ("recipe/files/LICENSE", "ours\n"),
            ("recipe/more/tiny.h", "two\n"),
            ("recipe/0001.patch", PATCH),
            ("recipe/0002.patch", "--- a/tiny/added.py\n+++ b/tiny/added.py\n@@ -1 +1 @@\n-ADDED = 1\n+ADDED = 2\n"),
        ] {
            scene.write(path, text);
        }
        let library = scene.path("wheel/tiny-1.0.data/data/lib/libtiny.so");
        fs_err::remove_file(scene.path("wheel/tiny-1.0.data/data/lib/empty")).unwrap();
        scene.write("t.c", "int tiny(void) { return 1; }\n");
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-nostdlib", "-Wl,-s", "-o"]).arg(library).arg(scene.path("t.c"));
        assert!(cc.status().unwrap().success());
        for (archive, dir) in [("tiny-1.0.whl", "wheel"), ("headers.tar.gz", "headers")] {
            let tar = Command::new("tar")
                .arg("-czf")
                .arg(scene.path(archive))
                .arg("-C")
                .arg(scene.path(dir))
                .arg(".")
                .status();
            assert!(tar.unwrap().success());
        }
        let digest = |name: &str| Digest::of_file(&scene.path(name)).unwrap().to_string();
        let text = RECIPE.replace("{dir}", scene.0.path().to_str().unwrap());
        let text = text.replace("{wheel}", &digest("tiny-1.0.whl")).replace("{headers}", &digest("headers.tar.gz"));
        scene.write("recipe/simpack.toml", &text);
        scene
    }

    pub fn path(&self, below: &str) -> PathBuf {
        self.0.path().join(below)
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, text).unwrap();
    }

    pub fn change(&self, path: &str, from: &str, to: &str) {
        let text = fs_err::read_to_string(self.path(path)).unwrap();
        assert!(text.contains(from), "{text}");
        self.write(path, &text.replace(from, to));
    }

    pub fn simpack(&self, args: &[&str]) -> Ran {
        Ran::of(simpack(self.0.path(), args).env("SIMPACK_CACHE_DIR", self.path("cache")))
    }

    pub fn text(&self, path: &str) -> String {
        fs_err::read_to_string(self.path(path)).unwrap()
    }
}

#[test]
fn a_wheel_and_an_archive_become_one_simulator() {
    let scene = Scene::new();
    scene.simpack(&["build", "recipe"]).exit(0);
    for package in ["tiny-core", "tiny-dev"] {
        unpack(&package_file(&scene.path("dist/conda"), package), "pkg", &scene.path("prefix"));
    }
    let site = "prefix/lib/python3.11/site-packages";
    assert!(scene.text(&format!("{site}/tiny/__init__.py")).contains("after"));
    assert_eq!(scene.text(&format!("{site}/tiny/added.py")), "ADDED = 2\n", "patches in their order");
    assert_eq!(scene.text("prefix/share/tiny/tiny.h"), "two\n");
    assert_eq!(scene.text("prefix/share/tiny/.git"), "gitdir: elsewhere\n");
    let installed = files(&scene.path(&format!("{site}/tiny")));
    assert_eq!(installed, ["__init__.py", "added.py"]);
    let record = scene.text(&format!("{site}/tiny-1.0.dist-info/RECORD"));
    for line in ["../../../bin/tiny,,", "../../../bin/tiny-script,,", "../../../lib/libtiny.so,,", "tiny/added.py,,"] {
        assert!(record.lines().any(|found| found == line), "{record}");
    }
    // The programs start the Python that lies beside them, wherever that is.
    need!(python().is_some(), "no Python");
    let python = which::which("python3").unwrap();
    fs_err::os::unix::fs::symlink(python, scene.path("prefix/bin/python")).unwrap();
    for name in ["tiny", "tiny-script"] {
        let mut program = Command::new(scene.path("prefix/bin").join(name));
        let ran = Ran::of(program.env("PYTHONPATH", scene.path(site))).exit(0);
        assert_eq!(ran.stdout, "after\n", "{name}");
    }
}

/// What the recipe accepts, packages say themselves; for others' findings and without it nothing is accepted.
#[test]
fn waivers_travel_with_packages() {
    let scene = Scene::new();
    let built = scene.simpack(&["build", "recipe", "--json"]).exit(0).json();
    let waived = |report: &Value| report["waived"].as_array().unwrap().len();
    assert_eq!(waived(&built["report"]), 1, "{built}");
    let verified = scene.simpack(&["verify", "dist", "--json"]).exit(0).json();
    assert_eq!(waived(&verified), 1, "{verified}");
    assert!(verified["waived"][0]["reason"].as_str().unwrap().ends_with("(says the package)"), "{verified}");
    scene.change("recipe/simpack.toml", "tiny-core: lib", "tiny-dev: lib");
    let stopped = scene.simpack(&["build", "recipe"]);
    assert!(
        stopped.code == Some(1) && stopped.stdout.contains("soname-policy"),
        "{}{}",
        stopped.stdout,
        stopped.stderr
    );
}

#[test]
fn what_the_recipe_changes_is_locked_and_must_apply() {
    let scene = Scene::new();
    scene.simpack(&["lock", "recipe"]).exit(0);
    scene.simpack(&["lock", "recipe", "--check"]).exit(0);
    let lock = scene.text("recipe/simpack.lock");
    assert!(lock.contains("overlay") && lock.contains("patches") && !lock.contains("zig"), "{lock}");
    scene.write("recipe/more/tiny.h", "three\n");
    scene.simpack(&["build", "recipe"]).exit(0);
    unpack(&package_file(&scene.path("dist/conda"), "tiny-dev"), "pkg", &scene.path("prefix"));
    assert_eq!(scene.text("prefix/share/tiny/tiny.h"), "three\n", "a change is seen");
    scene.write("recipe/more/tiny.h", "four\n");
    let stale = scene.simpack(&["lock", "recipe", "--check"]);
    assert!(stale.code != Some(0) && stale.stderr.contains("overlay"), "{}", stale.stderr);
    for (patch, words) in [
        (PATCH.replace("'before'", "'else'"), "tiny/__init__.py is not what it expects"),
        (PATCH.replace("tiny/added.py", "../../added.py"), "is no path below the source"),
        ("nothing\n".to_owned(), "it is no unified diff"),
    ] {
        scene.write("recipe/0001.patch", &patch);
        let refused = scene.simpack(&["build", "recipe"]);
        assert!(refused.code == Some(2) || refused.code == Some(3), "{:?}", refused.code);
        assert!(
            refused.stderr.contains("0001.patch does not apply") && refused.stderr.contains(words),
            "{}",
            refused.stderr
        );
    }
}

#[test]
fn mistakes_about_sources_have_carets() {
    let scene = Scene::new();
    let mut said = String::new();
    for (from, to) in [
        ("overlay = \"files\"", "path = \".\""),
        ("overlay = \"files\"", "patches = [\"0001.patch\"]"),
        ("overlay = \"more\"", "overlay = \"moer\""),
        ("[sources.headers]", "[sources.Headers]"),
        ("patches = [\"0001.patch\", \"0002.patch\"]", "patches = [\"../0001.patch\"]"),
        ("driver = \"wheel\", source", "driver = \"wheel\", options = { pyhton = \"3.11\" }, source"),
    ] {
        let text = scene.text("recipe/simpack.toml");
        scene.change("recipe/simpack.toml", from, to);
        let ran = scene.simpack(&["check", "recipe", "--offline"]);
        assert_ne!(ran.code, Some(0), "{to}");
        said.push_str(&format!("## {to}\n{}\n", ran.stdout.replace(scene.0.path().to_str().unwrap(), "DIR")));
        scene.write("recipe/simpack.toml", &text);
    }
    insta::assert_snapshot!(said);
}
