//! Fetching from servers that behave, and from servers that do not.

mod dependencies;
mod real;
mod server;
mod source;
mod vendor;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use server::{Answer, Request, Server};

use super::{IndexSettings, Pins, Store};
use crate::error::{Error, ErrorKind};
use crate::fs::Digest;
use crate::toolchain::transfer::fetch::RetryPolicy;
use crate::ui::Ui;

const FILE: &str = "tiny_tool-1.0-py3-none-manylinux2014_x86_64.whl";

/// A wheel of about 200 kB whose content does not compress.
fn wheel() -> Vec<u8> {
    let mut noise = Vec::new();
    let mut block = Digest::of(b"noise");
    while noise.len() < 200_000 {
        noise.extend_from_slice(block.as_bytes());
        block = Digest::of(block.as_bytes());
    }
    zip(&[
        ("tiny/data/bin/tool", 0o644, b"#!/bin/sh\necho tool\n"),
        ("tiny/data/lib/libx.so.1", 0o644, &noise),
        ("tiny/__init__.py", 0o644, b""),
        ("tiny_tool-1.0.dist-info/licenses/LICENSE", 0o644, b"free"),
    ])
}

fn zip(files: &[(&str, u32, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, mode, bytes) in files {
        let options = zip::write::SimpleFileOptions::default().unix_permissions(*mode & 0o777);
        let options = options.last_modified_time(zip::DateTime::default());
        if mode & 0o170_000 == 0o120_000 {
            writer.add_symlink(*name, String::from_utf8_lossy(bytes), options).unwrap();
            continue;
        }
        writer.start_file(*name, options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn pins(bytes: &[u8]) -> Pins {
    Pins::parse(&format!(
        "edition = 1\n[[toolchain]]\nname = \"tiny\"\nabout = \"a tool\"\nstrip = \"tiny/data\"\nprogram = \
         \"bin/tool\"\nlinks = {{ \"lib64\" = \"lib\", \"lib/libx.so\" = \"libx.so.1\" }}\n[[toolchain.wheel]]\n\
         project = \"tiny-tool\"\nversion = \"1.0\"\nroles = [\"tool\"]\nfile = \"{FILE}\"\nsha256 = \"{}\"\nsize = {}\n",
        Digest::of(bytes),
        bytes.len()
    ))
    .unwrap()
}

/// A cache, pins of one wheel, and places to look in.
struct Scene {
    cache: tempfile::TempDir,
    bytes: Vec<u8>,
}

impl Scene {
    fn new() -> Self {
        Self { cache: tempfile::tempdir().unwrap(), bytes: wheel() }
    }

    fn store(&self, places: IndexSettings) -> Store {
        let pace = RetryPolicy { retries: 3, pause: Duration::from_millis(1) };
        Store::open(self.cache.path()).unwrap().pins_from(pins(&self.bytes)).places_from(places).pace(pace)
    }

    fn fetch(&self, places: IndexSettings) -> Result<PathBuf, Error> {
        self.store(places).fetch("tiny", &Ui::new(true, true), false)
    }

    fn part(&self) -> PathBuf {
        self.cache.path().join("downloads").join(format!("{}.part", Digest::of(&self.bytes)))
    }

    /// Names in a directory of the cache, without locks.
    fn names(&self, dir: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.cache.path().join(dir)).into_iter().flatten();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| !name.ends_with(".lock")).collect()
    }
}

fn index(address: &str) -> IndexSettings {
    IndexSettings {
        indexes: vec![address.to_owned()],
        timeout: Some(Duration::from_secs(5)),
        ..IndexSettings::default()
    }
}

/// All that was said.
fn text(error: &Error) -> String {
    let mut lines = vec![error.to_string()];
    lines.extend(error.details().iter().cloned());
    lines.extend(error.hints().iter().map(|hint| format!("hint: {hint}")));
    lines.join("\n")
}

fn json_page(bytes: &[u8]) -> Answer {
    let digest = Digest::of(bytes);
    Answer::json(format!(
        "{{\"meta\": {{\"api-version\": \"1.0\"}}, \"name\": \"tiny-tool\", \"files\": [{{\"filename\": \"{FILE}\", \
         \"url\": \"../../files/{FILE}\", \"hashes\": {{\"sha256\": \"{digest}\"}}}}]}}"
    ))
}

/// Serves a JSON index, and `file` for the wheel.
fn serve(bytes: &[u8], file: impl Fn(&[u8], &Request) -> Answer + Send + Sync + 'static) -> Server {
    let bytes = bytes.to_owned();
    Server::start(move |request| match request.path.as_str() {
        "/simple/tiny-tool/" => json_page(&bytes),
        path if path == format!("/files/{FILE}") => file(&bytes, request),
        _ => Answer::new(404, "text/plain", "no"),
    })
}

fn check_tree(root: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &str| std::fs::metadata(root.join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("bin/tool"), 0o755);
    assert_eq!(mode("lib/libx.so.1"), 0o644);
    assert_eq!(std::fs::read_link(root.join("lib64")).unwrap(), Path::new("lib"));
    assert_eq!(std::fs::metadata(root.join("lib64/libx.so")).unwrap().len(), 200_000);
    assert!(root.join("tiny_tool-1.0.dist-info/licenses/LICENSE").is_file());
    assert!(!root.join("tiny").exists() && root.join("toolchain.json").is_file());
}

#[test]
fn fetches_once_and_needs_nothing_afterwards() {
    let scene = Scene::new();
    let server = serve(&scene.bytes, Answer::file);
    let root = scene.fetch(index(&server.url("/simple"))).unwrap();
    check_tree(&root);
    assert!(server.seen()[0].header("accept").unwrap().contains("application/vnd.pypi.simple.v1+json"));
    assert_eq!(server.seen().len(), 2);
    assert_eq!(scene.names("downloads"), [""; 0]);

    // A whole tree is used without looking anywhere, without a lock and without writing.
    std::fs::remove_dir_all(scene.cache.path().join("downloads")).unwrap();
    let entries = scene.names("toolchains");
    for entry in std::fs::read_dir(scene.cache.path().join("toolchains")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            std::fs::remove_file(path).unwrap();
        }
    }
    let store = scene.store(IndexSettings::default());
    assert_eq!(store.fetch("tiny", &Ui::new(true, true), true).unwrap(), root);
    let tool = store.tool("tiny", &Ui::new(true, true), true).unwrap();
    assert_eq!((tool.version.as_str(), tool.program), ("1.0", root.join("bin/tool")));
    assert_eq!(scene.names("toolchains"), entries);
    assert_eq!(std::fs::read_dir(scene.cache.path()).unwrap().count(), 1);
    let status = store.status();
    assert_eq!(status[0].root.as_ref(), Some(&root));
    assert!(status[0].unpacked_bytes.unwrap() > 200_000);
}

#[test]
fn html_index() {
    let scene = Scene::new();
    let bytes = scene.bytes.clone();
    let server = Server::start(move |request| match request.path.as_str() {
        "/simple/tiny-tool/" => Answer::html(format!(
            "<html><body><a href=\"/other/tiny_tool-0.9.whl\">x</a>\n<a href=\"/f/{FILE}#sha256={}\">{FILE}</a></body>",
            Digest::of(&bytes)
        )),
        path if path == format!("/f/{FILE}") => Answer::file(&bytes, request),
        _ => Answer::new(404, "text/plain", "no"),
    });
    // The trailing slash is the user's choice.
    check_tree(&scene.fetch(index(&server.url("/simple/"))).unwrap());
}

#[test]
fn a_cut_transfer_goes_on_where_it_stopped() {
    let scene = Scene::new();
    let server = serve(&scene.bytes, |bytes, request| {
        Answer::file(bytes, request).cut_after(70_000.min(bytes.len() - request.start()))
    });
    check_tree(&scene.fetch(index(&server.url("/simple"))).unwrap());
    let starts: Vec<usize> = server.seen_for(FILE).iter().map(Request::start).collect();
    assert_eq!(starts, [0, 70_000, 140_000]);
    assert_eq!(server.seen_for(FILE)[0].header("accept-encoding"), Some("identity"));
}

#[test]
fn a_later_run_goes_on_with_the_part() {
    let scene = Scene::new();
    let server = serve(&scene.bytes, |bytes, request| match request.start() {
        0 => Answer::file(bytes, request).cut_after(1000),
        _ => Answer::new(503, "text/plain", "busy"),
    });
    let error = scene.fetch(index(&server.url("/simple"))).unwrap_err();
    assert!(text(&error).contains("503"), "{}", text(&error));
    assert_eq!(error.kind(), ErrorKind::Toolchain);
    // One cut transfer, then the first try and three more.
    assert_eq!(server.seen_for(FILE).len(), 5);
    assert_eq!(std::fs::metadata(scene.part()).unwrap().len(), 1000);
    assert_eq!(scene.names("toolchains"), [""; 0]);

    let server = serve(&scene.bytes, Answer::file);
    check_tree(&scene.fetch(index(&server.url("/simple"))).unwrap());
    assert_eq!(server.seen_for(FILE)[0].start(), 1000);
}

#[test]
fn a_server_without_ranges_is_taken_from_the_start() {
    let scene = Scene::new();
    let count = AtomicUsize::new(0);
    let server = serve(&scene.bytes, move |bytes, _| {
        let whole = Answer::new(200, "application/octet-stream", bytes);
        if count.fetch_add(1, Ordering::Relaxed) == 0 { whole.cut_after(5000) } else { whole }
    });
    check_tree(&scene.fetch(index(&server.url("/simple"))).unwrap());

    // Without progress it does not try for ever.
    let scene = Scene::new();
    let server = serve(&scene.bytes, |bytes, _| Answer::new(200, "application/octet-stream", bytes).cut_after(5000));
    let error = scene.fetch(index(&server.url("/simple"))).unwrap_err();
    assert!(text(&error).contains("the next run goes on from there"), "{}", text(&error));
    assert_eq!(server.seen_for(FILE).len(), 5);
}

#[test]
fn the_part_of_another_file_does_no_harm() {
    let scene = Scene::new();
    let server = serve(&scene.bytes, Answer::file);
    std::fs::create_dir_all(scene.part().parent().unwrap()).unwrap();
    for length in [500, scene.bytes.len(), scene.bytes.len() + 1] {
        std::fs::write(scene.part(), vec![7; length]).unwrap();
        let root = scene.fetch(index(&server.url("/simple"))).unwrap();
        check_tree(&root);
        std::fs::remove_dir_all(root).unwrap();
    }
}

#[test]
fn wrong_bytes_are_removed_and_named() {
    let scene = Scene::new();
    for wrong in [scene.bytes.iter().map(|byte| byte ^ 1).collect::<Vec<u8>>(), [&scene.bytes[..], b"more"].concat()] {
        let server = serve(&scene.bytes, {
            let wrong = wrong.clone();
            move |_, request| Answer::file(&wrong, request)
        });
        let error = scene.fetch(index(&server.url("/simple"))).unwrap_err();
        let said = text(&error);
        assert!(said.contains(&format!("expected sha256 {}", Digest::of(&scene.bytes))), "{said}");
        assert!(said.contains("got") && said.contains("the file was removed"), "{said}");
        assert_eq!(scene.names("downloads"), [""; 0]);
        assert_eq!(scene.names("toolchains"), [""; 0]);
    }
    let server = serve(&scene.bytes, Answer::file);
    check_tree(&scene.fetch(index(&server.url("/simple"))).unwrap());
}

#[test]
fn an_index_with_another_digest_is_not_asked_for_the_file() {
    let scene = Scene::new();
    let server = Server::start(|_| json_page(b"other"));
    let error = scene.fetch(index(&server.url("/simple"))).unwrap_err();
    assert!(text(&error).contains("nothing was fetched"), "{}", text(&error));
    assert_eq!(server.seen().len(), 1);
}

#[test]
fn absent_things_are_named() {
    let scene = Scene::new();
    let nothing = Server::start(|_| Answer::new(404, "text/html", "no"));
    let said = text(&scene.fetch(index(&nothing.url("/simple"))).unwrap_err());
    assert!(said.contains("the index has no project tiny-tool") && said.contains("SIMPACK_INDEX_URL"), "{said}");
    assert_eq!(nothing.seen().len(), 1);

    let empty = Server::start(|_| Answer::html("<html></html>"));
    let said = text(&scene.fetch(index(&empty.url("/simple"))).unwrap_err());
    assert!(said.contains(&format!("the index does not list {FILE}")), "{said}");

    let no_file = serve(&scene.bytes, |_, _| Answer::new(404, "text/html", "no"));
    let said = text(&scene.fetch(index(&no_file.url("/simple"))).unwrap_err());
    assert!(said.contains("answered 404") && said.contains("another mirror"), "{said}");

    let closed = Server::start(|_| Answer::new(401, "text/html", "no"));
    let said = text(&scene.fetch(index(&closed.url("/simple"))).unwrap_err());
    assert!(said.contains("401") && said.contains("login data"), "{said}");
    assert_eq!(closed.seen().len(), 1);

    // A port that nobody listens on: bound, then given back.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let said = text(&scene.fetch(index(&format!("http://user:secret@127.0.0.1:{port}/simple"))).unwrap_err());
    assert!(said.contains("cannot reach") && said.contains("pip config list"), "{said}");
    assert!(!said.contains("secret"), "{said}");

    let said = text(&scene.fetch(index("not an address")).unwrap_err());
    assert!(said.contains("is not an address"), "{said}");
    assert_eq!(scene.names("toolchains"), [""; 0]);
}

#[test]
fn a_second_index_helps_the_first() {
    let scene = Scene::new();
    let nothing = Server::start(|_| Answer::new(404, "text/html", "no"));
    let server = serve(&scene.bytes, Answer::file);
    let mut places = index(&nothing.url("/simple"));
    places.indexes.push(server.url("/simple"));
    check_tree(&scene.fetch(places).unwrap());
}

#[test]
fn login_data_go_to_the_index_and_its_files() {
    let scene = Scene::new();
    let bytes = scene.bytes.clone();
    let server = Server::start(move |request| match (request.header("authorization"), request.path.as_str()) {
        // user:secret in base 64
        (Some("Basic dXNlcjpzZWNyZXQ="), "/simple/tiny-tool/") => json_page(&bytes),
        (Some("Basic dXNlcjpzZWNyZXQ="), _) => Answer::file(&bytes, request),
        _ => Answer::new(401, "text/html", "no"),
    });
    check_tree(&scene.fetch(index(&format!("http://user:secret@{}/simple", server.address))).unwrap());

    let scene = Scene::new();
    let netrc = scene.cache.path().join("netrc");
    std::fs::write(&netrc, "machine 127.0.0.1 login user password secret\n").unwrap();
    let places = IndexSettings { netrc: Some(netrc), ..index(&server.url("/simple")) };
    check_tree(&scene.fetch(places).unwrap());
}

#[test]
fn login_data_go_nowhere_else() {
    let (bytes, scene) = (Scene::new().bytes, Scene::new());
    let other_bytes = bytes.clone();
    // Another port of the same host is another place.
    let other = Server::start(move |request| match request.path.ends_with('/') {
        true => json_page(&other_bytes),
        false => Answer::file(&other_bytes, request),
    });
    let target = other.url("/elsewhere/tiny-tool/");
    let first = Server::start(move |_| {
        let mut answer = Answer::new(302, "text/html", "");
        answer.headers.push(format!("location: {target}"));
        answer
    });
    check_tree(&scene.fetch(index(&format!("http://user:secret@{}/simple", first.address))).unwrap());
    assert!(first.seen().iter().all(|request| request.header("authorization").is_some()));
    assert!(other.seen().len() >= 2, "page and file");
    assert!(other.seen().iter().all(|request| request.header("authorization").is_none()), "{:?}", other.seen());
}

/// A server behind TLS that sends everybody to `target`; its address, and the certificate to trust. None without openssl.
fn encrypted(dir: &Path, target: String) -> Option<(String, PathBuf)> {
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    let (key, cert) = (dir.join("key.pem"), dir.join("cert.pem"));
    let mut openssl = std::process::Command::new("openssl");
    openssl.args("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=here".split(' '));
    openssl.args(["-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE"]);
    openssl.arg("-keyout").arg(&key).arg("-out").arg(&cert);
    if !openssl.output().is_ok_and(|output| output.status.success()) {
        return None;
    }
    let certificate = CertificateDer::from_pem_file(&cert).unwrap();
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], PrivateKeyDer::from_pem_file(&key).unwrap())
        .unwrap();
    let config = Arc::new(config);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("https://{}/simple", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = rustls::StreamOwned::new(rustls::ServerConnection::new(config.clone()).unwrap(), stream);
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                match std::io::Read::read(&mut stream, &mut byte) {
                    Ok(1) => request.push(byte[0]),
                    _ => break,
                }
            }
            let answer = format!("HTTP/1.1 302 Found\r\nlocation: {target}\r\ncontent-length: 0\r\n\r\n");
            let _ = stream.write_all(answer.as_bytes()).and_then(|()| stream.flush());
            stream.conn.send_close_notify();
            let _ = stream.flush();
        }
    });
    Some((address, cert))
}

#[test]
fn an_encrypted_connection_leads_to_no_open_one() {
    let scene = Scene::new();
    let open = serve(&scene.bytes, Answer::file);
    let Some((address, cert)) = encrypted(scene.cache.path(), open.url("/simple/tiny-tool/")) else {
        return crate::skip::skip("no openssl");
    };
    let error = scene.fetch(IndexSettings { cert: Some(cert), ..index(&address) }).unwrap_err();
    assert!(format!("{error:?}").contains("an address of another scheme"), "{error:?}");
    assert!(open.seen().is_empty(), "{:?}", open.seen());
    // Without the certificate there is no connection at all.
    let error = scene.fetch(index(&address)).unwrap_err();
    assert!(format!("{error:?}").to_lowercase().contains("certificate"), "{error:?}");
}

#[test]
fn pages_without_an_end_and_redirects_without_an_end_are_refused() {
    let scene = Scene::new();
    let endless = Server::start(|_| Answer::html(vec![b' '; (128 << 20) + 2]));
    let error = scene.fetch(index(&endless.url("/simple"))).unwrap_err();
    assert!(format!("{error:?}").contains("a page of more than"), "{error:?}");
    let circle = Server::start(|request| {
        let mut answer = Answer::new(302, "text/html", "");
        answer.headers.push(format!("location: {}", request.path));
        answer
    });
    let error = Scene::new().fetch(index(&circle.url("/simple"))).unwrap_err();
    assert!(format!("{error:?}").contains("without an end"), "{error:?}");
    assert!(circle.seen().len() < 100, "{}", circle.seen().len());
}

#[test]
fn directories_come_first() {
    let scene = Scene::new();
    let wheels = tempfile::tempdir().unwrap();
    let server = serve(&scene.bytes, Answer::file);
    let with_links = |place: String| IndexSettings { find_links: vec![place], ..index(&server.url("/simple")) };

    // What lies there under the name and is something else is passed over.
    std::fs::write(wheels.path().join(FILE), b"something else").unwrap();
    let root = scene.fetch(with_links(wheels.path().display().to_string())).unwrap();
    assert_eq!(server.seen().len(), 2);
    std::fs::remove_dir_all(root).unwrap();

    std::fs::write(wheels.path().join(FILE), &scene.bytes).unwrap();
    for place in [wheels.path().display().to_string(), format!("file://{}", wheels.path().display())] {
        let store = scene.store(with_links(place));
        let root = store.fetch("tiny", &Ui::new(true, true), true).unwrap();
        check_tree(&root);
        std::fs::remove_dir_all(root).unwrap();
    }
    assert_eq!(server.seen().len(), 2);
    assert!(wheels.path().join(FILE).is_file());

    // A page of links, as pip takes it.
    let page = serve(&scene.bytes, Answer::file);
    let places = IndexSettings { find_links: vec![page.url("/simple/tiny-tool/")], ..IndexSettings::default() };
    check_tree(&scene.fetch(places).unwrap());
}

#[test]
fn an_index_can_be_a_directory() {
    let scene = Scene::new();
    let directory = tempfile::tempdir().unwrap();
    let project = directory.path().join("tiny-tool");
    std::fs::create_dir(&project).unwrap();
    std::fs::write(project.join(FILE), &scene.bytes).unwrap();
    let places = index(&format!("file://{}", directory.path().display()));
    let root = scene.fetch(places.clone()).unwrap();
    check_tree(&root);
    std::fs::remove_dir_all(root).unwrap();

    std::fs::rename(project.join(FILE), directory.path().join(FILE)).unwrap();
    std::fs::write(project.join("index.html"), format!("<a href=\"../{FILE}\">x</a>")).unwrap();
    check_tree(&scene.fetch(places).unwrap());
}

#[test]
fn offline_says_what_to_do() {
    let scene = Scene::new();
    let server = serve(&scene.bytes, Answer::file);
    let store = scene.store(index(&server.url("/simple")));
    let error = store.fetch("tiny", &Ui::new(true, true), true).unwrap_err();
    let said = text(&error);
    assert!(said.contains("offline") && said.contains("simpack toolchain fetch tiny"), "{said}");
    assert_eq!(server.seen().len(), 0);
}

#[test]
fn two_at_once_share_one_transfer() {
    let scene = Arc::new(Scene::new());
    let server = serve(&scene.bytes, |bytes, request| {
        std::thread::sleep(Duration::from_millis(100));
        Answer::file(bytes, request)
    });
    let places = index(&server.url("/simple"));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let (scene, places) = (Arc::clone(&scene), places.clone());
            std::thread::spawn(move || scene.fetch(places).unwrap())
        })
        .collect();
    for thread in threads {
        check_tree(&thread.join().unwrap());
    }
    assert_eq!(server.seen_for(FILE).len(), 1);
    assert_eq!(scene.names("toolchains").len(), 1);
}

#[test]
fn what_a_killed_run_left_is_replaced() {
    let scene = Scene::new();
    let server = serve(&scene.bytes, Answer::file);
    let root = scene.fetch(index(&server.url("/simple"))).unwrap();
    let name = root.file_name().unwrap().to_str().unwrap().to_owned();
    let leftover = root.with_file_name(format!(".new-{name}-abc"));
    std::fs::create_dir(&leftover).unwrap();
    std::fs::remove_file(root.join("toolchain.json")).unwrap();
    std::fs::write(root.join("half"), "").unwrap();
    let again = scene.fetch(index(&server.url("/simple"))).unwrap();
    check_tree(&again);
    assert!(!again.join("half").exists() && !leftover.exists());
}

#[test]
fn a_wheel_that_leaves_its_tree_is_refused() {
    for files in [
        vec![("tiny/data/bin/tool", 0o755, &b"x"[..]), ("tiny/data/../../../evil", 0o644, b"x")],
        vec![("tiny/data/bin/tool", 0o755, &b"x"[..]), ("tiny/data/link", 0o120_777, b"/")],
        vec![("tiny/other", 0o644, &b"x"[..])],
    ] {
        let scene = Scene { bytes: zip(&files), ..Scene::new() };
        let server = serve(&scene.bytes, Answer::file);
        let error = scene.fetch(index(&server.url("/simple"))).unwrap_err();
        assert!(text(&error).contains("tiny"), "{}", text(&error));
        assert_eq!(scene.names("toolchains"), [""; 0]);
    }
    let scene = Scene { bytes: b"not a zip".to_vec(), ..Scene::new() };
    let server = serve(&scene.bytes, Answer::file);
    let error = scene.fetch(index(&server.url("/simple"))).unwrap_err();
    assert!(text(&error).contains("cannot unpack"), "{}", text(&error));
}

#[test]
fn a_cache_that_cannot_be_written_is_named() {
    let scene = Scene::new();
    let file = scene.cache.path().join("file");
    std::fs::write(&file, "").unwrap();
    let store = Store::open(&file).unwrap().pins_from(pins(&scene.bytes)).places_from(IndexSettings::default());
    let error = store.fetch("tiny", &Ui::new(true, true), false).unwrap_err();
    assert!(text(&error).contains("SIMPACK_CACHE_DIR"), "{}", text(&error));
}
