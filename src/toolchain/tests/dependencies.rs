//! Channels and packages over HTTP and in directories.

use super::*;
use crate::toolchain::{IntoPrefix, PackageFile};

/// Puts the one file of each package into the prefix.
struct Names;

impl IntoPrefix for Names {
    type Known = Vec<String>;

    fn install(&self, unpacked: &[PathBuf], tree: &Path, place: &Path) -> Result<Vec<String>, Error> {
        std::fs::create_dir_all(tree).unwrap();
        assert!(place.ends_with("prefix") && !place.exists());
        let name = |from: &PathBuf| {
            let text = std::fs::read_to_string(from.join("name")).unwrap();
            std::fs::write(tree.join(&text), &text).unwrap();
            text
        };
        Ok(unpacked.iter().map(name).collect())
    }
}

/// A package of conda's older form, with one file.
fn package(name: &str) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(name.len() as u64);
    header.set_mode(0o644);
    builder.append_data(&mut header, "name", name.as_bytes()).unwrap();
    let mut writer = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    writer.write_all(&builder.into_inner().unwrap()).unwrap();
    writer.finish().unwrap()
}

fn wanted(server: &Server, name: &str, bytes: &[u8]) -> PackageFile {
    PackageFile {
        file: format!("{name}-1-0.tar.bz2"),
        url: server.url(&format!("/forge/linux-64/{name}-1-0.tar.bz2")).parse().unwrap(),
        sha256: Digest::of(bytes),
        size: bytes.len() as u64,
        otherwise: "find out why".to_owned(),
    }
}

fn serve_channel() -> Server {
    Server::start(|request| match request.path.as_str() {
        "/forge/linux-64/repodata.json.zst" => {
            Answer::new(200, "application/zstd", zstd::encode_all(&b"{\"packages\": {}}"[..], 1).unwrap())
        }
        "/forge/noarch/repodata.json" => Answer::new(200, "application/json", "{}"),
        "/broken/linux-64/repodata.json.zst" => Answer::new(200, "application/zstd", "no zstd"),
        "/forge/linux-64/one-1-0.tar.bz2" => Answer::file(&package("one"), request),
        "/forge/linux-64/two-1-0.tar.bz2" => Answer::file(&package("two"), request),
        _ => Answer::new(404, "text/plain", "no"),
    })
}

#[test]
fn an_index_is_taken_compressed_where_it_is() {
    let scene = Scene::new();
    let server = serve_channel();
    let store = scene.store(IndexSettings::default());
    let ui = Ui::new(true, true);
    let index = |channel: &str, subdir: &str, offline: bool| {
        store.channel_index(&server.url(channel).parse().unwrap(), subdir, &ui, offline)
    };
    assert_eq!(index("/forge", "linux-64", false).unwrap().unwrap(), b"{\"packages\": {}}");
    assert_eq!(index("/forge/", "noarch", false).unwrap().unwrap(), b"{}");
    assert_eq!(index("/none", "noarch", false).unwrap(), None);
    assert!(text(&index("/broken", "linux-64", false).unwrap_err()).contains("is damaged"));
    assert!(text(&index("/forge", "linux-64", true).unwrap_err()).contains("would need the network"));
}

#[test]
fn a_prefix_is_made_once_and_is_there_without_a_network() {
    let scene = Scene::new();
    let server = serve_channel();
    let files = [wanted(&server, "one", &package("one")), wanted(&server, "two", &package("two"))];
    let ui = Ui::new(true, true);
    let prefix = |offline| scene.store(IndexSettings::default()).prefix(&files, &Names, &ui, offline);
    let missing = text(&prefix(true).unwrap_err());
    assert!(missing.contains("one-1-0.tar.bz2") && missing.contains("two-1-0.tar.bz2"), "{missing}");
    let (root, names) = prefix(false).unwrap();
    assert_eq!(names, ["one", "two"]);
    assert_eq!(std::fs::read_to_string(root.join("two")).unwrap(), "two");
    assert_eq!(server.seen().len(), 2);
    assert_eq!(prefix(true).unwrap(), (root, names));
    assert_eq!(scene.names("downloads"), [""; 0]);
}

#[test]
fn other_bytes_than_the_locked_ones_are_refused() {
    let scene = Scene::new();
    let server = serve_channel();
    let files = [wanted(&server, "one", &package("two"))];
    let refused = scene.store(IndexSettings::default()).prefix(&files, &Names, &Ui::new(true, true), false);
    let said = text(&refused.unwrap_err());
    assert!(said.contains("is not the pinned file") && said.contains("find out why"), "{said}");
    assert_eq!(scene.names("dependencies"), [""; 0]);
}
