//! `simpack check`.

use clap::Args;

use crate::config;
use crate::error::Result;
use crate::ops;
use crate::ui::Ui;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simpack check                       the recipe of the current directory
  simpack check recipes/volley        a recipe on disk
  simpack check --json | jq .mistakes all mistakes, with file, line and column")]
pub(in crate::cli) struct CheckArgs {
    /// Recipe: a directory, a file, or the name of an embedded one [default: that of the current directory]
    recipe: Option<String>,

    /// Fetch nothing: a source that is elsewhere and not in the cache is not examined
    #[arg(long)]
    offline: bool,
}

impl CheckArgs {
    pub(in crate::cli) fn run(&self, ui: &Ui) -> Result<u8> {
        ops::check::check(self.recipe.as_deref(), self.offline || config::current().is_on("offline"), ui)
    }
}
