//! The tutorials and the README's session word for word, from an empty directory to an installed package: their files are
//! written, their commands are typed, what they show is what comes, and it runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::starting::compile;
use crate::support::{Ran, client, need, program, scratch, set_up};

/// Somebody who follows a page.
struct Newcomer {
    dir: tempfile::TempDir,
    /// Commands that were typed.
    typed: Vec<String>,
    /// Settings of the machine.
    env: BTreeMap<&'static str, PathBuf>,
}

impl Newcomer {
    /// Follows a tutorial to its end.
    fn of(page: &str) -> Self {
        Self::until(&format!("docs/src/tutorial/{page}"), None, &[])
    }

    /// Follows a page, up to the first command of another program if one is named.
    fn until(page: &str, other: Option<&str>, env: &[(&'static str, &Path)]) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
        let text = fs_err::read_to_string(path).unwrap();
        let env = env.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        let mut newcomer = Self { dir: scratch(), typed: Vec::new(), env };
        let (mut file, mut lines) = (None, text.lines());
        while let Some(line) = lines.next() {
            if let Some(name) = line.strip_prefix("<!-- file: ").and_then(|rest| rest.strip_suffix(" -->")) {
                file = Some(name);
            } else if let Some(language) = line.strip_prefix("```") {
                let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
                if other.is_some_and(|other| block.iter().any(|line| line.starts_with(&format!("$ {other} ")))) {
                    break;
                }
                match file.take() {
                    Some(name) => newcomer.write(name, &block.join("\n")),
                    None if language == "console" => newcomer.type_in(&block),
                    None => {}
                }
            }
        }
        newcomer
    }

    fn path(&self, below: &str) -> PathBuf {
        self.dir.path().join(below)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, format!("{text}\n")).unwrap();
    }

    /// Types the commands of a block: what follows `$ `, and lines that a backslash joins to it. The lines after it are
    /// what is to be seen, `...` stands for others.
    fn type_in(&mut self, block: &[&str]) {
        let mut lines = block.iter().peekable();
        while let Some(line) = lines.next() {
            let Some(first) = line.strip_prefix("$ ") else { continue };
            let mut command = first.to_owned();
            while let Some(begun) = command.strip_suffix('\\') {
                command = format!("{begun}{}", lines.next().unwrap());
            }
            let path = std::env::var("PATH").unwrap_or_default();
            let path = format!("{}:{path}", program().parent().unwrap().display());
            let mut bash = Command::new("bash");
            bash.args(["-c", &command]).current_dir(self.dir.path()).env("PATH", path).envs(&self.env);
            let ran = Ran::of(&mut bash);
            assert_eq!(ran.code, Some(0), "$ {command}\n{}{}", ran.stdout, ran.stderr);
            let seen: BTreeSet<String> = ran.stdout.lines().chain(ran.stderr.lines()).map(likeness).collect();
            while let Some(shown) = lines.next_if(|line| !line.starts_with("$ ")) {
                let is_true = *shown == "..." || seen.contains(&likeness(shown));
                assert!(is_true, "$ {command}\n{}{}\ndoes not show\n{shown}", ran.stdout, ran.stderr);
            }
            self.typed.push(command);
        }
    }

    /// Installs what was built as a user with such a GPU would; none without a client.
    fn install(&self, name: &str, capability: Option<&str>) -> Option<PathBuf> {
        let prefix = self.path(&format!("prefix-{}", capability.unwrap_or("none")));
        let mut command = client("install.py")?;
        command.arg("--channel").arg(self.path("dist/conda")).arg("--prefix").arg(&prefix).arg(name);
        for variable in ["CONDA_OVERRIDE_CUDA", "CONDA_OVERRIDE_CUDA_ARCH"] {
            command.env(variable, "");
        }
        if let Some(capability) = capability {
            command.env("CONDA_OVERRIDE_CUDA", "13.0").env("CONDA_OVERRIDE_CUDA_ARCH", capability);
        }
        Ran::of(&mut command).exit(0);
        Some(prefix)
    }
}

/// A line without what differs between runs: words that hold a digit, and the widths of columns.
fn likeness(line: &str) -> String {
    let word = |word: &str| {
        if word.contains(|letter: char| letter.is_ascii_digit()) { "#".to_owned() } else { word.to_owned() }
    };
    line.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
}

/// A program in an environment without anything else.
fn run(prefix: &Path, name: &str, libraries: &Path) -> Ran {
    Ran::of(Command::new(prefix.join("bin").join(name)).env_clear().env("LD_LIBRARY_PATH", libraries)).exit(0)
}

#[test]
fn kernels_that_core_loads() {
    need!(which::which("g++").is_ok(), "no g++");
    let newcomer = Newcomer::of("cubins.md");
    assert!(newcomer.typed.iter().filter(|command| command.starts_with("simpack build")).count() >= 2);
    let driver = newcomer.path("driver");
    fs_err::create_dir(&driver).unwrap();
    compile("tests/newcomer/driver.cc", &["-shared", "-fPIC"], &driver.join("libcuda.so.1"));
    let Some(prefix) = newcomer.install("mysim", Some("9.0")) else { return };
    let ran = run(&prefix, "mysim", &driver).json();
    assert_eq!((&ran["backend"], &ran["code"]), (&"gpu".into(), &"cuda13/exact/sm_90".into()), "{ran}");
    // Where there is no GPU, no device code is installed, and the CPU does the same.
    let prefix = newcomer.install("mysim", None).unwrap();
    assert!(!prefix.join("lib/mysim/kernels").exists());
    let alone = run(&prefix, "mysim", Path::new("/nowhere")).json();
    assert_eq!((&alone["backend"], &alone["v"]), (&"cpu".into(), &ran["v"]), "{alone}");
}

#[test]
fn a_library_that_cannot_be_split() {
    need!(which::which("g++").is_ok(), "no g++");
    let newcomer = Newcomer::of("slices.md");
    assert!(newcomer.typed.iter().any(|command| command == "simpack build wave"), "{:?}", newcomer.typed);
    let Some(prefix) = newcomer.install("wave", Some("9.0")) else { return };
    let inspect = Ran::of(Command::new(program()).args(["inspect", "--json"]).arg(prefix.join("lib/libwave.so.1")));
    let text = inspect.exit(0).stdout;
    assert!(text.contains("\"sm_90\"") && !text.contains("\"sm_80\""), "{text}");
    // It runs wherever it is installed; without a driver CUDA's runtime says so.
    let said = run(&prefix, "wave", Path::new("/nowhere")).stdout;
    assert!(said.starts_with("error ") && said.trim_end().ends_with("1 2 3 4"), "{said}");
}

#[test]
fn shaders_for_every_vendors_gpu() {
    let headers = Path::new("/usr/include/vulkan/vulkan.h").is_file();
    need!(which::which("g++").is_ok() && headers, "no g++ or no headers of Vulkan");
    let newcomer = Newcomer::of("shaders.md");
    assert_eq!(newcomer.typed.len(), 8, "{:?}", newcomer.typed);
    let Some(prefix) = newcomer.install("mysim", None) else { return };
    let ran = run(&prefix, "mysim", Path::new("/nowhere")).json();
    let alone = Ran::of(Command::new(prefix.join("bin/mysim")).arg("cpu").env_clear()).exit(0).json();
    assert_eq!((&ran["v"], &ran["spikes"]), (&alone["v"], &alone["spikes"]), "{ran}");
}

/// The vendor's wheel comes from the directory that the set-up filled.
#[test]
fn a_wheel_that_somebody_else_made() {
    need!(which::which("pip").is_ok(), "no pip in PATH");
    let Some(wheels) = set_up("SIMPACK_TEST_WHEELS") else { return };
    let index = [("PIP_NO_INDEX", Path::new("1")), ("PIP_FIND_LINKS", wheels.as_path())];
    let newcomer = Newcomer::until("docs/src/tutorial/wheels.md", None, &index);
    assert_eq!(newcomer.typed.len(), 6, "{:?}", newcomer.typed);
}

#[test]
fn the_session_of_the_readme() {
    let newcomer = Newcomer::until("README.md", Some("conda"), &[]);
    assert_eq!(newcomer.typed.len(), 3, "{:?}", newcomer.typed);
}
