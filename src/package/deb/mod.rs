//! Packages of Debian: names, versions, relations and `.deb` archives ("Debian Policy Manual", deb(5), deb-control(5)).
//! Nothing outside this module makes one.
//!
//! What conda's solver does by conditions, dpkg cannot: it knows no GPU. So there is no selector; each kernel package is
//! installed by name (`simpack select --format deb` names it), and provides the virtual package of the selector's name.
//! Core provides a virtual package with the tag of its kernel table, on which kernels depend.

mod archive;
mod control;
mod kept;
mod relations;
mod texts;

use std::num::NonZeroUsize;
use std::path::Path;

use self::archive::DebWriter;
pub(super) use self::control::metadata;
use self::relations::Names;
pub(super) use self::texts::is_text;
use super::kept::KeptList;
use super::modules::refuse_modules;
use super::{BuiltPackage, Format, FormatContext, Named, Package, PackageKind, companions, feed, write_all};
use crate::bundle::{ArtifactKind, BundleManifest};
use crate::error::Result;
use crate::recipe::ComponentKind;

/// Where dpkg's own files of an unpacked package lie, as `dpkg-deb --raw-extract` lays them out.
pub const CONTROL_DIRECTORY: &str = "DEBIAN";
/// The file of them that says name, version and relations.
pub const CONTROL: &str = "DEBIAN/control";
/// The prefix of what packages install.
pub const PREFIX: &str = "usr";

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
