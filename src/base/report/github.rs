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
        let mut message = format!("{}: {}", finding.about(), finding.message);
        for subject in &finding.also {
            message.push_str(&format!("\nalso {subject}"));
        }
        for line in finding.evidence.iter().cloned().chain(finding.fix.iter().map(|fix| format!("fix: {fix}"))) {
            message.push('\n');
            message.push_str(&line);
        }
        let place = finding.at.as_ref().map(|place| (place.path.as_str(), place.line));
        lines.push(command_line(command, &finding.lint, place.or(first_line(recipe)), &message));
    }
    for incomplete in &report.incomplete {
        let title = format!("incomplete: {}", incomplete.topic);
        let message = format!("{}: {}", incomplete.subject, incomplete.reason);
        lines.push(command_line("error", &title, first_line(recipe), &message));
    }
    lines.join("\n")
}

fn first_line(file: Option<&str>) -> Option<(&str, usize)> {
    Some((file?, 1))
}

fn command_line(command: &str, title: &str, place: Option<(&str, usize)>, message: &str) -> String {
    let file = place.map(|(file, line)| format!("file={},line={line},", property(file))).unwrap_or_default();
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
            subject: "core".into(),
            also: Vec::new(),
            message: message.to_owned(),
            evidence: Vec::new(),
            fix: Some("repair it".to_owned()),
            at: None,
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
