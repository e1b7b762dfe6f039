//! What would repair a machine without touching the system: a file that a shell reads, a cache that nobody reads, a package
//! of a user's own environment.

use schemars::JsonSchema;
use serde::Serialize;

use super::Facts;
use crate::machine::PrefixKind;
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
    /// Remove a cache of the driver that nothing will read again.
    StaleCache {
        /// Its directory.
        path: String,
        /// Bytes of its files.
        size: u64,
    },
    /// A command that the user may run.
    Command {
        /// The command.
        command: String,
        /// What it is for: a finding's subject.
        subject: String,
    },
}

/// What would fix the findings, the safe things first.
/// `channel` is where packages come from that are not installed yet.
pub fn actions(facts: &Facts, report: &Report, channel: Option<&str>) -> Vec<Action> {
    let mut found = Vec::new();
    let lines = activation(facts, report);
    if !lines.is_empty() {
        found.push(Action::Activation { lines });
    }
    for cache in facts.machine.caches.iter().filter(|cache| cache.stale) {
        found.push(Action::StaleCache { path: cache.path.clone(), size: cache.size });
    }
    for finding in &report.findings {
        if let Some(command) = finding.fix.as_deref().filter(|fix| fix.starts_with("conda ")) {
            found.push(Action::Command { command: command.to_owned(), subject: finding.subject.clone() });
        }
    }
    found.extend(channel.into_iter().flat_map(|channel| installs(facts, channel)));
    found.dedup();
    found
}

/// Packages of a channel that serve the GPUs better than what is installed, a command for each environment.
fn installs(facts: &Facts, channel: &str) -> Vec<Action> {
    let is_conda = |path: &str| {
        facts.machine.prefixes.iter().any(|prefix| prefix.path == path && prefix.kind == PrefixKind::Conda)
    };
    let mut found = Vec::new();
    for prefix in facts.fits.iter().filter(|prefix| is_conda(&prefix.prefix)) {
        let better = prefix.fit.devices.iter().filter_map(|device| device.better.as_ref());
        let mut packages: Vec<&str> = better.map(|advice| advice.runs.package.as_str()).collect();
        packages.sort_unstable();
        packages.dedup();
        if !packages.is_empty() {
            let (subject, version) = (prefix.fit.simulator.clone(), prefix.fit.version);
            let packages: Vec<String> = packages.iter().map(|package| format!("{package}=={version}")).collect();
            let command = format!("conda install -p {} -c {channel} {}", prefix.prefix, packages.join(" "));
            found.push(Action::Command { command, subject });
        }
    }
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
