//! What packages of others bring and may take for granted, and what of theirs must not meet in one process.

use serde::Deserialize;
use toml::Spanned;

use crate::arch::GlibcVersion;
use crate::data::Data;
use crate::error::Result;
use crate::manifest::globs::{Globs, Pattern};
use crate::manifest::text::ManifestText;

/// The lists about packages of others.
#[derive(Debug, Clone)]
pub struct ForeignPackages {
    platform: Vec<PlatformEntry>,
    projects: Vec<Project>,
    families: Vec<CopyFamily>,
    alike: Vec<Alike>,
}

/// Projects of the Python package index whose wheels hold libraries for others.
#[derive(Debug, Clone)]
struct Project {
    names: Globs,
    files: Globs,
    /// The first of its names, without an ending for a CUDA major.
    name: String,
    vendor: bool,
}

/// Libraries of which two in one process hurt.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CopyFamily {
    /// What they are, in the plural.
    pub name: String,
    stems: Vec<String>,
    #[serde(default)]
    per_major: bool,
    /// What happens.
    pub hurts: String,
}

/// A library under several names.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Alike {
    name: String,
    stems: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlatformEntry {
    since: GlibcVersion,
    libraries: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProjectEntry {
    projects: Vec<Spanned<Pattern>>,
    files: Vec<Spanned<Pattern>>,
    #[serde(default)]
    vendor: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    edition: u32,
    platform: Vec<PlatformEntry>,
    project: Vec<ProjectEntry>,
    family: Vec<CopyFamily>,
    alike: Vec<Alike>,
}

impl ForeignPackages {
    pub(in crate::manifest) fn load(data: &Data) -> Result<Self> {
        let text = ManifestText::read(data, "manifests/foreign.toml")?;
        let file: File = text.parse()?;
        text.edition(file.edition)?;
        let project = |entry: &ProjectEntry| {
            Ok(Project {
                names: Globs::read(&text, &entry.projects)?,
                files: Globs::read(&text, &entry.files)?,
                name: entry.projects.first().map_or(String::new(), |name| name.get_ref().text().to_owned()),
                vendor: entry.vendor,
            })
        };
        let projects = file.project.iter().map(project).collect::<Result<_>>()?;
        Ok(Self { platform: file.platform, projects, families: file.family, alike: file.alike })
    }

    /// Whether every machine has a library that a manylinux tag is for; without a tag, that some tag is for.
    pub fn platform_has(&self, library: &str, promised: Option<GlibcVersion>) -> bool {
        let allowed = self.platform.iter().filter(|entry| promised.is_none_or(|promised| entry.since <= promised));
        allowed.flat_map(|entry| &entry.libraries).any(|known| known == library)
    }

    /// Whether a project's wheels are known to hold a library for others. The name is normalised (PEP 503).
    pub fn brings(&self, project: &str, library: &str) -> bool {
        self.projects.iter().any(|known| known.names.is_match(project) && known.files.is_match(library))
    }

    /// A project whose wheels are known to hold a library for others.
    pub fn bringer(&self, library: &str) -> Option<&str> {
        self.projects.iter().find(|known| known.files.is_match(library)).map(|known| known.name.as_str())
    }

    /// Whether a project is the GPU vendor's own. The name is normalised.
    pub fn is_vendors(&self, project: &str) -> bool {
        self.projects.iter().any(|known| known.vendor && known.names.is_match(project))
    }

    /// What a library that has several names is called, by its stem: OpenBLAS, of `libscipy_openblas`.
    pub fn one_name(&self, stem: &str) -> Option<&str> {
        self.alike.iter().find(|it| it.stems.iter().any(|known| known == stem)).map(|it| it.name.as_str())
    }

    /// The family of libraries of which two hurt that a library belongs to, by its stem (`libgomp`).
    pub fn family(&self, stem: &str) -> Option<&CopyFamily> {
        self.families.iter().find(|family| family.stems.iter().any(|known| known == stem))
    }
}

impl ForeignPackages {
    /// The family of this name.
    pub fn family_named(&self, name: &str) -> Option<&CopyFamily> {
        self.families.iter().find(|family| family.name == name)
    }
}

impl CopyFamily {
    /// What copies have in common that hurt each other: the family, or its major.
    pub fn group(&self, major: Option<u32>) -> (&str, Option<u32>) {
        (&self.name, major.filter(|_| self.per_major))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platforms_projects_and_families_are_known_by_name() {
        let foreign = ForeignPackages::load(&Data::at("no such directory")).unwrap();
        let glibc = |minor| Some(GlibcVersion::new(2, minor));
        assert!(foreign.platform_has("libc.so.6", glibc(17)) && foreign.platform_has("libmvec.so.1", None));
        assert!(!foreign.platform_has("libmvec.so.1", glibc(17)) && !foreign.platform_has("libgomp.so.1", glibc(28)));
        assert!(foreign.brings("nvidia-cublas-cu12", "libcublasLt.so.12") && foreign.brings("torch", "libc10_cuda.so"));
        assert!(!foreign.brings("numpy", "libgomp.so.1") && !foreign.brings("nvidia-cufft", "libcublas.so.13"));
        assert_eq!(foreign.bringer("libOpenMMAmoeba.so"), Some("openmm"));
        assert_eq!(
            (foreign.bringer("libcudart.so.13"), foreign.bringer("libgomp.so.1")),
            (Some("nvidia-cuda-runtime"), None)
        );
        assert!(foreign.is_vendors("nvidia-cuda-cccl") && !foreign.is_vendors("cupy-cuda13x"));
        let group = |stem: &str, major| foreign.family(stem).map(|family| family.group(major));
        assert_eq!(group("libgomp", Some(1)), group("libiomp5", None));
        assert_ne!(group("libcudart", Some(12)), group("libcudart", Some(13)));
        assert_eq!(group("libgfortran", Some(5)), None);
        let one_name = |name| foreign.one_name(crate::elf::library_stem(name));
        for name in ["libscipy_openblas64_-32a4b2a6.so", "libopenblaso-r0-d77a1985.3.15.so", "libopenblas.so.0"] {
            assert_eq!(one_name(name), Some("OpenBLAS"), "{name}");
        }
        assert_eq!(one_name("libgfortran.so.5"), None);
    }
}
