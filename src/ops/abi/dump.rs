//! `simpack abi dump`.

use std::path::Path;

use super::subject::Subject;
use crate::amount::count;
use crate::arch::Version;
use crate::error::{Error, Result};
use crate::fs;
use crate::ui::Ui;

/// Writes the interfaces below `path` as a baseline, to `output` or to standard output.
///
/// # Errors
/// Nothing to read there, or an ELF file that cannot be read: a baseline with holes is none.
pub fn dump(path: &Path, output: Option<&Path>, release: Option<Version>, ui: &Ui) -> Result<u8> {
    let subject = Subject::open(path)?;
    if let Some((file, reason)) = subject.unreadable.first() {
        return Err(Error::file(file, reason).hint("a baseline records every library; leave this file out"));
    }
    let baseline = subject.baseline(release);
    let mut text = serde_json::to_string_pretty(&baseline)
        .map_err(|error| Error::bug("a baseline does not print as JSON").because(error))?;
    text.push('\n');
    let symbols: usize = baseline.libraries.values().map(|library| library.symbols.len()).sum();
    match output {
        Some(output) => {
            fs::write_atomic(output, text.as_bytes())?;
            ui.note(format!(
                "{}: {}, {}",
                output.display(),
                count(baseline.libraries.len(), "library"),
                count(symbols, "symbol")
            ));
            ui.json(&baseline)?;
        }
        None => ui.out(&text),
    }
    Ok(0)
}
