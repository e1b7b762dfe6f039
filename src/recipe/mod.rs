//! The recipe: as people write it (`RecipeFile`) and resolved (`Recipe`).

mod model;

pub use model::{
    BuildDriver, BuildSpec, Component, ComponentKind, DriverPolicy, DynamicTag, Form, HostToolchain, KernelGroup,
    LintSettings, PackageSettings, Recipe, Source, VariantChoice, Waiver, When,
};
