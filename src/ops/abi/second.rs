//! What `abidiff` of libabigail says about the same files.

use schemars::JsonSchema;
use serde::Serialize;

use super::subject::{Loaded, Subject};
use crate::error::{Error, Result};
use crate::process::Call;

/// Its answer about one library.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) struct SecondOpinion {
    /// SONAME.
    pub library: String,
    /// `compatible`, `changed`, `incompatible`.
    pub verdict: &'static str,
    /// What it printed.
    pub report: String,
}

/// Asks about every library that both sides have.
///
/// # Errors
/// `abidiff` is not there, or fails.
pub(super) fn ask(old: &Subject, new: &Subject) -> Result<Vec<SecondOpinion>> {
    let program = which::which("abidiff").map_err(|_| {
        Error::toolchain("abidiff is not installed")
            .hint("install libabigail (Debian: abigail-tools, conda-forge: libabigail), or leave out --second-opinion")
    })?;
    let mut opinions = Vec::new();
    for before in old.libraries() {
        let stem = |file: &Loaded| crate::elf::library_stem(&file.library()).to_owned();
        let are_named = old.is_file && new.is_file;
        let mut afters = new.libraries();
        let Some(after) = afters.find(|after| are_named || stem(after) == stem(before)) else { continue };
        let call = Call::new(&program)
            .arg("--no-show-locs")
            .arg(before.on_disk.display().to_string())
            .arg(after.on_disk.display().to_string());
        let outcome = call.run()?;
        // abidiff(1), "Return values": a set of bits; 1 and 2 are its own failures, 4 a change, 8 a break.
        let verdict = match outcome.status.code() {
            Some(0) => "compatible",
            Some(code) if code & 3 == 0 && code & 8 != 0 => "incompatible",
            Some(code) if code & 3 == 0 => "changed",
            _ => {
                return Err(Error::toolchain(format!("abidiff failed over {}, {}", before.library(), outcome.how()))
                    .detail(call.line())
                    .detail(outcome.all_text()));
            }
        };
        opinions.push(SecondOpinion { library: before.library(), verdict, report: outcome.stdout_text() });
    }
    Ok(opinions)
}
