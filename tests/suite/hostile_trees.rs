//! Links that a step or a package leaves so that something is written through them: nothing outside of the tree changes.

use std::io::Write;
use std::path::Path;

use crate::hermetic::Small;
use crate::support::{Ran, digests, scratch, simpack};

/// A recipe whose core claims all below `share`, with a directory beside it that is nobody's business.
fn small(script: &str) -> (Small, std::path::PathBuf) {
    let small = Small::script("");
    let outside = fs_err::canonicalize(small.dir.path()).unwrap().join("outside");
    fs_err::create_dir(&outside).unwrap();
    fs_err::write(outside.join("theirs"), "theirs").unwrap();
    let compile = fs_err::read_to_string(small.path("build.sh")).unwrap();
    small.write("build.sh", &format!("{}\n{compile}", script.replace("OUTSIDE", outside.to_str().unwrap())));
    let recipe = fs_err::read_to_string(small.path("simpack.toml")).unwrap();
    small.write("simpack.toml", &recipe.replace("[\"lib/libtiny.so.*\"]", "[\"lib/libtiny.so.*\", \"share/**\"]"));
    (small, outside)
}

#[test]
fn nothing_is_staged_through_a_link_that_a_step_installed() {
    for (script, said) in [
        ("mkdir -p $PREFIX/share/simpack; ln -s OUTSIDE $PREFIX/share/simpack/tiny-core", "is a link"),
        ("mkdir -p $PREFIX/share; ln -s OUTSIDE $PREFIX/share/simpack", "is a link"),
        ("mkdir -p $PREFIX/share; ln -s ../../../../../../outside $PREFIX/share/simpack", "is a link"),
        (
            "mkdir -p $PREFIX/share/simpack/tiny-core; ln -s OUTSIDE/theirs $PREFIX/share/simpack/tiny-core/simpack.json",
            "which simpack writes",
        ),
        (
            "mkdir -p $PREFIX/share/simpack/tiny-core; echo {} > $PREFIX/share/simpack/tiny-core/simpack.json",
            "which simpack writes",
        ),
    ] {
        let (small, outside) = small(script);
        let before = digests(&outside);
        let ran = small.build(&[]);
        assert_ne!(ran.code, Some(0), "{script}");
        assert!(ran.stderr.contains(said), "{script}: {}", ran.stderr);
        assert_eq!(digests(&outside), before, "{script}");
    }
}

#[test]
fn a_file_of_one_step_is_not_written_through_a_link_of_another() {
    for link in ["OUTSIDE", "../../../../../../outside", "../lib"] {
        let (small, outside) = small(&format!("mkdir -p $PREFIX/share; ln -s {link} $PREFIX/share/data"));
        small.write("dev.sh", "mkdir -p $PREFIX/share/data\necho ours > $PREFIX/share/data/theirs\n");
        let recipe = fs_err::read_to_string(small.path("simpack.toml")).unwrap();
        let dev = "[component.dev]\npolicy = \"major\"\nfiles = [\"include/**\"]\n[component.dev.build]\n\
                   driver = \"script\"\ntargets = [\"dev.sh\"]\ninputs = [\"dev.sh\"]\n";
        small.write("simpack.toml", &format!("{recipe}{dev}"));
        let before = digests(&outside);
        let ran = small.build(&[]);
        assert!(ran.code != Some(0) && ran.stderr.contains("share/data: is a link"), "{link}: {}", ran.stderr);
        assert_eq!(digests(&outside), before, "{link}");
    }
}

/// What an archive of a package holds at a name.
enum Entry<'a> {
    File(&'a str),
    Link(&'a str),
}

/// A `.conda` package with these entries in the order of their archives.
fn conda_package(path: &Path, pkg: &[(&str, Entry<'_>)], info: &[(&str, Entry<'_>)]) {
    let tar = |entries: &[(&str, Entry<'_>)]| {
        let mut archive = tar::Builder::new(Vec::new());
        for (name, entry) in entries {
            let mut header = tar::Header::new_gnu();
            header.set_mode(0o644);
            header.set_size(0);
            match entry {
                Entry::File(text) => {
                    header.set_size(text.len() as u64);
                    archive.append_data(&mut header, name, text.as_bytes()).unwrap();
                }
                Entry::Link(to) => {
                    header.set_entry_type(tar::EntryType::Symlink);
                    archive.append_link(&mut header, name, to).unwrap();
                }
            }
        }
        zstd::encode_all(&archive.into_inner().unwrap()[..], 1).unwrap()
    };
    let mut zip = zip::ZipWriter::new(fs_err::File::create(path).unwrap());
    let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    let stem = path.file_stem().unwrap().to_str().unwrap();
    for (name, bytes) in [
        ("metadata.json".to_owned(), br#"{"conda_pkg_format_version": 2}"#.to_vec()),
        (format!("pkg-{stem}.tar.zst"), tar(pkg)),
        (format!("info-{stem}.tar.zst"), tar(info)),
    ] {
        zip.start_file(name, options).unwrap();
        zip.write_all(&bytes).unwrap();
    }
    zip.finish().unwrap();
}

#[test]
fn nothing_is_read_or_written_through_the_links_of_a_package() {
    const INDEX: &str = r#"{"name": "fat", "version": "1", "build": "0", "build_number": 0, "depends": []}"#;
    const PATHS: &str = r#"{"paths": [], "paths_version": 1}"#;
    let dir = scratch();
    let outside = dir.path().join("outside");
    fs_err::create_dir(&outside).unwrap();
    fs_err::write(outside.join("index.json"), INDEX).unwrap();
    fs_err::write(outside.join("paths.json"), PATHS).unwrap();
    let before = digests(&outside);
    let to = |below: &str| outside.join(below).to_str().unwrap().to_owned();
    let (all, index, paths) = (to(""), to("index.json"), to("paths.json"));
    let all = all.trim_end_matches('/');
    let file = |text| Entry::File(text);
    for (name, pkg, info) in [
        ("whole", vec![("lib/a", file("a")), ("info", Entry::Link(all))], vec![]),
        ("relative", vec![("lib/a", file("a")), ("info", Entry::Link("../../outside"))], vec![]),
        (
            "index",
            vec![("lib/a", file("a"))],
            vec![("info/index.json", Entry::Link(&index)), ("info/paths.json", file(PATHS))],
        ),
        (
            "paths",
            vec![("lib/a", file("a"))],
            vec![("info/index.json", file(INDEX)), ("info/paths.json", Entry::Link(&paths))],
        ),
        (
            "first",
            vec![("info", Entry::Link(all))],
            vec![("info/index.json", file(INDEX)), ("info/paths.json", file(PATHS))],
        ),
    ] {
        let package = dir.path().join(format!("{name}-1-0.conda"));
        conda_package(&package, &pkg, &info);
        for args in [&["slice", "--capability", "9.0", "--output", "out"][..], &["verify"], &["inspect"], &["rebuild"]]
        {
            let ran = Ran::of(simpack(dir.path(), args).arg(&package));
            assert!(!matches!(ran.code, None | Some(70 | 101)), "{name} {args:?}: {:?} {}", ran.code, ran.stderr);
            assert_eq!(digests(&outside), before, "{name} {args:?}");
            if args[0] == "slice" {
                assert_ne!(ran.code, Some(0), "{name}");
                assert!(!ran.stderr.contains("no device code to slice"), "{name}: it was believed: {}", ran.stderr);
            }
        }
    }
}
