//! Lists of files with digests that package managers keep of what they installed, or that a package brings itself: by them
//! a change of what lies beside a manifest is found, and of the manifest, too.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use rattler_digest::{Md5, compute_bytes_digest};

use crate::bundle::{ArtifactKind, BundleManifest};
use crate::error::Result;
use crate::fs::{Content, Digest, Tree};
use crate::package::{Companion, Package};

/// A list of an installed package's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptList {
    /// The list itself, below `root`.
    pub place: String,
    /// What paths in it begin at.
    pub root: PathBuf,
    /// The files whose digests the manifest does not say, or says otherwise; or why the list cannot be read.
    pub files: Result<Vec<KeptFile>, String>,
}

/// A file of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptFile {
    /// `/`-joined path below the list's root.
    pub path: String,
    /// Its digest.
    pub digest: KeptDigest,
}

/// A digest as package managers keep it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeptDigest {
    /// SHA-256.
    Sha256(Digest),
    /// MD5, in lowercase hex: dpkg's.
    Md5(String),
}

/// How a listed file is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeptState {
    /// As it was installed.
    Same,
    /// Not there, or no regular file.
    Missing,
    /// Other bytes.
    Changed,
}

impl KeptList {
    /// The files among all of a list that the manifest does not tell the same of: what it tells is compared with it. The
    /// prefix lies at `below` the root, with a slash at its end, or is the root.
    pub(in crate::package) fn new(
        place: String,
        root: &Path,
        below: &str,
        files: Result<Vec<KeptFile>, String>,
        manifest: &BundleManifest,
    ) -> Self {
        let told: BTreeMap<&str, Digest> = manifest
            .artifacts
            .iter()
            .filter_map(|artifact| match &artifact.kind {
                ArtifactKind::File { sha256, .. } => Some((artifact.path.as_str(), *sha256)),
                ArtifactKind::Link { .. } => None,
            })
            .collect();
        let is_told = |file: &KeptFile| {
            let told = file.path.strip_prefix(below).and_then(|path| told.get(path));
            told.is_some_and(|told| file.digest == KeptDigest::Sha256(*told))
        };
        let files = files.and_then(|files| {
            let mut left: BTreeMap<String, KeptDigest> = BTreeMap::new();
            for file in files.into_iter().filter(|file| !is_told(file)) {
                let before = left.insert(file.path.clone(), file.digest.clone());
                if before.is_some_and(|before| before != file.digest) {
                    return Err(format!("it tells two digests of {}", file.path));
                }
            }
            Ok(left.into_iter().map(|(path, digest)| KeptFile { path, digest }).collect())
        });
        Self { place, root: root.to_owned(), files }
    }

    /// The files of the list that are not as they were, sorted.
    ///
    /// # Errors
    /// The list, or a file, cannot be read; why, in words.
    pub fn differences(&self) -> Result<Vec<(KeptState, String)>, String> {
        let tree = Tree::at(&self.root).map_err(|error| error.to_string())?;
        let mut found = Vec::new();
        for file in self.files.as_ref().map_err(String::clone)? {
            let state = file.state(&tree).map_err(|error| format!("{}: {error}", file.path))?;
            if state != KeptState::Same {
                found.push((state, file.path.clone()));
            }
        }
        found.sort();
        Ok(found)
    }
}

impl KeptFile {
    fn state(&self, tree: &Tree) -> Result<KeptState> {
        // What a link leads to is not looked at: a list may name anything.
        let Ok(file) = tree.open(&self.path) else { return Ok(KeptState::Missing) };
        let is_same = match &self.digest {
            KeptDigest::Sha256(told) => Digest::of_open(&file)? == *told,
            KeptDigest::Md5(told) => {
                let digest = compute_bytes_digest::<Md5>(Content::map(&file)?.bytes());
                digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>() == *told
            }
        };
        Ok(if is_same { KeptState::Same } else { KeptState::Changed })
    }
}

/// No client's list of one package has more bytes.
const MOST_BYTES: u64 = 64 << 20;

/// The list of a client at `place` below `root`: a file that no link leads to.
///
/// # Errors
/// It is not there, cannot be read, or is too large; why, in words.
pub(in crate::package) fn client_list(root: &Path, place: &str) -> Result<Vec<u8>, String> {
    let file = Tree::at(root).and_then(|tree| tree.open(place)).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    match bytes.len() as u64 > MOST_BYTES {
        true => Err("it is larger than any such list".to_owned()),
        false => Ok(bytes),
    }
}

/// Where a package without a client's list has its own, which `sha256sum --check` reads.
pub(in crate::package) fn sums_path(manifest: &BundleManifest) -> String {
    format!("share/simpack/{}/SHA256SUMS", manifest.package)
}

/// That list: the files of the manifest, it, and what lies `beside` it.
///
/// # Errors
/// The manifest does not print.
pub(in crate::package) fn sums_of(package: &Package, beside: &[Companion]) -> Result<Companion> {
    let manifest = &package.manifest;
    let mut digests: BTreeMap<&str, Digest> = BTreeMap::new();
    for artifact in &manifest.artifacts {
        if let ArtifactKind::File { sha256, .. } = artifact.kind {
            digests.insert(&artifact.path, sha256);
        }
    }
    let own = manifest.path();
    digests.insert(&own, Digest::of(&package.manifest_json()?));
    digests.extend(beside.iter().map(|companion| (companion.path.as_str(), Digest::of(&companion.bytes))));
    let text: String = digests.into_iter().map(|(path, digest)| format!("{digest}  {path}\n")).collect();
    Ok(Companion { path: sums_path(manifest), bytes: text.into_bytes() })
}

/// Digest and path of each line, as `sha256sum` and `md5sum` write them.
///
/// # Errors
/// A line is none; which, in words.
pub(in crate::package) fn sums(text: &str) -> Result<Vec<(&str, &str)>, String> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let parts = line.split_once("  ").ok_or_else(|| format!("line {} is no digest with a path", index + 1))?;
        found.push(parts);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_digests_with_paths() {
        assert_eq!(sums("ab  c d\n00  e\n").unwrap(), [("ab", "c d"), ("00", "e")]);
        assert_eq!(sums("ab  c\nab c\n").unwrap_err(), "line 2 is no digest with a path");
        assert!(sums("").unwrap().is_empty());
    }

    #[test]
    fn nothing_outside_is_opened_and_nothing_is_passed_over() {
        let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs_err::write(outside.path().join("x"), "x").unwrap();
        fs_err::write(dir.path().join("same"), "x").unwrap();
        fs_err::write(dir.path().join("changed"), "y").unwrap();
        std::os::unix::fs::symlink(outside.path().join("x"), dir.path().join("link")).unwrap();
        let file = |path: &str| KeptFile { path: path.to_owned(), digest: KeptDigest::Sha256(Digest::of(b"x")) };
        let up = format!("../{}/x", outside.path().file_name().unwrap().display());
        let files = Ok(["same", "changed", "link", "gone", &up].map(file).to_vec());
        let mut list = KeptList { place: "list".to_owned(), root: dir.path().to_owned(), files };
        let wanted = [(KeptState::Missing, &*up), (KeptState::Missing, "gone"), (KeptState::Missing, "link")];
        let wanted = [&wanted[..], &[(KeptState::Changed, "changed")]].concat();
        assert_eq!(
            list.differences().unwrap(),
            wanted.into_iter().map(|(it, path)| (it, path.to_owned())).collect::<Vec<_>>()
        );
        let md5 = |digest: &str| KeptFile { path: "same".to_owned(), digest: KeptDigest::Md5(digest.to_owned()) };
        list.files = Ok(vec![md5("9dd4e461268c8034f5c8564e155c67a6")]);
        assert_eq!(list.differences().unwrap(), []);
        list.files = Ok(vec![md5("9dd4e461268c8034f5c8564e155c67a7")]);
        assert_eq!(list.differences().unwrap().len(), 1);
        list.files = Err("broken".to_owned());
        assert_eq!(list.differences().unwrap_err(), "broken");
    }
}
