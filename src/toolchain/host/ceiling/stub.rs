//! What a linker needs of a shared library: its symbols up to a version, without code. As an assembler and a linker make it.

use std::collections::{BTreeMap, BTreeSet};

use super::limits::{Limits, numbers};
use crate::elf::{Export, facts};
use crate::error::{Error, Result};

/// A library without code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stub {
    /// Names that it defines.
    pub names: BTreeSet<String>,
    /// For the assembler.
    pub assembly: String,
    /// For the linker: the versions.
    pub versions: String,
}

impl Stub {
    /// The part of a library that systems within the limits have.
    pub(super) fn of(bytes: &[u8], limits: &Limits) -> Result<Self> {
        let facts = facts(bytes).map_err(|error| Error::toolchain("a library cannot be read").because(error))?;
        let mut symbols: BTreeMap<&str, Vec<(&str, &Export)>> = BTreeMap::new();
        for export in &facts.exports {
            // A version is a symbol, too, of its own name.
            let version = export.version.as_deref().filter(|version| limits.allow(version) && *version != export.name);
            if let Some(version) = version {
                symbols.entry(&export.name).or_default().push((version, export));
            }
        }
        Ok(Self::from_symbols(symbols))
    }

    fn from_symbols(symbols: BTreeMap<&str, Vec<(&str, &Export)>>) -> Self {
        let (mut assembly, mut versions, mut count) = (String::new(), BTreeSet::new(), 0);
        let names = symbols.keys().map(|name| (*name).to_owned()).collect();
        for (name, mut of_name) in symbols {
            // What programs are linked with is the newest that is allowed, as it was when that was the newest.
            of_name.sort_by_cached_key(|(version, _)| numbers(version));
            let newest = of_name.len() - 1;
            for (index, (version, export)) in of_name.into_iter().enumerate() {
                count += 1;
                let at = if index == newest { "@@" } else { "@" };
                let (section, kind, size) = match export.kind.as_ref() {
                    "object" | "common" => (".bss", "object", export.size.max(1)),
                    "tls" => (".section .tbss,\"awT\",@nobits", "tls_object", export.size.max(1)),
                    _ => (".text", "function", 1),
                };
                assembly.push_str(&format!(
                    "{section}\n.balign 32\n.globl stub{count}\n.type stub{count},%{kind}\n.size stub{count},{size}\n\
                     .symver stub{count},{name}{at}{version},remove\nstub{count}: .skip {size}\n"
                ));
                versions.insert(version);
            }
        }
        assembly.push_str(".section .note.GNU-stack,\"\",@progbits\n");
        Self { names, assembly, versions: versions.into_iter().map(|version| format!("{version} {{ }};\n")).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_linked_with_the_newest_version_that_is_allowed() {
        let export = |name: &str, version: &str, kind: &'static str, default| Export {
            name: name.to_owned(),
            version: Some(version.to_owned()),
            default,
            kind: kind.into(),
            binding: "global".into(),
            visibility: "default".into(),
            size: 16,
        };
        let old = export("wait", "GLIBCXX_3.4.11", "function", false);
        let older = export("wait", "GLIBCXX_3.4.9", "function", false);
        let object = export("cout", "GLIBCXX_3.4", "object", true);
        let of = |exports: &[&'static str]| exports.to_vec();
        let symbols = BTreeMap::from([
            ("wait", vec![("GLIBCXX_3.4.11", &old), ("GLIBCXX_3.4.9", &older)]),
            ("cout", vec![("GLIBCXX_3.4", &object)]),
        ]);
        let stub = Stub::from_symbols(symbols);
        let said: Vec<&str> = stub.assembly.lines().filter(|line| line.starts_with(".symver")).collect();
        assert_eq!(
            said,
            of(&[
                ".symver stub1,cout@@GLIBCXX_3.4,remove",
                ".symver stub2,wait@GLIBCXX_3.4.9,remove",
                ".symver stub3,wait@@GLIBCXX_3.4.11,remove"
            ])
        );
        assert!(stub.assembly.contains(".size stub1,16"));
        assert_eq!(stub.versions, "GLIBCXX_3.4 { };\nGLIBCXX_3.4.11 { };\nGLIBCXX_3.4.9 { };\n");
    }
}
