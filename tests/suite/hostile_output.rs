//! Names that are orders to a terminal, to a continuous integration or to a package manager.

use std::path::Path;

use crate::doctor_machine::{doctor, put, stand_in};
use crate::support::{Prefix, Ran, scratch, simpack, skip};

#[test]
fn names_give_no_orders_to_terminals_and_workflows() {
    let dir = scratch();
    for name in ["\x1b[2Jgone.so", "a\n::error::pwned", "b\r::add-mask::x", "c ##[error]d", "e\u{202e}f"] {
        let at = dir.path().join("tree").join(name);
        fs_err::create_dir_all(at.parent().unwrap()).unwrap();
        fs_err::write(at, b"\x7fELF damaged").unwrap();
    }
    let orders = |text: &str| {
        let raw = |c: char| c.is_control() && !matches!(c, '\n' | '\t') || c == '\u{202e}';
        text.contains(raw) || text.contains("##[") || text.lines().any(|line| line.trim_start().starts_with("::"))
    };
    for args in [
        &["inspect", "tree"][..],
        &["verify", "tree"],
        &["patch", "tree", "--print"],
        &["slice", "tree", "--capability", "9.0", "--output", "out"],
        &["resolve", "tree/\x1b[2Jgone.so"],
        &["abi", "dump", "tree/a\n::error::pwned"],
        &["check", "a\n::error::pwned"],
        &["verify", "a\n::error::pwned"],
        &["\x1b[2J"],
    ] {
        let ran = Ran::of(&mut simpack(dir.path(), args));
        assert!(!orders(&ran.stdout) && !orders(&ran.stderr), "{args:?}: {:?} {:?}", ran.stdout, ran.stderr);
        assert!(!matches!(ran.code, None | Some(70 | 101)), "{args:?}: {:?}", ran.code);
    }
    // JSON has the very names, by characters that no log obeys.
    for verb in ["inspect", "verify"] {
        let ran = Ran::of(&mut simpack(dir.path(), &[verb, "tree", "--json"]));
        assert!(!orders(&ran.stdout), "{verb}: {}", ran.stdout);
        let whole = ran.json().to_string();
        for name in ["\\u001b[2Jgone.so", "a\\n::error::pwned", "c ##[error]d", "e\u{202e}f"] {
            assert!(whole.contains(name), "{verb}: {name}: {whole}");
        }
    }
}

#[test]
fn the_current_directory_changes_no_rule() {
    let dir = scratch();
    put(dir.path(), "tree/lib/liba.so", b"\x7fELF damaged");
    let verify = |data: Option<&str>| {
        let mut command = simpack(dir.path(), &["verify", "tree", "--json"]);
        if let Some(data) = data {
            command.env("SIMPACK_DATA_DIR", data);
        }
        Ran::of(&mut command)
    };
    let before = verify(None);
    for (name, text) in [
        ("manifests/capabilities.toml", "edition = 0"),
        ("manifests/environment.toml", "edition = 0"),
        ("manifests/toolchains.toml", "edition = 0"),
        ("manifests/lints/soname-policy.toml", "level = \"allow\""),
        ("templates/generate/host.sh.j2", "rm -rf /"),
    ] {
        put(dir.path(), name, text.as_bytes());
        let ran = verify(None);
        assert_eq!((ran.code, &ran.stdout, &ran.stderr), (before.code, &before.stdout, &before.stderr), "{name}");
    }
    // By the user's word they count, and every run says so.
    let ran = verify(Some("."));
    assert!(ran.code != before.code && ran.stderr.contains("manifests and templates are those of ."), "{}", ran.stderr);
    // A report names what made its rules, in whatever form.
    let own = fs_err::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("manifests/environment.toml")).unwrap();
    put(dir.path(), "mine/manifests/environment.toml", &own);
    let named = |args: &[&str]| -> serde_json::Value {
        let ran = Ran::of(&mut simpack(dir.path(), args));
        assert!(ran.stderr.contains("manifests and templates are those of mine ("), "{}", ran.stderr);
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stdout))
    };
    let sarif = named(&["verify", "tree", "--format", "sarif", "--data", "mine"]);
    let reports = [
        named(&["verify", "tree", "--json", "--data", "mine"]),
        named(&["--data", "mine", "inspect", "tree", "--json"]),
        sarif["runs"][0]["properties"].clone(),
    ];
    for report in &reports {
        assert_eq!(report["data"]["directory"], "mine", "{report}");
        assert_eq!(report["data"]["sha256"].as_str().unwrap().len(), 64);
        assert_eq!(report["data"], reports[0]["data"]);
    }
    let setting = named(&["config", "data-dir", "--json", "--data", "mine"]);
    assert_eq!((&setting["value"], &setting["origin"]), (&"mine".into(), &"command line".into()));
    let ran = verify(Some("nowhere")).exit(2);
    assert!(ran.stderr.contains("holds neither manifests/ nor templates/"), "{}", ran.stderr);
}

#[test]
fn a_repair_runs_no_name_that_a_package_made_up() {
    use std::os::unix::fs::PermissionsExt;
    let Some(driver) = stand_in() else { return skip("no C++ compiler") };
    for name in ["volley-core -c https://evil.example", "--override-channels", "volley-core\n--yes"] {
        let prefix = Prefix::of(&["volley-core"]);
        put(prefix.path(), "conda-meta/history", b"");
        let manifest = prefix.path().join("share/simpack/volley-core/simpack.json");
        let mut value: serde_json::Value = serde_json::from_slice(&fs_err::read(&manifest).unwrap()).unwrap();
        value["package"] = name.into();
        fs_err::remove_file(&manifest).unwrap();
        fs_err::write(&manifest, serde_json::to_vec(&value).unwrap()).unwrap();
        fs_err::remove_file(prefix.path().join("bin/volley")).unwrap();
        let programs = driver.path().join("bin");
        put(&programs, "conda", b"#!/bin/sh\necho \"$@\" >> \"${0%/*}/said\"\n");
        fs_err::set_permissions(programs.join("conda"), std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut command = doctor(&[prefix.path().to_str().unwrap(), "--fix", "--yes"]);
        command.env("PATH", &programs).env("LD_LIBRARY_PATH", driver.path()).env_remove("CUDA_VISIBLE_DEVICES");
        let ran = Ran::of(&mut command);
        assert!(!programs.join("said").exists(), "{name}: {}", ran.stdout);
    }
}
