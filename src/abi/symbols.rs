//! Symbols files: in which release of a library each symbol first appeared.
//!
//! One a library, kept beside the recipe, updated at each release: the idea of Debian's symbols files.
//! ```text
//! simpack-symbols 1
//! library libvolley.so.1
//! package volley-core
//! policy major
//!
//! volley_network_read@VOLLEY_1 1.0.0
//! volley_run_until@VOLLEY_1 1.0.1
//! volley_old@VOLLEY_1 1.0.0 gone 2.0.0
//! ```

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{Interface, SymbolName};
use crate::arch::Version;
use crate::arch::VersionPolicy;
use crate::budget::Budget;

const FIRST_LINE: &str = "simpack-symbols 1";

/// A symbol's life.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// First release with it.
    pub since: Version,
    /// First release without it.
    pub gone: Option<Version>,
}

/// The content of one symbols file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolsFile {
    /// SONAME.
    pub library: String,
    /// Package that a dependency names.
    pub package: String,
    /// What the package's version promises.
    pub policy: VersionPolicy,
    /// Symbols by name and node.
    pub symbols: BTreeMap<SymbolName, Recorded>,
}

/// What an update did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Update {
    /// Symbols that are new in this release.
    pub added: Vec<SymbolName>,
    /// Symbols that this release no longer has.
    pub gone: Vec<SymbolName>,
}

impl SymbolsFile {
    /// An empty record of a library.
    pub fn new(library: impl Into<String>, package: impl Into<String>, policy: VersionPolicy) -> Self {
        Self { library: library.into(), package: package.into(), policy, symbols: BTreeMap::new() }
    }

    /// Reads a symbols file.
    ///
    /// # Errors
    /// In words, with the line: a first line of another form, a line that is no record, a symbol twice, more symbols
    /// than a file of its size holds.
    pub fn parse(text: &str) -> Result<Self, String> {
        let budget = Budget::of(text.as_bytes());
        let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
        match lines.next() {
            Some((_, FIRST_LINE)) => {}
            _ => return Err(format!("line 1: not `{FIRST_LINE}`")),
        }
        let mut head: BTreeMap<&str, &str> = BTreeMap::new();
        let mut symbols = BTreeMap::new();
        // The head ends with the first empty line: a symbol may be called `library`, too.
        let mut in_head = true;
        for (number, line) in lines.filter(|(_, line)| !line.starts_with('#')) {
            in_head &= !line.is_empty();
            // No record has more than four words.
            let words: Vec<&str> = line.split_whitespace().take(5).collect();
            match words[..] {
                [key @ ("library" | "package" | "policy"), value] if in_head => {
                    if head.insert(key, value).is_some() {
                        return Err(format!("line {number}: `{key}` stands twice"));
                    }
                }
                [name, ref life @ ..] => {
                    let at = |error: String| format!("line {number}: {error}");
                    budget.keep_text(320 + name.len());
                    budget.finish().map_err(|over| at(over.to_string()))?;
                    let name: SymbolName = name.parse().map_err(at)?;
                    let recorded = match life {
                        [since] => Recorded { since: since.parse().map_err(at)?, gone: None },
                        [since, "gone", gone] => {
                            Recorded { since: since.parse().map_err(at)?, gone: Some(gone.parse().map_err(at)?) }
                        }
                        _ => return Err(format!("line {number}: not `SYMBOL SINCE` or `SYMBOL SINCE gone RELEASE`")),
                    };
                    if symbols.insert(name, recorded).is_some() {
                        return Err(format!("line {number}: this symbol stands twice"));
                    }
                }
                [] => {}
            }
        }
        let mut take = |key: &str| head.remove(key).ok_or_else(|| format!("there is no line `{key} ...`"));
        Ok(Self {
            library: take("library")?.to_owned(),
            package: take("package")?.to_owned(),
            policy: take("policy")?.parse()?,
            symbols,
        })
    }

    /// The file's text; what [`Self::parse`] reads.
    pub fn print(&self) -> String {
        let mut text =
            format!("{FIRST_LINE}\nlibrary {}\npackage {}\npolicy {}\n\n", self.library, self.package, self.policy);
        for (name, recorded) in &self.symbols {
            let _ = write!(text, "{name} {}", recorded.since);
            if let Some(gone) = &recorded.gone {
                let _ = write!(text, " gone {gone}");
            }
            text.push('\n');
        }
        text
    }

    /// Records the interface of a release. Releases come in any order: a symbol's first release only
    /// moves down, and what an older release lacks is not gone.
    pub fn update(&mut self, interface: &Interface, release: &Version) -> Update {
        let mut update = Update::default();
        let newest = self.newest().is_none_or(|newest| *release >= newest);
        // A name that cannot be written in a line of its own is no name of a compiler.
        let writable = |name: &&SymbolName| {
            let text = name.to_string();
            !text.starts_with('#') && text.parse().as_ref() == Ok(*name)
        };
        for name in interface.symbols.keys().filter(writable) {
            match self.symbols.get_mut(name) {
                None => {
                    self.symbols.insert(name.clone(), Recorded { since: *release, gone: None });
                    update.added.push(name.clone());
                }
                Some(recorded) => {
                    if *release < recorded.since {
                        recorded.since = *release;
                    }
                    if recorded.gone.as_ref().is_some_and(|gone| gone <= release) {
                        recorded.gone = None;
                    }
                }
            }
        }
        if newest {
            for (name, recorded) in &mut self.symbols {
                if recorded.gone.is_none() && !interface.symbols.contains_key(name) {
                    recorded.gone = Some(*release);
                    update.gone.push(name.clone());
                }
            }
        }
        update
    }

    /// The newest release that the file knows of.
    fn newest(&self) -> Option<Version> {
        self.symbols
            .values()
            .flat_map(|recorded| [Some(&recorded.since), recorded.gone.as_ref()])
            .flatten()
            .max()
            .cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_read() {
        let text =
            "simpack-symbols 1\nlibrary liba.so.1\npackage a\npolicy major\n\nnew 1.0.1\nold@V_1 1.0.0 gone 2.0.0\n";
        let file = SymbolsFile::parse(text).unwrap();
        assert_eq!(file.symbols.len(), 2);
        assert_eq!(file.print(), text);
    }

    #[test]
    fn any_name_of_a_symbol_is_kept() {
        let mut file = SymbolsFile::new("liba.so.1", "a", VersionPolicy::Major);
        let names = ["library", "package", "policy", "#odd", "two words", "f@V_1"];
        for name in names {
            let (name, node) = name.split_once('@').map_or((name, None), |(name, node)| (name, Some(node.to_owned())));
            file.symbols.insert(
                SymbolName { name: name.to_owned(), node },
                Recorded { since: "1.0.0".parse().unwrap(), gone: None },
            );
        }
        let interface = Interface {
            soname: None,
            machine: crate::elf::Machine::X86_64,
            static_tls: false,
            debug_info: false,
            nodes: std::collections::BTreeSet::new(),
            symbols: file.symbols.keys().map(|name| (name.clone(), offer())).collect(),
        };
        let mut fresh = SymbolsFile::new("liba.so.1", "a", VersionPolicy::Major);
        fresh.update(&interface, &"1.0.0".parse().unwrap());
        assert_eq!(fresh.symbols.len(), 4, "{:?}", fresh.symbols);
        assert_eq!(SymbolsFile::parse(&fresh.print()), Ok(fresh));
    }

    fn offer() -> crate::abi::Offer {
        crate::abi::Offer {
            kind: "function".into(),
            binding: "global".into(),
            visibility: "default".into(),
            default: true,
            size: None,
        }
    }

    #[test]
    fn mistakes_name_their_line() {
        let start = "simpack-symbols 1\nlibrary liba.so.1\npackage a\npolicy major\n";
        for (text, words) in [
            ("simpack-symbols 2\n".to_owned(), "line 1"),
            (format!("{start}x\n"), "line 5: not `SYMBOL SINCE`"),
            (format!("{start}x 1.0\nx 1.1\n"), "line 6: this symbol stands twice"),
            (format!("{start}x@@V 1.0\n"), "line 5: `x@@V`"),
            (format!("{start}x one\n"), "line 5: `one`"),
            (format!("{start}package b\n"), "line 5: `package` stands twice"),
            ("simpack-symbols 1\nlibrary liba.so.1\npolicy major\n".to_owned(), "no line `package ...`"),
        ] {
            let error = SymbolsFile::parse(&text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
