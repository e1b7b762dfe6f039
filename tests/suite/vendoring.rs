//! `simpack vendor`: what the lock names, brought once, builds where there is no network.

use simpack::fs::Digest;

use crate::support::transfers::scene;
use crate::support::{Ran, changed};

#[test]
fn what_was_vendored_builds_without_a_network() {
    let (tiny, server, build) = scene();
    Ran::of(&mut build(&tiny)).exit(0);
    let online = tiny.dist();
    server.asked();

    let vendor = |args: &[&str]| {
        let all: Vec<&str> = ["vendor", "recipe", "--output", "vendored"].iter().chain(args).copied().collect();
        let mut command = tiny.simpack(&all);
        Ran::of(command.env("no_proxy", "127.0.0.1"))
    };
    let ran = vendor(&["--locked"]).exit(0);
    assert!(ran.stdout.contains("SIMPACK_VENDOR_DIR=vendored simpack build --offline --locked"), "{}", ran.stdout);
    assert_eq!(server.asked().len(), 1);
    let list = vendor(&["--json"]).exit(0).json();
    assert_eq!(server.asked(), [0; 0], "what is there is not fetched again");
    let archive = Digest::of_file(&tiny.path("tiny-1.0.tar.gz")).unwrap().to_string();
    let files = list["files"].as_array().unwrap();
    assert!(files.iter().any(|file| file["sha256"] == archive.as_str()), "{list}");

    // Another machine.
    fs_err::remove_dir_all(tiny.path("cache")).unwrap();
    fs_err::remove_dir_all(tiny.path("dist")).unwrap();
    let offline = |vendored: Option<&str>| {
        let mut command = tiny.build(&["--offline", "--locked", "--work", "there"]);
        if let Some(vendored) = vendored {
            command.env("SIMPACK_VENDOR_DIR", tiny.path(vendored));
        }
        Ran::of(&mut command)
    };
    assert!(offline(None).exit(4).stderr.contains("would need the network"));
    offline(Some("vendored")).exit(0);
    assert_eq!(changed(&tiny.dist(), &online), [""; 0]);
    assert_eq!(server.asked(), [0; 0]);

    // Somebody else's directory is left alone.
    let refused = Ran::of(&mut tiny.simpack(&["vendor", "recipe", "--output", "recipe"])).exit(2);
    assert!(refused.stderr.contains("holds something that simpack did not put there"), "{}", refused.stderr);
}
