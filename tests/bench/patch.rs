//! `cargo bench --bench patch`: `simpack patch` beside patchelf and `cp`, in one run.
//!
//! Every figure is a process of its own, with its peak memory; minima and medians of all rounds.
//!
//! The program that cargo builds for this runs elsewhere, too, with nothing but patchelf beside it:
//! `SIMPACK_BENCH_BIG=libcublasLt.so.13 PATCHELF=./patchelf TMPDIR=/fast/disk ./patch-0123456789abcdef`.
//!
//! - SIMPACK_BENCH_BIG: a large library (the vendor's libcublasLt.so.13 has 540 MB); without it one of
//!   512 MiB is made with `cc`, and without that there are no figures of it.
//! - SIMPACK_BENCH_SMALL: the small library; without it one is made, or one of the system's is taken.
//! - PATCHELF: patchelf, else the one of PATH.
//! - SIMPACK: the program to measure, else the one of this build, else what is linked in here.
//! - TMPDIR: where the files are.

use std::ffi::OsStr;
use std::fs::File;
use std::mem::MaybeUninit;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use simpack::elf::edit::{Edits, PathTag, SearchPathEdit};
use simpack::parallel::{side_by_side, threads};
use simpack::patch::apply_own;

const ROUNDS: usize = 7;
const SMALL: usize = 1000;
const PATH: &str = "$ORIGIN/../lib:/usr/lib/wsl/lib";

/// What one process took.
struct Run {
    time: Duration,
    peak: i64,
}

/// Runs a program to its end; KiB of peak memory are what the kernel says of this one child.
#[allow(clippy::zombie_processes)] // `wait4` waits for it, because it tells the memory.
fn run(command: &mut Command) -> Run {
    let start = Instant::now();
    let child = command.stdout(Stdio::null()).spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (mut status, mut usage) = (0, MaybeUninit::<libc::rusage>::zeroed());
    // SAFETY: the child is ours and waited for once; both places live through the call.
    let waited = unsafe { libc::wait4(child.id().cast_signed(), &mut status, 0, usage.as_mut_ptr()) };
    let time = start.elapsed();
    assert!(waited > 0 && status == 0, "{command:?} ended by {status}");
    // SAFETY: zeroed, and filled by the call.
    Run { time, peak: unsafe { usage.assume_init() }.ru_maxrss }
}

/// Minimum and median of several runs, each on what `prepare` makes.
fn measure(what: &str, mut prepare: impl FnMut(), mut once: impl FnMut() -> Run) -> (f64, f64) {
    let mut runs: Vec<Run> = (0..ROUNDS)
        .map(|_| {
            prepare();
            once()
        })
        .collect();
    runs.sort_by_key(|run| run.time);
    let (least, middle) = (runs[0].time.as_secs_f64(), runs[ROUNDS / 2].time.as_secs_f64());
    let peak = runs.iter().map(|run| run.peak).max().unwrap_or(0);
    print(&format!("{what:<44} {:>10.2} {:>10.2} {:>8}", least * 1e3, middle * 1e3, peak / 1024));
    (least, middle)
}

#[allow(clippy::print_stdout)]
fn print(line: &str) {
    println!("{line}");
}

fn set(text: &str) -> Edits {
    let directories = text.split(':').map(String::from).collect();
    Edits { search_path: Some(SearchPathEdit::Set { directories, tag: PathTag::Runpath }), ..Edits::default() }
}

/// Compiles a library; whether there is a compiler.
fn compile(source: &Path, library: &Path) -> bool {
    let status = Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([library, source]).status();
    status.is_ok_and(|status| status.success())
}

/// The named library, one that is made here, or one of the system's that is about as small.
fn small_library(dir: &Path) -> PathBuf {
    if let Some(named) = std::env::var_os("SIMPACK_BENCH_SMALL") {
        return named.into();
    }
    let (source, library) = (dir.join("answer.c"), dir.join("answer.so"));
    std::fs::write(&source, "int answer(void) { return 42; }").unwrap();
    let found = ["/usr/lib/x86_64-linux-gnu/libdl.so.2", "/usr/lib64/libdl.so.2"].map(PathBuf::from);
    match compile(&source, &library) {
        true => library,
        false => found.into_iter().find(|path| path.exists()).expect("SIMPACK_BENCH_SMALL names a library"),
    }
}

/// The named library, or a small one with half a gigabyte that is no hole behind its headers.
fn large_library(dir: &Path) -> Option<PathBuf> {
    let place = dir.join("large.so");
    if let Some(named) = std::env::var_os("SIMPACK_BENCH_BIG") {
        std::fs::copy(named, &place).unwrap();
        return Some(place);
    }
    let (blob, source) = (dir.join("blob"), dir.join("large.c"));
    let file = File::create(&blob).unwrap();
    let block: Vec<u8> = (0..1u32 << 20).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8 | 1).collect();
    for index in 0..512 {
        file.write_all_at(&block, index << 20).unwrap();
    }
    let text =
        format!("__asm__(\".section .rodata\\n.globl blob\\nblob: .incbin \\\"{}\\\"\\n.text\");\n", blob.display());
    std::fs::write(&source, format!("{text}int answer(void) {{ return 42; }}")).unwrap();
    let made = compile(&source, &place);
    std::fs::remove_file(blob).unwrap();
    made.then_some(place)
}

/// The program: named, of this build, or this one as it.
fn simpack() -> Command {
    let built = Path::new(env!("CARGO_BIN_EXE_simpack"));
    let mut command = match std::env::var_os("SIMPACK") {
        Some(named) => Command::new(named),
        None if built.exists() => Command::new(built),
        None => {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.env("SIMPACK_BENCH_AS_PROGRAM", "1");
            command
        }
    };
    command.arg("patch");
    command
}

fn main() {
    if std::env::var_os("SIMPACK_BENCH_AS_PROGRAM").is_some() {
        let (ui, answer) = simpack::cli::run(std::env::args_os());
        if let Err(error) = &answer {
            ui.error(error);
        }
        std::process::exit(answer.map_or(1, i32::from));
    }
    // A process of its own for what has no command: files that simpack itself just wrote.
    if let Some(files) = std::env::var_os("SIMPACK_BENCH_IN_PLACE") {
        let path = std::env::var("SIMPACK_BENCH_PATH").unwrap();
        for file in files.to_str().unwrap().split(':') {
            let path_of = Path::new(file);
            let files = if path_of.is_dir() {
                std::fs::read_dir(path_of).unwrap().map(|entry| entry.unwrap().path()).collect()
            } else {
                vec![path_of.to_owned()]
            };
            side_by_side(&files, threads(), || set(&path), |edits, file| drop(apply_own(file, edits).unwrap()));
        }
        return;
    }
    // And one for what the system itself takes.
    if let Some(files) = std::env::var_os("SIMPACK_BENCH_FLOOR") {
        return replace_unread(Path::new(&files));
    }
    let built = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let place = std::env::var_os("TMPDIR").map(PathBuf::from).or_else(|| built.exists().then(|| built.to_owned()));
    let dir = tempfile::tempdir_in(place.unwrap_or_else(std::env::temp_dir)).unwrap();
    let patchelf = std::env::var_os("PATCHELF").unwrap_or_else(|| "patchelf".into());
    match large_library(dir.path()) {
        Some(large) => one_large(dir.path(), &large, &patchelf),
        None => print("no SIMPACK_BENCH_BIG and no cc: no figures of a large library"),
    }
    many_small(dir.path(), &patchelf);
}

/// A process that patches files which simpack itself just wrote.
fn in_place(files: &Path, path: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env("SIMPACK_BENCH_IN_PLACE", files).env("SIMPACK_BENCH_PATH", path);
    command
}

/// Replaces every file by a copy with nothing changed, in as few calls of the system as that takes, side
/// by side as `simpack patch`: what copying and renaming take, whatever happens to the content.
fn replace_unread(dir: &Path) {
    let files: Vec<PathBuf> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    let replace = |(): &mut (), file: &PathBuf| {
        let copy = file.with_extension("new");
        std::fs::write(&copy, std::fs::read(file).unwrap()).unwrap();
        std::fs::rename(&copy, file).unwrap();
    };
    side_by_side(&files, threads(), || (), replace);
}

fn one_large(dir: &Path, large: &Path, patchelf: &OsStr) {
    let at = |name: &str| dir.join(name);
    let other = at("copy.so");
    let clean = |other: &Path| drop(std::fs::remove_file(other));
    print(&format!("{} MB library, {ROUNDS} rounds", std::fs::metadata(large).unwrap().len() / 1_000_000));
    print(&format!("{:<44} {:>10} {:>10} {:>8}", "", "min ms", "median ms", "peak MiB"));
    let copied = measure("cp", || clean(&other), || run(Command::new("cp").arg(large).arg(&other)));
    let output = || {
        let mut command = simpack();
        command.args(["--set-runpath", PATH, "--allow-path", "/usr/lib/wsl/lib", "--output"]);
        run(command.arg(&other).arg(large))
    };
    let patched = measure("simpack patch --output (copy + patch)", || clean(&other), output);
    let mut round = 0;
    // Another path each time: nothing to do would be faster.
    let placed = measure(
        "simpack, in place",
        || {},
        || {
            round += 1;
            run(&mut in_place(&other, &format!("$ORIGIN/{}", "x".repeat(20 + 10 * round))))
        },
    );
    let rewritten = measure(
        "patchelf, in place",
        || clean(&other),
        || {
            std::fs::copy(large, &other).unwrap();
            run(Command::new(patchelf).args(["--set-rpath", PATH]).arg(&other))
        },
    );
    print(&format!("copy + patch / cp: {:.3} (minima), {:.3} (medians)", patched.0 / copied.0, patched.1 / copied.1));
    print(&format!(
        "patchelf / in place: {:.0} (minima), {:.0} (medians)\n",
        rewritten.0 / placed.0,
        rewritten.1 / placed.1
    ));
    clean(&other);
    clean(large);
}

fn many_small(dir: &Path, patchelf: &OsStr) {
    let one = small_library(dir);
    let many = dir.join("many");
    let mut filled = 0;
    // Nothing is removed before the end: ext4 is slow at making files for some seconds after that.
    let mut fill = || {
        filled += 1;
        drop(std::fs::rename(&many, dir.join(format!("many-{filled}"))));
        std::fs::create_dir(&many).unwrap();
        for index in 0..SMALL {
            std::fs::copy(&one, many.join(format!("lib{index}.so"))).unwrap();
        }
        // SAFETY: takes nothing. What is written now is not what is measured.
        unsafe { libc::sync() };
    };
    let bytes = std::fs::metadata(&one).unwrap().len();
    print(&format!("{SMALL} libraries of {bytes} bytes in one directory, {ROUNDS} rounds, {} cores", threads()));
    let each = measure("patchelf once per file (peak of the last)", &mut fill, || {
        let start = Instant::now();
        let mut last = None;
        for index in 0..SMALL {
            let file = many.join(format!("lib{index}.so"));
            last = Some(run(Command::new(patchelf).args(["--set-rpath", PATH]).arg(file)));
        }
        Run { time: start.elapsed(), peak: last.map_or(0, |run| run.peak) }
    });
    let one_call =
        measure("simpack patch, one call", &mut fill, || run(simpack().args(["--set-runpath", PATH]).arg(&many)));
    let own = measure("simpack, in place, one process", &mut fill, || run(&mut in_place(&many, PATH)));
    let floor = measure("replacing files without a change", &mut fill, || {
        run(Command::new(std::env::current_exe().unwrap()).env("SIMPACK_BENCH_FLOOR", &many))
    });
    print(&format!("patchelf / one call: {:.1} (minima), {:.1} (medians)", each.0 / one_call.0, each.1 / one_call.1));
    print(&format!("patchelf / in place: {:.1} (minima), {:.1} (medians)", each.0 / own.0, each.1 / own.1));
    print(&format!("patchelf / replacing: {:.1} (minima), {:.1} (medians)", each.0 / floor.0, each.1 / floor.1));
}
