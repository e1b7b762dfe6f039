//! Content keys: a digest over named parts, so that a key can be explained part by part.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fs::{Digest, DigestBuilder};

/// One thing that a key depends on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct KeyPart {
    /// Kind and name: `file kernels/neuron.cu`, `tool nvcc`, `argument 3`.
    pub name: String,
    /// Value: a digest, a version, the argument itself.
    pub value: String,
}

impl KeyPart {
    /// A part.
    pub fn new(name: impl Into<String>, value: impl ToString) -> Self {
        Self { name: name.into(), value: value.to_string() }
    }

    /// Path of the source file that the part is the digest of.
    pub fn file(&self) -> Option<&str> {
        self.name.strip_prefix("file ")
    }

    /// A directory of the source that holds nothing.
    pub fn empty_directory(path: impl std::fmt::Display) -> Self {
        Self::new(format!("{EMPTY}{path}"), "")
    }

    /// Path of the directory, if the part stands for one that holds nothing.
    pub fn directory(&self) -> Option<&str> {
        self.name.strip_prefix(EMPTY)
    }

    /// The key of a step whose files a build is made against.
    pub(super) fn of_build(step: &str, key: Digest) -> Self {
        Self::new(format!("{BUILD}{step}"), key)
    }

    /// Whether it is one of these.
    pub(super) fn is_of_build(&self) -> bool {
        self.name.starts_with(BUILD)
    }

    /// Whether a build tree depends on the part for good: not on sources, which are brought up to date in it, nor on what
    /// is done with what was built. What is built against is named by its bytes instead of the key of who made it.
    pub fn is_of_configuration(&self) -> bool {
        self.file().is_none() && !self.is_of_build() && !self.name.starts_with("install ") && self.name != "soname"
    }
}

/// Beginning of the names of parts that stand for empty directories.
const EMPTY: &str = "empty directory ";
/// Beginning of the names of parts that stand for steps whose files a build is made against.
const BUILD: &str = "build ";

/// The key over parts: order matters, so callers list them in a fixed one.
pub fn key_of(parts: &[KeyPart]) -> Digest {
    let mut builder = DigestBuilder::default().field("simpack-step-key 1");
    for part in parts {
        builder = builder.field(&part.name).field(&part.value);
    }
    builder.finish()
}
