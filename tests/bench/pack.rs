//! `cargo bench --bench pack -- DIRECTORY [PART...]`: packages of a directory's files by simpack beside those of other programs.
//!
//! A `.conda` beside rattler's writer at zstd's level 19, which is that of py-rattler-build and others; a wheel beside
//! Python's zipfile. Every figure is a process of its own, with its peak memory; minima and medians of all rounds, and
//! ratios of the same run. Then the curve of zstd's levels over the files, one thread each, and one, two and four copies
//! of the files by simpack alone: time is to be linear, memory flat. PART is `wheel`, `conda`, `curve` or `copies`; without
//! one it is all.
//!
//! - PYTHON: the Python that is compared, else `python3`.
//! - JOBS: threads of simpack and of the writers of `.conda`, else those of the machine; zipfile has one.
//! - ROUNDS: how often each figure of a few seconds is taken, else 3; those of level 19 are taken once.
//! - RATTLER: the program of `tests/bench/rattler`, else the one that `cargo build --profile suite -p simpack-bench-rattler`
//!   leaves beside this.
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
use simpack::package::{FormatContext, FormatName, Package, PackageKind};
use simpack::recipe::{ComponentKind, RecipeMemory, Selection, load};

/// Levels of the curve; 19 is rattler's above.
const LEVELS: [i32; 6] = [1, 3, 6, 9, 12, 15];
const RECIPE: &str = include_str!("../../recipes/volley/simpack.toml");

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    match words.as_slice() {
        [one, format, directory, output] if one == "--one" => write(format, Path::new(directory), Path::new(output)),
        [one, level, directory, output] if one == "--zstd" => {
            let size = packed(Path::new(directory), level.parse().expect("a level"));
            std::fs::write(output, size.to_string()).expect("the size is written");
        }
        [directory, parts @ ..] => compare(Path::new(directory), parts),
        // As cargo calls it among other benchmarks.
        _ => println!("usage: cargo bench --bench pack -- DIRECTORY [PART...]"),
    }
}

fn jobs() -> NonZeroUsize {
    let jobs = std::env::var("JOBS").ok().and_then(|text| text.parse().ok());
    NonZeroUsize::new(jobs.unwrap_or_else(simpack::parallel::threads)).unwrap_or(NonZeroUsize::MIN)
}

fn rounds() -> usize {
    std::env::var("ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(3)
}

/// Writes a package of a directory.
fn write(format: &str, directory: &Path, output: &Path) {
    let manifests = Manifests::load(&Data::at("no such directory")).expect("the embedded manifests are right");
    let table = "edition = 1\n[[kernel]]\nname = \"k\"\nsource = \"neuron.cu\"\nparams = []\n";
    let files = [("kernels/neuron.cu", ""), ("kernels/synapse.cu", ""), ("kernels/table.toml", table)];
    let files = RecipeMemory::new(files.map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec())));
    let recipe = load(RECIPE, "simpack.toml", Path::new("."), &files, &manifests, &Selection::default());
    let recipe = recipe.unwrap_or_else(|_| panic!("volley's recipe resolves"));
    let (earlier, now) = (None, jiff::Timestamp::UNIX_EPOCH);
    let context = FormatContext { recipe: &recipe, manifests: &manifests, earlier, now };
    let format: FormatName = format.parse().expect("a format");
    format.format().write(&[package(directory)], &context, output, jobs()).expect("the package is written");
}

/// Bytes of all files in one frame of zstd.
fn packed(directory: &Path, level: i32) -> u64 {
    let mut frame = zstd::Encoder::new(Counted(0), level).expect("a level");
    for entry in walk(directory).expect("the directory can be read") {
        if let EntryKind::File { .. } = entry.kind {
            let mut file = std::fs::File::open(directory.join(entry.path)).expect("a file can be opened");
            std::io::copy(&mut file, &mut frame).expect("a file can be read");
        }
    }
    frame.finish().expect("it ends").0
}

/// Counts what is written.
struct Counted(u64);

impl std::io::Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
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
        waivers: Vec::new(),
        host: None,
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
        exact: BTreeMap::new(),
        needs: BTreeMap::new(),
        embedded: Vec::new(),
        glibc: None,
        uses: Vec::new(),
        dependencies: BTreeSet::new(),
        conditions: Vec::new(),
        exports: Vec::new(),
        license: None,
        licences: BTreeMap::new(),
        compile: None,
        device_sources: None,
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

/// What a process took.
#[derive(Debug, Clone, Copy)]
struct Taken {
    /// Seconds.
    wall: f64,
    /// Seconds of processors, which say more where others use the machine, too.
    cpu: f64,
    /// Bytes of the largest resident set.
    memory: u64,
}

#[allow(clippy::zombie_processes, reason = "`wait4` waits for it, and says how much memory it took")]
fn run(command: &mut Command) -> Taken {
    let started = Instant::now();
    let child = command.stdout(Stdio::null()).spawn().expect("the program starts");
    let (mut status, mut usage) = (0, MaybeUninit::<libc::rusage>::zeroed());
    let pid = libc::pid_t::try_from(child.id()).expect("a process has a number");
    // SAFETY: both pointers are to values of these types, and the child is ours.
    let waited = unsafe { libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) };
    assert!(waited == pid && status == 0, "{command:?} failed");
    // SAFETY: wait4 filled it in.
    let usage = unsafe { usage.assume_init() };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Taken {
        wall: started.elapsed().as_secs_f64(),
        cpu: seconds(usage.ru_utime) + seconds(usage.ru_stime),
        memory: u64::try_from(usage.ru_maxrss).unwrap_or_default() * 1024,
    }
}

fn simpack(format: &str, directory: &Path, output: &Path) -> Taken {
    let _ = std::fs::remove_dir_all(output);
    let own = std::env::current_exe().expect("this program has a path");
    run(Command::new(own).args(["--one", format]).arg(directory).arg(output))
}

fn python() -> Command {
    Command::new(std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned()))
}

fn zipfile(directory: &Path, output: &Path) -> Taken {
    let _ = std::fs::remove_file(output);
    run(python().args(["-m", "zipfile", "-c"]).arg(output).arg(directory))
}

fn rattler(directory: &Path, output: &Path, level: i32) -> Taken {
    let writer = std::env::var_os("RATTLER").map(PathBuf::from).unwrap_or_else(|| {
        let own = std::env::current_exe().expect("this program has a path");
        own.ancestors().nth(2).expect("it lies below a profile's directory").join("rattler-writer")
    });
    let asks = "run `cargo build --profile suite -p simpack-bench-rattler` first";
    assert!(writer.is_file(), "{} is not there: {asks}", writer.display());
    run(Command::new(writer).args([level.to_string(), jobs().to_string()]).arg(directory).arg(output))
}

/// Measures a directory; the other one is for what it writes.
type Part = fn(&Path, &Path);

fn compare(directory: &Path, parts: &[String]) {
    let scratch = tempfile::tempdir().expect("a directory can be made");
    let sizes = walk(directory).expect("the directory can be read").into_iter().map(|entry| match entry.kind {
        EntryKind::File { size, .. } => size,
        _ => 0,
    });
    println!("{} of files, {} threads", mb(sizes.sum()), jobs());
    let known: [(&str, Part); 4] = [("wheel", wheel), ("conda", conda), ("curve", curve), ("copies", copies)];
    for (name, part) in known {
        if parts.is_empty() || parts.iter().any(|asked| asked == name) {
            println!("{name}");
            part(directory, scratch.path());
        }
    }
}

fn wheel(directory: &Path, scratch: &Path) {
    let (ours, theirs) = (scratch.join("wheel"), scratch.join("zipfile.zip"));
    let (mut own, mut peer) = (Vec::new(), Vec::new());
    for _ in 0..rounds() {
        own.push(simpack("wheel", directory, &ours));
        peer.push(zipfile(directory, &theirs));
    }
    let sizes = (bytes(&ours, "whl"), bytes(&theirs, "zip"));
    ratio("zipfile's", show("simpack", &own, sizes.0), show("zipfile", &peer, sizes.1), sizes);
}

fn conda(directory: &Path, scratch: &Path) {
    let (ours, theirs) = (scratch.join("conda"), scratch.join("rattler.conda"));
    let own: Vec<Taken> = (0..rounds()).map(|_| simpack("conda", directory, &ours)).collect();
    let size = bytes(&ours, "conda");
    let own = show("simpack", &own, size);
    let peer = [rattler(directory, &theirs, 19)];
    let other = bytes(&theirs, "conda");
    ratio("rattler's", own, show("rattler", &peer, other), (size, other));
}

/// One thread, each level.
fn curve(directory: &Path, scratch: &Path) {
    for level in LEVELS {
        let own = std::env::current_exe().expect("this program has a path");
        let mut command = Command::new(own);
        let output = scratch.join("size");
        let taken = run(command.args(["--zstd", &level.to_string()]).arg(directory).arg(&output));
        let size = std::fs::read_to_string(output).expect("the size was written");
        show(&format!("level {level}"), &[taken], size.parse().expect("a number"));
    }
}

fn copies(directory: &Path, scratch: &Path) {
    for (format, ending) in [("wheel", "whl"), ("conda", "conda")] {
        for copies in [1, 2, 4] {
            let (tree, output) = (scratch.join(format!("tree-{copies}")), scratch.join("copies"));
            (0..copies).for_each(|copy| copy_of(directory, &tree.join(copy.to_string())));
            let taken = simpack(format, &tree, &output);
            show(&format!("{format} {copies}x"), &[taken], bytes(&output, ending));
        }
    }
}

/// A copy by name alone: the same pages in memory.
fn copy_of(directory: &Path, to: &Path) {
    for entry in walk(directory).expect("the directory can be read") {
        let (from, to) = (directory.join(&entry.path), to.join(&entry.path));
        if let EntryKind::File { .. } = entry.kind
            && !to.exists()
        {
            std::fs::create_dir_all(to.parent().expect("it is below the tree")).expect("it can be made");
            std::fs::hard_link(&from, &to).or_else(|_| std::fs::copy(&from, &to).map(drop)).expect("a copy");
        }
    }
}

/// Bytes of the largest file with an ending, at a place or below it.
fn bytes(place: &Path, ending: &str) -> u64 {
    let below = walkdir::WalkDir::new(place).into_iter().flatten();
    let named = below.filter(|entry| entry.path().extension().is_some_and(|end| end == ending));
    named.filter_map(|entry| Some(entry.metadata().ok()?.len())).max().expect("a package was written")
}

/// Prints figures and answers the medians of both times.
fn show(name: &str, runs: &[Taken], bytes: u64) -> (f64, f64) {
    let median = |of: &dyn Fn(&Taken) -> f64| {
        let mut all: Vec<f64> = runs.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        (all[0], all[all.len() / 2])
    };
    let ((least, wall), (_, cpu)) = (median(&|taken| taken.wall), median(&|taken| taken.cpu));
    let memory = runs.iter().map(|taken| taken.memory).max().unwrap_or_default();
    println!(
        "  {name:<9} min {least:7.2} s  median {wall:7.2} s  processors {cpu:7.2} s  {}  memory {}",
        mb(bytes),
        mb(memory)
    );
    (wall, cpu)
}

/// Prints what part of another's time and size these are.
fn ratio(of: &str, own: (f64, f64), other: (f64, f64), sizes: (u64, u64)) {
    println!(
        "  {:.2} of {of} time, {:.2} of its processor time, {:.3} of its size",
        own.0 / other.0,
        own.1 / other.1,
        sizes.0 as f64 / sizes.1 as f64
    );
}

fn mb(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
