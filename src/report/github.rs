//! The report as workflow commands of GitHub Actions: one annotation a finding.
//!
//! "Workflow commands for GitHub Actions", setting a notice, warning or error message: properties
//! escape `%`, CR, LF, `:` and `,`; the message escapes `%`, CR and LF.

use super::{Level, Report};
use crate::printable;

/// One line for each finding and each thing that could not be examined. `recipe` is the file, below the
/// repository's root, that the annotations are shown at.
pub fn github(report: &Report, recipe: Option<&str>) -> String {
    let mut lines = Vec::new();
    for finding in &report.findings {
        let command = match finding.level {
            Level::Deny => "error",
            Level::Warn => "warning",
            Level::Note | Level::Allow => "notice",
        };
        let mut message = format!("{}: {}", finding.subject, finding.message);
        for line in finding.evidence.iter().cloned().chain(finding.fix.iter().map(|fix| format!("fix: {fix}"))) {
            message.push('\n');
            message.push_str(&line);
        }
        lines.push(command_line(command, &finding.lint, recipe, &message));
    }
    for incomplete in &report.incomplete {
        let title = format!("incomplete: {}", incomplete.topic);
        lines.push(command_line("error", &title, recipe, &format!("{}: {}", incomplete.subject, incomplete.reason)));
    }
    lines.join("\n")
}

fn command_line(command: &str, title: &str, file: Option<&str>, message: &str) -> String {
    let file = file.map(|file| format!("file={},line=1,", property(file))).unwrap_or_default();
    format!("::{command} {file}title={}::{}", property(title), escape(message))
}

fn property(text: &str) -> String {
    escape(text).replace(':', "%3A").replace(',', "%2C")
}

fn escape(text: &str) -> String {
    printable::text(&text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::super::{Finding, Incomplete, Level, Report};
    use super::*;

    fn finding(level: Level, message: &str) -> Finding {
        Finding {
            lint: "soname-policy".to_owned(),
            level,
            subject: "core".to_owned(),
            message: message.to_owned(),
            evidence: Vec::new(),
            fix: Some("repair it".to_owned()),
        }
    }

    #[test]
    fn text_cannot_leave_its_line() {
        let incomplete = Incomplete { subject: "x".into(), topic: "elf".into(), reason: "damaged".into() };
        let findings = vec![finding(Level::Warn, "100 %\n::error::nothing\r")];
        assert_eq!(
            github(&Report::new(findings, vec![incomplete], Vec::new()), None),
            "::warning title=soname-policy::core: 100 %25%0A::error::nothing%0D%0Afix: repair it\n\
             ::error title=incomplete%3A elf::x: damaged"
        );
    }

    #[test]
    fn levels_and_the_recipe_are_told() {
        let report = Report::new(vec![finding(Level::Note, "x"), finding(Level::Deny, "y")], Vec::new(), Vec::new());
        assert_eq!(
            github(&report, Some("a,b:c/simpack.toml")),
            "::error file=a%2Cb%3Ac/simpack.toml,line=1,title=soname-policy::core: y%0Afix: repair it\n\
             ::notice file=a%2Cb%3Ac/simpack.toml,line=1,title=soname-policy::core: x%0Afix: repair it"
        );
    }
}
