//! Where a simulator's source is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where the simulator's source is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// A directory, relative to the recipe's.
    Path(String),
    /// A git repository at a revision (full commit id).
    Git {
        /// Repository.
        url: String,
        /// Commit.
        rev: String,
    },
    /// An archive with its digest.
    Url {
        /// Address.
        url: String,
        /// SHA-256 in hex.
        sha256: String,
    },
    /// A source distribution of a Python package index.
    Pypi {
        /// Project name.
        name: String,
        /// Version.
        version: String,
        /// SHA-256 in hex.
        sha256: String,
    },
    /// Several sources in one tree, or one with changes of the recipe's own.
    Composed(Vec<SourcePart>),
}

/// A part of a source tree that is put together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct SourcePart {
    /// Directory of the tree that it becomes; `.` for the tree itself.
    pub into: String,
    /// What is fetched; none where the recipe's own files are all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// Directory, relative to the recipe's, whose files are put over it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlay: Option<String>,
    /// Patches, relative to the recipe's directory, in the order in which they are applied; before the overlay.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patches: Vec<String>,
}

impl Source {
    /// What is fetched, and what the recipe changes of it, where that becomes the whole tree; none where a tree is put together
    /// from several.
    pub fn single(&self) -> Option<(&Self, Option<&SourcePart>)> {
        match self {
            Self::Composed(parts) => match parts.as_slice() {
                [part] if part.into == "." => part.source.as_ref().map(|source| (source, Some(part))),
                _ => None,
            },
            one => Some((one, None)),
        }
    }

    /// What of it is fetched, part by part.
    pub fn fetched(&self) -> Vec<&Self> {
        match self {
            Self::Path(_) => Vec::new(),
            Self::Composed(parts) => {
                parts.iter().filter_map(|part| part.source.as_ref()).flat_map(Self::fetched).collect()
            }
            one => vec![one],
        }
    }
}
