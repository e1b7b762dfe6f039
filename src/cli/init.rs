//! `simpack init`.

use std::path::PathBuf;

use clap::Args;

use crate::data::Data;
use crate::error::Result;
use crate::ops::init::{InitRequest, init};
use crate::ui::Ui;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simpack init mysim                  a recipe that builds, in recipes/mysim
  simpack init mysim --dir .          in the current directory, which must be empty")]
pub(super) struct InitArgs {
    /// Name of the simulator: lower-case letters, digits, `-` and `_`
    name: String,

    /// Directory of the new recipe [default: recipes/NAME]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl InitArgs {
    pub(super) fn run(self, ui: &Ui) -> Result<u8> {
        init(&InitRequest { name: self.name, dir: self.dir }, &Data::here(), ui)
    }
}
