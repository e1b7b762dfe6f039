//! `simpack rebuild`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::build::SandboxArg;
use crate::config;
use crate::error::Result;
use crate::ops::rebuild::{RebuildRequest, rebuild};
use crate::ui::Ui;

#[derive(Debug, Args)]
#[command(after_help = "\
Packages say in share/simpack/<package>/simpack.json which recipe (by digest), targets, tools and time stamp they
were made from. The recipe itself is the one here: with another digest it is refused. Everything is compiled anew.

Exit codes: 0 every package is identical bit for bit, 1 something differs, 3 the recipe is another one

Examples:
  simpack rebuild dist                               the whole distribution
  simpack rebuild dist/conda/noarch/volley-kernels-sm_90-1.0.0-h9be2_0.conda
  simpack rebuild release/ --recipe recipes/volley --json")]
pub(in crate::cli) struct RebuildArgs {
    /// Package file (.conda, .tar.zst), or a directory of packages
    #[arg(value_name = "PACKAGE|DIST")]
    subject: PathBuf,

    /// Recipe: a directory, a file, or an embedded name [default: that of the simulator, here or embedded]
    #[arg(long, value_name = "RECIPE")]
    recipe: Option<String>,

    /// Use no network; fail and name what is missing
    #[arg(long)]
    offline: bool,

    /// Steps at a time [default: the machine's cores]
    #[arg(long, short, value_name = "N", value_parser = crate::cli::build::jobs)]
    jobs: Option<u16>,

    /// Keep steps from the network and from files that they do not declare
    #[arg(long, value_enum, default_value = "auto")]
    sandbox: SandboxArg,
}

impl RebuildArgs {
    /// Runs the verb; answers the exit code.
    pub(in crate::cli) fn run(self, ui: &Ui) -> Result<u8> {
        let request = RebuildRequest {
            subject: self.subject,
            recipe: self.recipe,
            offline: self.offline || config::current().is_on("offline"),
            jobs: self.jobs.map(usize::from).or(config::current().count("jobs")),
            sandbox: self.sandbox.into(),
        };
        rebuild(&request, ui)
    }
}
