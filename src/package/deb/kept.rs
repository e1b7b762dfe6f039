//! What dpkg keeps of the packages of a root: a list of MD5 digests for each.

use std::path::Path;

use super::super::reading::beside::is_beside;
use super::super::reading::kept::{KeptDigest, KeptFile, KeptList, client_list, sums};
use super::places::PREFIX;
use super::relations::plain;
use crate::bundle::BundleManifest;

/// Where dpkg keeps them, below the root.
const DIRECTORY: &str = "var/lib/dpkg/info";
const ENDING: &str = ".md5sums";

/// The list of the package of a prefix that holds a manifest. What the manifest itself tells of files is another check's
/// matter: here it is what lies beside it, and it.
pub(super) fn kept(prefix: &Path, manifest: &BundleManifest) -> Option<KeptList> {
    let root = prefix.parent().filter(|_| prefix.ends_with(PREFIX))?;
    let start = plain(&manifest.simulator);
    let entries = fs_err::read_dir(root.join(DIRECTORY)).ok()?.flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| name.starts_with(&start) && name.ends_with(ENDING));
    names.sort();
    names.into_iter().find_map(|name| {
        let place = format!("{DIRECTORY}/{name}");
        let text = String::from_utf8(client_list(root, &place).ok()?).ok()?;
        let own = format!("{PREFIX}/{}", manifest.path());
        if !text.lines().any(|line| line.ends_with(&own)) {
            return None;
        }
        let is_meant = |path: &str| {
            path.strip_prefix(PREFIX)
                .and_then(|path| path.strip_prefix('/'))
                .is_some_and(|path| is_beside(manifest, path))
        };
        let file = |(digest, path): (&str, &str)| KeptFile {
            path: path.to_owned(),
            digest: KeptDigest::Md5(digest.to_ascii_lowercase()),
        };
        let files = sums(&text).map(|lines| lines.into_iter().filter(|(_, path)| is_meant(path)).map(file).collect());
        Some(KeptList::new(place, root, &format!("{PREFIX}/"), files, manifest))
    })
}

/// Whether a prefix is that of a root that dpkg installs in.
pub(super) fn has_installed(prefix: &Path) -> bool {
    prefix.parent().is_some_and(|root| prefix.ends_with(PREFIX) && root.join(DIRECTORY).is_dir())
}
