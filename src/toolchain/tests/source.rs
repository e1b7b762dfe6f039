//! Sources of recipes: archives that behave and archives that do not, indexes, repositories.

use std::process::Command;

use super::*;
use crate::recipe::Source;

/// One member of a made archive.
#[derive(Clone, Copy)]
enum Member<'a> {
    File(&'a str, u32, &'a str),
    Link(&'a str, &'a str),
    Copy(&'a str, &'a str),
    Pipe(&'a str),
}
use Member::{Copy as Hard, File, Link, Pipe};

const PLAIN: [Member<'static>; 4] = [
    File("sim-1.0/configure", 0o755, "#!/bin/sh\n"),
    File("sim-1.0/src/a.cu", 0o644, "kernel"),
    Link("sim-1.0/src/link.cu", "../src/a.cu"),
    Hard("sim-1.0/src/copy.cu", "sim-1.0/src/a.cu"),
];

/// A tar archive; names go into the header as they are.
fn tar(members: &[Member]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for member in members {
        let mut header = tar::Header::new_gnu();
        let (name, mode, kind, link, text) = match *member {
            File(name, mode, text) => (name, mode, tar::EntryType::Regular, "", text),
            Link(name, text) => (name, 0o777, tar::EntryType::Symlink, text, ""),
            Hard(name, of) => (name, 0o644, tar::EntryType::Link, of, ""),
            Pipe(name) => (name, 0o644, tar::EntryType::Fifo, "", ""),
        };
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.as_old_mut().linkname[..link.len()].copy_from_slice(link.as_bytes());
        header.set_mode(mode);
        header.set_mtime(1_500_000_000);
        header.set_entry_type(kind);
        header.set_size(text.len() as u64);
        header.set_cksum();
        builder.append(&header, text.as_bytes()).unwrap();
    }
    builder.into_inner().unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap()
}

fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut writer = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap()
}

fn store(cache: &Path, places: IndexSettings) -> Store {
    let pace = RetryPolicy { retries: 3, pause: Duration::from_millis(1) };
    Store::open(cache).unwrap().places_from(places).pace(pace)
}

fn get(cache: &Path, source: &Source) -> Result<PathBuf, Error> {
    store(cache, IndexSettings::default()).source(source, &Ui::new(true, true), false)
}

/// A `file:` source of these bytes, written below `dir`.
fn local(dir: &Path, bytes: &[u8]) -> Source {
    let path = dir.join("archive");
    std::fs::write(&path, bytes).unwrap();
    Source::Url { url: format!("file://{}", path.display()), sha256: Digest::of(bytes).to_string() }
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let options = lzma_rust2::XzOptions::with_preset(6);
    let mut writer = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap()
}

fn check_plain(root: &Path) {
    let names: Vec<String> = crate::fs::walk(root).unwrap().into_iter().map(|entry| entry.path).collect();
    assert_eq!(names, ["configure", "src", "src/a.cu", "src/copy.cu", "src/link.cu"]);
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &str| std::fs::metadata(root.join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("configure"), mode("src/a.cu")), (0o755, 0o644));
    assert_eq!(std::fs::read_link(root.join("src/link.cu")).unwrap(), Path::new("../src/a.cu"));
    assert_eq!(std::fs::read_to_string(root.join("src/link.cu")).unwrap(), "kernel");
    assert_eq!(std::fs::read_to_string(root.join("src/copy.cu")).unwrap(), "kernel");
}

#[test]
fn every_kind_of_archive_gives_the_same_tree() {
    let bytes = tar(&PLAIN);
    let mut archives = vec![gzip(&bytes), bzip2(&bytes), zstd::encode_all(bytes.as_slice(), 1).unwrap(), bytes.clone()];
    archives.push(xz(&bytes));
    archives.push(zip(&[
        ("sim-1.0/configure", 0o755, b"#!/bin/sh\n"),
        ("sim-1.0/src/a.cu", 0o644, b"kernel"),
        ("sim-1.0/src/link.cu", 0o120_777, b"../src/a.cu"),
        ("sim-1.0/src/copy.cu", 0o644, b"kernel"),
    ]));
    for bytes in archives {
        let dir = tempfile::tempdir().unwrap();
        let cache = dir.path().join("cache");
        let source = local(dir.path(), &bytes);
        let root = get(&cache, &source).map_err(|error| text(&error)).unwrap();
        check_plain(&root);
        // A second run needs neither the archive nor a writable cache.
        std::fs::remove_file(dir.path().join("archive")).unwrap();
        assert_eq!(get(&cache, &source).unwrap(), root);
    }
}

#[test]
fn file_times_are_the_archives() {
    let dir = tempfile::tempdir().unwrap();
    let root = get(&dir.path().join("cache"), &local(dir.path(), &gzip(&tar(&PLAIN)))).unwrap();
    let time = std::fs::metadata(root.join("configure")).unwrap().modified().unwrap();
    assert_eq!(time, std::time::UNIX_EPOCH + Duration::from_secs(1_500_000_000));
}

#[test]
fn several_things_at_the_top_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = tar(&[File("pkg/a.py", 0o644, ""), File("pkg-1.0.dist-info/METADATA", 0o644, "")]);
    let root = get(&dir.path().join("cache"), &local(dir.path(), &bytes)).unwrap();
    assert!(root.join("pkg/a.py").is_file() && root.join("pkg-1.0.dist-info").is_dir());
}

#[test]
fn nothing_leaves_the_tree() {
    let keep = File("top/keep", 0o644, "");
    let cases: [(&[Member], &str); 9] = [
        (&[File("../evil", 0o644, "x")], "leaves the archive"),
        (&[File("/evil", 0o644, "x")], "leaves the archive"),
        (&[keep, File("top/a/../../../evil", 0o644, "x")], "leaves the archive"),
        (&[keep, Link("top/a", "/etc/passwd")], "is a link that leaves"),
        // Inside the archive, and outside the tree that is left without its top directory.
        (&[keep, Link("top/a", "../top2"), Link("top/b", "..")], "is a link that leaves"),
        // Each inside as text; together they lead out.
        (&[keep, Link("top/sub/d", ".."), Link("top/l", "sub/d/../x")], "is a link that leaves"),
        (&[keep, Link("top/dir", "."), File("top/dir/file", 0o644, "x")], "is a directory and a file"),
        (&[keep, Hard("top/a", "etc/passwd")], "is not there"),
        (&[keep, Pipe("top/pipe")], "neither a file"),
    ];
    for (members, wanted) in cases {
        let dir = tempfile::tempdir().unwrap();
        let cache = dir.path().join("cache");
        let error = get(&cache, &local(dir.path(), &gzip(&tar(members)))).unwrap_err();
        assert!(text(&error).contains(wanted), "{wanted}: {}", text(&error));
        assert_eq!(error.kind(), ErrorKind::Toolchain);
        assert!(!dir.path().join("evil").exists() && !cache.join("evil").exists());
        let left = std::fs::read_dir(cache.join("sources")).unwrap().flatten();
        let left: Vec<_> = left.filter(|entry| entry.file_type().unwrap().is_dir()).collect();
        assert!(left.is_empty(), "{left:?}");
    }
    let dir = tempfile::tempdir().unwrap();
    let bytes = zip(&[("../evil", 0o644, b"x")]);
    let error = get(&dir.path().join("cache"), &local(dir.path(), &bytes)).unwrap_err();
    assert!(text(&error).contains("leaves the archive"), "{}", text(&error));
    // A link to nothing inside is harmless, and one through a loop is not.
    let bytes = tar(&[keep, Link("top/later", "not-here/yet")]);
    get(&dir.path().join("cache"), &local(dir.path(), &bytes)).unwrap();
    let bytes = tar(&[keep, Link("top/a", "b"), Link("top/b", "a")]);
    let error = get(&dir.path().join("cache"), &local(dir.path(), &bytes)).unwrap_err();
    assert!(text(&error).contains("leads nowhere"), "{}", text(&error));
}

#[test]
fn damage_is_an_error() {
    let bytes = gzip(&tar(&PLAIN));
    let dir = tempfile::tempdir().unwrap();
    for bytes in [&bytes[..bytes.len() / 2], b"<html>not found</html>", b"", b"PK\x03\x04 no zip"] {
        let error = get(&dir.path().join("cache"), &local(dir.path(), bytes)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Toolchain, "{}", text(&error));
    }
    let Source::Url { url, .. } = local(dir.path(), &bytes) else { unreachable!() };
    let error = get(&dir.path().join("cache"), &Source::Url { url, sha256: "0".repeat(64) }).unwrap_err();
    assert!(text(&error).contains("is not the pinned file"), "{}", text(&error));
    assert!(text(&error).contains("names other bytes"), "{}", text(&error));
}

#[test]
fn an_archive_of_unknown_length_comes_over_http_and_is_resumed() {
    let noise: String = (0..60_000_u32).map(|n| Digest::of(&n.to_le_bytes()).short(1)).collect();
    let bytes = tar(&[File("top/a", 0o644, "x"), File("top/noise", 0o644, &noise)]);
    let body = bytes.clone();
    let calls = AtomicUsize::new(0);
    let server = Server::start(move |request| match calls.fetch_add(1, Ordering::SeqCst) {
        0 => Answer::new(503, "text/plain", "later"),
        1 => Answer::file(&body, request).cut_after(20_000),
        _ => Answer::file(&body, request),
    });
    let dir = tempfile::tempdir().unwrap();
    let source = Source::Url { url: server.url("/x/sim.tar"), sha256: Digest::of(&bytes).to_string() };
    let offline = store(dir.path(), IndexSettings::default()).source(&source, &Ui::new(true, true), true).unwrap_err();
    assert!(text(&offline).contains("--offline") && server.seen().is_empty(), "{}", text(&offline));
    let root = get(dir.path(), &source).map_err(|error| text(&error)).unwrap();
    assert_eq!(std::fs::read_to_string(root.join("noise")).unwrap(), noise);
    let ranges: Vec<usize> = server.seen().iter().map(Request::start).collect();
    assert_eq!(ranges, [0, 0, 20_000]);
    // Fetched once: the archive is gone, the tree serves offline, by whatever address.
    assert!(
        std::fs::read_dir(dir.path().join("downloads"))
            .unwrap()
            .flatten()
            .all(|entry| { entry.path().extension().is_some_and(|ending| ending == "lock") })
    );
    let other = Source::Url { url: "https://mirror.invalid/sim.tar".into(), sha256: Digest::of(&bytes).to_string() };
    assert_eq!(store(dir.path(), IndexSettings::default()).source(&other, &Ui::new(true, true), true).unwrap(), root);
}

#[test]
fn a_missing_archive_names_its_address() {
    let server = Server::start(|_| Answer::new(404, "text/plain", "no"));
    let dir = tempfile::tempdir().unwrap();
    let url = server.url("/sim.tar.gz").replace("http://", "http://me:secret@");
    let error = get(dir.path(), &Source::Url { url, sha256: "0".repeat(64) }).unwrap_err();
    assert!(text(&error).contains("404") && text(&error).contains("/sim.tar.gz"), "{}", text(&error));
    assert!(!text(&error).contains("secret"), "{}", text(&error));
}

#[test]
fn runs_at_the_same_time_fetch_once() {
    let bytes = gzip(&tar(&PLAIN));
    let body = bytes.clone();
    let server = Server::start(move |request| Answer::file(&body, request));
    let dir = tempfile::tempdir().unwrap();
    let source = Source::Url { url: server.url("/sim.tgz"), sha256: Digest::of(&bytes).to_string() };
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..4).map(|_| scope.spawn(|| get(dir.path(), &source).unwrap())).collect();
        let roots: Vec<PathBuf> = runs.into_iter().map(|run| run.join().unwrap()).collect();
        assert!(roots.windows(2).all(|pair| pair[0] == pair[1]));
    });
    assert_eq!(server.seen().len(), 1);
}

#[test]
fn a_project_of_the_index_is_found_by_its_digest() {
    let bytes = gzip(&tar(&PLAIN));
    let (body, digest) = (bytes.clone(), Digest::of(&bytes));
    let server = Server::start(move |request| match request.path.as_str() {
        "/simple/my-sim/" => Answer::json(format!(
            "{{\"meta\": {{\"api-version\": \"1.0\"}}, \"name\": \"my-sim\", \"files\": [\
             {{\"filename\": \"my_sim-1.0-py3-none-any.whl\", \"url\": \"/f/w\", \"hashes\": {{\"sha256\": \"{}\"}}}},\
             {{\"filename\": \"my_sim-1.0.tar.gz\", \"url\": \"/f/s\", \"hashes\": {{\"sha256\": \"{digest}\"}}}},\
             {{\"filename\": \"my_sim-0.9.tar.gz\", \"url\": \"/f/o\", \"hashes\": {{}}}}]}}",
            "1".repeat(64)
        )),
        "/f/s" => Answer::file(&body, request),
        _ => Answer::new(404, "text/plain", "no"),
    });
    let dir = tempfile::tempdir().unwrap();
    let places = index(&server.url("/simple"));
    let pypi = |version: &str, sha256: String| Source::Pypi { name: "My_Sim".into(), version: version.into(), sha256 };
    let get = |source: &Source| store(dir.path(), places.clone()).source(source, &Ui::new(true, true), false);
    let error = text(&get(&pypi("1.0", "2".repeat(64))).unwrap_err());
    assert!(error.contains("has no file of my-sim 1.0 with this digest"), "{error}");
    assert!(error.contains(&format!("it has  sha256 {digest}  my_sim-1.0.tar.gz")), "{error}");
    assert!(error.contains("my_sim-1.0-py3-none-any.whl") && server.seen_for("/f/w").is_empty(), "{error}");
    let error = text(&get(&pypi("2.0", digest.to_string())).unwrap_err());
    assert!(error.contains("versions there: 1.0, 0.9"), "{error}");
    assert!(error.contains("my_sim-1.0.tar.gz of version 1.0 has this digest"), "{error}");
    check_plain(&get(&pypi("1", digest.to_string())).map_err(|error| text(&error)).unwrap());
    let missing = Source::Pypi { name: "none".into(), version: "1".into(), sha256: "3".repeat(64) };
    let error = text(&get(&missing).unwrap_err());
    assert!(error.contains("the index has no project none"), "{error}");
}

#[test]
fn a_directory_of_files_serves_as_an_index() {
    let bytes = gzip(&tar(&PLAIN));
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("my_sim-1.0.tar.gz"), &bytes).unwrap();
    let places = IndexSettings { find_links: vec![dir.path().display().to_string()], ..IndexSettings::default() };
    let source = Source::Pypi { name: "my-sim".into(), version: "1.0".into(), sha256: Digest::of(&bytes).to_string() };
    let root = store(&dir.path().join("cache"), places).source(&source, &Ui::new(true, true), true);
    check_plain(&root.map_err(|error| text(&error)).unwrap());
    assert!(dir.path().join("my_sim-1.0.tar.gz").is_file(), "the user's own file is not removed");
}

/// Runs git in `dir`; answers what it printed.
fn git(dir: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.current_dir(dir).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "t").env(format!("GIT_{who}_EMAIL"), "t@example.invalid");
    }
    let output = command.args(["-c", "protocol.file.allow=always"]).args(args).output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A repository in `dir` with one file; answers the commit.
fn repository(dir: &Path, file: &str) -> String {
    std::fs::create_dir(dir).unwrap();
    git(dir, &["init", "--quiet", "--initial-branch=main"]);
    std::fs::write(dir.join(file), "text").unwrap();
    git(dir, &["add", "."]);
    git(dir, &["commit", "--quiet", "--message", "one"]);
    git(dir, &["rev-parse", "HEAD"])
}

#[test]
fn a_commit_comes_without_history_and_with_submodules() {
    let dir = tempfile::tempdir().unwrap();
    let (main, part) = (dir.path().join("main"), dir.path().join("part"));
    let first = repository(&main, "a.cu");
    repository(&part, "part.h");
    git(&main, &["submodule", "--quiet", "add", "../part", "deps/part"]);
    git(&main, &["commit", "--quiet", "--message", "two"]);
    let second = git(&main, &["rev-parse", "HEAD"]);
    git(&main, &["tag", "--annotate", "--message", "v", "v1"]);
    let tag = git(&main, &["rev-parse", "v1"]);
    let url = format!("file://{}", main.display());
    let cache = dir.path().join("cache");
    let get = |rev: &str| get(&cache, &Source::Git { url: url.clone(), rev: rev.to_owned() });
    let names =
        |root: &Path| -> Vec<String> { crate::fs::walk(root).unwrap().into_iter().map(|entry| entry.path).collect() };
    let root = get(&second).map_err(|error| text(&error)).unwrap();
    assert_eq!(names(&root), [".gitmodules", "a.cu", "deps", "deps/part", "deps/part/.git", "deps/part/part.h"]);
    // Builds look for it to see whether the submodule is there; it is the same on every machine.
    let mark = std::fs::read_to_string(root.join("deps/part/.git")).unwrap();
    assert_eq!(mark, "gitdir: ../../.git/modules/deps/part\n");
    // Not the tip of a branch: servers may refuse it, and then all branches are fetched.
    assert_eq!(names(&get(&first).map_err(|error| text(&error)).unwrap()), ["a.cu"]);
    let error = text(&get(&tag).unwrap_err());
    assert!(error.contains(&format!("it is a tag of the commit {second}")), "{error}");
    let error = text(&get("main").unwrap_err());
    assert!(error.contains("branches and tags move") && error.contains("git ls-remote"), "{error}");
    let error = text(&get(&"0".repeat(40)).unwrap_err());
    assert!(error.contains("holds the commit"), "{error}");
    std::fs::remove_dir_all(&main).unwrap();
    assert_eq!(get(&second).unwrap(), root);
}

#[test]
fn large_file_pointers_and_foreign_repositories_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let repo = dir.path().join("repo");
    repository(&repo, "a");
    std::fs::write(repo.join("big"), "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n").unwrap();
    git(&repo, &["add", "."]);
    git(&repo, &["commit", "--quiet", "--message", "two"]);
    let rev = git(&repo, &["rev-parse", "HEAD"]);
    let get = |url: String| get(&dir.path().join("cache"), &Source::Git { url, rev: rev.clone() });
    let error = text(&get(repo.display().to_string()).unwrap_err());
    assert!(error.contains("big is kept in Git LFS"), "{error}");
    let error = get(dir.path().join("none").display().to_string()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Toolchain, "{}", text(&error));
    let source = Source::Git { url: "https://x.invalid/r".into(), rev: rev.clone() };
    let places = IndexSettings::default();
    let error = store(dir.path(), places).source(&source, &Ui::new(true, true), true).unwrap_err();
    assert!(text(&error).contains("offline"), "{}", text(&error));
}
