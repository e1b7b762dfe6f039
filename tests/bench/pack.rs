//! `cargo bench --bench pack -- DIRECTORY`: a wheel of a directory's files by simpack beside Python's zipfile, in pairs.
//!
//! Every figure is a process of its own, with its peak memory; minima and medians of all rounds, and the ratio. Then the
//! same for one copy, two and four of the files, by simpack alone: time is to be linear, memory flat.
//!
//! - PYTHON: the Python that is compared, else `python3`.
//! - JOBS: threads of simpack, else those of the machine; zipfile has one.
//! - TMPDIR: where the files are.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::MaybeUninit;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use simpack::arch::{Version, VersionPolicy};
use simpack::bundle::{Artifact, ArtifactKind, BundleManifest, MANIFEST_SCHEMA, Provenance};
use simpack::data::Data;
use simpack::fs::{Digest, EntryKind, walk};
use simpack::manifest::Manifests;
use simpack::package::wheel::Wheel;
use simpack::package::{Format, FormatContext, Package, PackageKind};
use simpack::recipe::{ComponentKind, RecipeMemory, Selection, load};

const ROUNDS: usize = 3;
const RECIPE: &str = include_str!("../../recipes/volley/simpack.toml");

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    match words.as_slice() {
        [one, directory, output] if one == "--one" => write(Path::new(directory), Path::new(output)),
        [directory] => compare(Path::new(directory)),
        // As cargo calls it among other benchmarks.
        _ => println!("usage: cargo bench --bench pack -- DIRECTORY"),
    }
}

/// Writes the wheel of a directory.
fn write(directory: &Path, output: &Path) {
    let manifests = Manifests::load(&Data::at("no such directory")).expect("the embedded manifests are right");
    let table = "edition = 1\n[[kernel]]\nname = \"k\"\nsource = \"neuron.cu\"\nparams = []\n";
    let files = [("kernels/neuron.cu", ""), ("kernels/synapse.cu", ""), ("kernels/table.toml", table)];
    let files = RecipeMemory::new(files.map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec())));
    let recipe = load(RECIPE, "simpack.toml", Path::new("."), &files, &manifests, &Selection::default());
    let recipe = recipe.unwrap_or_else(|_| panic!("volley's recipe resolves"));
    let jobs = std::env::var("JOBS").ok().and_then(|text| text.parse().ok());
    let jobs = NonZeroUsize::new(jobs.unwrap_or_else(simpack::parallel::threads)).unwrap_or(NonZeroUsize::MIN);
    let context = FormatContext { recipe: &recipe, manifests: &manifests };
    Wheel.write(&[package(directory)], &context, output, jobs).expect("the wheel is written");
}

/// The files of a directory as a package of data.
fn package(root: &Path) -> Package {
    let entries = walk(root).expect("the directory can be read").into_iter();
    let artifacts = entries.filter_map(|entry| match entry.kind {
        EntryKind::File { size, executable } => {
            let sha256 = Digest::of_file(&root.join(&entry.path)).expect("a file can be read");
            Some(Artifact { path: entry.path, kind: ArtifactKind::File { sha256, size, executable } })
        }
        _ => None,
    });
    let manifest = BundleManifest {
        schema: MANIFEST_SCHEMA,
        package: "volley-source".to_owned(),
        simulator: "volley".to_owned(),
        version: Version::new(1, 0, 0),
        component: ComponentKind::Source,
        policy: VersionPolicy::Major,
        platform: None,
        target: None,
        cuda: None,
        kernel_abi: None,
        kernels: Vec::new(),
        glibc: None,
        uses: Vec::new(),
        dependencies: BTreeSet::new(),
        conditions: Vec::new(),
        exports: Vec::new(),
        license: None,
        licences: BTreeMap::new(),
        opens: Vec::new(),
        artifacts: artifacts.collect(),
        smoke: None,
        as_wheel: false,
        outside: Vec::new(),
        provenance: Provenance::fixed(Digest::of(b"")),
    };
    Package {
        kind: PackageKind::Component,
        version: manifest.version,
        build_number: 0,
        scale: 1,
        licences: BTreeMap::new(),
        summary: "files".to_owned(),
        homepage: None,
        tests: Vec::new(),
        manifest,
        root: Some(root.to_owned()),
    }
}

/// Seconds, and bytes of the largest resident set.
#[allow(clippy::zombie_processes, reason = "`wait4` waits for it, and says how much memory it took")]
fn run(command: &mut Command) -> (f64, u64) {
    let started = Instant::now();
    let child = command.stdout(Stdio::null()).spawn().expect("the program starts");
    let (mut status, mut usage) = (0, MaybeUninit::<libc::rusage>::zeroed());
    let pid = libc::pid_t::try_from(child.id()).expect("a process has a number");
    // SAFETY: both pointers are to values of these types, and the child is ours.
    let waited = unsafe { libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) };
    assert!(waited == pid && status == 0, "{command:?} failed");
    // SAFETY: wait4 filled it in.
    let usage = unsafe { usage.assume_init() };
    (started.elapsed().as_secs_f64(), u64::try_from(usage.ru_maxrss).unwrap_or_default() * 1024)
}

fn simpack(directory: &Path, output: &Path) -> (f64, u64) {
    let _ = std::fs::remove_dir_all(output);
    let own = std::env::current_exe().expect("this program has a path");
    run(Command::new(own).arg("--one").arg(directory).arg(output))
}

fn python(directory: &Path, output: &Path) -> (f64, u64) {
    let _ = std::fs::remove_file(output);
    let program = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    run(Command::new(program).args(["-m", "zipfile", "-c"]).arg(output).arg(directory))
}

fn compare(directory: &Path) {
    let scratch = tempfile::tempdir().expect("a directory can be made");
    let (ours, theirs) = (scratch.path().join("wheel"), scratch.path().join("zipfile.zip"));
    let (mut own, mut peer) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        own.push(simpack(directory, &ours));
        peer.push(python(directory, &theirs));
    }
    let bytes = walk(directory).expect("the directory can be read").into_iter().map(|entry| match entry.kind {
        EntryKind::File { size, .. } => size,
        _ => 0,
    });
    println!("{} of files in {}", mb(bytes.sum()), directory.display());
    let size = |path: &Path| std::fs::metadata(path).map(|data| data.len()).unwrap_or_default();
    let wheel = wheel_in(&ours);
    let (a, b) = (show("simpack", &own, size(&wheel)), show("zipfile", &peer, size(&theirs)));
    println!("  time {:.2} of zipfile's, size {:.3}", a / b, size(&wheel) as f64 / size(&theirs) as f64);
    for copies in [1, 2, 4] {
        let tree = scratch.path().join(format!("tree-{copies}"));
        for copy in 0..copies {
            // Copies by name alone: the same pages in memory.
            for entry in walk(directory).expect("the directory can be read") {
                let to = tree.join(copy.to_string()).join(&entry.path);
                if let EntryKind::File { .. } = entry.kind {
                    std::fs::create_dir_all(to.parent().expect("it is below the tree")).expect("it can be made");
                    let from = directory.join(&entry.path);
                    std::fs::hard_link(&from, &to).or_else(|_| std::fs::copy(&from, &to).map(drop)).expect("a copy");
                }
            }
        }
        show(&format!("{copies}x"), &[simpack(&tree, &ours)], size(&wheel));
    }
}

fn wheel_in(directory: &Path) -> PathBuf {
    let entries = std::fs::read_dir(directory).expect("wheels were written").flatten().map(|entry| entry.path());
    entries.into_iter().find(|path| path.extension().is_some_and(|end| end == "whl")).expect("there is a wheel")
}

/// Prints figures and answers the median of the seconds.
fn show(name: &str, runs: &[(f64, u64)], bytes: u64) -> f64 {
    let mut seconds: Vec<f64> = runs.iter().map(|(seconds, _)| *seconds).collect();
    seconds.sort_by(f64::total_cmp);
    let memory = runs.iter().map(|(_, memory)| *memory).max().unwrap_or_default();
    let median = seconds[seconds.len() / 2];
    println!("  {name:<8} min {:7.2} s  median {median:7.2} s  {}  memory {}", seconds[0], mb(bytes), mb(memory));
    median
}

fn mb(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
