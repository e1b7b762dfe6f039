//! Runs that are killed, starved, hung or interrupted: they say so, `dist/` is the old or the new, and the
//! next run ends in the same bytes.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use crate::support::{Mount, Ran, Tiny, changed, clock_can_be_set, digests, need, set_clock};

/// Numbers that look random and are the same each time (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 up to 1.
    fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn quiet(mut command: Command) -> Child {
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// What `dist` holds besides complete sets, and what the current directory does.
fn visible(tiny: &Tiny) -> Vec<String> {
    tiny.names(".").into_iter().filter(|name| !name.starts_with('.')).collect()
}

#[test]
fn killed_at_fifty_points_dist_is_the_old_or_the_new_and_the_next_run_ends_the_same() {
    let Some(tiny) = Tiny::with_kernels() else { return };
    let versions = [1, 2].map(|version| {
        tiny.version(version);
        tiny.reference()
    });
    assert_ne!(versions[0], versions[1]);
    tiny.version(1);
    // How long a run takes that compiles everything, and one that finds all of it in the cache.
    let mut whole = [1, 2, 1].map(|version| {
        tiny.version(version);
        let started = Instant::now();
        Ran::of(&mut tiny.build(&[])).exit(0);
        started.elapsed()
    });
    whole[1] = whole[2];
    assert_eq!(changed(&tiny.dist(), &versions[0]), [""; 0]);

    let mut numbers = Numbers(20_261_121);
    let (mut current, mut killed) = (0, 0);
    for point in 0..50 {
        let wanted = 1 - current;
        tiny.version(wanted as u32 + 1);
        // Without the cache this run and the next one, of the other version, compile; the others find all of it.
        let found = usize::from(point % 10 > 1);
        if point % 10 == 0 {
            let _ = std::fs::remove_dir_all(tiny.path("cache"));
        }
        let mut child = quiet(tiny.build(&[]));
        std::thread::sleep(whole[found].mul_f64(numbers.share() * 1.1));
        child.kill().unwrap();
        let ended = child.wait().unwrap();
        let after = tiny.dist();
        match ended.signal() {
            Some(_) => {
                killed += 1;
                let old = changed(&after, &versions[current]).is_empty();
                let new = changed(&after, &versions[wanted]).is_empty();
                assert!(old || new, "point {point}: dist/ is neither the old set nor the new one: {after:?}");
            }
            None => assert_eq!(changed(&after, &versions[wanted]), [""; 0], "point {point}: {ended}"),
        }
        let shown = visible(&tiny);
        assert!(
            shown.iter().all(|name| ["bin", "cache", "dist", "other", "recipe", "target"].contains(&name.as_str()))
        );
        let started = Instant::now();
        Ran::of(&mut tiny.build(&[])).exit(0);
        if found == 0 {
            // The machine may be slower now than at the beginning.
            whole[0] = whole[0].max(started.elapsed());
        }
        assert_eq!(changed(&tiny.dist(), &versions[wanted]), [""; 0], "point {point}");
        assert_eq!(visible(&tiny), tiny.names("."), "point {point}: something is left beside dist/");
        let steps = tiny.names("target/simpack");
        assert!(steps.iter().all(|name| !name.starts_with("step-")), "point {point}: {steps:?}");
        current = wanted;
    }
    assert!(killed >= 25, "only {killed} of 50 runs were killed before they ended");
    let stat = Ran::of(&mut tiny.simpack(&["cache", "verify", "--json"])).exit(0).json();
    assert_eq!(stat["damaged"].as_array().unwrap().len(), 0, "{stat}");
}

#[test]
fn a_full_disk_is_told_and_changes_nothing() {
    let tiny = Tiny::new();
    tiny.version(2);
    let new = tiny.reference();
    tiny.version(1);
    let disk = tiny.path("disk");
    let Some(_mount) = Mount::new(&disk, None, "size=20m") else { return };
    let run = |tiny: &Tiny, cache: &Path| {
        let mut command = tiny.build(&["--dist", "disk/dist", "--work", "disk/work"]);
        Ran::of(command.env("SIMPACK_CACHE_DIR", cache))
    };
    for (round, cache) in [tiny.path("cache"), disk.join("cache")].iter().enumerate() {
        tiny.version(1);
        run(&tiny, cache).exit(0);
        let old = digests(&disk.join("dist"));
        tiny.version(2);
        let mut failed = 0;
        for left in [0_u64, 8, 24, 40, 64, 96] {
            let filler = disk.join("filler");
            fill(&disk, &filler, left * 1024);
            let ran = run(&tiny, cache);
            fs_err::remove_file(&filler).unwrap();
            if ran.code == Some(0) {
                break;
            }
            failed += 1;
            assert!([Some(5), Some(6)].contains(&ran.code), "{left} kB: {ran:?}");
            assert!(ran.stderr.contains("No space left on device"), "{left} kB: {}", ran.stderr);
            assert!(ran.stderr.contains("hint: free some space"), "{left} kB: {}", ran.stderr);
            assert_eq!(changed(&old, &digests(&disk.join("dist"))), [""; 0], "{left} kB");
        }
        assert!(failed > 1, "round {round}: the disk was never full");
        run(&tiny, cache).exit(0);
        assert_eq!(changed(&new, &digests(&disk.join("dist"))), [""; 0]);
        for name in ["dist", "work"] {
            fs_err::remove_dir_all(disk.join(name)).unwrap();
        }
    }
}

/// Fills a file system up to so many free bytes.
fn fill(disk: &Path, filler: &Path, left: u64) {
    let ran = Ran::of(Command::new("df").args(["--output=avail", "-B1"]).arg(disk)).exit(0);
    let free: u64 = ran.stdout.lines().last().unwrap().trim().parse().unwrap();
    let file = fs_err::File::create(filler).unwrap();
    std::io::Write::write_all(&mut &file, &vec![0; free.saturating_sub(left) as usize]).unwrap();
}

#[test]
fn an_output_that_cannot_be_written_is_told_before_anything_is_compiled() {
    let tiny = Tiny::new();
    let Some(_mount) = Mount::new(&tiny.path("fixed"), None, "size=1m,ro") else { return };
    for option in ["--dist", "--work"] {
        let ran = Ran::of(&mut tiny.build(&[option, "fixed/place"])).exit(6);
        assert!(ran.stderr.contains("Read-only file system"), "{}", ran.stderr);
        assert!(ran.stderr.contains(&format!("hint: choose another place with {option}")), "{}", ran.stderr);
        assert!(!ran.stderr.contains("build "), "something was compiled: {}", ran.stderr);
    }
    assert!(!tiny.path("dist").exists());
}

/// One failing build after a good one; then a good one again.
fn fails_once(tiny: &Tiny, first: &str, args: &[&str], code: i32) -> Ran {
    tiny.compiler("");
    tiny.version(1);
    Ran::of(&mut tiny.build(&[])).exit(0);
    let old = tiny.dist();
    tiny.version(2);
    let new = tiny.reference();
    fs_err::remove_dir_all(tiny.path("cache")).unwrap();
    tiny.compiler(first);
    let ran = Ran::of(&mut tiny.build(args)).exit(code);
    assert_eq!(changed(&old, &tiny.dist()), [""; 0], "a failed build changed dist/");
    tiny.compiler("");
    Ran::of(&mut tiny.build(&[])).exit(0);
    assert_eq!(changed(&new, &tiny.dist()), [""; 0]);
    ran
}

#[test]
fn a_compiler_that_crashes_is_blamed_itself() {
    let tiny = Tiny::new();
    let ran = fails_once(&tiny, "echo working on it >&2; ulimit -c 0; kill -SEGV $$", &[], 5);
    assert!(ran.stderr.contains("error: sh failed on host core, exit 139"), "{}", ran.stderr);
    assert!(ran.stderr.contains("working on it"), "{}", ran.stderr);
    assert!(ran.stderr.contains("the compiler crashed (SIGSEGV)"), "{}", ran.stderr);
    assert!(ran.stderr.contains("command and output: target/simpack/logs/"), "{}", ran.stderr);
}

#[test]
fn a_compiler_that_memory_was_not_enough_for_runs_once_more_and_then_that_is_told() {
    let tiny = Tiny::new();
    let said = "echo 'g++: fatal error: Killed signal terminated program cc1plus' >&2; exit 1";
    for (first, why) in [("kill -KILL $$", "exit 137"), (said, "Killed signal terminated program cc1plus")] {
        let count = tiny.path("count");
        let first = format!("echo >> '{}'; {first}", count.display());
        let ran = fails_once(&tiny, &first, &[], 5);
        assert!(ran.stderr.contains("once more, alone and with fewer jobs"), "{}", ran.stderr);
        assert!(ran.stderr.contains("it was killed because memory was not enough"), "{}", ran.stderr);
        assert!(ran.stderr.contains(why), "{}", ran.stderr);
        assert!(ran.stderr.contains("this was the second try"), "{}", ran.stderr);
        assert_eq!(fs_err::read_to_string(&count).unwrap(), "\n\n", "it was not tried twice");
        fs_err::remove_file(&count).unwrap();
    }
    // When the second try has what it needs, the build goes on.
    tiny.version(3);
    let new = tiny.reference();
    let mark = tiny.path("mark").display().to_string();
    tiny.compiler(&format!("echo \"$JOBS\" >> '{mark}'; if [ $(wc -l < '{mark}') = 1 ]; then kill -KILL $$; fi"));
    let ran = Ran::of(&mut tiny.build(&["--jobs", "4"])).exit(0);
    assert!(ran.stderr.contains("once more"), "{}", ran.stderr);
    // Beside the kernel, a script has a half of the four; the second time it runs alone.
    assert_eq!(fs_err::read_to_string(&mark).unwrap(), "2\n1\n");
    assert_eq!(changed(&new, &tiny.dist()), [""; 0]);
}

/// A compiler that hangs with a process in the background; both would make `alive` later.
fn hangs(tiny: &Tiny) -> (String, PathBuf, PathBuf) {
    let (begun, alive) = (tiny.path("begun"), tiny.path("alive"));
    let first = format!(
        "(sleep 4; touch '{alive}') & touch '{begun}'; sleep 4; touch '{alive}'; sleep 600",
        alive = alive.display(),
        begun = begun.display()
    );
    (first, begun, alive)
}

#[test]
fn a_compiler_that_hangs_is_stopped_with_all_that_it_started() {
    let tiny = Tiny::new();
    let (first, _, alive) = hangs(&tiny);
    let ran = fails_once(&tiny, &first, &["--step-timeout", "1s"], 5);
    assert!(ran.stderr.contains("sh did not end on host core within 1 s and was stopped"), "{}", ran.stderr);
    assert!(ran.stderr.contains("--step-timeout"), "{}", ran.stderr);
    std::thread::sleep(Duration::from_secs(4));
    assert!(!alive.exists(), "something of the compiler lives on");
    let ran = Ran::of(&mut tiny.build(&["--step-timeout", "soon"])).exit(2);
    assert!(ran.stderr.contains("`soon` is not a time"), "{}", ran.stderr);
}

/// A program that was started with a signal switched off leaves it off (`nohup`, a job in the background): so may be
/// the tests themselves.
fn heeding_signals(command: &mut Command) {
    // SAFETY: between fork and exec only `signal` is called, which is allowed there.
    unsafe {
        command.pre_exec(|| {
            for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
                libc::signal(signal, libc::SIG_DFL);
            }
            Ok(())
        });
    }
}

#[test]
fn an_interrupted_build_stops_its_programs_and_goes_on_later() {
    let tiny = Tiny::new();
    Ran::of(&mut tiny.build(&[])).exit(0);
    let old = tiny.dist();
    tiny.version(2);
    let new = tiny.reference();
    for signal in ["INT", "TERM", "HUP"] {
        let (first, begun, alive) = hangs(&tiny);
        tiny.compiler(&first);
        let mut build = tiny.build(&[]);
        heeding_signals(&mut build);
        let mut child = build.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait_for(&mut child, &begun);
        let id = child.id().to_string();
        Ran::of(Command::new("kill").args([&format!("-{signal}"), &id])).exit(0);
        let sent = Instant::now();
        let ran = Ran::from(child.wait_with_output().unwrap()).exit(130);
        assert!(sent.elapsed() < Duration::from_secs(60));
        assert!(ran.stderr.contains(&format!("error: interrupted by SIG{signal}")), "{}", ran.stderr);
        assert!(ran.stderr.contains("the next run goes on from there"), "{}", ran.stderr);
        assert_eq!(changed(&old, &tiny.dist()), [""; 0]);
        let left = tiny.names("target/simpack");
        assert!(left.iter().all(|name| !name.starts_with("step-")), "{left:?}");
        std::thread::sleep(Duration::from_millis(4500).saturating_sub(sent.elapsed()));
        assert!(!alive.exists(), "SIG{signal}: something of the compiler lives on");
        fs_err::remove_file(&begun).unwrap();
    }
    tiny.compiler("");
    Ran::of(&mut tiny.build(&[])).exit(0);
    assert_eq!(changed(&new, &tiny.dist()), [""; 0]);
}

#[test]
fn interrupted_at_any_point_a_build_says_so_and_changes_nothing() {
    let tiny = Tiny::new();
    let versions = [1, 2].map(|version| {
        tiny.version(version);
        tiny.reference()
    });
    tiny.version(1);
    let started = Instant::now();
    Ran::of(&mut tiny.build(&[])).exit(0);
    let whole = started.elapsed();
    let (mut current, mut told) = (0, 0);
    let mut numbers = Numbers(7);
    for point in 0..12 {
        let wanted = 1 - current;
        tiny.version(wanted as u32 + 1);
        if point % 2 == 0 {
            let _ = std::fs::remove_dir_all(tiny.path("cache"));
        }
        let child = tiny.build(&[]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(whole.mul_f64((f64::from(point) + numbers.share()) / 11.0));
        let _ = Command::new("kill").args(["-INT", &child.id().to_string()]).output();
        let output = child.wait_with_output().unwrap();
        let after = tiny.dist();
        match (output.status.signal(), output.status.code()) {
            // It had just been started, and had nothing to say.
            (Some(_), _) => assert!(output.stderr.is_empty(), "point {point}: {output:?}"),
            (None, Some(130)) => {
                told += 1;
                let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
                assert!(stderr.contains("error: interrupted by SIGINT"), "point {point}: {stderr}");
                assert!(stderr.contains("kept"), "point {point}: {stderr}");
                assert_eq!(changed(&after, &versions[current]), [""; 0], "point {point}: {stderr}");
            }
            (None, code) => {
                assert_eq!(code, Some(0), "point {point}: {output:?}");
                assert_eq!(changed(&after, &versions[wanted]), [""; 0], "point {point}");
            }
        }
        assert_eq!(visible(&tiny), tiny.names("."), "point {point}: something is left beside dist/");
        Ran::of(&mut tiny.build(&[])).exit(0);
        assert_eq!(changed(&tiny.dist(), &versions[wanted]), [""; 0], "point {point}");
        current = wanted;
    }
    assert!(told >= 4, "only {told} of 12 runs were interrupted before they ended");
}

/// Before it can answer itself, the system ends it; from then on it says what was interrupted. Nothing in between.
#[test]
fn interrupted_in_the_first_milliseconds_a_build_ends_at_once() {
    let tiny = Tiny::new();
    Ran::of(&mut tiny.build(&[])).exit(0);
    let before = tiny.dist();
    tiny.version(2);
    tiny.compiler("sleep 5");
    for signal in [libc::SIGINT, libc::SIGTERM] {
        for millis in [0, 1, 2, 3, 5, 8, 13, 21, 34] {
            let mut command = tiny.build(&[]);
            heeding_signals(&mut command);
            let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(millis));
            let sent = Instant::now();
            let _ = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).output();
            let output = child.wait_with_output().unwrap();
            assert!(sent.elapsed() < Duration::from_secs(4), "{millis} ms: {:?}", sent.elapsed());
            match output.status.signal() {
                Some(found) => assert!(found == signal && output.stdout.is_empty(), "{millis} ms: {output:?}"),
                None => {
                    assert_eq!(output.status.code(), Some(130), "{millis} ms: {output:?}");
                    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
                    assert!(stderr.contains("error: interrupted by SIG"), "{millis} ms: {stderr}");
                }
            }
            assert_eq!(changed(&before, &tiny.dist()), [""; 0], "{millis} ms");
        }
    }
}

fn wait_for(child: &mut Child, begun: &Path) {
    let first = Instant::now();
    while !begun.exists() {
        assert!(child.try_wait().unwrap().is_none(), "the build ended before its compiler was called");
        assert!(first.elapsed() < Duration::from_secs(120));
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_build_that_is_killed_takes_its_programs_along() {
    let tiny = Tiny::new();
    let (first, begun, _) = hangs(&tiny);
    // The compiler itself; what it put into the background belongs to nobody that could end it.
    tiny.compiler(&first.replace("(sleep", "false && (sleep"));
    let mut child = quiet(tiny.build(&[]));
    wait_for(&mut child, &begun);
    child.kill().unwrap();
    child.wait().unwrap();
    tiny.compiler("");
    Ran::of(&mut tiny.build(&[])).exit(0);
    assert_eq!(changed(&tiny.reference(), &tiny.dist()), [""; 0]);
}

/// Sets the time stamps of everything below `dir`.
fn date(dir: &Path, time: SystemTime) {
    for entry in walkdir::WalkDir::new(dir) {
        let entry = entry.unwrap();
        if !entry.file_type().is_symlink() {
            let file = fs_err::File::open(entry.path()).unwrap();
            file.file().set_modified(time).unwrap();
        }
    }
}

#[test]
fn no_clock_decides_what_is_built() {
    let tiny = Tiny::new();
    let first = tiny.reference();
    Ran::of(&mut tiny.build(&[])).exit(0);
    let year = Duration::from_secs(365 * 86_400);
    // Files from the future are what a clock that was set back leaves.
    for time in [SystemTime::now() + 70 * year, SystemTime::UNIX_EPOCH + year] {
        for dir in ["recipe", "cache", "target", "dist"] {
            date(&tiny.path(dir), time);
        }
        let ran = Ran::of(&mut tiny.build(&[])).exit(0);
        assert!(ran.stdout.contains("(0 compiled, 1 from cache)"), "{}", ran.stdout);
        assert_eq!(changed(&first, &tiny.dist()), [""; 0]);
        // Sources that change are seen, whatever their time stamps say.
        tiny.version(2);
        date(&tiny.path("recipe"), time);
        Ran::of(&mut tiny.build(&[])).exit(0);
        assert_ne!(first, tiny.dist());
        tiny.version(1);
        date(&tiny.path("recipe"), time);
        Ran::of(&mut tiny.build(&[])).exit(0);
        assert_eq!(changed(&first, &tiny.dist()), [""; 0]);
    }
    // Nor does the clock itself.
    need!(clock_can_be_set(), "libfaketime is not here");
    let mut command = tiny.build(&["--dist", "then/dist", "--work", "then/work"]);
    set_clock(&mut command, "2001-01-01 00:00:00");
    Ran::of(command.env("SIMPACK_CACHE_DIR", tiny.path("then/cache"))).exit(0);
    assert_eq!(changed(&first, &digests(&tiny.path("then/dist"))), [""; 0]);
}

#[test]
fn what_runs_alone_because_it_is_large_is_told() {
    // The expectation for an unknown step, made larger than any machine by a manifest beside the recipe.
    let tiny = Tiny::new();
    let manifest = fs_err::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("manifests/memory.toml")).unwrap();
    let larger = manifest.replace("base = 170_000_000", "base = 170_000_000_000_000");
    assert_ne!(larger, manifest);
    tiny.write("manifests/memory.toml", &larger);
    need!(Path::new("/proc/meminfo").exists(), "no /proc here");
    let build = || Ran::of(tiny.build(&["--jobs", "4"]).env("SIMPACK_DATA_DIR", tiny.path("."))).exit(0);
    let ran = build();
    assert!(ran.stderr.contains("host core is expected to need more than is free: it runs alone"), "{}", ran.stderr);
    // From its first run on its size is known.
    tiny.version(2);
    let ran = build();
    assert!(!ran.stderr.contains("runs alone"), "{}", ran.stderr);
}
