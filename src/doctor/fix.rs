//! What would mend a machine without touching the system: a file that a shell reads.

use schemars::JsonSchema;
use serde::Serialize;

use super::Facts;
use crate::report::Report;

/// Something that may be done for the user: files of the user only, never the system's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "action")]
pub enum Action {
    /// Write a file that a shell reads before programs are started.
    Activation {
        /// Its lines.
        lines: Vec<String>,
    },
    /// A command that the user may run.
    Command {
        /// The command.
        command: String,
        /// What it is for: a finding's subject.
        subject: String,
    },
}

/// What would mend the findings, the safe things first.
pub fn actions(facts: &Facts, report: &Report) -> Vec<Action> {
    let mut found = Vec::new();
    let lines = activation(facts, report);
    if !lines.is_empty() {
        found.push(Action::Activation { lines });
    }
    for finding in &report.findings {
        let command = finding
            .fix
            .as_deref()
            .filter(|fix| ["conda ", "mamba ", "pixi ", "pip "].iter().any(|program| fix.starts_with(program)));
        if let Some(command) = command {
            found.push(Action::Command { command: command.to_owned(), subject: finding.subject.clone() });
        }
    }
    found.dedup();
    found
}

/// Lines that set variables as they should be.
fn activation(facts: &Facts, report: &Report) -> Vec<String> {
    let fired = |lint: &str| report.findings.iter().any(|finding| finding.lint == lint);
    let mut lines = Vec::new();
    for variable in ["LD_LIBRARY_PATH", "LIBRARY_PATH"] {
        let entries: Vec<_> =
            facts.machine.variables.entries.iter().filter(|entry| entry.variable == variable).collect();
        let compat = fired("driver-compat-older") || fired("driver-compat-device");
        let keeps = |entry: &&&crate::machine::SearchEntry| {
            let relative = variable == "LD_LIBRARY_PATH" && !entry.entry.starts_with(['/', '~']);
            !(entry.stubs || relative || entry.compat && compat)
        };
        let kept: Vec<&str> = entries.iter().filter(keeps).map(|entry| entry.entry.as_str()).collect();
        if kept.len() == entries.len() {
            continue;
        }
        lines.push(match kept.is_empty() {
            true => format!("unset {variable}"),
            // A home directory stands as ~, which a shell replaces outside of quotes only.
            false => format!("export {variable}={}", quoted(&kept.join(":"))),
        });
    }
    if fired("environment-preload") {
        lines.push("unset LD_PRELOAD".to_owned());
    }
    if fired("devices-hidden") {
        lines.push("unset CUDA_VISIBLE_DEVICES".to_owned());
    }
    for finding in report.findings.iter().filter(|finding| finding.lint == "compiler-pair") {
        let fix = finding.fix.as_deref().unwrap_or_default();
        lines.extend(fix.strip_prefix("NVCC_CCBIN=").map(|path| format!("export NVCC_CCBIN={}", quoted(path))));
    }
    lines
}

/// A word for a POSIX shell.
fn quoted(text: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || "/._-:+,=@%".contains(c);
    if text.chars().all(safe) {
        return text.to_owned();
    }
    let text = text.replace('\'', "'\\''");
    // ~ at the start of an entry means the home directory, also inside of a list.
    format!("'{}'", text.replace("~/", "'\"$HOME\"'/"))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn shells_get_what_is_meant() {
        assert_eq!(quoted("/opt/lib:/usr/lib"), "/opt/lib:/usr/lib");
        assert_eq!(quoted("/my libs"), "'/my libs'");
        assert_eq!(quoted("~/lib:/usr/lib"), "''\"$HOME\"'/lib:/usr/lib'");
        assert_eq!(quoted("a'b"), "'a'\\''b'");
    }
}
