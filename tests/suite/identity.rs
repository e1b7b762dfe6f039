//! Bundles of sigstore: the real client verifies what was really signed; where it would sign, a stand-in stands for it,
//! because signing wants a network and an identity.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::origin::recipe;
use crate::support::{Ran, python, scratch, simpack};

const WORKFLOW: &str = "https://github.com/prefix-dev/sigstore-example/.github/workflows/action.yaml@refs/heads/main";
const GITHUB: &str = "https://token.actions.githubusercontent.com";
const PACKAGE: &str = "signed-package-2.1.0-hb0f4dca_0.conda";

/// With `bin` before everything else on PATH.
fn with(bin: &Path, dir: &Path, args: &[&str]) -> Ran {
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    Ran::of(simpack(dir, args).env("PATH", path))
}

#[test]
fn a_package_that_a_workflow_signed_is_verified_by_the_real_client() {
    let Some(python) = python() else { return };
    let bin = Path::new(python.get_program()).parent().unwrap();
    let dir = scratch();
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/sigstore");
    for name in [PACKAGE.to_owned(), format!("{PACKAGE}.sigstore.json")] {
        fs_err::copy(cases.join(&name), dir.path().join(&name)).unwrap();
    }
    let verify = |who: &str| with(bin, dir.path(), &["verify", "--identity", who, "--issuer", GITHUB, PACKAGE]);
    assert!(verify(WORKFLOW).exit(0).stdout.contains("1 of 1 files are signed as asked"));
    let other = verify("https://github.com/somebody/else").exit(1).stdout;
    assert!(other.contains("is not signed by https://github.com/somebody/else") && other.contains("SANs"), "{other}");
    let mut bytes = fs_err::read(dir.path().join(PACKAGE)).unwrap();
    bytes[1000] ^= 1;
    fs_err::write(dir.path().join(PACKAGE), bytes).unwrap();
    assert!(verify(WORKFLOW).exit(1).stdout.contains("is not signed by"));
    fs_err::remove_file(dir.path().join(format!("{PACKAGE}.sigstore.json"))).unwrap();
    assert!(verify(WORKFLOW).exit(1).stdout.contains("has no bundle of sigstore"));
    with(bin, dir.path(), &["verify", "--identity", WORKFLOW, PACKAGE]).exit(2);
}

#[test]
fn a_build_lets_the_client_sign_its_statement_once() {
    let dir = scratch();
    recipe(dir.path());
    let bin = dir.path().join("bin");
    fs_err::create_dir(&bin).unwrap();
    let client = |text: &str| {
        fs_err::write(bin.join("sigstore"), format!("#!/bin/sh\n{text}\n")).unwrap();
        fs_err::set_permissions(bin.join("sigstore"), std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    let build = |args: &[&str]| with(&bin, dir.path(), &[&["build"], args].concat());
    let bundle = dir.path().join("dist/provenance.json.sigstore.json");
    // Before anything is built.
    let none = Ran::of(simpack(dir.path(), &["build", "--sigstore"]).env("PATH", "/nonexistent"));
    assert!(none.stderr.contains("pip install sigstore") && !dir.path().join("dist").exists(), "{}", none.stderr);
    client("echo >&2 'no network'; exit 1");
    assert!(build(&["--sigstore", "--offline"]).exit(2).stderr.contains("cannot be combined with --offline"));
    // What is built stays, and the next time it is only signed.
    let failed = build(&["--sigstore"]);
    assert_ne!(failed.code, Some(0));
    assert!(failed.stderr.contains("no network") && failed.stderr.contains("was not signed"), "{}", failed.stderr);
    assert!(dir.path().join("dist/provenance.json").is_file());
    client("[ \"$1\" = sign ] && echo 'log in here' && echo signed >> \"$2.sigstore.json\"");
    let signed = build(&["--sigstore", "--json"]).exit(0);
    assert!(signed.stderr.contains("log in here"), "what the client says is no result: {}", signed.stderr);
    signed.json();
    assert_eq!(fs_err::read_to_string(&bundle).unwrap(), "signed\n");
    build(&["--sigstore"]).exit(0);
    assert_eq!(fs_err::read_to_string(&bundle).unwrap(), "signed\n", "the statement is the same");
    with(&bin, dir.path(), &["verify", "--provenance", "dist"]).exit(0);
    // Other packages, another statement.
    let text = fs_err::read_to_string(dir.path().join("simpack.toml")).unwrap();
    fs_err::write(dir.path().join("simpack.toml"), text.replace("a test", "another test")).unwrap();
    build(&["--sigstore"]).exit(0);
    assert_eq!(fs_err::read_to_string(&bundle).unwrap(), "signed\n", "the old bundle went with the old statement");
}
