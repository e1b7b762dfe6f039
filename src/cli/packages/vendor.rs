//! `simpack vendor`.

use std::path::PathBuf;

use clap::Args;

use crate::config;
use crate::error::Result;
use crate::ops::vendor::{VendorRequest, vendor};
use crate::ui::Ui;

#[derive(Debug, Args)]
#[command(after_help = "\
The directory holds the wheels of compilers and build tools, the source if it is elsewhere, and the packages of channels. On the
other machine the setting `vendor-dir` (SIMPACK_VENDOR_DIR) names it; every file is checked against the lock before it is used.
Run again, the verb fetches what is new and removes what the lock no longer names.

Examples:
  simpack vendor recipes/volley --output vendored
  SIMPACK_VENDOR_DIR=vendored simpack build recipes/volley --offline --locked      on a machine without a network
  simpack vendor recipes/volley --output vendored --json                           names, digests, sizes")]
pub(in crate::cli) struct VendorArgs {
    /// Recipe: a directory, a file, or the name of an embedded one [default: ./simpack.toml]
    recipe: Option<String>,

    /// Directory of the files
    #[arg(long, short, value_name = "DIR")]
    output: PathBuf,

    /// Fail when the recipe's simpack.lock is absent or would change
    #[arg(long)]
    locked: bool,

    /// Use no network; fail and name what is missing
    #[arg(long)]
    offline: bool,
}

impl VendorArgs {
    /// Runs the verb; answers the exit code.
    pub(in crate::cli) fn run(self, ui: &Ui) -> Result<u8> {
        let request = VendorRequest {
            recipe: self.recipe,
            output: self.output,
            locked: self.locked || config::current().is_on("locked"),
            offline: self.offline || config::current().is_on("offline"),
        };
        vendor(&request, ui)
    }
}
