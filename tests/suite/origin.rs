//! Where packages come from: bills of materials inside, a statement and signatures beside them, each read by a tool that
//! is not simpack's.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use simpack::fs::Digest;

use crate::support::{Ran, client, digests, files, need, package_file, scratch, simpack, tool, unpack, volley};

/// A recipe without device code, whose build takes no compiler.
pub fn recipe(dir: &Path) {
    let text = "edition = 1\n\n[simulator]\nname = \"own\"\nversion = \"1.0.0\"\nlicense = \"MIT\"\nsummary = \"a test\"\n\n\
                [matrix]\ncuda = [\"13.0\"]\n\n[component.core]\nfiles = [\"bin/*\"]\n\n\
                [component.core.build]\ndriver = \"script\"\ntargets = [\"build.sh\"]\ninputs = [\"build.sh\"]\n";
    fs_err::write(dir.join("simpack.toml"), text).unwrap();
    fs_err::write(dir.join("LICENSE"), "Do what you like.\n").unwrap();
    let script = "mkdir -p \"$PREFIX/bin\"\nprintf '#!/bin/sh\\necho own\\n' > \"$PREFIX/bin/own\"\nchmod +x \"$PREFIX/bin/own\"\n";
    fs_err::write(dir.join("build.sh"), script).unwrap();
}

#[test]
fn bills_of_materials_are_valid_and_say_what_packages_hold() {
    let Some(mut validator) = client("origin.py") else { return };
    let dir = scratch();
    let mut bills: BTreeMap<String, serde_json::Value> = BTreeMap::new();
    validator.arg("sbom");
    let names = [
        "volley",
        "volley-core",
        "volley-rtc",
        "volley-dev",
        "volley-source",
        "volley-kernels-sm_90",
        "volley-kernel-abi",
    ];
    for name in names {
        let prefix = dir.path().join(name);
        unpack(&package_file(&volley().channel(), name), "pkg", &prefix);
        let bill = prefix.join(format!("share/simpack/{name}/sbom.cdx.json"));
        bills.insert(name.to_owned(), serde_json::from_slice(&fs_err::read(&bill).unwrap()).unwrap());
        validator.arg(bill);
    }
    Ran::of(&mut validator).exit(0);
    let list = |value: &serde_json::Value| value.as_array().cloned().unwrap_or_default();
    let named = |bill: &serde_json::Value, pointer: &str, name: &str| {
        let found = list(bill.pointer(pointer).unwrap_or(&serde_json::Value::Null));
        found.into_iter().find(|part| part["name"] == name).unwrap_or_else(|| panic!("no {name} in {bill:#}"))
    };
    // Every file with the digest that it has where it is installed.
    let core = &bills["volley-core"];
    let library = dir.path().join("volley-core/lib/libvolley.so.1.0.0");
    let digest = &named(core, "/components", "lib/libvolley.so.1.0.0")["hashes"][0]["content"];
    assert_eq!(*digest, Digest::of_file(&library).unwrap().to_string());
    assert_eq!(core["metadata"]["component"]["licenses"][0]["expression"], "BSD-3-Clause");
    assert_eq!(core["metadata"]["timestamp"], "2020-01-01T00:00:00Z");
    // Compilers with their digests, what they link in, the vendor's inputs, and licences of all of them.
    let zig = named(core, "/formulation/0/components", "zig");
    assert!(zig["hashes"][0]["content"].is_string() && zig["licenses"][0]["expression"] == "MIT", "{zig}");
    assert_eq!(named(core, "/components", "libc++")["licenses"][0]["expression"], "Apache-2.0 WITH LLVM-exception");
    let nvrtc = named(&bills["volley-rtc"], "/components", "nvrtc");
    assert!(nvrtc["licenses"][0]["license"]["name"].as_str().unwrap().contains("NVIDIA"), "{nvrtc}");
    let kernels = &bills["volley-kernels-sm_90"];
    assert!(named(kernels, "/formulation/0/components", "nvcc")["version"].is_string());
    assert!(named(kernels, "/formulation/0/components", "kernels/neuron.cu")["hashes"][0]["content"].is_string());
    let serials: std::collections::BTreeSet<_> = bills.values().map(|bill| bill["serialNumber"].to_string()).collect();
    assert_eq!(serials.len(), names.len(), "each has a number of its own");
}

#[test]
fn the_statement_of_a_build_is_valid_and_holds() {
    let Some(mut reader) = client("origin.py") else { return };
    let dist = &volley().dist;
    let statement = dist.join("provenance.json");
    let stated = Ran::of(reader.arg("provenance").arg(&statement)).exit(0).json();
    // Of the whole bytes: the times in a channel's index count here.
    let others = files(dist).into_iter().filter(|name| name != "provenance.json");
    let found: BTreeMap<String, Digest> =
        others.map(|name| (name.clone(), Digest::of_file(&dist.join(&name)).unwrap())).collect();
    let stated: BTreeMap<String, Digest> = serde_json::from_value(stated).unwrap();
    assert_eq!(stated, found, "every file and nothing else");
    let checked =
        Ran::of(simpack(Path::new("."), &["verify", "--provenance", "--recipe"]).arg("volley").arg(dist)).exit(0);
    for word in [
        "holds  files",
        "holds  steps",
        "holds  tools",
        "holds  recipe",
        "holds  isolation",
        "holds  source",
        "open   bytes",
    ] {
        assert!(checked.stdout.contains(word), "{word}: {}", checked.stdout);
    }
    // What stands in it comes from the packages' own words, not from the statement alone.
    let dir = scratch();
    crate::support::copy_tree(dist, dir.path());
    let text = fs_err::read_to_string(&statement).unwrap();
    let other = text.replacen("\"version\": \"1.0.0\"", "\"version\": \"1.0.1\"", 1);
    fs_err::write(dir.path().join("provenance.json"), other).unwrap();
    let said = Ran::of(simpack(Path::new("."), &["verify", "--provenance"]).arg(dir.path())).exit(1).stdout;
    assert!(said.contains("wrong  recipe"), "{said}");
    let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let steps = value.pointer_mut("/predicate/buildDefinition/internalParameters/steps").unwrap();
    steps[0]["key"] = "0".repeat(64).into();
    fs_err::write(dir.path().join("provenance.json"), value.to_string()).unwrap();
    let said = Ran::of(simpack(Path::new("."), &["verify", "--provenance"]).arg(dir.path())).exit(1).stdout;
    assert!(said.contains("wrong  steps"), "{said}");
}

/// Every format that there is.
const ALL: &str = "conda,wheel,tar,oci,deb";

/// A key pair of minisign itself, without a password.
fn keys(dir: &Path, minisign: &Path) -> (PathBuf, PathBuf) {
    let (secret, public) = (dir.join("own.key"), dir.join("own.pub"));
    Ran::of(Command::new(minisign).args(["-G", "-W", "-s"]).arg(&secret).arg("-p").arg(&public)).exit(0);
    (secret, public)
}

#[test]
fn signatures_are_those_of_minisign_and_every_changed_byte_is_found() {
    let Some(minisign) = tool("minisign") else { return };
    let dir = scratch();
    recipe(dir.path());
    let (secret, public) = keys(dir.path(), &minisign);
    let run = |args: &[&str]| Ran::of(&mut simpack(dir.path(), args));
    run(&["build", "--format", ALL, "--sign", "own.key"]).exit(0);
    let dist = dir.path().join("dist");
    let all = files(&dist);
    let signed: Vec<&String> = all.iter().filter(|name| all.contains(&format!("{name}.minisig"))).collect();
    for end in [".conda", ".whl", ".tar.zst", ".deb", "provenance.json"] {
        assert!(signed.iter().any(|name| name.ends_with(end)), "{end}: {signed:?}");
    }
    for name in &signed {
        Ran::of(Command::new(&minisign).arg("-Vm").arg(dist.join(name)).arg("-p").arg(&public)).exit(0);
    }
    let check = || run(&["verify", "dist", "--signature", "own.pub", "--provenance"]);
    check().exit(0);
    // The key itself does as well as its file.
    let key = fs_err::read_to_string(&public).unwrap();
    run(&["verify", "dist", "--signature", key.lines().last().unwrap()]).exit(0);

    for name in &all {
        let path = dist.join(name);
        let good = fs_err::read(&path).unwrap();
        // The first line of a signature is a comment that is not signed, as it says itself.
        let places = match name.ends_with(".minisig") {
            true => [good.len() / 2, good.len() - 2],
            false => [0, good.len() - 1],
        };
        for at in places.into_iter().chain([good.len() * 2 / 3]) {
            let mut bad = good.clone();
            bad[at] ^= 1;
            fs_err::write(&path, &bad).unwrap();
            let ran = check();
            assert!(matches!(ran.code, Some(1 | 7)), "{name}, byte {at}: {ran:?}");
        }
        fs_err::write(&path, &good).unwrap();
    }
    check().exit(0);
    fs_err::write(dist.join("more"), "").unwrap();
    assert!(check().exit(1).stdout.contains("more is not stated"));
    fs_err::remove_file(dist.join("more")).unwrap();
    // The bundle of another signature may stand beside the statement.
    fs_err::write(dist.join("provenance.json.sigstore.json"), "{}").unwrap();
    check().exit(0);

    // Another key, and no key.
    let other = scratch();
    let (_, public) = keys(other.path(), &minisign);
    let said = run(&["verify", "dist", "--signature", public.to_str().unwrap()]).exit(1).stdout;
    assert!(said.contains("wrong signature"), "{said}");
    // Nothing is built again for a signature alone, and the same key signs the same packages.
    let before = digests(&dist.join("conda"));
    fs_err::remove_file(&secret).unwrap();
    run(&["build", "--format", ALL, "--sign", "own.key"]).exit(6);
    assert_eq!(digests(&dist.join("conda")), before);
    run(&["build", "--format", ALL]).exit(0);
    let said = run(&["verify", "dist", "--signature", "own.pub"]).exit(1).stdout;
    assert!(said.contains("has no signature"), "{said}");
}

/// The commit and whether files that count differ from it; outside of version control nothing is said.
#[test]
fn the_statement_says_whether_the_source_was_that_of_its_commit() {
    need!(which::which("git").is_ok(), "git is not installed");
    let dir = scratch();
    recipe(dir.path());
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command.current_dir(dir.path()).env("HOME", dir.path()).args([
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@example.org",
        ]);
        Ran::of(command.args(args)).exit(0).stdout
    };
    git(&["init", "--quiet"]);
    fs_err::write(dir.path().join(".gitignore"), "/dist\n/target\n").unwrap();
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "one"]);
    let source = || {
        Ran::of(&mut simpack(dir.path(), &["build"])).exit(0);
        let text = fs_err::read(dir.path().join("dist/provenance.json")).unwrap();
        let value: serde_json::Value = serde_json::from_slice(&text).unwrap();
        value.pointer("/predicate/buildDefinition/resolvedDependencies/0").unwrap().clone()
    };
    let clean = source();
    assert_eq!(clean["digest"]["gitCommit"], git(&["rev-parse", "HEAD"]).trim());
    assert_eq!(clean["annotations"]["dirty"], false);
    fs_err::write(dir.path().join("note"), "new").unwrap();
    let dirty = source();
    assert_eq!(dirty["annotations"]["dirty"], true);
    assert_ne!(clean["digest"]["sha256"], dirty["digest"]["sha256"]);
    let said = Ran::of(&mut simpack(dir.path(), &["verify", "--provenance"])).exit(0).stdout;
    assert!(said.contains("the source differed from its commit"), "{said}");
    let said = Ran::of(&mut simpack(dir.path(), &["verify", "--provenance", "--recipe", "."])).exit(0).stdout;
    assert!(said.contains("holds  source"), "{said}");
    fs_err::write(dir.path().join("note"), "newer").unwrap();
    let said = Ran::of(&mut simpack(dir.path(), &["verify", "--provenance", "--recipe", "."])).exit(1).stdout;
    assert!(said.contains("wrong  source"), "{said}");
}
