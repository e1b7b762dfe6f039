//! `simpack abi floor`: the lowest releases that a consumer needs.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::subject::Subject;
use crate::abi::{self, Floor};
use crate::bundle::Versions;
use crate::error::{Error, Result};
use crate::project::read_all_symbols;
use crate::ui::Ui;

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Answer {
    consumer: String,
    floors: Vec<Named>,
}

/// A floor with the dependency that follows from it.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Named {
    #[serde(flatten)]
    floor: Floor,
    /// As recipes and conda write it.
    depends: Option<String>,
}

impl From<Floor> for Named {
    fn from(floor: Floor) -> Self {
        let depends = floor.range.clone().map(|range| format!("{} {}", floor.package, Versions::from(range)));
        Self { floor, depends }
    }
}

/// Symbols that are named as the reason.
const SHOWN: usize = 4;

/// Looks every consumer up; answers 1 when a symbol is in no release that the files know.
///
/// # Errors
/// A consumer or the symbols files cannot be read.
pub fn floor(consumers: &[PathBuf], against: &Path, ui: &Ui) -> Result<u8> {
    let files = read_all_symbols(against)?;
    if files.is_empty() {
        return Err(Error::usage(format!("{} holds no symbols file", against.display()))
            .hint("`simpack abi update LIBRARY --symbols DIR` makes them"));
    }
    let mut answers = Vec::new();
    let mut unreadable = Vec::new();
    for path in consumers {
        let subject = Subject::open(path)?;
        for file in &subject.files {
            let floors = files.iter().filter_map(|symbols| abi::floor(&file.facts, symbols)).map(Named::from).collect();
            answers.push(Answer { consumer: file.path.clone(), floors });
        }
        unreadable.extend(subject.unreadable);
    }
    let unknown = answers.iter().flat_map(|answer| &answer.floors).any(|named| !named.floor.unknown.is_empty());
    if !ui.json(&answers)? {
        for answer in &answers {
            say(answer, ui);
        }
        for (file, reason) in &unreadable {
            ui.say(format!("{file}\n  not examined: {reason}"));
        }
    }
    Ok(match (unknown, unreadable.is_empty()) {
        (true, _) => 1,
        (false, false) => 7,
        (false, true) => 0,
    })
}

fn say(answer: &Answer, ui: &Ui) {
    ui.say(&answer.consumer);
    if answer.floors.is_empty() {
        ui.say("  needs no library of the symbols files");
    }
    let list = |names: &[abi::SymbolName]| {
        let shown: Vec<String> = names.iter().take(SHOWN).map(ToString::to_string).collect();
        let rest = names.len().saturating_sub(SHOWN);
        if rest > 0 { format!("{} and {rest} more", shown.join(", ")) } else { shown.join(", ") }
    };
    for Named { floor, depends } in &answer.floors {
        match depends {
            Some(depends) => ui.say(format!("  {depends}    because of {}", list(&floor.because))),
            None => ui.say(format!("  {}: overlinked, none of its symbols is used", floor.library)),
        }
        if let Some((release, symbol)) = &floor.gone {
            ui.say(format!("    {symbol} is gone in {release}"));
        }
        if !floor.unknown.is_empty() {
            ui.say(format!("    in no recorded release of {}: {}", floor.library, list(&floor.unknown)));
        }
    }
}
