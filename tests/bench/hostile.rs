//! `cargo bench --bench hostile [SHAPE...]`: what hostile files of each shape cost, in time and memory, beside what
//! they may cost: 64 MiB and 8 bytes for each byte, 1 s and 50 ns of processor time for each byte.
//!
//! - SIMPACK: the program to measure, else the one of this build.
//! - SIMPACK_BENCH_SIZES: sizes in KiB, separated by spaces, else `64 4096 65536`.
//! - SIMPACK_BENCH_VERBS: verbs, else all that read a file.
//!
//! Programs end after a minute of processor time or with 8 GiB of memory.

use std::process::{Command, Stdio};

#[path = "../suite/hostile_files.rs"]
mod hostile_files;
#[path = "../suite/hostile_run.rs"]
mod hostile_run;

use hostile_files::{SHAPES, Shape};
use hostile_run::{Ended, within};

const MOST_SECONDS: u64 = 60;
const MOST_MEMORY: u64 = 8 << 30;
/// The first argument, and those before the file.
const VERBS: [(&str, &[&str]); 8] = [
    ("inspect", &["inspect", "--kernels", "--deep"]),
    ("json", &["inspect", "--kernels", "--deep", "--json"]),
    ("verify", &["verify", "--deep"]),
    ("abi", &["abi", "dump"]),
    ("diff", &["abi", "diff"]),
    ("slice", &["slice", "--capability", "9.0", "--dry-run", "--deep"]),
    ("patch", &["patch", "--set-runpath", "/opt/lib", "--check"]),
    ("resolve", &["resolve"]),
];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, make, name, size, file] = arguments.as_slice()
        && make == "--make"
    {
        let shape = SHAPES.iter().find(|shape| *name == format!("{}/{}", shape.class, shape.name)).unwrap();
        return std::fs::write(file, (shape.make)(size.parse::<usize>().unwrap() << 10)).unwrap();
    }
    let wanted: Vec<String> = arguments.into_iter().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let list = |name: &str, usual: &str| -> Vec<String> {
        std::env::var(name).unwrap_or_else(|_| usual.to_owned()).split_whitespace().map(str::to_owned).collect()
    };
    let sizes = list("SIMPACK_BENCH_SIZES", "64 4096 65536");
    let verbs = list("SIMPACK_BENCH_VERBS", "inspect json verify abi diff slice patch resolve");
    let program = std::env::var("SIMPACK").unwrap_or_else(|_| env!("CARGO_BIN_EXE_simpack").to_owned());
    let dir = tempfile::tempdir().unwrap();
    println!("| class | shape | bytes | verb | seconds | of allowed | MiB | of allowed | |");
    println!("|---|---|---|---|---|---|---|---|---|");
    for shape in SHAPES {
        let name = format!("{}/{}", shape.class, shape.name);
        if !wanted.is_empty() && !wanted.iter().any(|wanted| name.contains(wanted.as_str())) {
            continue;
        }
        for size in &sizes {
            let file = dir.path().join(shape.file);
            // By another process: the kernel counts what a parent holds as a child's own until it starts its program.
            let mut make = Command::new(std::env::current_exe().unwrap());
            assert!(make.args(["--make", &name, size]).arg(&file).status().unwrap().success());
            let length = std::fs::metadata(&file).unwrap().len();
            for (verb, args) in VERBS.iter().filter(|(verb, _)| verbs.iter().any(|wanted| wanted == verb)) {
                let mut command = Command::new(&program);
                // What differs is between two.
                command
                    .args(*args)
                    .args((*verb == "diff").then_some(&file))
                    .arg(&file)
                    .current_dir(dir.path())
                    .stdout(Stdio::null())
                    .stderr(Stdio::null());
                report(&shape, length, verb, &within(MOST_SECONDS, MOST_MEMORY, &mut command));
            }
            std::fs::remove_file(file).unwrap();
        }
    }
}

/// One row of the table.
fn report(shape: &Shape, bytes: u64, verb: &str, run: &Ended) {
    let Shape { class, name, .. } = shape;
    let seconds = run.time.as_secs_f64();
    let most_seconds = 1.0 + bytes as f64 * 50e-9;
    let most_bytes = (64 << 20) + 8 * bytes;
    let over = if seconds > most_seconds || run.peak > most_bytes { " over" } else { "" };
    let ended = match (libc::WIFSIGNALED(run.status), libc::WTERMSIG(run.status), libc::WEXITSTATUS(run.status)) {
        (true, signal, _) => format!("signal {signal}"),
        (false, _, code) => format!("exit {code}"),
    };
    println!(
        "| {class} | {name} | {bytes} | {verb} | {seconds:.2} | {:.0} % | {} | {:.0} % | {ended}{over} |",
        100.0 * seconds / most_seconds,
        run.peak >> 20,
        100.0 * run.peak as f64 / most_bytes as f64
    );
}
