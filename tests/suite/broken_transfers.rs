//! Transfers that break off, and transfers that are interrupted: the next run goes on where they stopped, and
//! ends in the same bytes.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::transfers::{Manner, PART, scene};
use crate::support::{Ran, changed, digests};

#[test]
fn a_transfer_that_broke_off_goes_on_in_the_next_run() {
    let (tiny, server, build) = scene();
    Ran::of(&mut build(&tiny)).exit(0);
    let expected = tiny.dist();
    assert_eq!(server.asked(), [0]);
    for name in ["cache", "dist", "target"] {
        fs_err::remove_dir_all(tiny.path(name)).unwrap();
    }
    server.is_now(Manner::BreaksOff);
    for start in [0, PART] {
        let ran = Ran::of(&mut build(&tiny)).exit(4);
        assert!(ran.stderr.contains("the next run goes on from there"), "{}", ran.stderr);
        assert_eq!(server.asked(), [start]);
        assert!(!tiny.path("dist").exists());
    }
    server.is_now(Manner::Whole);
    Ran::of(&mut build(&tiny)).exit(0);
    assert_eq!(server.asked(), [2 * PART]);
    assert_eq!(changed(&expected, &tiny.dist()), [""; 0]);
}

#[test]
fn a_transfer_that_is_interrupted_is_told_and_goes_on_in_the_next_run() {
    let (tiny, server, build) = scene();
    server.is_now(Manner::GoesSilent);
    let child = build(&tiny).spawn().unwrap();
    let part = || {
        let downloads = std::fs::read_dir(tiny.path("cache/downloads")).into_iter().flatten().flatten();
        let parts = downloads.filter(|entry| entry.path().extension().is_some_and(|ending| ending == "part"));
        parts.filter_map(|entry| Some(entry.metadata().ok()?.len())).sum::<u64>()
    };
    let first = Instant::now();
    while part() < PART as u64 {
        assert!(first.elapsed() < Duration::from_secs(60), "nothing came");
        std::thread::sleep(Duration::from_millis(20));
    }
    let sent = Instant::now();
    Ran::of(Command::new("kill").args(["-INT", &child.id().to_string()])).exit(0);
    let ran = Ran::from(child.wait_with_output().unwrap()).exit(130);
    assert!(sent.elapsed() < Duration::from_secs(30), "{:?}", sent.elapsed());
    assert!(ran.stderr.contains("error: interrupted by SIGINT"), "{}", ran.stderr);
    assert!(ran.stderr.contains("what was fetched and built is kept"), "{}", ran.stderr);
    assert!(!tiny.path("dist").exists());
    assert_eq!(server.asked(), [0]);
    server.is_now(Manner::Whole);
    Ran::of(&mut build(&tiny)).exit(0);
    assert_eq!(server.asked(), [PART]);
    let resumed = tiny.dist();
    for name in ["cache", "dist", "target"] {
        fs_err::remove_dir_all(tiny.path(name)).unwrap();
    }
    Ran::of(&mut build(&tiny)).exit(0);
    assert_eq!(changed(&digests(&tiny.path("dist")), &resumed), [""; 0]);
}
