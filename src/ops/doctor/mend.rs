//! `--fix`: says what would mend the machine; with `--yes` does the part that is the user's own.

use std::path::PathBuf;

use crate::doctor::Action;
use crate::error::{Error, Result};
use crate::fs::write_atomic;
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
pub(super) fn mend(actions: &[Action], yes: bool, ui: &Ui) -> Result<()> {
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
            Action::Command { command, subject } => {
                if !yes {
                    ui.say(format!("fix       would run for {subject}: {command}"));
                    continue;
                }
                ui.say(format!("fix       runs for {subject}: {command}"));
                let mut words = command.split_whitespace().map(home);
                let Some(program) = words.next() else { continue };
                let call = Call::new(program).args(words).pass(["HOME", "USER", "CONDA_PREFIX", "VIRTUAL_ENV"]);
                call.arg("--yes").read()?;
            }
        }
    }
    if !yes {
        ui.say("          `simpack doctor --fix --yes` does this; files of the system are never touched");
    }
    Ok(())
}

/// A record says ~ for the home directory.
fn home(word: &str) -> String {
    match (word.strip_prefix('~'), std::env::var("HOME")) {
        (Some(rest), Ok(home)) => format!("{home}{rest}"),
        _ => word.to_owned(),
    }
}
