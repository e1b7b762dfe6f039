//! The keys of a recipe as their maintainers see them: what `simpack schema recipe` prints, from
//! which editors complete, and what the book's reference is generated from. The reader (`parse`) has the last word; a
//! test holds both to the same keys, and reads every example.
#![allow(dead_code, reason = "the schemas of these types are all that is used")]

mod components;
mod kernels;
mod matrix;
mod runs;
mod settings;
mod simulator;
mod table;
#[cfg(test)]
mod tests;
mod toml;

pub use table::KernelTableKeys;
pub use toml::toml_schema;

use std::collections::BTreeMap;

use components::Components;
use kernels::KernelGroup;
use matrix::{Dependencies, Matrix, Toolchain};
use runs::{SmokeTest, UpstreamTest};
use schemars::JsonSchema;
use settings::{Driver, Lint, Package};
use simulator::{Simulator, Source};

/// What only the maintainers of a simulator know. Names, pins and search paths are derived from it.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case", title = "simpack.toml")]
pub struct RecipeKeys {
    /// Version of the recipe's language; always in the first line.
    #[schemars(range(min = 1, max = 1), example = 1)]
    edition: u32,
    /// The simulator.
    simulator: Simulator,
    /// Where the source is: `path`, or `git` with `rev`, or `url` with `sha256`, or `pypi` with `version` and
    /// `sha256`. Without the table it is the recipe's directory.
    source: Option<Source>,
    /// Further sources by name, each fetched into the directory of its name: `source = "NAME"` of a build is that one.
    /// Beside them `[source]` may be left out, or hold `overlay` alone.
    sources: Option<BTreeMap<String, Source>>,
    /// What is built for.
    matrix: Option<Matrix>,
    /// How the host part is compiled.
    toolchain: Option<Toolchain>,
    /// Where the packages come from that builds need.
    dependencies: Option<Dependencies>,
    /// The parts of the simulator: each becomes a package. There must be a `core`.
    component: Components,
    /// Kernel groups by name: device code that ships together. The name is yours: lower-case letters, digits and `_`.
    kernels: Option<BTreeMap<String, KernelGroup>>,
    /// How the host part finds the libraries of the driver.
    driver: Option<Driver>,
    /// Levels of lints, and findings that are accepted.
    lint: Option<Lint>,
    /// Settings of package formats.
    package: Option<Package>,
    /// The simulator's own smoke test, which travels in core's `simpack.json`: one short run that prints JSON, and what
    /// of it must agree between the CPU and every GPU.
    smoke: Option<SmokeTest>,
    /// Upstream's own tests by name. A build runs them on the CPU on what it staged, without a network, before anything is packed;
    /// one that fails is a finding, and so is one that this machine cannot run.
    test: Option<BTreeMap<String, UpstreamTest>>,
}
