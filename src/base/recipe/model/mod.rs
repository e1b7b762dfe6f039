//! The resolved recipe, part by part.

mod component;
mod host;
mod inputs;
mod kernels;
mod places;
mod recipe;
mod settings;
mod smoke;
mod source;
mod test;
#[cfg(test)]
mod tests;
mod waiver;

pub use component::{
    BuildSpec, Compile, CompilerRange, Component, ComponentKind, HostVariant, InWheels, Install, NONE, Need, PYTHON,
    SITE_PACKAGES, Soname, Used, VariantAxis, VariantBuild, VariantValue, choice_word, is_of_cuda,
};
pub(in crate::recipe) use component::{OF_CUDA, is_variable, not_below, not_pattern};
pub(in crate::recipe) use host::OLDEST_GLIBC_OF_SYSTEM;
pub use host::{HostKind, HostToolchain};
pub use inputs::Inputs;
pub use kernels::{
    DeviceCompiler, Generator, HeaderLanguage, HostStructures, HostType, KernelForm, KernelGroup, KernelNames,
    LayoutSource, NO_CONTRACTION, ShaderLanguage, UNNAMED_VARIANT, VariantChoice, When, program_of_machine,
};
pub use places::{KernelPlace, Places};
pub use recipe::{CudaToolchain, Recipe};
pub use settings::{CondaProfile, CpuLevel, DriverPolicy, Fallback, LintSettings, PackageSettings, WheelExperiment};
pub use smoke::Smoke;
pub use source::{Source, SourcePart};
pub use test::{PLACES, Test, TestOutcome, TestVerdict};
pub use waiver::Waiver;
