//! The recipe: as people write it (`RecipeFile`) and resolved (`Recipe`).

mod compile;
mod diagnostic;
mod file;
mod files;
mod form;
mod hlsl;
mod host;
mod host_structures;
mod inputs;
mod keys;
#[cfg(test)]
mod keys_tests;
mod matrix;
mod model;
mod need;
mod parse;
mod places;
mod resolve;
mod ships;
mod smoke;
mod soname;
mod table_keys;
mod test;
#[cfg(test)]
mod tests;
mod variant;
mod waiver;

pub use compile::{Compile, CompilerRange, is_of_cuda};
pub use diagnostic::{Diagnostic, DiagnosticRecord, Document, Spanned, as_error, render_all};
pub use file::{
    Additions, BuildTable, ComponentTable, DependenciesTable, DriverTable, GroupTable, HostTable, LayoutTable,
    LintTable, MatrixTable, OptionValue, PackageTable, RecipeFile, ReleaseTable, SimulatorTable, StructuresTable,
    ToolchainTable, VariantTable,
};
pub use files::{RecipeFiles, RecipeMemory};
pub use form::{DeviceCompiler, KernelForm, NO_CONTRACTION, ShaderLanguage};
pub use hlsl::{WITHOUT_DXC, beyond_glslang, needs_dxc};
pub use host::{HostKind, HostToolchain};
pub use host_structures::{HeaderLanguage, HostStructures, HostType, LayoutSource};
pub use inputs::Inputs;
pub use keys::{RecipeKeys, toml_schema};
pub use matrix::{RecipeMatrix, load_matrix};
pub use model::{
    BuildSpec, Component, ComponentKind, CondaProfile, CpuLevel, CudaToolchain, DriverPolicy, Fallback, Generator,
    InWheels, Install, KernelGroup, KernelNames, LintSettings, PackageSettings, Recipe, Source, SourcePart,
    UNNAMED_VARIANT, Used, VariantChoice, WheelExperiment, When, program_of_machine,
};
pub use need::Need;
pub use parse::parse;
pub use parse::table::scalars_of;
pub use parse::table::{declared_kernels, declared_structures};
pub use parse::words::{AtLeast, CapabilityRange, Use};
pub use places::{KernelPlace, Places};
pub use resolve::{Selection, load};
pub use ships::SITE_PACKAGES;
pub use smoke::Smoke;
pub use soname::Soname;
pub use table_keys::KernelTableKeys;
pub use test::{PLACES, Test, TestOutcome, TestVerdict};
pub use variant::{HostVariant, NONE, PYTHON, VariantAxis, VariantBuild, VariantValue, choice_word};
pub use waiver::Waiver;
