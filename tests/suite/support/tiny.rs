//! A simulator of one file, built by a script with the machine's compiler in a second: what a test can
//! afford to build a hundred times.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use simpack::fs::{Digest, set_mode};

use super::program::{Ran, scratch, simpack};
use super::skip::set_up;
use super::tree::digests;

const RECIPE: &str = r#"
edition = 1
[simulator]
name = "tiny"
version = "1.0.0"
license = "BSD-3-Clause"
summary = "one neuron"
[source]
path = "."
[matrix]
cuda = ["13.0"]
capabilities = ["8.0", "9.0"]
ptx = []
[toolchain]
host = "system"
[component.core]
policy = "major"
files = ["lib/**", "share/**"]
[component.core.build]
driver = "script"
targets = ["build.sh"]
inputs = ["build.sh", "sim.cc"]
[driver]
profiles = ["conventional"]
"#;

const KERNELS: &str = r#"
[component.kernels]
policy = "capability"
[kernels.main]
sources = ["kernels/tiny.cu"]
table = "kernels/table.toml"
flags = ["-O3"]
"#;

const TABLE: &str = r#"
edition = 1
[[kernel]]
name = "tiny_step"
source = "tiny.cu"
params = [{ name = "v", type = "ptr" }, { name = "count", type = "u32" }]
"#;

const BUILD: &str = r#"
$CXX -O1 -shared -fPIC -fvisibility=hidden -Wl,-soname,libtiny.so.1 -Wl,-z,relro,-z,now,-z,noexecstack \
  -Wl,--strip-debug -Wl,--as-needed -o libtiny.so.1.0.0 sim.cc
mkdir -p "$PREFIX/lib" "$PREFIX/share/tiny"
cp libtiny.so.1.0.0 "$PREFIX/lib/"
ln -s libtiny.so.1.0.0 "$PREFIX/lib/libtiny.so.1"
cp sim.cc "$PREFIX/share/tiny/"
"#;

/// The recipe, its caches and its results below one directory.
pub struct Tiny {
    root: tempfile::TempDir,
    cuda: Option<PathBuf>,
}

impl Tiny {
    /// Host code only.
    pub fn new() -> Self {
        Self::at(scratch(), None)
    }

    /// The same below a directory of one's own.
    pub fn at(root: tempfile::TempDir, cuda: Option<PathBuf>) -> Self {
        let tiny = Self { root, cuda };
        let kernels = if tiny.cuda.is_some() { KERNELS } else { "" };
        tiny.write("recipe/simpack.toml", &format!("{RECIPE}{kernels}"));
        tiny.write("recipe/LICENSE", "BSD-3-Clause\n");
        tiny.write("recipe/build.sh", BUILD);
        tiny.write("recipe/kernels/table.toml", TABLE);
        tiny.version(1);
        tiny.compiler("");
        tiny
    }

    /// With two kernel steps; none where CUDA is not set up.
    pub fn with_kernels() -> Option<Self> {
        Some(Self::at(scratch(), Some(set_up("SIMPACK_TEST_CUDA")?)))
    }

    /// Whether it has kernel steps.
    pub fn has_kernels(&self) -> bool {
        self.cuda.is_some()
    }

    pub fn path(&self, below: &str) -> PathBuf {
        self.root.path().join(below)
    }

    pub fn write(&self, below: &str, text: &str) {
        let path = self.path(below);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, text).unwrap();
    }

    /// Another version of all sources, which gives other packages.
    pub fn version(&self, version: u32) {
        let visible = "__attribute__((visibility(\"default\")))";
        self.write("recipe/sim.cc", &format!("extern \"C\" {visible} int tiny() {{ return {version}; }}\n"));
        self.write(
            "recipe/kernels/tiny.cu",
            &format!(
                "extern \"C\" __global__ void tiny_step(float *v, unsigned count) {{\n  \
                 unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < count) v[i] += {version}.f;\n}}\n"
            ),
        );
    }

    /// The compiler of the build: the machine's, and before it compiles `sim.cc` these lines of a shell.
    pub fn compiler(&self, first: &str) {
        let real = which::which("g++").or_else(|_| which::which("c++")).unwrap();
        self.write(
            "bin/g++",
            &format!("#!/bin/sh\ncase \"$*\" in *sim.cc*)\n:\n{first}\n;; esac\nexec '{}' \"$@\"\n", real.display()),
        );
        set_mode(&self.path("bin/g++"), 0o755).unwrap();
    }

    /// The CUDA compiler of the build: the real one, `$NVCC`, and before it is called these lines of a shell.
    pub fn nvcc(&self, first: &str) {
        let real = self.cuda.as_ref().expect("a simulator with kernels");
        let own = self.path("cuda");
        if !own.is_dir() {
            // A toolkit of its own, so that its headers are those of a tool: nvcc looks for them from where it lies.
            for dir in ["", "bin"] {
                fs_err::create_dir_all(own.join(dir)).unwrap();
                for name in names(&real.join(dir)).iter().filter(|name| !["bin", "nvcc"].contains(&name.as_str())) {
                    fs_err::os::unix::fs::symlink(real.join(dir).join(name), own.join(dir).join(name)).unwrap();
                }
            }
            fs_err::copy(real.join("bin/nvcc"), own.join("bin/real-nvcc")).unwrap();
        }
        let compiler = own.join("bin/real-nvcc");
        let text = format!("#!/bin/sh\nNVCC='{}'\n{first}\nexec \"$NVCC\" \"$@\"\n", compiler.display());
        self.write("cuda/bin/nvcc", &text);
        set_mode(&self.path("cuda/bin/nvcc"), 0o755).unwrap();
    }

    /// Changes a piece of the recipe.
    pub fn change(&self, from: &str, to: &str) {
        let text = fs_err::read_to_string(self.path("recipe/simpack.toml")).unwrap();
        assert!(text.contains(from), "{text}");
        self.write("recipe/simpack.toml", &text.replacen(from, to, 1));
    }

    /// A call of the program with the cache `cache` and this compiler.
    pub fn simpack(&self, args: &[&str]) -> Command {
        let mut command = simpack(self.root.path(), args);
        command.env("SIMPACK_CACHE_DIR", self.path("cache")).env("CXX", self.path("bin/g++"));
        for name in ["SIMPACK_CACHE_SIZE", "SIMPACK_CACHE_REMOTE"] {
            command.env_remove(name);
        }
        if let Some(cuda) = &self.cuda {
            let own = self.path("cuda");
            command.env("CUDA_HOME", if own.is_dir() { &own } else { cuda });
        }
        command
    }

    /// A call that builds into `dist`.
    pub fn build(&self, args: &[&str]) -> Command {
        // The compilers of these tests leave marks outside of their step, and count themselves there.
        let mut all = vec!["build", "recipe", "--sandbox", "off"];
        if self.cuda.is_some() {
            // It has machine code for two capabilities only, and no reader of its tag.
            all.extend(["--toolchain", "system", "--allow", "device-coverage", "--allow", "kernel-tag-absent"]);
        }
        all.extend(args);
        self.simpack(&all)
    }

    /// The packages of `dist`.
    pub fn dist(&self) -> BTreeMap<String, Digest> {
        match self.path("dist").exists() {
            true => digests(&self.path("dist")),
            false => BTreeMap::new(),
        }
    }

    /// What a whole build gives, in directories that nothing else uses.
    pub fn reference(&self) -> BTreeMap<String, Digest> {
        let mut command = self.build(&["--quiet", "--dist", "other/dist", "--work", "other/work"]);
        Ran::of(command.env("SIMPACK_CACHE_DIR", self.path("other/cache"))).exit(0);
        digests(&self.path("other/dist"))
    }

    /// Names of a directory, sorted.
    pub fn names(&self, below: &str) -> Vec<String> {
        names(&self.path(below))
    }
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs_err::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A directory that cannot be written, or has so many bytes, until it is dropped.
pub struct Mount {
    place: PathBuf,
}

impl Mount {
    /// Mounts at `place`: an empty file system with these options, or `what` once more. None, with the
    /// reason said, where that is not allowed.
    pub fn new(place: &Path, what: Option<&Path>, options: &str) -> Option<Self> {
        fs_err::create_dir_all(place).unwrap();
        let mut command = Command::new("mount");
        match what {
            Some(what) => command.arg("--bind").arg(what),
            None => command.args(["-t", "tmpfs", "tmpfs"]),
        };
        let ran = Ran::of(command.args(["-o", options]).arg(place));
        if ran.code != Some(0) {
            super::skip::skip(&format!("mount is for root, with the right to it: {}", ran.stderr.trim()));
            return None;
        }
        Some(Self { place: place.to_owned() })
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.place).output();
    }
}
