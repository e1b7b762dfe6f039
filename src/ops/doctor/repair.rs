//! `--fix`: says what would repair the machine; with `--yes` does the part that is the user's own.

use std::path::{Path, PathBuf};

use crate::doctor::{Action, INSTALLER};
use crate::error::{Error, Result};
use crate::fs::write_atomic;
use crate::machine::RuntimeCache;
use crate::process::Call;
use crate::ui::Ui;

/// The file that a shell reads: below the user's configuration.
fn activation_file() -> Result<PathBuf> {
    use etcetera::BaseStrategy;
    let base = etcetera::choose_base_strategy()
        .map_err(|error| Error::usage("it is not known where the user's configuration lies").because(error))?;
    Ok(base.config_dir().join("simpack/activate.sh"))
}

/// Says what would be done, or does it.
pub(super) fn repair(actions: &[Action], yes: bool, ui: &Ui) -> Result<()> {
    if actions.is_empty() {
        ui.say("fix       nothing that can be done without touching the system");
        return Ok(());
    }
    for action in actions {
        match action {
            Action::Activation { lines } => {
                let file = activation_file()?;
                let shown = lines.iter().map(|line| format!("            {line}\n")).collect::<String>();
                let verb = if yes { "wrote" } else { "would write" };
                if yes {
                    fs_err::create_dir_all(file.parent().unwrap_or(&file))?;
                    let text = format!("# Written by `simpack doctor --fix`.\n{}\n", lines.join("\n"));
                    write_atomic(&file, text.as_bytes())?;
                }
                ui.say(format!("fix       {verb} {}\n{shown}          then: . {}", file.display(), file.display()));
            }
            Action::StaleCache { path, size } => {
                let verb = if yes { "removed" } else { "would remove" };
                let directory = PathBuf::from(home(path));
                let names = own_entries(&directory)?;
                let shown = names.iter().map(|name| name.to_string_lossy()).collect::<Vec<_>>().join(" ");
                if yes {
                    remove(&directory, &names)?;
                }
                ui.say(format!("fix       {verb} {size} bytes in {path}: {shown}"));
            }
            Action::Refused { command, reason, subject } => {
                ui.say(format!("fix       refused for {subject}: {reason}: {command}"));
            }
            Action::Command { command, arguments, subject } => {
                let Some(program) = installer() else {
                    ui.say(format!(
                        "fix       for {subject}, where conda, mamba or micromamba is (none is in PATH here): {command}"
                    ));
                    continue;
                };
                let command = command.replacen(INSTALLER, program, 1);
                if !yes {
                    ui.say(format!("fix       would run for {subject}: {command}"));
                    continue;
                }
                ui.say(format!("fix       runs for {subject}: {command}"));
                let arguments: Vec<String> = arguments.iter().map(|argument| home(argument)).collect();
                Call::new(program).args(&arguments).pass_all().arg("--yes").read()?;
            }
        }
    }
    if !yes {
        ui.say("          `simpack doctor --fix --yes` does this; files of the system are never touched");
    }
    Ok(())
}

/// conda itself, or the first of those that take the same words; none where none is in `PATH`.
fn installer() -> Option<&'static str> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |name: &&str| std::env::split_paths(&path).any(|directory| directory.join(name).is_file());
    [INSTALLER, "mamba", "micromamba"].into_iter().find(is_there)
}

/// Names in a cache of the driver that are the driver's own. Nothing, where the directory is a link or somebody else's.
fn own_entries(directory: &Path) -> Result<Vec<std::ffi::OsString>> {
    use std::os::unix::fs::MetadataExt;
    let data = fs_err::symlink_metadata(directory)?;
    // SAFETY: a number that is always there.
    let is_own = data.is_dir() && data.uid() == unsafe { libc::geteuid() };
    if !is_own {
        return Ok(Vec::new());
    }
    let mut names = Vec::new();
    for entry in fs_err::read_dir(directory)? {
        let name = entry?.file_name();
        if name.to_str().is_some_and(RuntimeCache::is_own) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// The index first: without it the driver looks at none of the others.
fn remove(directory: &Path, names: &[std::ffi::OsString]) -> Result<()> {
    for name in names.iter().rev() {
        let path = directory.join(name);
        match fs_err::symlink_metadata(&path)?.is_dir() {
            true => fs_err::remove_dir_all(&path)?,
            false => fs_err::remove_file(&path)?,
        }
    }
    Ok(())
}

/// A record says ~ for the home directory.
fn home(word: &str) -> String {
    let Ok(home) = std::env::var("HOME") else { return word.to_owned() };
    match word.strip_prefix('~') {
        Some(rest) => format!("{home}{rest}"),
        None => word.replace("file://~", &format!("file://{home}")),
    }
}
