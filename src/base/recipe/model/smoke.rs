//! `[smoke]`: the simulator's own smoke test. It travels in core's `simpack.json`, so that whoever has the packages
//! can run it without the recipe.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A simulator's smoke test: one short run that prints JSON, and what of it must agree between backends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Smoke {
    /// Program, relative to the prefix, and arguments of every run. It is run in the prefix.
    pub command: Vec<String>,
    /// Further arguments for the CPU.
    pub cpu: Vec<String>,
    /// Further arguments for one CUDA device and one target, which must run exactly that or fail; empty for a
    /// simulator without. `{device}` and `{target}` are replaced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cuda: Vec<String>,
    /// Further arguments for one Vulkan device, one target and one variant of the shaders, which must run exactly that or
    /// fail; empty for a simulator without. `{device}`, `{target}` and `{variant}` are replaced; without `{variant}` it is one
    /// run a device, of the simulator's own choice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vulkan: Vec<String>,
    /// JSON pointers (RFC 6901) into what it prints: the same value on every backend.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub equal: Vec<String>,
    /// JSON pointers to numbers that agree with the CPU's to so many significant digits.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub near: BTreeMap<String, u32>,
    /// JSON pointer to a text that ends in the target that ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// JSON pointer to the seconds that the simulator itself measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<String>,
    /// Seconds after which a run is ended.
    pub limit: u32,
}
