//! The recipe: as people write it (`RecipeFile`) and resolved (`Recipe`).

mod bindings;
mod diagnostic;
mod file;
mod files;
mod form;
mod host;
mod model;
mod parse;
mod parse_parts;
mod reader;
mod resolve;
mod resolve_components;
mod resolve_kernels;
mod resolve_targets;
mod smoke;
mod table;
#[cfg(test)]
mod tests;
mod words;

pub use diagnostic::{Diagnostic, DiagnosticRecord, Document, Spanned, as_error, render_all};
pub use file::{
    Additions, BuildTable, ComponentTable, DriverTable, GroupTable, HostTable, LintTable, MatrixTable, OptionValue,
    PackageTable, RecipeFile, ReleaseTable, SimulatorTable, ToolchainTable,
};
pub use files::{RecipeFiles, RecipeMemory};
pub use form::{DeviceCompiler, KernelForm};
pub use host::{HostKind, HostToolchain};
pub use model::{
    BuildDriver, BuildSpec, Component, ComponentKind, CpuLevel, CudaToolchain, DriverPolicy, KernelGroup, LintSettings,
    PackageSettings, Recipe, Source, UNNAMED_VARIANT, VariantChoice, Waiver, When,
};
pub use parse::parse;
pub use resolve::{Selection, load, resolve};
pub use smoke::Smoke;
pub use words::{AtLeast, CapabilityRange, Use};
