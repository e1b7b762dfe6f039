//! `simpack publish`.

use std::path::PathBuf;

use clap::Args;

use crate::error::Result;
use crate::ops::publish::{PublishRequest, publish};
use crate::ui::Ui;

#[derive(Debug, Args)]
#[command(after_help = "\
Earlier releases stay, and a file that is there is never replaced by other bytes. The index is written anew: repodata.json,
its shards, and run_exports.json; it says when each package came into the channel first.

Exit codes: 0 done, 1 a file is there with other bytes (nothing is written), 2 no packages of conda, 6 a file cannot be read
or written

Examples:
  simpack publish /srv/channels/mysim             what lies in dist/
  simpack publish /srv/channels/mysim build/dist
  conda install --channel /srv/channels/mysim mysim")]
pub(in crate::cli) struct PublishArgs {
    /// Directory of the channel; made when it is not there
    #[arg(value_name = "CHANNEL")]
    channel: PathBuf,

    /// Where a build left the packages
    #[arg(value_name = "DIST", default_value = "dist")]
    dist: PathBuf,
}

impl PublishArgs {
    /// Runs the verb; answers the exit code.
    pub(in crate::cli) fn run(self, ui: &Ui) -> Result<u8> {
        publish(&PublishRequest { channel: self.channel, dist: self.dist }, ui)
    }
}
