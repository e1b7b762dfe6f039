//! What a package asks of the machine, in no format's words.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arch::{Capability, CudaVersion, GlibcVersion};

/// One condition on the machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Condition {
    /// A driver of this CUDA version or a newer one.
    Driver {
        /// The version.
        cuda: CudaVersion,
    },
    /// The lowest capability of the machine's GPUs lies in one of these ranges.
    Device {
        /// The ranges.
        ranges: Vec<DeviceRange>,
        /// It holds, too, where nobody tells the capability.
        #[serde(rename = "if-unknown", alias = "if_unknown")]
        if_unknown: bool,
    },
    /// This glibc or a newer one.
    Glibc {
        /// The version.
        from: GlibcVersion,
    },
}

/// Capabilities that some device code runs on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceRange {
    /// Exactly these, sorted.
    Only(Vec<Capability>),
    /// From one on.
    From {
        /// The first.
        from: Capability,
        /// The first major that is too new.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        below: Option<u8>,
        /// Those in between that do not do, sorted.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        except: Vec<Capability>,
    },
}

impl DeviceRange {
    /// Everything from a capability on.
    pub fn from(from: Capability) -> Self {
        Self::From { from, below: None, except: Vec::new() }
    }

    /// Whether a device lies in it.
    pub fn contains(&self, device: Capability) -> bool {
        match self {
            Self::Only(capabilities) => capabilities.contains(&device),
            Self::From { from, below, except } => {
                *from <= device && below.is_none_or(|below| device.major < below) && !except.contains(&device)
            }
        }
    }
}
