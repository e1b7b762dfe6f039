//! The recipe: as people write it (`RecipeFile`) and resolved (`Recipe`).

mod diagnostic;
mod file;
mod files;
mod hlsl;
mod keys;
mod matrix;
mod model;
mod parse;
mod resolve;
#[cfg(test)]
mod tests;

pub use diagnostic::{Diagnostic, DiagnosticRecord, Document, Spanned, as_error, render_all};
pub use file::{
    Additions, BuildTable, ComponentTable, DependenciesTable, DriverTable, GroupTable, HostTable, LayoutTable,
    LintTable, MatrixTable, OptionValue, PackageTable, RecipeFile, ReleaseTable, SimulatorTable, StructuresTable,
    ToolchainTable, VariantTable,
};
pub use files::{RecipeFiles, RecipeMemory};
pub use hlsl::{WITHOUT_DXC, beyond_glslang, needs_dxc};
pub use keys::{KernelTableKeys, RecipeKeys, toml_schema};
pub use matrix::{RecipeMatrix, load_matrix};
pub use model::{
    BuildSpec, Compile, CompilerRange, Component, ComponentKind, CondaProfile, CpuLevel, CudaToolchain, DeviceCompiler,
    DriverPolicy, Fallback, Generator, HeaderLanguage, HostKind, HostStructures, HostToolchain, HostType, HostVariant,
    InWheels, Inputs, Install, KernelForm, KernelGroup, KernelNames, KernelPlace, LayoutSource, LintSettings,
    NO_CONTRACTION, NONE, Need, PLACES, PYTHON, PackageSettings, Places, Recipe, SITE_PACKAGES, ShaderLanguage, Smoke,
    Soname, Source, SourcePart, Test, TestOutcome, TestVerdict, UNNAMED_VARIANT, Used, VariantAxis, VariantBuild,
    VariantChoice, VariantValue, Waiver, WheelExperiment, When, choice_word, is_of_cuda, program_of_machine,
};
pub use parse::parse;
pub use parse::table::scalars_of;
pub use parse::table::{declared_kernels, declared_structures};
pub use parse::words::{AtLeast, CapabilityRange, Use};
pub use resolve::{Selection, load};
