//! What a recipe sets for the driver, lints and package formats.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::waiver::Waiver;
use crate::elf::edit::PathTag;
use crate::report::Level;

/// A level of the x86-64 psABI: what the processors have that host code is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum CpuLevel {
    /// Every x86-64 processor.
    #[serde(rename = "x86-64")]
    V1,
    /// SSE4.2 and POPCNT.
    #[serde(rename = "x86-64-v2")]
    V2,
    /// AVX2 and FMA.
    #[serde(rename = "x86-64-v3")]
    V3,
    /// AVX-512.
    #[serde(rename = "x86-64-v4")]
    V4,
}

impl CpuLevel {
    /// All, with the names that compilers and recipes use.
    pub const NAMES: [(&'static str, Self); 4] =
        [("x86-64", Self::V1), ("x86-64-v2", Self::V2), ("x86-64-v3", Self::V3), ("x86-64-v4", Self::V4)];

    /// 1 to 4.
    pub fn number(self) -> u32 {
        self as u32 + 1
    }
}

/// Driver discovery of the host part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DriverPolicy {
    /// Names of driver profiles, in order.
    pub profiles: Vec<String>,
    /// Directories of these profiles, in order, without duplicates.
    pub directories: Vec<String>,
    /// Which tag.
    pub tag: PathTag,
}

/// Lint levels and waivers of a recipe.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct LintSettings {
    /// Lint id to level.
    pub levels: BTreeMap<String, Level>,
    /// Waived findings.
    pub waivers: Vec<Waiver>,
}

/// Settings of package formats.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PackageSettings {
    /// Name of the conda channel.
    pub channel: String,
    /// Build number added to every package's own.
    pub build_number: u64,
    /// What a package manager brings where nobody tells the capability of the GPU.
    #[schemars(default)]
    pub fallback: Fallback,
    /// Whose conventions generated recipes of conda follow. It is in no package.
    #[serde(skip)]
    pub profile: CondaProfile,
    /// Accounts of those who look after generated recipes. They are in no package.
    #[serde(skip)]
    pub maintainers: Vec<String>,
    /// Who looks after the package of nix, by the names of nixpkgs' maintainers. They are in no package.
    #[serde(skip)]
    pub nix_maintainers: Vec<String>,
    /// What wheels do beyond what is agreed upon.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub wheel_experiments: Vec<WheelExperiment>,
}

/// Something that wheels can do and that their users have not agreed upon yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WheelExperiment {
    /// Wheels of one version among which installers choose by the GPU (PEP 817 and PEP 825, drafts).
    Variants,
}

impl WheelExperiment {
    /// Every one, by its name in recipes.
    pub const NAMES: [(&'static str, Self); 1] = [("variants", Self::Variants)];
}

/// What serves a GPU whose capability the package manager does not know.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Fallback {
    /// The PTX of the lowest capability: the driver compiles it.
    #[default]
    Ptx,
    /// The kernels of all targets: each GPU runs its own.
    All,
    /// Nothing: the simulator runs on the CPU.
    Cpu,
}

impl Fallback {
    /// As recipes name them.
    pub const NAMES: [(&str, Self); 3] = [("ptx", Self::Ptx), ("all", Self::All), ("cpu", Self::Cpu)];
}

/// Whose conventions generated recipes of conda follow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CondaProfile {
    /// Those of a channel of one's own: compilers are pinned, search paths name the driver's directories.
    #[default]
    Channel,
    /// conda-forge's: its pins, and drivers where the loader finds them.
    CondaForge,
}

impl CondaProfile {
    /// As recipes name them.
    pub const NAMES: [(&str, Self); 2] = [("channel", Self::Channel), ("conda-forge", Self::CondaForge)];
}
