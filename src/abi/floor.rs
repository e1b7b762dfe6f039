//! The lowest release of a library that has every symbol a consumer uses.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{SymbolName, SymbolsFile};
use crate::arch::{Version, VersionPolicy, VersionRange};
use crate::elf::{Facts, Import};

/// What one consumer needs of one library.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Floor {
    /// SONAME of the library.
    pub library: String,
    /// Package that provides it.
    pub package: String,
    /// Lowest release that has all; none when nothing of the library is used.
    pub lowest: Option<Version>,
    /// Symbols that make it so: those that the release before lacked.
    pub because: Vec<SymbolName>,
    /// How many symbols of the library are used.
    pub used: usize,
    /// First release that lacks a symbol, and which: the consumer ends there.
    pub gone: Option<(Version, SymbolName)>,
    /// Symbols that are expected of this library and that its file does not know: newer than the
    /// file, or of another library.
    pub unknown: Vec<SymbolName>,
    /// Releases that do: from the lowest to below the first one that may break.
    #[serde(skip)]
    pub range: Option<VersionRange>,
}

/// The dependencies of a package that holds several consumers: of each package that they need, the highest floor.
pub fn dependencies(floors: Vec<Floor>) -> BTreeMap<String, VersionRange> {
    let mut highest: BTreeMap<String, Floor> = BTreeMap::new();
    for floor in floors.into_iter().filter(|floor| floor.range.is_some()) {
        let known = highest.get(&floor.package).and_then(|known| known.lowest.as_ref());
        if known.is_none_or(|known| floor.lowest.as_ref().is_some_and(|lowest| lowest > known)) {
            highest.insert(floor.package.clone(), floor);
        }
    }
    highest.into_iter().filter_map(|(package, floor)| Some((package, floor.range?))).collect()
}

/// What `consumer` needs of the library of `file`; none when it does not name it as NEEDED.
pub fn floor(consumer: &Facts, file: &SymbolsFile) -> Option<Floor> {
    if !consumer.needed.contains(&file.library) {
        return None;
    }
    let mut floor = Floor {
        library: file.library.clone(),
        package: file.package.clone(),
        lowest: None,
        because: Vec::new(),
        used: 0,
        gone: None,
        unknown: Vec::new(),
        range: None,
    };
    for import in &consumer.imports {
        let name = SymbolName { name: import.name.clone(), node: import.version.clone() };
        let expected = import.library.as_ref() == Some(&file.library);
        let Some((name, recorded)) = lookup(file, import, name) else {
            if expected && !import.weak {
                floor.unknown.push(SymbolName { name: import.name.clone(), node: import.version.clone() });
            }
            continue;
        };
        floor.used += 1;
        if import.weak {
            continue;
        }
        match floor.lowest.as_ref().map(|lowest| recorded.since.cmp(lowest)) {
            None | Some(std::cmp::Ordering::Greater) => {
                floor.lowest = Some(recorded.since);
                floor.because = vec![name.clone()];
            }
            Some(std::cmp::Ordering::Equal) => floor.because.push(name.clone()),
            Some(std::cmp::Ordering::Less) => {}
        }
        if let Some(gone) = &recorded.gone
            && floor.gone.as_ref().is_none_or(|(first, _)| gone < first)
        {
            floor.gone = Some((*gone, name.clone()));
        }
    }
    floor.range = floor.lowest.as_ref().map(|lowest| range(file, lowest, floor.gone.as_ref().map(|(gone, _)| gone)));
    Some(floor)
}

/// The record that an import meets. One that asks for no version takes whatever version there is,
/// unless another library is named for it.
fn lookup<'a>(
    file: &'a SymbolsFile,
    import: &Import,
    name: SymbolName,
) -> Option<(&'a SymbolName, &'a super::Recorded)> {
    if import.library.as_ref().is_some_and(|library| *library != file.library) {
        return None;
    }
    if name.node.is_some() {
        return file.symbols.get_key_value(&name);
    }
    let from = SymbolName { name: name.name.clone(), node: None };
    file.symbols.range(from..).take_while(|(found, _)| found.name == name.name).min_by(|a, b| a.1.since.cmp(&b.1.since))
}

/// `>=1.0.1,<2`.
fn range(file: &SymbolsFile, lowest: &Version, gone: Option<&Version>) -> VersionRange {
    let bound = lowest.ended_by(match file.policy {
        VersionPolicy::Major => 0,
        VersionPolicy::MajorMinor | VersionPolicy::Capability => 1,
    });
    let below = gone.filter(|gone| **gone < bound).cloned().unwrap_or(bound);
    VersionRange { from: Some(*lowest), below: Some(below) }
}
