//! The verification of bundles: collect, then lint.

use std::collections::BTreeSet;

use super::VerifyContext;
use super::collect::{Collected, Needs, Subjects, collect, labels};
use super::input::Opened;
use crate::bundle::Bundle;
use crate::lint::Settings;
use crate::report::{Level, Report, Subject};

/// Examines bundles. `settings` must have passed [`Registry::check`](crate::lint::Registry::check),
/// else a level or waiver of an unknown lint has no effect.
///
/// The verdict of one package is `report.about(package).verdict()`.
pub fn verify(bundles: &[Bundle], context: &VerifyContext, settings: &Settings) -> Report {
    examine(Subjects { bundles, ..Subjects::default() }, context, settings)
}

impl Opened {
    /// Examines everything that was opened. What could not be opened is in the report.
    pub fn verify(&self, context: &VerifyContext, settings: &Settings) -> Report {
        let Self { bundles, foreign, indexes, strays, .. } = self;
        // As wheels the same packages are installed elsewhere: each of the two is looked at by itself.
        let (wheels, others): (Vec<Bundle>, Vec<Bundle>) =
            bundles.iter().cloned().partition(|bundle| bundle.manifest.as_wheel);
        let mut report = match (wheels.is_empty(), others.is_empty()) {
            (false, false) => {
                let others = Subjects { bundles: &others, foreign, indexes, strays };
                let wheels = Subjects { bundles: &wheels, ..Subjects::default() };
                both(examine(others, context, settings), examine(wheels, context, settings))
            }
            _ => examine(Subjects { bundles, foreign, indexes, strays }, context, settings),
        };
        report.add_incomplete(self.incomplete.clone());
        report
    }
}

/// Two reports as one.
fn both(one: Report, other: Report) -> Report {
    let waived = [one.waived(), other.waived()].concat();
    let not_run: Vec<_> = one.not_run().iter().chain(other.not_run()).cloned().collect();
    let mut examined = [one.examined, other.examined].concat();
    examined.sort();
    examined.dedup();
    let findings = [one.findings, other.findings].concat();
    let mut report = Report::new(findings, [one.incomplete, other.incomplete].concat(), examined);
    report.set_waived(waived);
    report.add_not_run(not_run);
    report
}

fn examine(subjects: Subjects<'_>, context: &VerifyContext, settings: &Settings) -> Report {
    let runs = |id: &str| context.lints.level(id, settings) != Level::Allow;
    let needs = Needs {
        digests: runs("artifact-digest"),
        recorded: runs("record-mismatch"),
        leaks: (runs("build-path-leak") || runs("build-path-in-text")) && !context.rules.build_paths.is_empty(),
        depth: context.rules.depth,
    };
    let Collected { facts, incomplete } = collect(subjects, &context.rules, needs);
    let examined = labels(subjects.bundles)
        .into_iter()
        .chain(subjects.foreign.iter().map(|foreign| foreign.name.clone()))
        .collect();
    // Who reads a finding about a package changes the recipe, where its component stands.
    let place_of = |subject: &Subject| {
        let package = facts.packages.iter().find(|package| package.name() == subject.package())?;
        context.rules.component_place(package.manifest.component).cloned()
    };
    let names: BTreeSet<&str> = facts.foreign.iter().map(|contents| contents.name.as_str()).collect();
    let is_foreign = |subject: &Subject| names.contains(subject.package());
    context.lints.run_with_places(&facts, settings, examined, incomplete, place_of, is_foreign)
}
