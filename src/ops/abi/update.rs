//! `simpack abi update`: records a release in the symbols files.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::subject::{Provider, Subject, is_baseline, read_baseline};
use crate::abi::{Interface, SymbolsFile};
use crate::arch::Version;
use crate::arch::VersionPolicy;
use crate::error::{Error, Result};
use crate::fs;
use crate::project::{SYMBOLS_ENDING, read_symbols};
use crate::ui::Ui;

/// What to record.
#[derive(Debug, Clone)]
pub struct UpdateRequest {
    /// Files, trees, packages or baselines of one release.
    pub subjects: Vec<PathBuf>,
    /// Directory of symbols files; made when absent.
    pub symbols: PathBuf,
    /// Release, when the packages do not say it.
    pub release: Option<Version>,
    /// Package that provides the libraries, when the packages do not say it.
    pub package: Option<String>,
    /// What its version promises.
    pub policy: Option<VersionPolicy>,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Updated {
    file: PathBuf,
    library: String,
    release: Version,
    added: Vec<String>,
    gone: Vec<String>,
}

/// The libraries of one release that others can name, each with its package if that is known.
struct Released {
    release: Option<Version>,
    libraries: Vec<(String, Interface, Option<Provider>)>,
}

/// Of a recorded baseline, or of files.
fn released(path: &Path) -> Result<Released> {
    if is_baseline(path) {
        let baseline = read_baseline(path)?;
        let named = baseline.libraries.into_values().filter_map(|library| Some((library.soname.clone()?, library)));
        let libraries = named.map(|(name, library)| (name, library, None)).collect();
        return Ok(Released { release: baseline.release, libraries });
    }
    let subject = Subject::open(path)?;
    if let Some((file, reason)) = subject.unreadable.first() {
        return Err(Error::file(file, reason));
    }
    let named = subject.libraries().filter(|file| file.facts.soname.is_some());
    let libraries = named.map(|file| (file.library(), Interface::of(&file.facts), file.package.clone())).collect();
    Ok(Released { release: subject.release, libraries })
}

/// Updates one file a library, each written whole or not at all.
///
/// # Errors
/// The release or the package is unknown, a file is no symbols file, or an ELF file cannot be read.
pub fn update(request: &UpdateRequest, ui: &Ui) -> Result<u8> {
    let mut updates = Vec::new();
    for path in &request.subjects {
        let Released { release, libraries } = released(path)?;
        let release = request.release.or(release).ok_or_else(|| {
            Error::usage(format!("{} does not say its release", path.display())).hint("give --release, such as 1.0.1")
        })?;
        for (name, interface, said) in libraries {
            let said = said.as_ref();
            let place = request.symbols.join(format!("{name}.{SYMBOLS_ENDING}"));
            let mut file = match read_symbols(&place)? {
                Some(file) => file,
                None => {
                    let package = request.package.clone().or(said.map(|(name, _)| name.clone()));
                    let package = package.ok_or_else(|| {
                        Error::usage(format!("nothing says which package provides {name}")).hint("give --package")
                    })?;
                    let policy = request.policy.or(said.and_then(|(_, policy)| *policy));
                    SymbolsFile::new(name.clone(), package, policy.unwrap_or(VersionPolicy::Major))
                }
            };
            let update = file.update(&interface, &release);
            fs_err::create_dir_all(&request.symbols)?;
            fs::write_atomic(&place, file.print().as_bytes())?;
            let names = |names: Vec<crate::abi::SymbolName>| names.iter().map(ToString::to_string).collect();
            updates.push(Updated {
                file: place,
                library: name,
                release,
                added: names(update.added),
                gone: names(update.gone),
            });
        }
    }
    if !ui.json(&updates)? {
        for update in &updates {
            let (added, gone) = (update.added.len(), update.gone.len());
            ui.say(format!("{}  {}: {added} new, {gone} gone", update.file.display(), update.release));
        }
    }
    Ok(0)
}
