//! The report in words: what matters first, grouped by lint, the next step with each group.

use super::{Counts, Finding, Report};
use crate::amount::count;
use crate::wrap::width;

/// Column where the subject of a finding starts, and its evidence and fix.
const INDENT: usize = 6;
/// Findings of one lint that are printed before the rest is counted.
const MOST: usize = 12;

/// How a report in words is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextOptions<'a> {
    /// What was examined, in the singular: `package`.
    pub noun: &'a str,
    /// Wall time of the examination in milliseconds, if it is to be shown.
    pub millis: Option<u128>,
    /// Prints every finding of a lint instead of the first few.
    pub all: bool,
}

impl Default for TextOptions<'_> {
    fn default() -> Self {
        Self { noun: "package", millis: None, all: false }
    }
}

impl Report {
    /// The report in words, ending with the line of totals.
    pub fn text(&self, options: TextOptions<'_>) -> String {
        let mut lines = Vec::new();
        let column = self.column();
        for group in self.findings.chunk_by(|a, b| a.lint == b.lint && a.level == b.level) {
            let shown = if options.all || group.len() <= MOST { group.len() } else { MOST };
            let common = group.iter().all(|finding| finding.fix == group[0].fix).then(|| group[0].fix.as_ref());
            for finding in &group[..shown] {
                finding_lines(finding, column, (common.is_none(), options.all), &mut lines);
            }
            if shown < group.len() {
                let more = format!("and {} more of {}: `--json` has all", group.len() - shown, group[0].lint);
                lines.push(format!("{:INDENT$}{more}", ""));
            }
            if let Some(fix) = common.flatten() {
                fix_lines(fix, &mut lines);
            }
        }
        for incomplete in &self.incomplete {
            wrap(
                &head("incomplete", &incomplete.topic, column),
                INDENT,
                &format!("{}: {}", incomplete.subject, incomplete.reason),
                &mut lines,
            );
        }
        for waived in self.waived() {
            let text = format!("{}: {}; accepted: {}", waived.finding.about(), waived.finding.message, waived.reason);
            wrap(&head("waived", &waived.finding.lint, column), INDENT, &text, &mut lines);
        }
        for group in self.not_run().chunk_by(|a, b| a.reason == b.reason && a.subjects == b.subjects) {
            let one = &group[0];
            let over = match one.subjects.as_slice() {
                [] => String::new(),
                [subject] => format!("{subject}: "),
                subjects => format!("{} and {} more: ", subjects[0], subjects.len() - 1),
            };
            let label = match group.len() {
                1 => one.lint.clone(),
                more => format!("{more} lints"),
            };
            wrap(&head("not run", &label, column), INDENT, &format!("{over}{}", one.reason), &mut lines);
        }
        lines.push(self.totals(options));
        lines.join("\n")
    }

    /// Column where subjects start: one behind the longest label and id.
    fn column(&self) -> usize {
        let findings = self.findings.iter().map(|finding| INDENT + finding.lint.chars().count());
        let incomplete = self.incomplete.iter().map(|incomplete| 12 + incomplete.topic.chars().count());
        let waived = self.waived().iter().map(|waived| 8 + waived.finding.lint.chars().count());
        let not_run = self.not_run().iter().map(|one| 9 + one.lint.chars().count());
        findings.chain(incomplete).chain(waived).chain(not_run).max().unwrap_or(0) + 2
    }

    /// `1 denied, 1 warning, 1 incomplete over 11 packages (38 ms)`.
    fn totals(&self, options: TextOptions<'_>) -> String {
        let Counts { deny, warn, note, incomplete, waived } = self.counts();
        let mut parts = Vec::new();
        if deny > 0 {
            parts.push(format!("{deny} denied"));
        }
        if warn > 0 {
            parts.push(count(warn, "warning"));
        }
        if note > 0 {
            parts.push(count(note, "note"));
        }
        if incomplete > 0 {
            parts.push(format!("{incomplete} incomplete"));
        }
        if parts.is_empty() {
            parts.push("0 findings".to_owned());
        }
        if waived > 0 {
            parts.push(format!("{waived} waived"));
        }
        let time = options.millis.map(|millis| format!(" ({millis} ms)")).unwrap_or_default();
        format!("{} over {}{time}", parts.join(", "), count(self.examined.len(), options.noun))
    }
}

/// Label and id, filled up to the column of the subjects.
fn head(label: &str, id: &str, column: usize) -> String {
    format!("{:<column$}", format!("{label:<4}  {id}"))
}

fn finding_lines(finding: &Finding, column: usize, (with_fix, all): (bool, bool), lines: &mut Vec<String>) {
    let head = head(&finding.level.to_string(), &finding.lint, column);
    wrap(&head, INDENT, &format!("{}: {}", finding.about(), finding.message), lines);
    let shown = if all || finding.also.len() <= MOST { finding.also.len() } else { MOST };
    for subject in &finding.also[..shown] {
        wrap(&format!("{:INDENT$}also ", ""), INDENT + 2, &subject.to_string(), lines);
    }
    if shown < finding.also.len() {
        lines.push(format!("{:INDENT$}and {} more: `--json` has all", "", finding.also.len() - shown));
    }
    if let Some(place) = &finding.at {
        lines.push(format!("{:INDENT$}--> {place}", ""));
    }
    for evidence in &finding.evidence {
        wrap(&" ".repeat(INDENT), INDENT + 2, evidence, lines);
    }
    if with_fix && let Some(fix) = &finding.fix {
        fix_lines(fix, lines);
    }
}

fn fix_lines(fix: &str, lines: &mut Vec<String>) {
    wrap(&format!("{:INDENT$}fix: ", ""), INDENT + 5, fix, lines);
}

/// `text` in lines of at most 100 columns, each after `indent` spaces; empty lines part paragraphs.
pub fn wrapped(text: &str, indent: usize) -> String {
    let mut lines = Vec::new();
    for (index, paragraph) in text.split("\n\n").enumerate() {
        if index > 0 {
            lines.push(String::new());
        }
        wrap(&" ".repeat(indent), indent, paragraph, &mut lines);
    }
    lines.join("\n")
}

/// Adds `text`, behind `head`, to the lines.
fn wrap(head: &str, indent: usize, text: &str, lines: &mut Vec<String>) {
    let words: Vec<&str> = text.split_whitespace().collect();
    lines.extend(crate::wrap::wrap(head, indent, &words.join(" "), width()));
}

#[cfg(test)]
mod tests {
    use super::super::{Finding, Incomplete, Level, Place, Report, Waived};
    use super::*;
    use crate::report::Subject;

    fn finding(lint: &str, level: Level, subject: &str, message: &str, fix: &str) -> Finding {
        Finding {
            lint: lint.to_owned(),
            level,
            subject: Subject::written(subject),
            also: Vec::new(),
            message: message.to_owned(),
            evidence: Vec::new(),
            fix: Some(fix.to_owned()),
            at: None,
        }
    }

    const OPTIONS: TextOptions<'static> = TextOptions { noun: "package", millis: Some(38), all: false };

    #[test]
    fn the_worst_comes_first_and_a_common_fix_once() {
        let mut added = finding(
            "symbol-added",
            Level::Warn,
            "volley-core: lib/libvolley.so.1",
            "`volley_set_seed64` is new since 1.0.0 and this is a patch release",
            "raise the minor version",
        );
        added.evidence.push("consumers that use it need >= 1.0.1".to_owned());
        let findings = vec![
            added,
            finding("kernel-coverage", Level::Deny, "volley-kernels-sm_90", "`decay` missing", "compile it"),
            finding("kernel-coverage", Level::Deny, "volley-kernels-sm_86", "`stdp` missing", "compile it"),
        ];
        let incomplete = vec![Incomplete {
            subject: Subject::file("volley-core", "lib/libvolley.so.1"),
            topic: "types".to_owned(),
            reason: "no debug information, compared by symbols only".to_owned(),
        }];
        let mut report = Report::new(findings, incomplete, vec!["a".to_owned(), "b".to_owned()]);
        report.set_waived(vec![Waived {
            finding: finding("text-relocations", Level::Deny, "b: lib/x.so", "has text relocations", ""),
            reason: "vendor's object".to_owned(),
        }]);
        assert_eq!(
            report.text(OPTIONS),
            "\
deny  kernel-coverage     volley-kernels-sm_86: `stdp` missing
deny  kernel-coverage     volley-kernels-sm_90: `decay` missing
      fix: compile it
warn  symbol-added        volley-core: lib/libvolley.so.1: `volley_set_seed64` is new since 1.0.0
      and this is a patch release
      consumers that use it need >= 1.0.1
      fix: raise the minor version
incomplete  types         volley-core: lib/libvolley.so.1: no debug information, compared by symbols
      only
waived  text-relocations  b: lib/x.so: has text relocations; accepted: vendor's object
2 denied, 1 warning, 1 incomplete, 1 waived over 2 packages (38 ms)"
        );
    }

    #[test]
    fn a_clean_report_is_one_line() {
        let report = Report::new(Vec::new(), Vec::new(), vec!["volley-core".to_owned()]);
        assert_eq!(report.text(TextOptions { millis: None, ..OPTIONS }), "0 findings over 1 package");
    }

    #[test]
    fn a_long_group_is_cut() {
        let report = |message: fn(usize) -> String| {
            let findings =
                (0..40).map(|index| finding("x", Level::Deny, &format!("p{index:02}"), &message(index), "fix it"));
            Report::new(findings.collect(), Vec::new(), Vec::new())
        };
        let text = report(|index| format!("is wrong {index}")).text(OPTIONS);
        assert_eq!(text.lines().count(), MOST + 3);
        assert!(text.contains("and 28 more of x"));
        assert!(text.lines().all(|line| line.chars().count() <= width()));
        // With one cause they are one finding, which is cut, too.
        let one = report(|_| "is wrong".to_owned());
        assert_eq!((one.findings.len(), one.findings[0].also.len()), (1, 39));
        let text = one.text(OPTIONS);
        assert!(text.starts_with("deny  x  p00 and 39 others: is wrong\n      also p01\n"), "{text}");
        assert!(text.contains("\n      and 27 more: `--json` has all\n      fix: fix it\n1 denied"), "{text}");
        assert_eq!(one.text(TextOptions { all: true, ..OPTIONS }).lines().count(), 42);
        // A part of the subjects keeps the finding about this part.
        let part = one.filtered(|subject| subject.owner == "p07" || subject.owner == "p39");
        assert_eq!(part.findings[0].about(), "p07 and 1 other");
    }

    #[test]
    fn a_finding_names_the_line_that_it_follows_from() {
        let mut wrong = finding("kernel-abi", Level::Deny, "k", "is wrong", "fix it");
        wrong.at = Some(Place { path: "sim/table.toml".to_owned(), line: 7 });
        let text = Report::new(vec![wrong], Vec::new(), Vec::new()).text(OPTIONS);
        assert!(
            text.starts_with("deny  kernel-abi  k: is wrong\n      --> sim/table.toml:7\n      fix: fix it\n"),
            "{text}"
        );
    }
}
