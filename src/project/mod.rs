//! A recipe as it lies on disk, with everything that belongs to it: its file, its source tree, its lock, its symbols
//! files. Verbs that begin with a recipe begin here.

mod dependencies;
mod files;
mod hygiene;
mod ignored;
mod licences;
mod locate;
mod lock;
mod sources;
mod symbols;
mod unsaid;

pub(crate) use dependencies::{Dependencies, dependencies, package_files};
pub(crate) use hygiene::{Hygiene, examine};
pub(crate) use licences::licences;
pub(crate) use locate::{Located, Origin, RECIPE_FILE, RecipeRequest, files_of, find, locate, source_elsewhere};
pub(crate) use lock::{Choice, LockState, change_in_words, fresh_lock};
pub(crate) use sources::{scan, source_digest, source_root};
pub(crate) use symbols::{SYMBOLS_DIR, SYMBOLS_ENDING, read_all_symbols, read_symbols};
pub(crate) use unsaid::unsaid_inputs;
