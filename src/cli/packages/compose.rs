//! `simpack compose`.

use std::path::PathBuf;

use clap::Args;

use crate::error::Result;
use crate::ops::compose::{self, ComposeRequest};
use crate::ui::Ui;

#[derive(Debug, Args)]
#[command(after_help = "\
Files that several parts have must be equal in all of them. Where parts differ, every such path is told and nothing is
written. Files of CMake and pkg-config that name the place of their component are refused: consumers of the root would
look there.

Exit codes: 0 done, 1 parts differ at a path, 2 the output holds something else, 6 a part cannot be read

Examples:
  simpack compose target/simpack/bundles/volley-core target/simpack/bundles/volley-dev -o root
  simpack compose dist/tar/*.tar.zst -o /opt/volley
  simpack compose --link core/ kernels/ -o root      hard links: no second copy on the disk
  cmake -DCMAKE_PREFIX_PATH=root ...")]
pub(in crate::cli) struct ComposeArgs {
    /// Directories of components, prefixes, and packages
    #[arg(value_name = "DIR|PACKAGE", required = true)]
    parts: Vec<PathBuf>,

    /// Directory that is made; one that `simpack compose` made is replaced
    #[arg(long, short, value_name = "ROOT")]
    output: PathBuf,

    /// Make hard links to the files of directories, instead of copies
    #[arg(long)]
    link: bool,
}

impl ComposeArgs {
    /// Runs the verb; answers the exit code.
    pub(in crate::cli) fn run(self, ui: &Ui) -> Result<u8> {
        compose::run(&ComposeRequest { parts: self.parts, output: self.output, link: self.link }, ui)
    }
}
