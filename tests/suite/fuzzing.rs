//! Every fuzz target replays its seeds and then runs for ten seconds; a crash fails with its input. They begin with
//! the same random numbers each time: what they find anew is nearly always a change's doing. Finding more is for
//! longer runs (`tests/fuzz/long`, logged in `tests/evidence/`).
//!
//! `tests/run` builds the targets and names them in SIMPACK_TEST_FUZZ.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::set_up;

/// Runs one target; the tests' own threads say how many run at a time.
fn fuzz(name: &str) {
    let Some(built) = set_up("SIMPACK_TEST_FUZZ") else { return };
    let seconds = std::env::var("SIMPACK_TEST_FUZZ_SECONDS").unwrap_or_else(|_| "10".into());
    let work = tempfile::tempdir().unwrap();
    let seeds = built.join("seeds").join(name);
    let count = fs_err::read_dir(&seeds).unwrap_or_else(|error| panic!("{}: {error}", seeds.display())).count();
    assert!(count > 0, "{name} has no seeds");
    let run = |options: &[&str], corpus: &[&Path]| {
        let output = Command::new(built.join("bin").join(name))
            .args(options)
            .args(["-timeout=20", "-rss_limit_mb=1024", "-max_len=65536", "-print_final_stats=1"])
            .arg(format!("-artifact_prefix={}/", crashes(&built, name).display()))
            .args(corpus)
            .current_dir(work.path())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{name} {options:?}: {}\n{text}", output.status);
        text
    };
    run(&["-runs=0"], &[&seeds]);
    let found = work.path().join("found");
    fs_err::create_dir(&found).unwrap();
    let text = run(&[&format!("-max_total_time={seconds}"), "-seed=1"], &[&found, &seeds]);
    let executed = text.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
    let executed: u64 = executed.unwrap_or_default().trim().parse().unwrap_or_else(|_| panic!("{text}"));
    // Those that write files are the slowest.
    assert!(executed > 300, "{name} ran {executed} times only in {seconds} s\n{text}");
}

/// Where inputs that crash are kept.
fn crashes(built: &Path, name: &str) -> PathBuf {
    let place = built.join("crashes").join(name);
    fs_err::create_dir_all(&place).unwrap();
    place
}

macro_rules! targets {
    ($($name:ident),* $(,)?) => {
        $(#[test] fn $name() { fuzz(stringify!($name)); })*

        /// A target that nobody runs would be a promise without a test.
        #[test]
        fn every_target_is_run() {
            let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/targets");
            let mut files: Vec<String> = fs_err::read_dir(dir)
                .unwrap()
                .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
                .collect();
            files.sort();
            assert_eq!(files, [$(stringify!($name)),*]);
        }
    };
}

// Sorted; one file in `targets/` each.
targets! {
    archive,
    channel,
    conda,
    cubin,
    deb,
    elf_edit,
    elf_facts,
    fatbin,
    index_page,
    instructions,
    ld_cache,
    loader,
    offload,
    package,
    ptx,
    recipe,
    record,
    slice,
    solve,
    spirv,
    structures,
    symbols,
    wgsl,
    wheel,
}
