//! Levels and waivers of one run: the recipe's, then the command line's over them.

use std::collections::BTreeMap;

use globset::{Glob, GlobMatcher};

use crate::error::{Error, ErrorKind, Result};
use crate::recipe::{LintSettings, Waiver};
use crate::report::{Level, Subject};

/// Lints over what a stranger may have done to a package: it cannot accept their findings over itself.
const NEVER_CARRIED: [&str; 6] =
    ["artifact-digest", "file-rights", "link-escapes", "member-outside", "not-redistributable", "record-mismatch"];

/// What the recipe and the command line say about lints.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    pub(super) levels: BTreeMap<String, (Level, Origin)>,
    pub(super) waivers: Vec<CompiledWaiver>,
    /// Only a part of the distribution is examined, so a waiver without a finding proves nothing.
    pub partial: bool,
}

/// Who said it; decides the exit code of a mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Origin {
    /// What is examined brought it along.
    Package,
    Recipe,
    CommandLine,
}

impl Origin {
    pub(super) fn error_kind(self) -> ErrorKind {
        match self {
            Self::Package | Self::Recipe => ErrorKind::Recipe,
            Self::CommandLine => ErrorKind::Usage,
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct CompiledWaiver {
    pub(super) waiver: Waiver,
    pub(super) subject: GlobMatcher,
    pub(super) origin: Origin,
    /// The package that it is confined to.
    pub(super) within: Option<String>,
}

impl CompiledWaiver {
    /// Whether it waives a finding of `lint` over a subject, which has another name where releases do not count.
    pub(super) fn waives(&self, lint: &str, subject: &Subject, general: &Subject) -> bool {
        let is_inside = |package: &String| subject.package() == package;
        self.waiver.id == lint
            && self.within.as_ref().is_none_or(is_inside)
            && [subject, general].iter().any(|subject| self.subject.is_match(subject.to_string()))
    }
}

impl Settings {
    /// Settings of a recipe.
    ///
    /// # Errors
    /// A waiver has no reason, or its subject is not a glob.
    pub fn new(recipe: &LintSettings) -> Result<Self> {
        let levels = recipe.levels.iter().map(|(id, level)| (id.clone(), (*level, Origin::Recipe))).collect();
        let mut settings = Self { levels, ..Self::default() };
        for waiver in &recipe.waivers {
            settings.add(waiver.clone(), Origin::Recipe)?;
        }
        Ok(settings)
    }

    /// Sets the level of a lint for this run, whatever the recipe says.
    #[must_use]
    pub fn level(mut self, id: impl Into<String>, level: Level) -> Self {
        self.levels.insert(id.into(), (level, Origin::CommandLine));
        self
    }

    /// Adds a waiver of the command line.
    ///
    /// # Errors
    /// It has no reason, or its subject is not a glob.
    pub fn waive(mut self, waiver: Waiver) -> Result<Self> {
        self.add(waiver, Origin::CommandLine)?;
        Ok(self)
    }

    /// Adds waivers that a package brought along: they hold for findings over it alone, not for what protects its users,
    /// and one that says nothing here is nobody's mistake.
    pub fn carry(&mut self, package: &str, waivers: &[Waiver]) {
        for waiver in waivers.iter().filter(|waiver| !NEVER_CARRIED.contains(&waiver.id.as_str())) {
            let Ok(subject) = Glob::new(&waiver.subject) else { continue };
            let reason = format!("{} (says the package)", waiver.reason);
            let waiver = Waiver { reason, ..waiver.clone() };
            let (subject, within) = (subject.compile_matcher(), Some(package.to_owned()));
            self.waivers.push(CompiledWaiver { subject, waiver, origin: Origin::Package, within });
        }
    }

    fn add(&mut self, waiver: Waiver, origin: Origin) -> Result<()> {
        let wrong = |what: &str| {
            Error::new(origin.error_kind(), format!("waiver of `{}` over `{}` {what}", waiver.id, waiver.subject))
        };
        if waiver.reason.trim().is_empty() {
            return Err(wrong("has no reason").hint("say why the finding is accepted; the report shows it"));
        }
        let subject = Glob::new(&waiver.subject).map_err(|error| wrong("is not a glob").because(error))?;
        self.waivers.push(CompiledWaiver { subject: subject.compile_matcher(), waiver, origin, within: None });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_package_accepts_holds_for_it_alone_and_not_for_what_protects_users() {
        let waiver = |id: &str| Waiver { id: id.to_owned(), subject: "*".to_owned(), reason: "no".to_owned() };
        let mut settings = Settings::default();
        settings.carry("sim-core", &[waiver("soname-policy"), waiver("artifact-digest"), waiver("member-outside")]);
        let [carried] = settings.waivers.as_slice() else { panic!("{:?}", settings.waivers) };
        let waives = |lint: &str, subject: &str| {
            let subject = Subject::written(subject);
            carried.waives(lint, &subject, &subject)
        };
        assert!(waives("soname-policy", "sim-core: lib/libsim.so"));
        assert!(!waives("soname-policy", "sim-rtc: lib/libsim.so") && !waives("overlinked", "sim-core: lib/libsim.so"));
    }
}
