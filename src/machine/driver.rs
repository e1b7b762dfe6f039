//! The CUDA driver of a machine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::target::CudaVersion;

/// The driver that a program would get.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Driver {
    /// Its own version: `580.159.04`; none where only its CUDA version is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Newest CUDA release that it supports.
    pub cuda: CudaVersion,
}
