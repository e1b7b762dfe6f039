//! Lints: metadata as data files, predicates as named functions over facts, one engine for both.
//!
//! A lint is a file `manifests/lints/<id>.toml` ([`LintInfo`]: level, words, fix, links, parameters)
//! and a function of the same id ([`Predicate`]). A [`Registry`] joins them for one type of facts:
//! bundles in `verify`, a machine in `doctor`. Nothing here reads a file, a clock or an environment.

mod engine;
mod info;
mod settings;

pub use engine::{Hits, Predicate, Registry, UNUSED_WAIVER, unused_waiver};
pub use info::{LintInfo, Over, ParameterKind, Parameters, Reads};
pub use settings::Settings;
