//! Packages of Debian as a format.

use std::num::NonZeroUsize;
use std::path::Path;

use super::super::modules::refuse_modules;
use super::super::reading::kept::KeptList;
use super::super::{BuiltPackage, Format, FormatContext, Named, Package, PackageKind, companions, feed, write_all};
use super::archive::DebWriter;
use super::relations::Names;
use super::{control, kept};
use crate::bundle::{ArtifactKind, BundleManifest};
use crate::error::Result;
use crate::recipe::ComponentKind;

/// Packages of Debian.
#[derive(Debug, Clone, Copy)]
pub struct Deb;

impl Format for Deb {
    fn name(&self) -> &'static str {
        "deb"
    }

    fn about(&self) -> &'static str {
        "packages of Debian and Ubuntu, below /usr; for dpkg and apt"
    }

    fn endings(&self) -> &'static [&'static str] {
        &[".deb"]
    }

    fn kept(&self, prefix: &Path, manifest: &BundleManifest) -> Option<KeptList> {
        kept::kept(prefix, manifest)
    }

    fn has_installed(&self, prefix: &Path) -> bool {
        kept::has_installed(prefix)
    }

    fn write(
        &self,
        packages: &[Package],
        context: &FormatContext<'_>,
        dir: &Path,
        jobs: NonZeroUsize,
    ) -> Result<Vec<BuiltPackage>> {
        refuse_modules(packages, "deb")?;
        let names = Names::of(packages, context);
        let wanted: Vec<Package> = packages.iter().filter(|package| is_packed(package)).map(as_installed).collect();
        let fields = wanted.iter().map(|package| control::fields(package, &names)).collect::<Result<Vec<_>>>()?;
        let together: Vec<_> = wanted.iter().zip(fields).collect();
        fs_err::create_dir_all(dir)?;
        write_all(&together, jobs, |(package, fields), _| {
            let named = Named {
                package: fields.name.clone(),
                version: fields.version.clone(),
                subdir: fields.architecture.to_owned(),
                ..Named::of(package)
            };
            feed(package, &companions(package, context)?, DebWriter::new(package, fields, named, dir)?)
        })
    }
}

/// Packages with files, and what brings the others.
fn is_packed(package: &Package) -> bool {
    let is_meta = package.kind == PackageKind::Component && package.manifest.component == ComponentKind::Meta;
    package.root.is_some() || is_meta
}

/// The package with the modes that Debian asks for: libraries are no programs ("Debian Policy Manual", 8.1).
fn as_installed(package: &Package) -> Package {
    let mut package = package.clone();
    for artifact in &mut package.manifest.artifacts {
        let name = artifact.path.rsplit('/').next().unwrap_or_default();
        let is_library = name.ends_with(".so") || name.contains(".so.");
        if let ArtifactKind::File { executable, .. } = &mut artifact.kind {
            *executable = *executable && !is_library;
        }
    }
    package
}
