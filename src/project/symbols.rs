//! The symbols files of a recipe: those of its own libraries, and of libraries it links against.

use std::path::Path;

use crate::abi::SymbolsFile;
use crate::error::{Error, Result};
use crate::fs;

/// Where a recipe keeps them, beside its file.
pub(crate) const SYMBOLS_DIR: &str = "symbols";
/// Ending of their names.
pub(crate) const SYMBOLS_ENDING: &str = "symbols";

/// The symbols file at `path`, if there is one.
pub(crate) fn read_symbols(path: &Path) -> Result<Option<SymbolsFile>> {
    if !path.exists() {
        return Ok(None);
    }
    let text = fs::read_to_string(path)?;
    SymbolsFile::parse(&text).map(Some).map_err(|error| Error::file(path, error))
}

/// All symbols files of a directory, sorted by path; none when the directory is absent.
pub(crate) fn read_all_symbols(dir: &Path) -> Result<Vec<SymbolsFile>> {
    let mut files = Vec::new();
    if dir.is_dir() {
        for entry in fs::walk(dir)? {
            if entry.path.ends_with(&format!(".{SYMBOLS_ENDING}")) {
                files.extend(read_symbols(&dir.join(&entry.path))?);
            }
        }
    }
    Ok(files)
}
