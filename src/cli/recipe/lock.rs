//! `simpack lock`.

use clap::Args;

use crate::config;
use crate::error::Result;
use crate::lock::Update;
use crate::ops::lock::{LockRequest, lock};
use crate::ui::Ui;

#[derive(Debug, Args)]
#[command(after_help = "\
The lock lies beside the recipe as simpack.lock. It holds every digest that a build takes from outside: the
source (an archive's digest; of a commit, the digest over its files), every wheel of the CUDA releases in the
matrix and of the pinned tools, and which host compiler the recipe asks for. `simpack build` writes it when it
is absent, and builds with the wheels that it names. A source that is a directory is not in it.

Exit codes: 0 done, 2 unknown NAME, 8 with --check: there is no lock, or it would change

Examples:
  simpack lock                           write what is missing, keep what is locked
  simpack lock --check                   is it up to date? (for CI; so is `simpack build --locked`)
  simpack lock --update                  take the pins of this simpack for everything
  simpack lock recipes/sim --update cmake")]
pub(in crate::cli) struct LockArgs {
    /// Recipe: a directory, a file, or the name of an embedded one [default: that of the current directory]
    recipe: Option<String>,

    /// Lock NAME again: `source`, a tool such as cuda-13.0, or the project of a wheel; everything without NAME
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "")]
    update: Option<String>,

    /// Write nothing; fail when there is no lock or it would change
    #[arg(long)]
    check: bool,

    /// Use no network: a source that is elsewhere must be in the cache
    #[arg(long)]
    offline: bool,
}

impl LockArgs {
    /// Runs the verb; answers the exit code.
    pub(in crate::cli) fn run(self, ui: &Ui) -> Result<u8> {
        let update = match self.update {
            None => Update::Nothing,
            Some(name) if name.is_empty() => Update::All,
            Some(name) => Update::Name(name),
        };
        lock(
            &LockRequest {
                recipe: self.recipe,
                update,
                check: self.check,
                offline: self.offline || config::current().is_on("offline"),
            },
            ui,
        )
    }
}
