//! `simpack config`.

use clap::Args;

use crate::error::Result;
use crate::ops::config::config;
use crate::ui::Ui;

#[derive(Debug, Args)]
#[command(after_help = "\
Settings stand in config.toml below simpack/ in the user's configuration directory ($XDG_CONFIG_HOME, else
~/.config); SIMPACK_CONFIG names another file. A variable SIMPACK_NAME outweighs the file, the command line outweighs
both. Unknown keys are refused.

Exit codes: 0 done, 2 a wrong setting

Examples:
  simpack config --list          all settings, their values, and where each came from
  simpack config cache-dir       one value
  echo 'jobs = 4' >> ~/.config/simpack/config.toml")]
pub(super) struct ConfigArgs {
    /// Print the value of this setting only
    name: Option<String>,

    /// List all settings (what happens without NAME, too)
    #[arg(long, conflicts_with = "name")]
    list: bool,
}

impl ConfigArgs {
    /// Runs the verb; answers the exit code.
    pub(super) fn run(self, ui: &Ui) -> Result<u8> {
        config(self.name.filter(|_| !self.list).as_deref(), ui)
    }
}
