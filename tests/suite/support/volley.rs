//! One build of volley with the real toolchain, made once and shared by all tests.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use simpack::fs::cache_dir;

use super::archive::{package_file, unpack};
use super::program::{Ran, scratch, simpack};
use super::tree::copy_tree;

/// The shared build.
pub struct Volley {
    /// `dist/` of the build.
    pub dist: PathBuf,
    /// Its directory of logs and bundles.
    pub work: PathBuf,
    /// What the build printed under `--json`.
    pub summary: serde_json::Value,
    /// Keeps a second run of the tests away for as long as this one lives.
    _lock: File,
}

/// Formats of the shared build.
pub const FORMATS: &str = "conda,tar";

/// Builds volley from the checkout, or answers the build that is there.
pub fn volley() -> &'static Volley {
    static BUILD: OnceLock<Volley> = OnceLock::new();
    BUILD.get_or_init(|| {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("volley");
        fs_err::create_dir_all(&root).unwrap();
        let lock = File::create(root.join("lock")).unwrap();
        lock.lock().unwrap();
        let (dist, work) = (root.join("dist"), root.join("work"));
        let mut command = simpack(
            Path::new(env!("CARGO_MANIFEST_DIR")),
            &["build", "volley", "--locked", "--json", "--format", FORMATS, "--dist"],
        );
        let ran = Ran::of(command.arg(&dist).arg("--work").arg(&work)).exit(0);
        Volley { dist, work, summary: ran.json(), _lock: lock }
    })
}

impl Volley {
    /// The conda channel.
    pub fn channel(&self) -> PathBuf {
        self.dist.join("conda")
    }

    /// A staged tree, by package.
    pub fn bundle(&self, package: &str) -> PathBuf {
        self.work.join("bundles").join(package)
    }
}

/// A directory into which packages were unpacked side by side, without a client.
pub struct Prefix {
    pub root: tempfile::TempDir,
}

impl Prefix {
    pub fn of(packages: &[&str]) -> Self {
        let root = scratch();
        for package in packages {
            unpack(&package_file(&volley().channel(), package), "pkg", root.path());
        }
        Self { root }
    }

    pub fn path(&self) -> &Path {
        self.root.path()
    }

    /// The simulator's program, without any environment but what is added.
    pub fn volley(&self, args: &[&str]) -> Command {
        let mut command = Command::new(self.path().join("bin/volley"));
        command.env_clear().args(args);
        command
    }
}

/// A cache with this user's toolchains and downloads, but no artifacts: everything is compiled anew
/// and nothing is fetched twice.
pub struct CacheView {
    pub root: tempfile::TempDir,
}

impl CacheView {
    /// `shared` names further parts of the user's cache to see.
    pub fn new(shared: &[&str]) -> Self {
        volley();
        let root = scratch();
        let real = fs_err::canonicalize(cache_dir().unwrap()).unwrap();
        for name in ["toolchains", "downloads"].iter().chain(shared) {
            fs_err::os::unix::fs::symlink(real.join(name), root.path().join(name)).unwrap();
        }
        Self { root }
    }

    /// The same with a copy of the shared build's artifacts: what is added stays out of the user's cache.
    pub fn with_artifacts() -> Self {
        let view = Self::new(&["zig"]);
        // Nothing else that the user's cache may hold: what a test adds must be new to it.
        let plan =
            Ran::of(&mut simpack(Path::new(env!("CARGO_MANIFEST_DIR")), &["plan", "volley", "--json"])).exit(0).json();
        for step in plan["steps"].as_array().unwrap() {
            let key = step["key"].as_str().unwrap();
            let entry = Path::new("artifacts").join(&key[..2]).join(key);
            copy_tree(&cache_dir().unwrap().join(&entry), &view.root.path().join(entry));
        }
        // Without what its compilers read, no artifact of a kernel is found.
        copy_tree(&cache_dir().unwrap().join("headers"), &view.root.path().join("headers"));
        view
    }
}
