//! What one library offers to those that link to it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::elf::{Facts, Machine};

/// How deep a comparison looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Depth {
    /// Dynamic symbols: names, versions, kinds, bindings, visibility, sizes of data and of C++ tables.
    /// Parameters of functions and members of types are not seen.
    Symbols,
}

impl fmt::Display for Depth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Symbols => f.pad("symbols only"),
        }
    }
}

/// A symbol by its name and version node: `cusparseCreate@libcusparse.so.12`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct SymbolName {
    /// Name as the linker sees it.
    pub name: String,
    /// Version node, if the library defines versions.
    pub node: Option<String>,
}

impl fmt::Display for SymbolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.node {
            Some(node) => write!(f, "{}@{node}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

impl FromStr for SymbolName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, node) = match text.split_once('@') {
            Some((name, node)) => (name, Some(node)),
            None => (text, None),
        };
        let word = |part: &str| !part.is_empty() && !part.contains(|c: char| c.is_whitespace() || c == '@');
        if !word(name) || !node.is_none_or(word) {
            return Err(format!("`{text}` is not a symbol such as name or name@NODE"));
        }
        Ok(Self { name: name.to_owned(), node: node.map(str::to_owned) })
    }
}

impl TryFrom<String> for SymbolName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<SymbolName> for String {
    fn from(name: SymbolName) -> Self {
        name.to_string()
    }
}

/// One exported symbol, without its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Offer {
    /// `function`, `object`, `tls`, `ifunc` ...
    pub kind: Cow<'static, str>,
    /// `global`, `weak`, `unique`.
    pub binding: Cow<'static, str>,
    /// `default` or `protected`.
    pub visibility: Cow<'static, str>,
    /// Linkers take this version when none is asked for.
    pub default: bool,
    /// Bytes of data and of C++ tables; code may have any size, so functions have none here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

/// The interface of one library.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Interface {
    /// Name that users of the library record.
    pub soname: Option<String>,
    /// Processor.
    pub machine: Machine,
    /// Must be loaded at program start: thread-local data in the static model (`DF_STATIC_TLS`).
    pub static_tls: bool,
    /// Has debug information, so that somebody could look deeper.
    pub debug_info: bool,
    /// Version nodes that it defines.
    pub nodes: BTreeSet<String>,
    /// What it offers.
    pub symbols: BTreeMap<SymbolName, Offer>,
}

/// Names that linkers make in every file: nobody's interface.
const OF_THE_LINKER: [&str; 7] = ["_init", "_fini", "_edata", "_end", "__bss_start", "__end__", "_bss_end__"];

impl Interface {
    /// The interface that a file's facts show.
    pub fn of(facts: &Facts) -> Self {
        let own = facts.exports.iter().filter(|export| !OF_THE_LINKER.contains(&export.name.as_str()));
        let symbols = own.map(|export| {
            let is_code = matches!(&*export.kind, "function" | "ifunc" | "none");
            let offer = Offer {
                kind: export.kind.clone(),
                binding: export.binding.clone(),
                visibility: export.visibility.clone(),
                default: export.default,
                size: (!is_code).then_some(export.size),
            };
            (SymbolName { name: export.name.clone(), node: export.version.clone() }, offer)
        });
        Self {
            soname: facts.soname.clone(),
            machine: facts.machine,
            static_tls: facts.flags & object::elf::DF_STATIC_TLS.0 != 0,
            debug_info: facts.debug_info,
            nodes: facts.version_definitions.clone(),
            symbols: symbols.collect(),
        }
    }
}
