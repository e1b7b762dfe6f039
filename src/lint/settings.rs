//! Levels and waivers of one run: the recipe's, then the command line's over them.

use std::collections::BTreeMap;

use globset::{Glob, GlobMatcher};

use crate::error::{Error, ErrorKind, Result};
use crate::recipe::{LintSettings, Waiver};
use crate::report::Level;

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
    Recipe,
    CommandLine,
}

impl Origin {
    pub(super) fn error_kind(self) -> ErrorKind {
        match self {
            Self::Recipe => ErrorKind::Recipe,
            Self::CommandLine => ErrorKind::Usage,
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct CompiledWaiver {
    pub(super) waiver: Waiver,
    pub(super) subject: GlobMatcher,
    pub(super) origin: Origin,
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

    fn add(&mut self, waiver: Waiver, origin: Origin) -> Result<()> {
        let wrong = |what: &str| {
            Error::new(origin.error_kind(), format!("waiver of `{}` over `{}` {what}", waiver.id, waiver.subject))
        };
        if waiver.reason.trim().is_empty() {
            return Err(wrong("has no reason").hint("say why the finding is accepted; the report shows it"));
        }
        let subject = Glob::new(&waiver.subject).map_err(|error| wrong("is not a glob").because(error))?;
        self.waivers.push(CompiledWaiver { subject: subject.compile_matcher(), waiver, origin });
        Ok(())
    }
}
