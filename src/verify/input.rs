//! What a user may point at: a bundle, a prefix, a directory of packages, one package.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::bundle::{Bundle, BundleManifest, MANIFEST_SCHEMA};
use crate::error::{Error, Result};
use crate::report::Incomplete;

/// Bundles of what was pointed at, with the directories that packages were unpacked into.
#[derive(Debug, Default)]
pub struct Opened {
    /// Bundles, sorted by package.
    pub bundles: Vec<Bundle>,
    /// Packages that hold no manifest, or a broken one: they cannot be examined.
    pub incomplete: Vec<Incomplete>,
    /// Unpacked packages; they go away with this value.
    unpacked: Vec<TempDir>,
}

/// Opens a bundle, an installed prefix, a directory of bundles or packages (a channel too), or one
/// `.conda` or `.tar.zst` file.
///
/// # Errors
/// A path does not exist, or holds nothing that simpack made.
pub fn open<P: AsRef<Path>>(paths: &[P]) -> Result<Opened> {
    let mut opened = Opened::default();
    for path in paths.iter().map(AsRef::as_ref) {
        let before = opened.bundles.len() + opened.incomplete.len();
        if path.is_dir() {
            opened.directory(path)?;
        } else if is_package(path) && is_plain_file(path) {
            opened.package(path)?;
        } else {
            let what = if path.exists() { "is no package or bundle" } else { "does not exist" };
            return Err(Error::usage(format!("{} {what}", path.display()))
                .hint("give a directory with packages (dist/), a .conda or .tar.zst file, or a bundle"));
        }
        if opened.bundles.len() + opened.incomplete.len() == before {
            return Err(Error::usage(format!("{} holds no packages", path.display()))
                .hint("`simpack build` leaves packages in dist/; each has share/simpack/<package>/simpack.json"));
        }
    }
    opened
        .bundles
        .sort_by(|a, b| (&a.manifest.package, a.manifest.target).cmp(&(&b.manifest.package, b.manifest.target)));
    Ok(opened)
}

fn is_package(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".conda") || name.ends_with(".tar.zst")
}

impl Opened {
    /// A tree with manifests is a bundle or a prefix; any other directory is searched for packages
    /// and for bundles directly below it.
    fn directory(&mut self, dir: &Path) -> Result<()> {
        if self.tree(dir)? {
            return Ok(());
        }
        let mut packages = BTreeSet::new();
        for entry in walkdir::WalkDir::new(dir).min_depth(1).max_depth(4).sort_by_file_name() {
            let entry = entry.map_err(|error| Error::file(dir, error))?;
            if entry.file_type().is_file() && is_package(entry.path()) {
                packages.insert(entry.path().to_owned());
            } else if entry.file_type().is_dir() && entry.depth() == 1 {
                self.tree(entry.path())?;
            }
        }
        packages.iter().try_for_each(|package| self.package(package))
    }

    /// Bundles of a tree with `share/simpack/*/simpack.json`; answers whether there were any.
    fn tree(&mut self, root: &Path) -> Result<bool> {
        let manifests = root.join("share/simpack");
        if !manifests.is_dir() {
            return Ok(false);
        }
        let mut names: Vec<PathBuf> = Vec::new();
        for entry in fs_err::read_dir(&manifests)? {
            names.push(entry?.path().join("simpack.json"));
        }
        names.retain(|path| is_plain_file(path));
        names.sort();
        for path in &names {
            let name = root.display().to_string();
            match manifest(path) {
                Ok(manifest) => self.bundles.push(Bundle { root: root.to_owned(), manifest }),
                Err(reason) => self.gap(&name, &reason),
            }
        }
        Ok(!names.is_empty())
    }

    fn package(&mut self, path: &Path) -> Result<()> {
        let dir = tempfile::Builder::new().prefix("simpack-verify-").tempdir()?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let unpacked = if name.ends_with(".conda") { conda(path, dir.path()) } else { tar_zst(path, dir.path()) };
        match unpacked {
            Err(reason) => self.gap(&name, &format!("cannot be unpacked: {reason}")),
            Ok(()) => {
                if !self.tree(dir.path())? {
                    self.gap(&name, "holds no share/simpack/<package>/simpack.json: simpack did not make it");
                }
                self.unpacked.push(dir);
            }
        }
        Ok(())
    }

    fn gap(&mut self, subject: &str, reason: &str) {
        self.incomplete.push(Incomplete {
            subject: subject.to_owned(),
            topic: "manifest".to_owned(),
            reason: reason.to_owned(),
        });
    }
}

fn manifest(path: &Path) -> Result<BundleManifest, String> {
    let text = fs_err::read(path).map_err(|error| error.to_string())?;
    let manifest: BundleManifest =
        serde_json::from_slice(&text).map_err(|error| format!("its simpack.json is not valid: {error}"))?;
    if manifest.schema != MANIFEST_SCHEMA {
        return Err(format!("its simpack.json has schema {}, this simpack reads {MANIFEST_SCHEMA}", manifest.schema));
    }
    // The manifest decides which files belong to the package: its word on its own name must hold.
    if !path.ends_with(manifest.path()) {
        return Err(format!("its simpack.json is that of package {}", manifest.package));
    }
    Ok(manifest)
}

/// Unpacks a package file with everything in it, what is the package manager's included (`info/`).
///
/// # Errors
/// Why it cannot be unpacked.
pub fn unpack(path: &Path, to: &Path) -> Result<(), String> {
    match path.extension().is_some_and(|ending| ending == "conda") {
        true => rattler_package_streaming::fs::extract_conda(path, to).map(|_| ()).map_err(|error| reasons(&error)),
        false => tar_zst(path, to),
    }
}

/// Unpacks a conda package; `info/` is the package manager's, not the tree's.
fn conda(path: &Path, to: &Path) -> Result<(), String> {
    rattler_package_streaming::fs::extract_conda(path, to).map_err(|error| reasons(&error))?;
    let info = to.join("info");
    if info.is_dir() {
        fs_err::remove_dir_all(info).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn tar_zst(path: &Path, to: &Path) -> Result<(), String> {
    let file = fs_err::File::open(path).map_err(|error| error.to_string())?;
    let decoder = zstd::Decoder::new(file).map_err(|error| error.to_string())?;
    let mut archive = tar::Archive::new(decoder);
    archive.set_preserve_permissions(true);
    archive.unpack(to).map_err(|error| reasons(&error))
}

/// An error with its causes.
fn reasons(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(source) = cause {
        let said = source.to_string();
        if !text.contains(&said) {
            text.push_str(&format!(": {said}"));
        }
        cause = source.source();
    }
    text
}

/// Whether a file exists and is no link: used where the name comes from a user or a package.
fn is_plain_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|data| data.is_file())
}
