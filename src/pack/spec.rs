//! A package as a value: all that decides its bytes.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;

use crate::bundle::BundleManifest;
use crate::error::{Error, Result};
use crate::fs::Digest;

/// One package to write. Two equal values give the same bytes, wherever `root` lies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct PackageSpec {
    /// Package name.
    pub name: String,
    /// Version: the simulator's, or for the kernel ABI package its schema's.
    pub version: String,
    /// Build string.
    pub build: String,
    /// Build number: of packages that differ in nothing else the solver takes the highest.
    pub build_number: u64,
    /// Directory of the channel: `linux-64` or `noarch`.
    pub subdir: String,
    /// Dependencies, as match specs, sorted.
    pub depends: Vec<String>,
    /// Conditions on packages that need not be there, sorted.
    pub constrains: Vec<String>,
    /// Match specs that packages built against this one get as dependencies.
    pub run_exports: Vec<String>,
    /// SPDX expression.
    pub license: String,
    /// One line.
    pub summary: String,
    /// Home page.
    pub homepage: Option<String>,
    /// Shell lines that must succeed where the package is installed.
    pub tests: Vec<String>,
    /// Licence texts by file name.
    #[serde(skip)]
    pub licences: BTreeMap<String, String>,
    /// What the build string's digest is over.
    pub hash_input: BTreeMap<String, Value>,
    /// `simpack.json` of the package.
    pub manifest: BundleManifest,
    /// Root of the staged tree with the manifest's artifacts; none when there are none.
    #[serde(skip)]
    pub root: Option<PathBuf>,
}

impl PackageSpec {
    /// File name without its ending: `volley-core-1.0.0-h1234567_0`.
    pub fn stem(&self) -> String {
        format!("{}-{}-{}", self.name, self.version, self.build)
    }

    /// Match spec that only this package answers to.
    pub fn exactly(&self) -> String {
        format!("{} =={} {}", self.name, self.version, self.build)
    }

    /// Time stamp of every entry of its archives, in seconds since 1970.
    pub fn time(&self) -> u64 {
        super::epoch::archive_time(self.manifest.provenance.source_date_epoch)
    }

    /// Bytes of `simpack.json`.
    pub fn manifest_json(&self) -> Result<Vec<u8>> {
        json_lines(&self.manifest)
    }
}

/// A value as indented JSON with a final newline.
pub(super) fn json_lines(value: &impl Serialize) -> Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec_pretty(value)
        .map_err(|error| Error::bug("a package's metadata does not print as JSON").because(error))?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// `h` and seven hex digits over the input of a build's hash: the digits that conda's build strings
/// carry, over the bytes of `info/hash_input.json`, so that anyone can compute them again.
pub(super) fn build_hash(input: &BTreeMap<String, Value>) -> Result<String> {
    Ok(format!("h{}", Digest::of(&json_lines(input)?).short(7)))
}
