//! The form of a report for its reader, and what the process answers for it.

use super::finding::{Report, Rule};
use super::github::github;
use super::sarif::sarif;
use crate::data::DataOrigin;
use crate::error::{DENIED, Error, INCOMPLETE, Result};

/// Form of a report. JSON is the terminal's own mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// Words.
    #[default]
    Text,
    /// SARIF 2.1.0.
    Sarif,
    /// Annotations of GitHub Actions.
    Github,
}

impl Format {
    /// The report in a form for machines; none for words, which each verb has of its own. `data`: the user's own manifests, which
    /// made the rules.
    ///
    /// # Errors
    /// None but an internal error.
    pub fn render(
        self,
        report: &Report,
        rules: &[Rule],
        recipe: Option<&str>,
        data: Option<&DataOrigin>,
    ) -> Result<Option<String>> {
        match self {
            Self::Text => Ok(None),
            Self::Sarif => serde_json::to_string_pretty(&sarif(report, rules, recipe, data))
                .map(Some)
                .map_err(|error| Error::bug("a report does not print as SARIF").because(error)),
            Self::Github => Ok(Some(github(report, recipe))),
        }
    }
}

impl Report {
    /// Exit code of the process. Denied findings outweigh what could not be examined.
    pub fn exit_code(&self) -> u8 {
        match (self.is_denied(), self.incomplete.is_empty()) {
            (true, _) => DENIED,
            (false, false) => INCOMPLETE,
            (false, true) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Finding, Incomplete, Level};

    #[test]
    fn exit_codes_tell_the_worst() {
        let finding = |level| Finding {
            lint: "x".to_owned(),
            level,
            subject: "p".into(),
            also: Vec::new(),
            message: "m".to_owned(),
            evidence: Vec::new(),
            fix: None,
            at: None,
        };
        let gap = || vec![Incomplete { subject: "p".into(), topic: "elf".into(), reason: "r".into() }];
        let code = |findings, gaps| Report::new(findings, gaps, Vec::new()).exit_code();
        assert_eq!(code(Vec::new(), Vec::new()), 0);
        assert_eq!(code(vec![finding(Level::Warn)], Vec::new()), 0);
        assert_eq!(code(vec![finding(Level::Warn)], gap()), INCOMPLETE);
        assert_eq!(code(vec![finding(Level::Deny)], gap()), DENIED);
    }
}
