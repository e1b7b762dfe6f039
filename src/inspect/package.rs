//! What packages say about themselves, from the files in which they say it.

use serde::Deserialize;

use super::facts::{PackageFacts, PackageFormat};
use crate::bundle::BundleManifest;

/// Whether a member of a package is one of those files.
pub(super) fn is_metadata(path: &str) -> bool {
    let path = path.trim_start_matches("./");
    path.ends_with(".dist-info/METADATA")
        || path == "info/index.json"
        || (path.ends_with("/PKG-INFO") && path.matches('/').count() == 1)
        || (path.starts_with("share/simpack/") && path.ends_with("/simpack.json"))
}

/// Reads one of them; `package` is the file of the package.
pub(super) fn read(package: &str, member: &str, bytes: &[u8]) -> Option<PackageFacts> {
    let (format, (name, version, depends)) = match member.rsplit('/').next() {
        Some("index.json") => (PackageFormat::Conda, conda(bytes)?),
        Some("simpack.json") => (PackageFormat::Simpack, bundle(bytes)?),
        _ => (PackageFormat::Python, python(&String::from_utf8_lossy(bytes))?),
    };
    Some(PackageFacts { path: package.to_owned(), format, name, version, depends })
}

type Facts = (String, String, Vec<String>);

#[derive(Deserialize)]
struct Index {
    name: String,
    version: String,
    #[serde(default)]
    depends: Vec<String>,
}

fn conda(bytes: &[u8]) -> Option<Facts> {
    let index: Index = serde_json::from_slice(bytes).ok()?;
    Some((index.name, index.version, index.depends))
}

fn bundle(bytes: &[u8]) -> Option<Facts> {
    let manifest: BundleManifest = serde_json::from_slice(bytes).ok()?;
    Some((manifest.package, manifest.version.to_string(), manifest.uses))
}

/// Headers as in mail ("Core metadata specifications"), up to the empty line.
fn python(text: &str) -> Option<Facts> {
    let (mut name, mut version, mut depends) = (None, None, Vec::new());
    for line in text.lines().take_while(|line| !line.is_empty()) {
        match line.split_once(": ") {
            Some(("Name", value)) => name = Some(value.to_owned()),
            Some(("Version", value)) => version = Some(value.to_owned()),
            Some(("Requires-Dist", value)) => depends.push(value.to_owned()),
            _ => {}
        }
    }
    Some((name?, version?, depends))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form() {
        let wheel = read("a.whl", "a-1.dist-info/METADATA", b"Name: a\nVersion: 1\nRequires-Dist: b>=2\n\nName: no\n");
        assert_eq!(
            wheel.map(|it| (it.name, it.version, it.depends)),
            Some(("a".into(), "1".into(), vec!["b>=2".into()]))
        );
        let conda = read("c", "info/index.json", br#"{"name": "c", "version": "2", "build": "x"}"#);
        assert_eq!(conda.map(|it| (it.name, it.version)), Some(("c".into(), "2".into())));
        assert!(read("c", "info/index.json", b"{").is_none());
        assert!(is_metadata("./info/index.json") && is_metadata("a-1/PKG-INFO"));
        assert!(!is_metadata("a-1/b.egg-info/PKG-INFO") && !is_metadata("x/index.json"));
    }
}
