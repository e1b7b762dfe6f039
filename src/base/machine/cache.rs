//! Caches of code that was compiled at run time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A cache of the CUDA driver: what it compiled from PTX for this user.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct RuntimeCache {
    /// Its directory.
    pub path: String,
    /// File of the driver whose age it was compared with; none without a driver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// All of it was written before that file was made: nothing of it will be read again.
    #[serde(default)]
    pub stale: bool,
    /// Bytes of its files, counted where it is stale.
    #[serde(default)]
    pub size: u64,
}

impl RuntimeCache {
    /// Whether a name in the directory is one that the driver gives: the index, and directories of one hexadecimal
    /// digit. Anything else there is somebody else's.
    pub fn is_own(name: &str) -> bool {
        name == "index" || name.len() == 1 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
    }
}
