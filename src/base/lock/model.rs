//! The values of a lock, and its text: TOML, sorted, the same bytes for the same values.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arch::{CudaVersion, GlibcVersion};
use crate::error::{Error, Result};
use crate::fs::Digest;
use crate::recipe::{HostKind, HostToolchain, HostVariant};

/// Edition of the file that this simpack reads and writes.
pub const LOCK_EDITION: u32 = 1;

/// Name of the lock beside a recipe.
pub const LOCK_FILE: &str = "simpack.lock";

/// What `--update` calls all packages of channels.
pub const DEPENDENCIES: &str = "dependencies";

/// What stands above the values.
const HEAD: &str = "\
# Written by `simpack lock`: every digest that a build of this recipe takes from outside.
# Commit it. `simpack build --locked` refuses to differ from it, `simpack lock --update NAME` changes it.
";

/// The content of `simpack.lock`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Lock {
    /// Always [`LOCK_EDITION`].
    pub edition: u32,
    /// CUDA releases of the recipe, ascending. One without a tool below comes from the machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cuda: Vec<CudaVersion>,
    /// Host compiler that the recipe asks for; none when it builds nothing for the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<LockedHost>,
    /// The source, when it is not in the recipe's directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<LockedSource>,
    /// Pinned tools, sorted by name.
    #[serde(default, rename = "tool", skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<LockedTool>,
    /// The packages that builds are given out of channels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependencies: Option<LockedDependencies>,
    /// The same for the builds of each host variant that need any.
    #[serde(default, rename = "variant", skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<LockedVariant>,
}

/// The packages that the builds of a host variant are given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LockedVariant {
    /// Which one.
    pub host: HostVariant,
    /// Its packages.
    pub dependencies: LockedDependencies,
}

/// Which host compiler.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", tag = "use")]
pub enum LockedHost {
    /// The pinned one; its wheel is among the tools.
    Zig {
        /// Ceiling for glibc's symbol versions.
        glibc: GlibcVersion,
    },
    /// The machine's, which no lock can hold.
    System {
        /// Lowest major version of g++.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cxx: Option<u32>,
        /// Ceiling for glibc's symbol versions, whose libraries the pinned zig brings.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        glibc: Option<GlibcVersion>,
    },
}

impl From<&HostToolchain> for LockedHost {
    fn from(host: &HostToolchain) -> Self {
        match host {
            HostToolchain::Zig { glibc } => Self::Zig { glibc: *glibc },
            HostToolchain::System { min_cxx, glibc } => Self::System { cxx: *min_cxx, glibc: *glibc },
        }
    }
}

impl LockedHost {
    /// Which compiler it is.
    pub fn kind(&self) -> HostKind {
        match self {
            Self::Zig { .. } => HostKind::Zig,
            Self::System { .. } => HostKind::System,
        }
    }
}

/// A source with what proves its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", tag = "kind")]
pub enum LockedSource {
    /// A commit of a git repository.
    Git {
        /// Repository, without login data.
        url: String,
        /// Commit.
        rev: String,
        /// Digest over all files: a commit's own digest is SHA-1, and filters may change files on the way.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tree: Option<Digest>,
    },
    /// An archive.
    Url {
        /// Address, without login data.
        url: String,
        /// SHA-256 in hex.
        sha256: String,
    },
    /// A file of a Python package index.
    Pypi {
        /// Project.
        name: String,
        /// Version.
        version: String,
        /// SHA-256 in hex.
        sha256: String,
    },
    /// Several in one tree, with the recipe's changes.
    Composed {
        /// Digest over all files of the tree.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tree: Option<Digest>,
        /// What it is made of.
        #[serde(rename = "part")]
        parts: Vec<LockedPart>,
    },
}

/// A part of a source tree, with what proves its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LockedPart {
    /// Directory of the tree; `.` for the tree itself.
    pub into: String,
    /// Digest over the files that the recipe puts over it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlay: Option<Digest>,
    /// Digests of the patches, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patches: Vec<Digest>,
    /// What is fetched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<LockedSource>,
}

/// A pinned toolchain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LockedTool {
    /// Name, as `simpack toolchain list` shows it.
    pub name: String,
    /// Its wheels, sorted by project.
    #[serde(rename = "wheel")]
    pub wheels: Vec<LockedWheel>,
}

/// One file of a package index.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LockedWheel {
    /// Project.
    pub project: String,
    /// Version.
    pub version: String,
    /// File name.
    pub file: String,
    /// Digest of the file.
    pub sha256: Digest,
    /// Bytes of the file.
    pub size: u64,
}

/// Packages of channels that fit together, and what they were chosen for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LockedDependencies {
    /// Channels, as the recipe names them, without login data.
    pub channels: Vec<String>,
    /// What the builds need, sorted.
    pub needs: Vec<String>,
    /// Newest glibc that the packages may need; none where the compiler keeps to none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub glibc: Option<GlibcVersion>,
    /// The packages, sorted by name; none before they are chosen.
    #[serde(default, rename = "package", skip_serializing_if = "Vec::is_empty")]
    pub packages: Vec<LockedPackage>,
}

impl LockedDependencies {
    /// Whether both ask for the same.
    pub fn asks_as(&self, other: &Self) -> bool {
        (&self.channels, &self.needs, &self.glibc) == (&other.channels, &other.needs, &other.glibc)
    }
}

/// A package of a channel.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LockedPackage {
    /// Name.
    pub name: String,
    /// Version.
    pub version: String,
    /// Build string.
    pub build: String,
    /// Its channel as the recipe names it, without login data, and its place there.
    pub url: String,
    /// Digest of the file.
    pub sha256: Digest,
    /// Bytes of the file.
    pub size: u64,
}

impl LockedPackage {
    /// Last part of its address.
    pub fn file(&self) -> &str {
        self.url.rsplit('/').next().unwrap_or(&self.url)
    }
}

impl Lock {
    /// Reads the text of a lock; `path` is how the file is named in errors.
    ///
    /// # Errors
    /// It is not the TOML that this reader knows, or of another edition.
    pub fn parse(text: &str, path: &str) -> Result<Self> {
        let again = |error: Error| error.hint("`simpack lock --update` writes it anew from the recipe");
        let lock: Self = toml::from_str(text)
            .map_err(|error| again(Error::recipe(format!("{path}: {}", error.to_string().trim_end()))))?;
        if lock.edition != LOCK_EDITION {
            let message = format!("{path}: edition {} is unknown (known: {LOCK_EDITION})", lock.edition);
            return Err(again(Error::recipe(message).hint("a newer simpack may have written it")));
        }
        Ok(lock)
    }

    /// The text of the file.
    ///
    /// # Errors
    /// None but an internal error: every value of a lock prints as TOML.
    pub fn text(&self) -> Result<String> {
        let body = toml::to_string(self).map_err(|error| Error::bug("a lock does not print").because(error))?;
        Ok(format!("{HEAD}{body}"))
    }

    /// The packages of builds without host variants, then those of each variant.
    pub fn given(&self) -> impl Iterator<Item = (Option<&HostVariant>, &LockedDependencies)> {
        let variants = self.variants.iter().map(|variant| (Some(&variant.host), &variant.dependencies));
        self.dependencies.iter().map(|dependencies| (None, dependencies)).chain(variants)
    }

    /// The packages of the builds of a host variant, or of those without.
    pub fn given_to(&self, host: Option<&HostVariant>) -> Option<&LockedDependencies> {
        self.given().find(|(of, _)| *of == host).map(|(_, dependencies)| dependencies)
    }

    /// The tool of a name.
    pub fn tool(&self, name: &str) -> Option<&LockedTool> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// Everything that `--update` may name: `source`, tools, the projects of their wheels, `dependencies`, and the
    /// packages of these; sorted.
    pub fn names(&self) -> Vec<String> {
        let source = self.source.iter().map(|_| "source".to_owned());
        let tools = self.tools.iter().flat_map(|tool| {
            let wheels = tool.wheels.iter().map(|wheel| wheel.project.clone());
            std::iter::once(tool.name.clone()).chain(wheels)
        });
        let packages = self.given().flat_map(|(_, dependencies)| {
            let packages = dependencies.packages.iter().map(|package| package.name.clone());
            std::iter::once(DEPENDENCIES.to_owned()).chain(packages)
        });
        let mut names: Vec<String> = source.chain(tools).chain(packages).collect();
        names.sort();
        names.dedup();
        names
    }
}
