//! Finds the file of a project's version in the places where the user's pip looks: the one whose
//! digest the recipe pins.

use std::collections::BTreeSet;
use std::path::PathBuf;

use url::Url;

use crate::error::{Error, Result};
use crate::fs::Digest;
use crate::index_page::Link;
use crate::toolchain::transfer::fetch::{Fetcher, Goal, Progress, file_path};
use crate::toolchain::transfer::places::project_url;

/// Most files of a version that are fetched to learn their digest, when a place states none.
const MOST_TRIES: usize = 4;

/// Most versions that an error lists.
const MOST_VERSIONS: usize = 12;

/// A file that a place lists.
struct Listed {
    file: String,
    version: String,
    link: Link,
}

/// Brings the file of `project` and `version` with digest `sha256`.
pub(in crate::toolchain) fn bring(
    fetcher: &Fetcher,
    project: &str,
    version: &str,
    sha256: Digest,
    progress: Progress,
) -> Result<PathBuf> {
    let project = normalised(project);
    let (mut listed, failures) = list(fetcher, &project, progress);
    // Source distributions first: where no digest is stated, they are tried first.
    listed.sort_by_key(|listed| listed.file.ends_with(".whl"));
    let of_version: Vec<&Listed> = listed.iter().filter(|listed| same_version(&listed.version, version)).collect();
    let goal = |listed: &Listed, progress: Progress| {
        let otherwise = "the index states another digest than its server's file has: try another mirror";
        let goal = Goal { file: &listed.file, sha256, size: None, otherwise: otherwise.into() };
        fetcher.link(&listed.link, &goal, progress)
    };
    let mut tried = failures;
    for listed in of_version.iter().filter(|listed| stated(listed) == Some(sha256)) {
        match goal(listed, progress) {
            Ok(path) => return Ok(path),
            Err(error) => tried.push(error),
        }
    }
    for listed in of_version.iter().filter(|listed| stated(listed).is_none()).take(MOST_TRIES) {
        match goal(listed, progress) {
            Ok(path) => return Ok(path),
            Err(error) => tried.push(error),
        }
    }
    if of_version.iter().any(|listed| stated(listed) == Some(sha256)) {
        let last = tried.pop().unwrap_or_else(|| Error::toolchain("the file cannot be had"));
        return Err(tried.into_iter().fold(last, |error, other| error.detail(format!("before that: {other}"))));
    }
    Err(tried.into_iter().fold(none_fits(&project, version, sha256, &listed, fetcher.offline), |error, other| {
        let error = error.detail(other.to_string());
        other.hints().iter().fold(error, |error, hint| error.hint(hint))
    }))
}

/// Where the file of `project` and `version` with digest `sha256` lies, without fetching it: an index that states no
/// digests is believed when it has one source distribution of the version.
pub(in crate::toolchain) fn address(
    fetcher: &Fetcher,
    project: &str,
    version: &str,
    sha256: Digest,
    progress: Progress,
) -> Result<Url> {
    let project = normalised(project);
    let (listed, failures) = list(fetcher, &project, progress);
    let of_version: Vec<&Listed> = listed.iter().filter(|listed| same_version(&listed.version, version)).collect();
    let pinned = of_version.iter().find(|listed| stated(listed) == Some(sha256));
    let mut undigested = of_version.iter().filter(|listed| stated(listed).is_none() && !listed.file.ends_with(".whl"));
    match (pinned, undigested.next(), undigested.next()) {
        (Some(found), ..) | (None, Some(found), None) => Ok(found.link.url.clone()),
        _ => {
            let none = none_fits(&project, version, sha256, &listed, fetcher.offline);
            Err(failures.into_iter().fold(none, |error, other| error.detail(other.to_string())))
        }
    }
}

/// What all places have of the project, and what went wrong in them.
fn list(fetcher: &Fetcher, project: &str, progress: Progress) -> (Vec<Listed>, Vec<Error>) {
    let wanted = |name: &str| version_of(name, project).is_some();
    let links = fetcher.settings.find_links.iter().map(|place| fetcher.linked_files(place, &wanted, progress));
    let indexes = fetcher.settings.indexes.iter().map(|place| {
        let url = project_url(place, project)?;
        fetcher.project_files(&url, project, &wanted, progress)
    });
    let (mut listed, mut failures) = (Vec::new(), Vec::new());
    for found in links.chain(indexes) {
        match found {
            Ok(found) => listed.extend(found.into_iter().filter_map(|(file, link)| {
                let version = version_of(&file, project)?;
                Some(Listed { file, version, link })
            })),
            Err(error) => failures.push(error),
        }
    }
    if fetcher.settings.indexes.is_empty() {
        let none = Error::toolchain("there is no package index").hint("name one in SIMPACK_INDEX_URL");
        failures.push(fetcher.settings.no_index.iter().fold(none, |error, line| error.detail(line)));
    }
    (listed, failures)
}

/// The digest of a listed file: the place's word, or that of a local file's bytes.
fn stated(listed: &Listed) -> Option<Digest> {
    let local = || file_path(&listed.link.url).ok().filter(|_| listed.link.url.scheme() == "file");
    listed.link.sha256.or_else(|| Digest::of_file(&local()?).ok())
}

fn none_fits(project: &str, version: &str, sha256: Digest, listed: &[Listed], offline: bool) -> Error {
    let mut error = Error::toolchain(format!("the package index has no file of {project} {version} with this digest"))
        .detail(format!("wanted  sha256 {sha256}"));
    let mut files = BTreeSet::new();
    for listed in listed {
        let digest = stated(listed);
        if same_version(&listed.version, version) {
            let digest = digest.map_or("no digest stated".to_owned(), |digest| format!("sha256 {digest}"));
            files.insert(format!("it has  {digest}  {}", listed.file));
        } else if digest == Some(sha256) {
            error = error.hint(format!("{} of version {} has this digest", listed.file, listed.version));
        }
    }
    if files.is_empty() {
        let versions: BTreeSet<&str> = listed.iter().map(|listed| listed.version.as_str()).collect();
        // Sorted as text, which puts newer ones last more often than not.
        let known: Vec<&str> = versions.into_iter().rev().take(MOST_VERSIONS).collect();
        return match known.is_empty() {
            true if offline => error.hint("this run is offline: only directories were looked in"),
            true => error,
            false => error.detail(format!("it has no file of {version}; versions there: {}", known.join(", "))),
        };
    }
    files.into_iter().fold(error, Error::detail).hint("set `sha256` in [source] to that of the source distribution")
}

/// PEP 503: lower case, runs of `-`, `_`, `.` as one `-`.
fn normalised(name: &str) -> String {
    let words = name.split(['-', '_', '.']).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-").to_ascii_lowercase()
}

/// The version in a file's name, when it is a source distribution or a wheel of the project.
fn version_of(file: &str, project: &str) -> Option<String> {
    if let Some(stem) = file.strip_suffix(".whl") {
        let mut parts = stem.split('-');
        let name = parts.next()?;
        return parts.next().filter(|_| normalised(name) == project).map(str::to_owned);
    }
    let endings = [".tar.gz", ".tgz", ".zip", ".tar.bz2", ".tar.xz", ".tar.zst"];
    let stem = endings.iter().find_map(|ending| file.strip_suffix(ending))?;
    // Old names have `-` on both sides: the project's name says where its version begins.
    let dashes = stem.match_indices('-').map(|(at, _)| stem.split_at(at));
    let mut fits = dashes.filter(|(name, _)| normalised(name) == project);
    fits.find_map(|(_, rest)| rest.strip_prefix('-').map(str::to_owned)).filter(|version| {
        // `a-b-1.0` is no file of `a`.
        version.starts_with(|first: char| first.is_ascii_digit())
    })
}

/// Whether both texts are one version: case, a `v` before it, and zeros at its end do not count (PEP 440).
fn same_version(one: &str, other: &str) -> bool {
    let plain = |text: &str| {
        let text = text.trim().to_ascii_lowercase();
        let text = text.strip_prefix('v').unwrap_or(&text).to_owned();
        let mut text = text.as_str();
        while let Some(shorter) = text.strip_suffix(".0") {
            text = shorter;
        }
        text.to_owned()
    };
    plain(one) == plain(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_hold_versions() {
        let version = |file: &str| version_of(file, "tiny-sim");
        assert_eq!(version("tiny_sim-1.0.tar.gz").as_deref(), Some("1.0"));
        assert_eq!(version("Tiny.Sim-1.0rc1.zip").as_deref(), Some("1.0rc1"));
        assert_eq!(version("tiny-sim-1.0-2.tar.gz").as_deref(), Some("1.0-2"));
        assert_eq!(version("tiny_sim-1.0+x-cp310-cp310-linux_x86_64.whl").as_deref(), Some("1.0+x"));
        for other in ["tiny-sim-extra-1.0.tar.gz", "tiny-1.0.tar.gz", "tiny_sim-1.0.exe", "tiny_sim.tar.gz", ".whl", ""]
        {
            assert_eq!(version(other), None, "{other}");
        }
    }

    #[test]
    fn versions_are_compared_as_pip_does() {
        assert!(same_version("1.0", "v1") && same_version("1.0RC1", "1.0rc1"));
        assert!(!same_version("1.0", "1.0.1") && !same_version("10", "1"));
    }
}
