//! What would repair a machine without touching the system: a file that a shell reads, a cache that nobody reads, a package
//! of a user's own environment.

use schemars::JsonSchema;
use serde::Serialize;

use super::Facts;
use crate::machine::PrefixKind;
use crate::printable;
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
        /// The command as people write it.
        command: String,
        /// The arguments of the program, which is the command's first word.
        #[schemars(default)]
        arguments: Vec<String>,
        /// What it is for: a finding's subject.
        subject: String,
    },
    /// A command that is not run, because the names in it, which come out of packages, are none.
    Refused {
        /// The command as it would have been.
        command: String,
        /// What is wrong with it.
        reason: String,
        /// What it is for: a finding's subject.
        subject: String,
    },
}

/// The program that installs packages.
pub const INSTALLER: &str = "conda";

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
    found.extend(repairs(facts, report, channel));
    found.extend(channel.into_iter().flat_map(|channel| installs(facts, channel)));
    found.dedup();
    found
}

/// Damaged packages once more, from the user's channel or from where conda itself is told to look: what an environment
/// says of the channels that it came from is not believed.
fn repairs<'a>(facts: &'a Facts, report: &'a Report, channel: Option<&'a str>) -> impl Iterator<Item = Action> + 'a {
    let prefixes = facts.machine.prefixes.iter().filter(|prefix| prefix.kind == PrefixKind::Conda);
    let packages = prefixes.flat_map(|prefix| prefix.packages.iter().map(move |package| (prefix, package)));
    let damaged = packages.filter(|(_, package)| !package.missing.is_empty() || !package.changed.is_empty());
    let is_told = |name: &str| {
        report
            .findings
            .iter()
            .any(|finding| finding.subjects().any(|subject| subject.path.is_none() && subject.owner == name))
    };
    let damaged = damaged.filter(move |(_, package)| is_told(&package.manifest.package));
    damaged.map(move |(prefix, package)| {
        let (name, version) = (&package.manifest.package, package.manifest.version);
        install(&["--force-reinstall"], &prefix.path, channel, &[format!("{name}=={version}")], name)
    })
}

/// The call that installs packages into an environment, where all names are names.
fn install(flags: &[&str], prefix: &str, channel: Option<&str>, specs: &[String], subject: &str) -> Action {
    let mut arguments = vec!["install".to_owned()];
    arguments.extend(flags.iter().map(|flag| (*flag).to_owned()));
    arguments.extend(["-p".to_owned(), prefix.to_owned()]);
    arguments.extend(channel.into_iter().flat_map(|channel| ["-c".to_owned(), channel.to_owned()]));
    arguments.extend_from_slice(specs);
    let command = format!("{INSTALLER} {}", arguments.join(" "));
    let subject = subject.to_owned();
    let wrong = |text: &str| text.is_empty() || text.starts_with('-') || text.contains(char::is_control);
    let reason = if wrong(prefix) || !prefix.starts_with(['/', '~']) {
        Some(format!("`{prefix}` is no directory of an environment"))
    } else if let Some(channel) = channel.filter(|channel| wrong(channel)) {
        Some(format!("`{channel}` is no channel"))
    } else {
        specs.iter().find(|spec| !is_spec(spec)).map(|spec| format!("`{spec}` is no package and version of conda"))
    };
    match reason {
        Some(reason) => Action::Refused { command, reason, subject },
        None => Action::Command { command, arguments, subject },
    }
}

/// Whether a text is a package's name and a version, by conda's grammar of both (CEP 26).
fn is_spec(spec: &str) -> bool {
    let name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-.".contains(c);
    let version = |c: char| c.is_ascii_alphanumeric() || "_.!+".contains(c);
    spec.split_once("==").is_some_and(|(package, number)| {
        package.starts_with(|c: char| c != '-' && c != '.' && name(c))
            && package.chars().all(name)
            && number.starts_with(|c: char| c.is_ascii_alphanumeric())
            && number.chars().all(version)
    })
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
            found.push(install(&[], &prefix.prefix, Some(channel), &packages, &subject));
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

/// A word for a POSIX shell in which ~ at the start of an entry means the home directory, also inside of a list.
fn quoted(text: &str) -> String {
    printable::word(text).replace("~/", "'\"$HOME\"'/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_none_are_shown_and_never_run() {
        let of = |prefix: &str, channel: Option<&str>, name: &str| {
            install(&["--force-reinstall"], prefix, channel, &[format!("{name}==1.0.0")], "x")
        };
        let Action::Command { arguments, command, .. } = of("/my envs/e", Some("https://c.example"), "sim-core") else {
            panic!("refused")
        };
        let expected =
            ["install", "--force-reinstall", "-p", "/my envs/e", "-c", "https://c.example", "sim-core==1.0.0"];
        assert_eq!((arguments, command.starts_with("conda install ")), (expected.map(str::to_owned).to_vec(), true));
        for name in [
            "",
            "a b",
            "--override-channels",
            "a -c https://evil",
            "Upper",
            "../a",
            ".a",
            "a;b",
            "$(a)",
            "a\nb",
            "a==1 b",
            "ä",
            "a[url=x]",
            "c::a",
        ] {
            assert!(matches!(of("/e", None, name), Action::Refused { .. }), "{name}");
        }
        for (prefix, channel) in
            [("e", None), ("", None), ("-e", None), ("/e\n", None), ("/e", Some("--json")), ("/e", Some(""))]
        {
            assert!(matches!(of(prefix, channel, "a"), Action::Refused { .. }), "{prefix} {channel:?}");
        }
    }

    #[test]
    fn shells_get_what_is_meant() {
        assert_eq!(quoted("/opt/lib:/usr/lib"), "/opt/lib:/usr/lib");
        assert_eq!(quoted("/my libs"), "'/my libs'");
        assert_eq!(quoted("~/lib:/usr/lib"), "''\"$HOME\"'/lib:/usr/lib'");
        assert_eq!(quoted("a'b"), "'a'\\''b'");
    }
}
