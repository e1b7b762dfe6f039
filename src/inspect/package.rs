//! What packages say about themselves, from the files in which they say it.

use serde::Deserialize;

use super::facts::{PackageFacts, PackageFormat};
use crate::bundle::{is_manifest, read_manifest};

/// Whether a member of a package is one of those files.
pub(super) fn is_metadata(path: &str) -> bool {
    path.ends_with(".dist-info/METADATA")
        || path == "info/index.json"
        || (path.ends_with("/PKG-INFO") && path.matches('/').count() == 1)
        || is_manifest(path)
}

/// Reads one of them; `package` is the file of the package.
///
/// # Errors
/// It is damaged; why, in words.
pub(super) fn read(package: &str, member: &str, bytes: &[u8]) -> Result<PackageFacts, String> {
    let (format, (name, version, depends)) = match member.rsplit('/').next() {
        Some("index.json") => (PackageFormat::Conda, conda(bytes).map_err(|error| error.to_string())?),
        Some("simpack.json") => (PackageFormat::Simpack, bundle(member, bytes)?),
        _ => (PackageFormat::Python, python(&String::from_utf8_lossy(bytes)).ok_or("it has no name or no version")?),
    };
    Ok(PackageFacts { path: package.to_owned(), format, name, version, depends })
}

type Facts = (String, String, Vec<String>);

#[derive(Deserialize)]
struct Index {
    name: String,
    version: String,
    #[serde(default)]
    depends: Vec<String>,
}

fn conda(bytes: &[u8]) -> serde_json::Result<Facts> {
    let index: Index = serde_json::from_slice(bytes)?;
    Ok((index.name, index.version, index.depends))
}

fn bundle(member: &str, bytes: &[u8]) -> Result<Facts, String> {
    let manifest = read_manifest(member, bytes).map_err(|error| error.to_string())?;
    let all =
        if manifest.dependencies.is_empty() { manifest.uses } else { manifest.dependencies.into_iter().collect() };
    Ok((manifest.package, manifest.version.to_string(), all.iter().map(ToString::to_string).collect()))
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
            wheel.ok().map(|it| (it.name, it.version, it.depends)),
            Some(("a".into(), "1".into(), vec!["b>=2".into()]))
        );
        let conda = read("c", "info/index.json", br#"{"name": "c", "version": "2", "build": "x"}"#);
        assert_eq!(conda.ok().map(|it| (it.name, it.version)), Some(("c".into(), "2".into())));
        assert!(read("c", "info/index.json", b"{").is_err());
        assert!(is_metadata("info/index.json") && is_metadata("a-1/PKG-INFO"));
        assert!(!is_metadata("a-1/b.egg-info/PKG-INFO") && !is_metadata("x/index.json"));
    }
}
