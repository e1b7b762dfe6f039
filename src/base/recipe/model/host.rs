//! The host compilers that a recipe can ask for: the machine's, or zig for a chosen glibc.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arch::GlibcVersion;

/// The glibc ceiling of the pinned host compiler when the recipe names none: RHEL 8 and its kin.
const DEFAULT_GLIBC: GlibcVersion = GlibcVersion::new(2, 28);

/// The oldest glibc that the machine's compiler can be held to. Systems of its age have a C++ library with all that programs
/// call today: what is missing in older ones is too much to be linked into each of them.
pub(in crate::recipe) const OLDEST_GLIBC_OF_SYSTEM: GlibcVersion = GlibcVersion::new(2, 28);

/// Which host compiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HostKind {
    /// The machine's.
    System,
    /// The pinned one.
    Zig,
}

impl HostKind {
    /// As recipes name them.
    pub const NAMES: [(&str, Self); 2] = [("system", Self::System), ("zig", Self::Zig)];

    /// Without any settings.
    pub(in crate::recipe) fn plain(self) -> HostToolchain {
        match self {
            Self::System => HostToolchain::System { min_cxx: None, glibc: None },
            Self::Zig => HostToolchain::Zig { glibc: DEFAULT_GLIBC },
        }
    }
}

/// How the host part is compiled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum HostToolchain {
    /// The machine's own C++ compiler; the glibc floor is computed from what it made.
    System {
        /// Lowest major version of g++ (or clang's equivalent) that the source needs.
        min_cxx: Option<u32>,
        /// Ceiling for GLIBC symbol versions, by headers and libraries of that glibc; the machine's glibc without it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        glibc: Option<GlibcVersion>,
    },
    /// The pinned zig toolchain, which compiles for a chosen glibc.
    Zig {
        /// Ceiling for GLIBC symbol versions.
        glibc: GlibcVersion,
    },
}

impl HostToolchain {
    /// Which compiler it is.
    pub fn kind(&self) -> HostKind {
        match self {
            Self::System { .. } => HostKind::System,
            Self::Zig { .. } => HostKind::Zig,
        }
    }

    /// The pinned tool that it is, or that brings its glibc; none for the machine's compiler with the machine's glibc.
    pub fn pinned(&self) -> Option<&'static str> {
        match self {
            Self::System { glibc: None, .. } => None,
            Self::System { glibc: Some(_), .. } | Self::Zig { .. } => Some("zig"),
        }
    }

    /// The glibc that the machine's compilers are held to, nvcc's among them; none where they have their own, or are not used.
    pub fn system_glibc(&self) -> Option<GlibcVersion> {
        match self {
            Self::System { glibc, .. } => *glibc,
            Self::Zig { .. } => None,
        }
    }

    /// The ceiling for GLIBC symbol versions; none for a compiler that links against the machine's glibc.
    pub fn glibc_ceiling(&self) -> Option<GlibcVersion> {
        match self {
            Self::System { glibc, .. } => *glibc,
            Self::Zig { glibc } => Some(*glibc),
        }
    }
}

impl fmt::Display for HostToolchain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System { min_cxx, glibc } => {
                f.write_str("the machine's compiler")?;
                if let Some(version) = min_cxx {
                    write!(f, ", g++ {version} or newer")?;
                }
                match glibc {
                    Some(glibc) => write!(f, ", for glibc {glibc}"),
                    None => Ok(()),
                }
            }
            Self::Zig { glibc } => write!(f, "zig, for glibc {glibc}"),
        }
    }
}
