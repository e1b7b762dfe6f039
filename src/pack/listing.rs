//! The dry-run sink: what a package would hold.

use serde::Serialize;

use super::spec::PackageSpec;
use super::writer::{Content, PackageWriter, feed};
use crate::bundle::{Artifact, ArtifactKind};
use crate::error::Result;

/// One line of a listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Listed {
    /// `/`-joined path below the prefix.
    pub path: String,
    /// Bytes; none for a link.
    pub size: Option<u64>,
    /// Octal permission bits as the archives hold them.
    pub mode: u32,
    /// Text of a link.
    pub to: Option<String>,
}

/// Writes nothing and remembers everything.
#[derive(Debug, Default)]
pub struct Listing(Vec<Listed>);

impl PackageWriter for Listing {
    type Output = Vec<Listed>;

    fn file(&mut self, artifact: &Artifact, _: Content<'_>) -> Result<()> {
        if let ArtifactKind::File { size, executable, .. } = artifact.kind {
            let mode = if executable { 0o755 } else { 0o644 };
            self.0.push(Listed { path: artifact.path.clone(), size: Some(size), mode, to: None });
        }
        Ok(())
    }

    fn link(&mut self, artifact: &Artifact, to: &str) -> Result<()> {
        self.0.push(Listed { path: artifact.path.clone(), size: None, mode: 0o777, to: Some(to.to_owned()) });
        Ok(())
    }

    fn finish(self) -> Result<Self::Output> {
        Ok(self.0)
    }
}

/// The files of a package, sorted by path.
pub fn list(spec: &PackageSpec) -> Result<Vec<Listed>> {
    feed(spec, Listing::default())
}
