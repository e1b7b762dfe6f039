//! `simpack patch-source`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueHint};

use crate::config;
use crate::error::Result;
use crate::ops::patch_source::{PatchSourceRequest, SourceWork, patch_source};
use crate::ui::Ui;

#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("work").required(true).args(["edit", "from"]),
    after_help = "\
A recipe may change what it fetches: `patches` are applied in their order, then `overlay` is put over them. With --edit
DIR the source is written as builds see it. Change files there, then make a patch of the changes with --from DIR: it is
written below patches/ beside the recipe, and the verb says the line that names it. Before it is written, the patch is
applied as a build does, and must give the changed tree.

A patch carries text in new, changed and deleted files, and whether a file may be executed; no other modes and no empty
directories. Binary files, links and files of the overlay are refused. A .git directory at the top of DIR is left out.

Exit codes: 0 done (or nothing was changed), 2 DIR holds something else, or changes that no patch carries,
3 the recipe has mistakes, or its patches do not apply

Examples:
  simpack patch-source recipes/arbor --edit arbor-src
  simpack patch-source recipes/arbor --from arbor-src --name 0001-find-cuda.patch
  simpack patch-source recipes/sim --source headers --edit headers-src      one of several sources"
)]
pub(in crate::cli) struct PatchSourceArgs {
    /// Recipe: a directory, a file, or the name of an embedded one [default: ./simpack.toml]
    recipe: Option<String>,

    /// Write the source into DIR, patched and with its overlay; DIR is new, empty, or a tree without changes
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    edit: Option<PathBuf>,

    /// Make a patch of what differs between the recipe's source and the changed tree DIR
    #[arg(long, value_name = "DIR", requires = "name", value_hint = ValueHint::DirPath)]
    from: Option<PathBuf>,

    /// File name of the new patch below patches/ beside the recipe
    #[arg(long, value_name = "FILE", requires = "from", conflicts_with = "edit")]
    name: Option<String>,

    /// Which of [sources.NAME] [default: [source], or the only one]
    #[arg(long, value_name = "NAME")]
    source: Option<String>,

    /// Use no network: a source that is elsewhere must be in the cache
    #[arg(long)]
    offline: bool,
}

impl PatchSourceArgs {
    /// Runs the verb; answers the exit code.
    pub(in crate::cli) fn run(self, ui: &Ui) -> Result<u8> {
        let work = match (self.edit, self.from) {
            (Some(dir), _) => SourceWork::Edit(dir),
            (None, tree) => SourceWork::From { tree: tree.unwrap_or_default(), name: self.name.unwrap_or_default() },
        };
        let offline = self.offline || config::current().is_on("offline");
        patch_source(&PatchSourceRequest { recipe: self.recipe, source: self.source, work, offline }, ui)
    }
}
