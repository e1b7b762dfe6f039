//! Recipes, their steps and their sources that mean harm: what SECURITY.md promises of each class, by its examples.

use crate::hermetic::Small;
use crate::support::{Ran, simpack};

/// A build with the cache `cache`, which others share.
fn build_with(small: &Small, cache: &std::path::Path, args: &[&str]) -> Ran {
    let mut command = simpack(small.dir.path(), &["build", "tiny", "--quiet"]);
    Ran::of(command.args(args).env("SIMPACK_CACHE_DIR", cache))
}

/// What `build.json` says of the steps' isolation.
fn means(small: &Small, dist: &str) -> String {
    let text = fs_err::read_to_string(small.dir.path().join(dist).join("build.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&text).unwrap();
    summary["sandbox"].as_str().unwrap().to_owned()
}

#[test]
fn what_was_built_without_isolation_is_told_and_serves_nobody_who_requires_it() {
    // It leaves a mark where only a step without a sandbox can.
    let small = Small::script("echo ran >> ../../../marks 2>/dev/null || true");
    let cache = small.view();
    let ran = build_with(&small, &cache, &["--sandbox", "off"]).exit(0);
    assert!(ran.stderr.starts_with("warning: steps are not isolated"), "{}", ran.stderr);
    assert_eq!(means(&small, "dist"), "none");
    // Again: nothing is done, and it is said.
    let ran = build_with(&small, &cache, &["--sandbox", "off"]).exit(0);
    assert!(ran.stderr.starts_with("warning: ") && ran.stderr.contains("not isolated"), "{}", ran.stderr);
    // From the cache.
    let ran = build_with(&small, &cache, &["--dist", "auto"]).exit(0);
    assert!(ran.stderr.starts_with("warning: ") && ran.stderr.contains("isolated"), "{}", ran.stderr);
    assert_eq!(means(&small, "auto"), "none");
    if !crate::hermetic::isolated() {
        return;
    }
    let steps = |ran: &Ran| ran.json()["steps"][0]["cached"].clone();
    let ran = build_with(&small, &cache, &["--dist", "required", "--sandbox", "require", "--json"]).exit(0);
    assert_eq!((ran.stderr.as_str(), steps(&ran)), ("", false.into()));
    let by = means(&small, "required");
    assert!(by != "none" && by != "unknown", "{by}");
    // Now the cache has it, for everybody.
    let ran = build_with(&small, &cache, &["--dist", "again", "--json"]).exit(0);
    assert_eq!((ran.stderr.as_str(), steps(&ran)), ("", true.into()));
    assert_eq!(means(&small, "again"), by);
    let digests = |dist: &str| crate::support::digests(&small.dir.path().join(dist).join("conda"));
    assert_eq!(digests("dist"), digests("required"));
}

#[test]
fn links_of_a_source_stay_in_it_unless_the_user_says_otherwise() {
    let small = Small::script("");
    let private = small.dir.path().join("private");
    fs_err::create_dir_all(private.join("keys")).unwrap();
    fs_err::write(private.join("keys/id"), "secret").unwrap();
    let private = fs_err::canonicalize(&private).unwrap();
    let link = |text: &str, at: &str| {
        let at = small.path(at);
        let _ = fs_err::remove_file(&at);
        fs_err::os::unix::fs::symlink(text, at).unwrap();
    };
    for (text, at) in [
        (private.to_str().unwrap(), "src/home"),
        ("../../private/keys/id", "src/id"),
        ("src/../../private", "dots"),
        ("/etc/passwd", "src/passwd"),
    ] {
        link(text, at);
        for verb in [&["plan", "tiny"][..], &["build", "tiny", "--sandbox", "off"]] {
            let ran = Ran::of(simpack(small.dir.path(), verb).env("SIMPACK_CACHE_DIR", small.view()));
            assert_ne!(ran.code, Some(0), "{at}: {verb:?}");
            assert!(ran.stderr.contains(&format!("the link {at} of the source leads out of it")), "{}", ran.stderr);
        }
        fs_err::remove_file(small.path(at)).unwrap();
    }
    // Inside, to nowhere, and in a circle: as ever.
    for (text, at) in [("../LICENSE", "src/inside"), ("absent", "src/nowhere"), ("..", "src/up")] {
        link(text, at);
    }
    link("../../private/keys", "src/keys");
    let plan = |allowed: &str| {
        let mut command = simpack(small.dir.path(), &["plan", "tiny"]);
        Ran::of(command.env("SIMPACK_CACHE_DIR", small.view()).env("SIMPACK_SOURCE_LINKS", allowed))
    };
    plan(&format!("/nowhere:{}", private.display())).exit(0);
    assert_ne!(plan("/nowhere").code, Some(0));
    // The recipe has no say.
    let recipe = fs_err::read_to_string(small.path("simpack.toml")).unwrap();
    small.write("simpack.toml", &format!("source-links = \"/\"\n{recipe}"));
    assert_ne!(plan("").code, Some(0));
}

#[test]
fn pipes_sockets_and_devices_are_refused_and_not_waited_for() {
    let pipe = "command -v mkfifo >/dev/null && mkfifo";
    for (what, script) in [
        ("pipe", format!("mkdir -p $PREFIX/share; {pipe} $PREFIX/share/pipe")),
        (
            "socket",
            "mkdir -p $PREFIX/share; cd $PREFIX/share; \
             python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"socket\")'; cd -"
                .to_owned(),
        ),
    ] {
        let ran = Small::script(&script).build(&["--sandbox", "off"]);
        assert_ne!(ran.code, Some(0), "{what}");
        let why = format!("share/{what}: is neither file nor link nor directory");
        assert!(ran.stderr.contains(&why), "{what}: {}", ran.stderr);
    }
    // In the source, as a recipe, as a package, in a directory of packages, behind a link.
    let small = Small::script("");
    let mkfifo =
        |at: &str| assert!(std::process::Command::new("mkfifo").arg(small.path(at)).status().unwrap().success());
    mkfifo("src/pipe");
    let ran = small.build(&["--sandbox", "off"]);
    assert!(ran.code != Some(0) && ran.stderr.contains("neither file nor link"), "{}", ran.stderr);
    fs_err::remove_file(small.path("src/pipe")).unwrap();
    fs_err::create_dir_all(small.path("dir/lib")).unwrap();
    for at in ["dir/lib/libpipe.so", "a.conda", "b.whl", "c.tar.zst", "pipe.toml", "libpipe.so"] {
        mkfifo(at);
    }
    for args in [
        &["verify", "dir"][..],
        &["verify", "a.conda"],
        &["verify", "c.tar.zst"],
        &["inspect", "dir"],
        &["inspect", "libpipe.so"],
        &["inspect", "b.whl"],
        &["slice", "b.whl", "--capability", "9.0", "--output", "out"],
        &["slice", "a.conda", "--capability", "9.0", "--output", "out"],
        &["patch", "libpipe.so", "--print"],
        &["check", "pipe.toml"],
        &["doctor", "--replay", "pipe.toml"],
        &["rebuild", "a.conda"],
        &["abi", "diff", "libpipe.so", "libpipe.so"],
    ] {
        let mut command = std::process::Command::new("timeout");
        let program = simpack(&small.path(""), &[]).get_program().to_owned();
        let ran = Ran::of(command.arg("20").arg(program).args(args).current_dir(small.path("")));
        assert!(!matches!(ran.code, None | Some(0 | 70 | 101 | 124)), "{args:?}: {:?} {}", ran.code, ran.stderr);
    }
    // Named by an address.
    let recipe = fs_err::read_to_string(small.path("simpack.toml")).unwrap();
    for place in [small.path("a.conda"), "/dev/zero".into(), "/dev/null".into()] {
        let source = format!("[source]\nurl = \"file://{}\"\nsha256 = \"{}\"\n", place.display(), "0".repeat(64));
        small.write("simpack.toml", &recipe.replace("[matrix]", &format!("{source}[matrix]")));
        let ran = small.build(&[]);
        assert!(
            ran.code != Some(0) && ran.stderr.contains("is no regular file"),
            "{}: {}",
            place.display(),
            ran.stderr
        );
    }
}
