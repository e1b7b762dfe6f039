//! The report as workflow commands of GitHub Actions: one annotation a finding.
//!
//! "Workflow commands for GitHub Actions", setting an error message: properties escape `%`, CR, LF,
//! `:` and `,`; the message escapes `%`, CR and LF.

use super::{Level, Report};

/// One line for each finding and each thing that could not be examined.
pub fn github(report: &Report) -> String {
    let mut lines = Vec::new();
    for finding in &report.findings {
        let command = if finding.level == Level::Deny { "error" } else { "warning" };
        let mut message = format!("{}: {}", finding.subject, finding.message);
        for line in finding.evidence.iter().cloned().chain(finding.fix.iter().map(|fix| format!("fix: {fix}"))) {
            message.push('\n');
            message.push_str(&line);
        }
        lines.push(command_line(command, &finding.lint, &message));
    }
    for incomplete in &report.incomplete {
        let title = format!("incomplete: {}", incomplete.topic);
        lines.push(command_line("error", &title, &format!("{}: {}", incomplete.subject, incomplete.reason)));
    }
    lines.join("\n")
}

fn command_line(command: &str, title: &str, message: &str) -> String {
    format!("::{command} title={}::{}", escape(title).replace(':', "%3A").replace(',', "%2C"), escape(message))
}

fn escape(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    use super::super::{Finding, Incomplete, Level, Report};
    use super::*;

    #[test]
    fn text_cannot_leave_its_line() {
        let finding = Finding {
            lint: "soname-policy".to_owned(),
            level: Level::Warn,
            subject: "core".to_owned(),
            message: "100 %\n::error::nothing".to_owned(),
            evidence: Vec::new(),
            fix: Some("mend it".to_owned()),
        };
        let incomplete = Incomplete { subject: "x".into(), topic: "elf".into(), reason: "damaged".into() };
        assert_eq!(
            github(&Report::new(vec![finding], vec![incomplete], Vec::new())),
            "::warning title=soname-policy::core: 100 %25%0A::error::nothing%0Afix: mend it\n\
             ::error title=incomplete%3A elf::x: damaged"
        );
    }
}
