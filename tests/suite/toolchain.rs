//! `simpack toolchain` from outside: a manifest of its own, the machine's real pip, exit codes.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use simpack::fs::Digest;

use crate::support::set_up;

const FILE: &str = "tiny_tool-1.0-py3-none-any.whl";

/// A directory with `manifests/toolchains.toml`, an index of one wheel, and a cache.
pub struct Scene(tempfile::TempDir);

impl Scene {
    pub fn new() -> Self {
        let scene = Self(tempfile::tempdir().unwrap());
        let mut wheel = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        wheel.start_file("tiny/bin/tool", zip::write::SimpleFileOptions::default()).unwrap();
        wheel.write_all(b"#!/bin/sh\necho tiny\n").unwrap();
        let wheel = wheel.finish().unwrap().into_inner();
        let index = scene.path("index/tiny-tool");
        std::fs::create_dir_all(&index).unwrap();
        std::fs::write(index.join(FILE), &wheel).unwrap();
        std::fs::create_dir(scene.path("manifests")).unwrap();
        let manifest = format!(
            "edition = 1\n[[toolchain]]\nname = \"tiny\"\nabout = \"a tool\"\nstrip = \"tiny\"\nprogram = \"bin/tool\"\n\
             [[toolchain.wheel]]\nproject = \"tiny-tool\"\nversion = \"1.0\"\nroles = [\"tool\"]\nfile = \"{FILE}\"\n\
             sha256 = \"{}\"\nsize = {}\n",
            Digest::of(&wheel),
            wheel.len()
        );
        std::fs::write(scene.path("manifests/toolchains.toml"), manifest).unwrap();
        let config = format!("[global]\nindex-url = file://{}\n", scene.path("index").display());
        std::fs::write(scene.path("pip.conf"), config).unwrap();
        scene
    }

    pub fn path(&self, below: &str) -> std::path::PathBuf {
        self.0.path().join(below)
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_simpack"));
        command.arg("toolchain").args(args).current_dir(self.0.path()).env("SIMPACK_CACHE_DIR", self.path("cache"));
        command.env("SIMPACK_DATA_DIR", self.path("."));
        for name in ["SIMPACK_INDEX_URL", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX"] {
            command.env_remove(name);
        }
        command.env("PIP_CONFIG_FILE", self.path("pip.conf"));
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn complaint(output: &Output, code: i32) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{text}");
    text
}

#[test]
fn pips_own_configuration_says_where_to_fetch_from() {
    let scene = Scene::new();
    let listed = json(&scene.run(&["list", "--json"]));
    assert_eq!((&listed["schema"], &listed["toolchains"][0]["root"]), (&1.into(), &Value::Null));

    let fetched = json(&scene.run(&["fetch", "--json"]));
    let root = fetched["toolchains"][0]["root"].as_str().unwrap();
    let said = Command::new(Path::new(root).join("bin/tool")).output().unwrap().stdout;
    assert_eq!(said, b"tiny\n");

    // What is here needs neither pip nor network.
    let again = scene.command(&["fetch", "tiny", "--offline"]).env("PATH", "/nowhere").output().unwrap();
    let said = complaint(&again, 0);
    assert!(said.lines().all(|line| line.starts_with("warning: manifests and templates are those of")), "{said}");
    let shown = json(&scene.run(&["show", "tiny", "--json"]));
    assert_eq!(shown["status"]["root"].as_str(), Some(root));
    assert_eq!(shown["pins"]["wheel"][0]["file"], FILE);
    let text = String::from_utf8(scene.run(&["list"]).stdout).unwrap();
    assert!(text.contains("tiny  1.0") && text.contains("1 of 1 are here"), "{text}");
}

#[test]
fn several_processes_share_one_tree() {
    let scene = Scene::new();
    let start =
        |_| scene.command(&["fetch", "tiny", "--quiet", "--json"]).stdout(std::process::Stdio::null()).spawn().unwrap();
    let processes: Vec<_> = (0..4).map(start).collect();
    for mut process in processes {
        assert!(process.wait().unwrap().success());
    }
    let entries = std::fs::read_dir(scene.path("cache/toolchains")).unwrap();
    let trees = entries.filter(|entry| entry.as_ref().unwrap().path().is_dir()).count();
    assert_eq!(trees, 1);
}

#[test]
fn failures_say_what_to_do() {
    let scene = Scene::new();
    let unknown = complaint(&scene.run(&["fetch", "nina"]), 2);
    assert!(unknown.contains("unknown toolchain `nina`") && unknown.contains("known: tiny"), "{unknown}");

    let no_python = scene.command(&["fetch"]).env("PATH", "/nowhere").output().unwrap();
    let no_python = complaint(&no_python, 4);
    assert!(no_python.contains("no python3 on PATH") && no_python.contains("SIMPACK_INDEX_URL"), "{no_python}");

    let empty = scene.path("empty");
    std::fs::create_dir(&empty).unwrap();
    let own = format!("file://{}", empty.display());
    let absent = complaint(&scene.command(&["fetch"]).env("SIMPACK_INDEX_URL", own).output().unwrap(), 4);
    assert!(absent.contains(&format!("the index does not list {FILE}")), "{absent}");

    std::fs::write(scene.path("index/tiny-tool").join(FILE), "something else").unwrap();
    let wrong = complaint(&scene.run(&["fetch"]), 4);
    assert!(wrong.contains("expected sha256") && wrong.contains("got "), "{wrong}");

    let no_cuda = scene.command(&["show", "system"]).env("CUDA_HOME", &empty).output().unwrap();
    let no_cuda = complaint(&no_cuda, 4);
    assert!(no_cuda.contains("has no bin/nvcc"), "{no_cuda}");
}

#[test]
fn a_second_release_is_found_on_the_machine() {
    let Some(home) = set_up("SIMPACK_TEST_CUDA_SYSTEM") else { return };
    let scene = Scene::new();
    let shown = json(&scene.command(&["show", "system", "--json"]).env("CUDA_HOME", &home).output().unwrap());
    assert_eq!(shown["cuda"]["cuda"], "11.8");
    assert_eq!(shown["provenance"]["versions"]["ptxas"], "11.8.89");
    assert!(shown["provenance"].get("root").is_none());
}
