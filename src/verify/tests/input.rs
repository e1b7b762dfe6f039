//! What can be pointed at.

use std::path::Path;

use super::fixture::{Sealed, Tree, context, said};
use crate::lint::Settings;
use crate::report::Verdict;
use crate::verify::{open, open_to_verify, verify};

fn tar(from: &Path, to: &Path) {
    let encoder = zstd::Encoder::new(std::fs::File::create(to).unwrap(), 1).unwrap();
    let mut archive = tar::Builder::new(encoder);
    archive.follow_symlinks(false);
    archive.append_dir_all(".", from).unwrap();
    archive.into_inner().unwrap().finish().unwrap();
}

/// A conda package as other tools write it: two archives in a zip, stored.
fn conda(sealed: &Sealed, to: &Path) {
    use std::io::Write;
    let work = tempfile::tempdir().unwrap();
    let info = work.path().join("tree/info");
    std::fs::create_dir_all(&info).unwrap();
    std::fs::write(info.join("index.json"), r#"{"name": "volley-core", "version": "1.2.0", "build": "h0_0"}"#).unwrap();
    tar(&work.path().join("tree"), &work.path().join("info.tar.zst"));
    tar(&sealed.bundle.root, &work.path().join("pkg.tar.zst"));
    let mut zip = zip::ZipWriter::new(std::fs::File::create(to).unwrap());
    let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for (name, content) in [
        ("metadata.json", br#"{"conda_pkg_format_version": 2}"#.to_vec()),
        ("pkg-p.tar.zst", std::fs::read(work.path().join("pkg.tar.zst")).unwrap()),
        ("info-p.tar.zst", std::fs::read(work.path().join("info.tar.zst")).unwrap()),
    ] {
        zip.start_file(name, stored).unwrap();
        zip.write_all(&content).unwrap();
    }
    zip.finish().unwrap();
}

fn core() -> Sealed {
    Tree::core().library("lib/libvolley.so.1", &[]).link("lib/libvolley.so", "libvolley.so.1").seal()
}

fn clean(path: &Path) -> Vec<String> {
    let opened = open(&[path]).unwrap();
    let report = verify(&opened.bundles, &context(), &Settings::default());
    assert_eq!(said(&report), [""; 0]);
    assert_eq!(report.verdict(), Verdict::Pass, "{:?} {:?}", report.incomplete, opened.incomplete);
    report.examined
}

#[test]
fn every_form_gives_the_same_answer() {
    let dist = tempfile::tempdir().unwrap();
    let noarch = dist.path().join("conda/noarch");
    std::fs::create_dir_all(&noarch).unwrap();
    let sealed = core();
    conda(&sealed, &noarch.join("volley-core-1.2.0-h0_0.conda"));
    tar(&sealed.bundle.root, &dist.path().join("volley-core-1.2.0-h0_0.tar.zst"));
    for path in [
        sealed.bundle.root.clone(),
        dist.path().to_owned(),
        noarch.join("volley-core-1.2.0-h0_0.conda"),
        dist.path().join("volley-core-1.2.0-h0_0.tar.zst"),
    ] {
        assert_eq!(clean(&path), ["volley-core"], "{}", path.display());
    }
}

/// What is held in memory is judged as what is unpacked, and what is not plain is unpacked.
#[test]
fn packages_in_memory_give_the_same_answer() {
    let dist = tempfile::tempdir().unwrap();
    let path = |name: &str| dist.path().join(name);
    let plain = Tree::core().library("lib/libvolley.so.1", &[]).file("share/a", "text").mode("share/a", 0o666).seal();
    conda(&plain, &path("plain-1.2.0-h0_0.conda"));
    tar(&plain.bundle.root, &path("plain-1.2.0-h0_0.tar.zst"));
    conda(&core(), &path("link-1.2.0-h0_0.conda"));
    let library = plain.bundle.root.join("lib/libvolley.so.1");
    let bytes = [std::fs::read(&library).unwrap(), vec![0]].concat();
    std::fs::write(&library, bytes).unwrap();
    conda(&plain, &path("changed-1.2.0-h0_0.conda"));
    for name in
        ["plain-1.2.0-h0_0.conda", "plain-1.2.0-h0_0.tar.zst", "link-1.2.0-h0_0.conda", "changed-1.2.0-h0_0.conda"]
    {
        let (context, settings) = (context(), Settings::default());
        let held = open_to_verify(&[path(name)]).unwrap();
        let in_memory = held.bundles[0].files.held().is_some();
        assert_eq!(in_memory, !name.starts_with("link"), "{name}");
        assert_eq!(held.unpacked.is_empty(), in_memory);
        let (held, unpacked) =
            (held.verify(&context, &settings), open(&[path(name)]).unwrap().verify(&context, &settings));
        assert_eq!(said(&held), said(&unpacked), "{name}");
        assert_eq!(said(&held).is_empty(), name.starts_with("link"), "{name}");
        assert_eq!((held.incomplete, held.examined), (unpacked.incomplete, unpacked.examined), "{name}");
    }
}

#[test]
fn a_prefix_with_other_packages_is_examined_by_the_manifests() {
    let sealed = core();
    std::fs::create_dir(sealed.bundle.root.join("conda-meta")).unwrap();
    std::fs::write(sealed.bundle.root.join("lib/libother.so"), "of another package").unwrap();
    assert_eq!(clean(&sealed.bundle.root), ["volley-core"]);
}

#[test]
fn a_changed_byte_in_a_finished_package_is_found() {
    let dist = tempfile::tempdir().unwrap();
    let sealed = core();
    let library = sealed.bundle.root.join("lib/libvolley.so.1");
    let mut bytes = std::fs::read(&library).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(&library, bytes).unwrap();
    conda(&sealed, &dist.path().join("volley-core.conda"));
    let opened = open(&[dist.path()]).unwrap();
    let found = said(&verify(&opened.bundles, &context(), &Settings::default()));
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("artifact-digest | volley-core: lib/libvolley.so.1 |"), "{found:?}");
}

#[test]
fn broken_packages_are_incomplete_and_missing_ones_an_error() {
    let dist = tempfile::tempdir().unwrap();
    std::fs::write(dist.path().join("broken.conda"), "not a zip").unwrap();
    let empty = tempfile::tempdir().unwrap();
    tar(empty.path(), &dist.path().join("empty.tar.zst"));
    let opened = open(&[dist.path()]).unwrap();
    let subjects: Vec<&str> = opened.incomplete.iter().map(|gap| gap.subject.owner.as_str()).collect();
    assert_eq!(subjects, ["broken.conda", "empty.tar.zst"]);
    assert!(open(&[empty.path()]).is_err());
    assert!(open(&[dist.path().join("nothing")]).is_err());
}

#[test]
fn members_that_are_not_unpacked_are_said_and_the_rest_is_examined() {
    let dist = tempfile::tempdir().unwrap();
    let mut archive = tar::Builder::new(zstd::Encoder::new(Vec::new(), 1).unwrap());
    let mut add = |name: &str, kind: tar::EntryType, to: Option<&str>| {
        let mut header = tar::Header::new_gnu();
        // The writer refuses such names itself.
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(kind);
        header.set_mode(0o644);
        header.set_size(0);
        header.as_gnu_mut().unwrap().realsize = *b"00000000000\0";
        if let Some(to) = to {
            header.set_link_name_literal(to).unwrap();
        }
        header.set_cksum();
        archive.append(&header, std::io::empty()).unwrap();
    };
    add("lib/good", tar::EntryType::Regular, None);
    add("../up", tar::EntryType::Regular, None);
    add("/absolute", tar::EntryType::Regular, None);
    add("pipe", tar::EntryType::Fifo, None);
    add("device", tar::EntryType::Char, None);
    add("sparse", tar::EntryType::GNUSparse, None);
    add("out", tar::EntryType::Symlink, Some("../x"));
    // Inside as text, and outside through the first of them.
    add("a/b/up", tar::EntryType::Symlink, Some("../.."));
    add("round", tar::EntryType::Symlink, Some("a/b/up/../x"));
    let path = dist.path().join("hostile.tar.zst");
    std::fs::write(&path, archive.into_inner().unwrap().finish().unwrap()).unwrap();
    let opened = open(&[&path]).unwrap();
    let mut reasons: Vec<&str> = opened.incomplete.iter().map(|gap| gap.reason.as_str()).collect();
    reasons.sort_unstable();
    assert_eq!(
        reasons,
        [
            "../up leaves the archive",
            "/absolute leaves the archive",
            "device is neither a file, nor a directory, nor a link",
            "out is a link that leaves the tree",
            "pipe is neither a file, nor a directory, nor a link",
            "round is a link that leaves the tree",
            "sparse is a sparse file",
        ]
    );
    let names: Vec<String> = opened.foreign[0].entries().unwrap().into_iter().map(|entry| entry.path).collect();
    assert_eq!(names, ["a/b/up", "lib/good"]);
    // What leads out is a fault of the package; a pipe is only not examined.
    let found = said(&opened.verify(&context(), &Settings::default()));
    let strays: Vec<&String> = found.iter().filter(|line| line.starts_with("member-outside")).collect();
    assert_eq!(
        strays,
        [
            "member-outside | hostile.tar.zst: ../up | leaves the archive",
            "member-outside | hostile.tar.zst: /absolute | leaves the archive",
            "member-outside | hostile.tar.zst: out | is a link that leaves the tree",
            "member-outside | hostile.tar.zst: round | is a link that leaves the tree",
        ]
    );
}

#[test]
fn a_manifest_speaks_for_its_own_package_only() {
    let sealed = core();
    let dir = sealed.bundle.root.join("share/simpack");
    std::fs::rename(dir.join("volley-core"), dir.join("volley-other")).unwrap();
    let opened = open(&[&sealed.bundle.root]).unwrap();
    assert!(opened.bundles.is_empty());
    assert!(opened.incomplete[0].reason.contains("is that of package volley-core"), "{:?}", opened.incomplete);
}
