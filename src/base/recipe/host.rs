//! The host compilers that a recipe can ask for: the machine's, or zig for a chosen glibc.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arch::GlibcVersion;

/// The glibc ceiling of the pinned host compiler when the recipe names none: RHEL 8 and its kin.
pub(super) const DEFAULT_GLIBC: GlibcVersion = GlibcVersion::new(2, 28);

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
    pub(super) fn plain(self) -> HostToolchain {
        match self {
            Self::System => HostToolchain::System { min_cxx: None },
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

    /// Its name among the pinned tools; none for the machine's.
    pub fn pinned(&self) -> Option<&'static str> {
        match self {
            Self::System { .. } => None,
            Self::Zig { .. } => Some("zig"),
        }
    }

    /// The ceiling for GLIBC symbol versions; none for a compiler that links against the machine's glibc.
    pub fn glibc_ceiling(&self) -> Option<GlibcVersion> {
        match self {
            Self::System { .. } => None,
            Self::Zig { glibc } => Some(*glibc),
        }
    }
}

impl fmt::Display for HostToolchain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System { min_cxx: Some(version) } => write!(f, "the machine's compiler, g++ {version} or newer"),
            Self::System { min_cxx: None } => f.write_str("the machine's compiler"),
            Self::Zig { glibc } => write!(f, "zig, for glibc {glibc}"),
        }
    }
}
