//! The values of a plan.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::KeyPart;
use crate::arch::{CudaVersion, KernelAbiTag, KernelTarget, Platform, Version};
use crate::bundle::ToolVersion;
use crate::fs::Digest;
use crate::recipe::{BuildDriver, ComponentKind, Recipe};

/// Version of the plan's JSON schema.
pub const PLAN_SCHEMA: u32 = 1;

/// What planning needs to know of the world, gathered beforehand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanInputs {
    /// Every file of the source, `/`-joined below its root, with its digest.
    pub sources: BTreeMap<String, Digest>,
    /// Tools by name (`nvcc`, `c++`, `cmake`, `ninja`), as they enter keys and provenance.
    pub tools: BTreeMap<String, ToolVersion>,
    /// Seconds since 1970 that stand in for every time stamp.
    pub source_date_epoch: u64,
    /// Components whose own build compiles device code, and must be told for which capabilities.
    pub cuda_builds: BTreeSet<ComponentKind>,
}

/// The whole job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct BuildPlan {
    /// Always [`PLAN_SCHEMA`].
    pub schema: u32,
    /// Simulator's name.
    pub simulator: String,
    /// Its version.
    pub version: Version,
    /// Platform of the host part.
    pub platform: Platform,
    /// CUDA release of the kernels.
    pub cuda: CudaVersion,
    /// The tag that ties kernels to core.
    pub kernel_abi: Option<KernelAbiTag>,
    /// Tools that the steps use.
    pub tools: BTreeMap<String, ToolVersion>,
    /// Steps in a fixed order; no step needs a later one.
    pub steps: Vec<Step>,
    /// Bundles that the outputs are staged into.
    pub bundles: Vec<PlannedBundle>,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Step {
    /// Unique in the plan, stable between runs: `host core`, `kernels/neuron.cu sm_90 (fixed)`.
    pub id: String,
    /// Component it belongs to.
    pub component: ComponentKind,
    /// Digest over `parts`.
    pub key: Digest,
    /// What the key is made of.
    pub parts: Vec<KeyPart>,
    /// Key of what is known before the compiler says which headers it read; lists of headers are
    /// recorded under it. None for steps whose inputs are all declared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direct: Option<Digest>,
    /// What to do.
    pub action: Action,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Action {
    /// Builds and installs a host component into a tree.
    Host {
        /// Build system.
        driver: BuildDriver,
        /// Directory of its top file below the source root; empty for the root.
        source: String,
        /// Options; `{prefix}` and `{jobs}` are still to be replaced.
        options: BTreeMap<String, String>,
        /// Make targets, or the script's file name.
        targets: Vec<String>,
        /// The one target whose plug-in library it builds.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        target: Option<KernelTarget>,
    },
    /// Compiles one translation unit for one target and variant into one file.
    Kernel {
        /// Translation unit below the source root.
        source: String,
        /// Target.
        target: KernelTarget,
        /// Variant's directory name.
        variant: String,
        /// Compiler arguments, without the host compiler, the output and the source.
        args: Vec<String>,
        /// Path of the output below the prefix.
        output: String,
    },
}

impl Step {
    /// The one target whose device code the step makes.
    pub fn target(&self) -> Option<KernelTarget> {
        match &self.action {
            Action::Kernel { target, .. } => Some(*target),
            Action::Host { target, .. } => *target,
        }
    }
}

/// A bundle that the build leaves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedBundle {
    /// Package name.
    pub package: String,
    /// Component.
    pub component: ComponentKind,
    /// Kernel target.
    pub target: Option<KernelTarget>,
}

/// Directory below the prefix that holds the device code of one variant and target; the
/// simulator's loader looks there, beside its core library.
pub fn kernel_dir(recipe: &Recipe, tag: &KernelAbiTag, variant: &str, target: KernelTarget) -> String {
    format!("lib/{}/kernels/{tag}/cuda{}/{variant}/{target}", recipe.name, recipe.cuda.major)
}
