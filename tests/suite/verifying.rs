//! `simpack verify` looks into finished packages again, and into broken ones.

use std::path::Path;

use crate::support::{Ran, copy_tree, files, scratch, simpack, volley};

fn verify(dir: &Path, args: &[&str]) -> Ran {
    let args: Vec<&str> = ["verify"].into_iter().chain(args.iter().copied()).collect();
    Ran::of(&mut simpack(dir, &args))
}

#[test]
fn finished_packages_pass_again() {
    let dist = volley().dist.to_str().unwrap();
    let ran = verify(Path::new("."), &[dist]).exit(0);
    assert!(ran.stdout.starts_with("0 findings over "), "{}", ran.stdout);
    let report = verify(Path::new("."), &[dist, "--json"]).exit(0).json();
    assert_eq!(report["verdict"], "pass");
}

#[test]
fn a_package_that_cannot_be_read_is_incomplete_and_never_passes() {
    let dir = scratch();
    copy_tree(&volley().channel(), &dir.path().join("dist"));
    let name = files(&dir.path().join("dist")).into_iter().find(|file| file.contains("volley-kernels-sm_90")).unwrap();
    let path = dir.path().join("dist").join(&name);
    let bytes = fs_err::read(&path).unwrap();
    fs_err::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let ran = verify(dir.path(), &["dist"]).exit(7);
    assert!(ran.stdout.contains("volley-kernels-sm_90"), "{ran:?}");
}

/// The installed tree of core with one byte of the wrong kind: a kernel of another capability.
#[test]
fn a_bundle_that_was_changed_is_denied() {
    let dir = scratch();
    let bundle = dir.path().join("volley-kernels-sm_90");
    copy_tree(&volley().bundle("volley-kernels-sm_90"), &bundle);
    let cubin = |root: &Path| files(root).into_iter().find(|file| file.ends_with("fixed/sm_90/neuron.cubin"));
    let other = volley().bundle("volley-kernels-sm_80");
    let from = files(&other).into_iter().find(|file| file.ends_with("fixed/sm_80/neuron.cubin")).unwrap();
    fs_err::copy(other.join(from), bundle.join(cubin(&bundle).unwrap())).unwrap();
    let report = verify(dir.path(), &["volley-kernels-sm_90", "--json"]).exit(1).json();
    let lints: Vec<_> =
        report["findings"].as_array().unwrap().iter().map(|finding| finding["lint"].as_str().unwrap()).collect();
    assert!(lints.contains(&"kernel-capability"), "{lints:?}");
    assert!(lints.contains(&"artifact-digest"), "{lints:?}");
}

#[test]
fn every_lint_is_listed_and_explained() {
    let dir = scratch();
    let listed = verify(dir.path(), &["--list"]).exit(0).stdout;
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("manifests/lints");
    for file in files(&data) {
        let id = file.strip_suffix(".toml").unwrap();
        assert!(listed.contains(id), "{id} is not listed");
        let text = verify(dir.path(), &["--explain", id]).exit(0).stdout;
        assert!(text.contains(id) && text.len() > 100, "{text}");
    }
    verify(dir.path(), &["--explain", "no-such-lint"]).exit(2);
    let near = verify(dir.path(), &["--explain", "load-stubs"]).exit(2);
    assert!(near.stderr.contains("did you mean `load-stub`?"), "{}", near.stderr);
    let json = verify(dir.path(), &["--list", "--json"]).exit(0).json();
    let over: std::collections::BTreeSet<_> =
        json["lints"].as_array().unwrap().iter().map(|lint| lint["over"].as_str().unwrap().to_owned()).collect();
    assert!(over.contains("bundles") && over.contains("process"), "{over:?}");
}
