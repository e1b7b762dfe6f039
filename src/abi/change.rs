//! One difference between two interfaces, and what it means for programs that are already linked.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a change does to a consumer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Weight {
    /// No consumer notices.
    Harmless,
    /// Consumers of the new release may need it; those of the old one notice nothing.
    Addition,
    /// A consumer of the old release can break.
    Breaking,
}

/// The classes of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    /// Nobody provides the library any more.
    LibraryRemoved,
    /// The loader does not find the library under the recorded name.
    SonameChanged,
    /// Another processor.
    MachineChanged,
    /// Symbols are gone.
    SymbolRemoved,
    /// A symbol is under another version node only.
    NodeChanged,
    /// A version node is gone.
    NodeRemoved,
    /// A symbol lost its default version: old programs run, new ones do not link.
    DefaultRemoved,
    /// Function became data, data became thread-local ...
    KindChanged,
    /// Data has another size: programs copied the old one (copy relocation).
    DataSizeChanged,
    /// A virtual table has another size: derived classes and calls through it are wrong.
    VtableSizeChanged,
    /// Type information has another size: other base classes.
    TypeinfoSizeChanged,
    /// A thread-local variable has another size.
    TlsSizeChanged,
    /// The library must now be there at program start: `dlopen` may fail.
    StaticTlsGained,
    /// Data became protected: programs that copied it see another variable.
    DataProtected,
    /// A function became protected: its address may compare differently.
    FunctionProtected,
    /// Global to weak or back.
    BindingChanged,
    /// A template instance of the standard library is no longer emitted; users carry their own.
    InstanceRemoved,
    /// A library is new.
    LibraryAdded,
    /// A version node is new.
    NodeAdded,
    /// Symbols are new.
    SymbolAdded,
}

impl ChangeKind {
    /// What it means for those who are linked already.
    pub fn weight(self) -> Weight {
        match self {
            Self::LibraryRemoved
            | Self::SonameChanged
            | Self::MachineChanged
            | Self::SymbolRemoved
            | Self::NodeChanged
            | Self::NodeRemoved
            | Self::KindChanged
            | Self::DataSizeChanged
            | Self::VtableSizeChanged
            | Self::TypeinfoSizeChanged
            | Self::TlsSizeChanged
            | Self::StaticTlsGained
            | Self::DataProtected
            | Self::DefaultRemoved => Weight::Breaking,
            Self::LibraryAdded | Self::NodeAdded | Self::SymbolAdded => Weight::Addition,
            Self::FunctionProtected | Self::BindingChanged | Self::InstanceRemoved => Weight::Harmless,
        }
    }

    /// The class in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::LibraryRemoved => "library removed",
            Self::SonameChanged => "SONAME changed",
            Self::MachineChanged => "another processor",
            Self::SymbolRemoved => "symbol removed",
            Self::NodeChanged => "symbol under another version node",
            Self::NodeRemoved => "version node dropped",
            Self::DefaultRemoved => "no longer the default version",
            Self::KindChanged => "kind of symbol changed",
            Self::DataSizeChanged => "size of data changed",
            Self::VtableSizeChanged => "size of a virtual table changed",
            Self::TypeinfoSizeChanged => "size of type information changed",
            Self::TlsSizeChanged => "size of thread-local data changed",
            Self::StaticTlsGained => "thread-local data in the static model",
            Self::DataProtected => "data became protected",
            Self::FunctionProtected => "function became protected",
            Self::BindingChanged => "binding changed",
            Self::InstanceRemoved => "template instance of the standard library gone",
            Self::LibraryAdded => "library added",
            Self::NodeAdded => "version node added",
            Self::SymbolAdded => "symbol added",
        }
    }
}

impl fmt::Display for ChangeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.words())
    }
}

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Change {
    /// What it means.
    pub weight: Weight,
    /// Its class.
    pub kind: ChangeKind,
    /// Library, by SONAME.
    pub library: String,
    /// Symbol or node, as the linker sees it.
    pub symbol: Option<String>,
    /// The symbol as people wrote it, if that differs.
    pub demangled: Option<String>,
    /// What it was and is, where the class alone does not say it.
    pub detail: Option<String>,
}

impl Change {
    /// A change of a library as such.
    pub(super) fn of_library(kind: ChangeKind, library: &str, detail: Option<String>) -> Self {
        Self { weight: kind.weight(), kind, library: library.to_owned(), symbol: None, demangled: None, detail }
    }

    /// A change of one symbol or node.
    pub(super) fn of_symbol(kind: ChangeKind, library: &str, symbol: String, detail: Option<String>) -> Self {
        let demangled = crate::elf::demangled(symbol.split('@').next().unwrap_or(&symbol));
        Self { weight: kind.weight(), kind, library: library.to_owned(), symbol: Some(symbol), demangled, detail }
    }

    /// The symbol as a report shows it.
    pub fn shown(&self) -> &str {
        self.demangled.as_deref().or(self.symbol.as_deref()).unwrap_or(&self.library)
    }
}
