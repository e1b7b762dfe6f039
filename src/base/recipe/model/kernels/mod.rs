//! Device sources that ship together.

mod form;
mod host_structures;

pub use form::{DeviceCompiler, KernelForm, NO_CONTRACTION, ShaderLanguage};
pub use host_structures::{HeaderLanguage, HostStructures, HostType, LayoutSource};

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::inputs::Inputs;
use crate::arch::Capability;
use crate::error::Result;
use crate::gpu::KernelSignature;
use crate::layout::Structure;

/// Device sources that ship together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KernelGroup {
    /// Name.
    pub name: String,
    /// Translation units, relative to the source.
    pub sources: Vec<String>,
    /// Declared kernels, sorted by name.
    pub table: Vec<KernelSignature>,
    /// What it ships as.
    pub form: KernelForm,
    /// Globs over the installed files that are cut to one capability; for the form `slice` alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[serde(default)]
    pub files: Vec<String>,
    /// Whether what is cut is for GPUs alone, and does not ship without device code.
    #[serde(rename = "gpu-only", default, skip_serializing_if = "std::ops::Not::not")]
    pub gpu_only: bool,
    /// Compiler flags for every step.
    pub flags: Vec<String>,
    /// One entry per combination of the variant axes; one unnamed entry without axes.
    pub variants: Vec<VariantChoice>,
    /// Names of the variants that promise the same bits on every device.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    #[serde(default)]
    pub exact: BTreeSet<String>,
    /// Additions for some capabilities.
    pub when: Vec<When>,
    /// What writes its translation units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generator: Option<Generator>,
    /// Whether the build of core puts its modules into core, so that no package ships them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[serde(default)]
    pub embed: bool,
    /// What people call what its kernels' signatures count, by kernel. No key and no package follows from it.
    #[serde(skip)]
    pub names: BTreeMap<String, KernelNames>,
    /// The structures that its table declares. They are in the signatures of kernels, as far as these bind them.
    #[serde(skip)]
    pub structures: Vec<Structure>,
    /// What says how those lie in the host.
    #[serde(skip)]
    pub host_structures: Option<HostStructures>,
}

/// Names in a kernel table, for people who read about it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KernelNames {
    /// Translation unit, where the table says it.
    pub source: Option<String>,
    /// Name and type of each parameter, as the table writes them: `count`, `u32`.
    pub params: Vec<(String, String)>,
    /// The structure that they are the fields of, where the table names one.
    pub push_constants: Option<String>,
    /// The structure in the buffer at each binding, in the order of the signature's bindings; none where the table gives
    /// sizes alone.
    pub elements: Vec<Option<String>>,
}

/// A command that writes the translation units of a kernel group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Generator {
    /// Program and arguments: a program of the machine by its name, or a file of the source by its path.
    pub command: Vec<String>,
    /// Globs over the files that it reads, relative to the source.
    pub inputs: Vec<String>,
}

impl Generator {
    /// The files that it reads.
    ///
    /// # Errors
    /// Its `inputs` are not globs.
    pub fn reads(&self) -> Result<Inputs> {
        Inputs::below("", Some(&self.inputs))
    }
}

/// The program of a command that is one of the machine's, found by its name; others are files of the source.
pub fn program_of_machine(command: &[String]) -> Option<&str> {
    command.first().map(String::as_str).filter(|program| !program.contains('/'))
}

/// Name of the one combination of a group without variant axes.
pub const UNNAMED_VARIANT: &str = "default";

/// One combination of variants.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct VariantChoice {
    /// Directory name: the values of all axes joined by `-`; [`UNNAMED_VARIANT`] without axes.
    pub name: String,
    /// Axis to value.
    pub choice: BTreeMap<String, String>,
    /// Preprocessor names (`NAME` or `NAME=VALUE`).
    pub define: Vec<String>,
    /// Compiler flags.
    pub flags: Vec<String>,
}

/// Additions that hold for a range of capabilities.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct When {
    /// Lowest capability, inclusive.
    pub from: Option<Capability>,
    /// Capability below which it holds, exclusive.
    pub below: Option<Capability>,
    /// Preprocessor names.
    pub define: Vec<String>,
    /// Compiler flags.
    pub flags: Vec<String>,
}

impl When {
    /// Whether the additions hold for a capability; suffixes do not matter.
    pub fn applies(&self, capability: Capability) -> bool {
        let number = capability.number();
        self.from.is_none_or(|from| number >= from.number()) && self.below.is_none_or(|below| number < below.number())
    }
}
