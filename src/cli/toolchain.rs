//! The command line of `simpack toolchain`.

use clap::Subcommand;

use crate::config;
use crate::error::Result;
use crate::ops;
use crate::toolchain::Store;
use crate::ui::Ui;

/// Fetch and inspect compilers and build tools.
#[derive(Debug, Clone, Subcommand)]
pub enum ToolchainCommand {
    /// List what can be fetched and what is in the cache.
    #[command(after_help = "Examples:\n  simpack toolchain list\n  simpack toolchain list --json")]
    List,
    /// Fetch toolchains into the cache: all of them, those named, or those that a recipe has locked.
    ///
    /// With a simpack.lock in the current directory, or beside the recipe that --recipe names, the wheels are
    /// those of the lock.
    ///
    /// Files come from where this machine's pip takes packages: its index, mirrors, find-links, proxy and
    /// certificates. SIMPACK_INDEX_URL names another index, SIMPACK_CACHE_DIR another cache. Every file is
    /// checked against its pinned digest, and a transfer that was cut goes on where it stopped.
    #[command(after_help = "Examples:\n  simpack toolchain fetch cuda-13.0\n  simpack toolchain fetch cmake ninja\n  \
                            PIP_FIND_LINKS=/media/wheels simpack toolchain fetch --offline\n  \
                            simpack toolchain fetch --recipe recipes/volley")]
    Fetch {
        /// Names as `simpack toolchain list` shows them.
        names: Vec<String>,
        /// Fetch what the lock of this recipe names: a directory, a file, or an embedded one.
        #[arg(long, value_name = "RECIPE")]
        recipe: Option<String>,
        /// Use no network: only the cache and find-links directories.
        #[arg(long)]
        offline: bool,
    },
    /// Show paths, versions and digests of one toolchain.
    #[command(after_help = "Examples:\n  simpack toolchain show cuda-13.0\n  CUDA_HOME=/usr/local/cuda simpack \
                            toolchain show system")]
    Show {
        /// A name from `simpack toolchain list`, or `system` for the CUDA that CUDA_HOME or PATH names.
        name: String,
    },
}

impl ToolchainCommand {
    /// Does it, with the cache of this user.
    ///
    /// # Errors
    /// A toolchain is unknown, or cannot be fetched or found.
    pub fn run(&self, ui: &Ui) -> Result<u8> {
        let store = Store::open(crate::fs::cache_dir()?)?;
        match self {
            Self::List => ops::toolchain::list(&store, ui)?,
            Self::Fetch { names, recipe, offline } => {
                let offline = *offline || config::current().is_on("offline");
                ops::toolchain::fetch(store, names, recipe.as_deref(), offline, ui)?
            }
            Self::Show { name } => ops::toolchain::show(&store, name, ui)?,
        }
        Ok(0)
    }
}
