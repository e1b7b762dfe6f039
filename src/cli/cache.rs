//! The command line of `simpack cache`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Subcommand;

use crate::amount;
use crate::error::{Error, Result};
use crate::ops;
use crate::ui::Ui;

/// Show the cache of built artifacts, and make it smaller.
#[derive(Debug, Clone, Subcommand)]
pub enum CacheCommand {
    /// Show entries, bytes, kinds of steps and last uses, and the build trees of a work directory.
    ///
    /// SIMPACK_CACHE_DIR names the cache, SIMPACK_CACHE_SIZE its limit (10G unless it is said, `none` for no
    /// limit). SIMPACK_CACHE_REMOTE names a second cache directory: what the first lacks is copied from
    /// there; nothing is written to it.
    #[command(after_help = "Examples:\n  simpack cache stat\n  simpack cache stat --json")]
    Stat {
        /// Work directory of the builds whose build trees are counted, too
        #[arg(long, value_name = "DIR", default_value = "target/simpack")]
        work: PathBuf,
    },
    /// Remove what was least recently used, and what killed runs left.
    ///
    /// A build does that itself when the cache, or the build trees in its work directory, are over their limit. What a
    /// running build uses stays.
    #[command(after_help = "Examples:\n  simpack cache gc\n  simpack cache gc --max-size 2G\n  simpack cache gc \
                            --older-than 30d")]
    Gc {
        /// Leave at most so much: a number with k, M, G or T behind it [default: the limit of the cache]
        #[arg(long, value_name = "SIZE", value_parser = size)]
        max_size: Option<u64>,
        /// Remove what was not used for so long: a number with s, m, h or d behind it
        #[arg(long, value_name = "TIME", value_parser = time)]
        older_than: Option<Duration>,
        /// Work directory of the builds whose build trees are removed in the same way, within a limit of their own
        /// (SIMPACK_BUILD_TREES_SIZE)
        #[arg(long, value_name = "DIR", default_value = "target/simpack")]
        work: PathBuf,
    },
    /// Digest every file again and tell which entries are damaged.
    ///
    /// Exit code 1: something is damaged, and stays. A build checks what it takes by itself.
    #[command(after_help = "Examples:\n  simpack cache verify\n  simpack cache verify --remove")]
    Verify {
        /// Remove damaged entries; they are built again when they are needed
        #[arg(long)]
        remove: bool,
    },
}

impl CacheCommand {
    /// Does it; answers the exit code.
    ///
    /// # Errors
    /// The cache cannot be read or written.
    pub fn run(&self, ui: &Ui) -> Result<u8> {
        match self {
            Self::Stat { work } => ops::cache::stat(work, ui),
            Self::Gc { max_size, older_than, work } => ops::cache::gc((*max_size, *older_than), work, ui),
            Self::Verify { remove } => ops::cache::verify(*remove, ui),
        }
    }
}

/// A time, for clap.
pub(super) fn time(text: &str) -> Result<Duration, String> {
    amount::time(text).map_err(words)
}

fn size(text: &str) -> Result<u64, String> {
    amount::bytes(text).map_err(words).map(|bytes| bytes.unwrap_or(u64::MAX))
}

fn words(error: Error) -> String {
    error.hints().first().map_or(error.to_string(), |hint| format!("{error}; {hint}"))
}
