//! What installers keep of a wheel, and what the wheel brings: its RECORD.

use std::path::Path;

use super::super::reading::installed::{RecordedDigest, projects_named};
use super::super::reading::kept::{KeptDigest, KeptFile, KeptList};
use crate::bundle::BundleManifest;

/// The list of the project to which the prefix of a wheel's manifest belongs; the prefix is a directory beside it.
pub(super) fn kept(prefix: &Path, manifest: &BundleManifest) -> Option<KeptList> {
    let site = prefix.parent().filter(|_| manifest.as_wheel)?;
    let module = format!("{}/", prefix.file_name()?.to_str()?);
    let own = format!("{module}{}", manifest.path());
    let found = projects_named(site, &manifest.simulator);
    let project = found.into_iter().find(|project| project.files.iter().flatten().any(|file| file.path == own))?;
    let place = project.record();
    // What lies elsewhere, such as programs, an installer has written anew.
    let is_meant = |path: &str| !path.starts_with('/') && path.split('/').all(|part| part != "..");
    let files = project.files.map(|files| {
        let digest = |digest| match digest {
            RecordedDigest::Sha256(digest) => Some(KeptDigest::Sha256(digest)),
            _ => None,
        };
        let meant = files.into_iter().filter(|file| is_meant(&file.path));
        meant.filter_map(|file| Some(KeptFile { digest: digest(file.digest)?, path: file.path })).collect()
    });
    Some(KeptList::new(place, site, &module, files, manifest))
}
