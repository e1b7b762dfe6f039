//! The verification of bundles: collect, then lint.

use super::VerifyContext;
use super::collect::{Collected, Needs, collect};
use crate::bundle::Bundle;
use crate::lint::Settings;
use crate::report::{Level, Report};

/// Examines bundles. `settings` must have passed [`Registry::check`](crate::lint::Registry::check),
/// else a level or waiver of an unknown lint has no effect.
///
/// The verdict of one package is `report.about(package).verdict()`.
pub fn verify(bundles: &[Bundle], context: &VerifyContext, settings: &Settings) -> Report {
    let runs = |id: &str| context.lints.level(id, settings) != Level::Allow;
    let needs = Needs {
        digests: runs("artifact-digest"),
        leaks: runs("build-path-leak") && !context.rules.build_paths.is_empty(),
    };
    let Collected { facts, incomplete } = collect(bundles, &context.rules, needs);
    let examined = bundles.iter().map(|bundle| bundle.manifest.package.clone()).collect();
    context.lints.run(&facts, settings, examined, incomplete)
}
