//! What fits together when all packages are loaded into one process.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::elf::library_stem;
use crate::elf::{Facts, FileKind, Import};
use crate::lint::{Hits, ParameterKind, Parameters, Predicate};
use crate::recipe::ComponentKind;
use crate::report::Subject;
use crate::verify::{BundleFacts, Contents, FileFacts, PackageFacts};

const LEAST: &[(&str, ParameterKind)] = &[("least-symbols", ParameterKind::Number)];

pub(in crate::verify::lints) fn predicates() -> Vec<Predicate<BundleFacts>> {
    vec![
        Predicate { id: "library-twice", parameters: LEAST, check: library_twice },
        Predicate { id: "overlinked", parameters: &[], check: overlinked },
        Predicate { id: "symbol-unresolved", parameters: &[], check: symbol_unresolved },
        Predicate { id: "version-need-orphan", parameters: &[], check: version_need_orphan },
    ]
}

/// A shared library of the distribution.
#[derive(Clone, Copy)]
struct Library<'a> {
    package: &'a PackageFacts,
    file: &'a FileFacts,
    elf: &'a Facts,
}

impl<'a> Library<'a> {
    fn name(&self) -> &'a str {
        self.elf.soname.as_deref().unwrap_or(self.file.name())
    }

    fn subject(&self) -> Subject {
        self.package.subject(&self.file.path)
    }

    /// Kernel packages of one group are alternatives, and packages of one name for several CUDA releases: a process never
    /// holds two of them.
    fn is_alternative_of(&self, other: &Self) -> bool {
        let (own, other) = (&self.package.manifest, &other.package.manifest);
        let are_kernels = own.component == ComponentKind::Kernels && other.component == ComponentKind::Kernels;
        are_kernels && own.target != other.target || own.package == other.package && own.cuda != other.cuda
    }
}

fn libraries(facts: &BundleFacts) -> Vec<Library<'_>> {
    let all = facts
        .packages
        .iter()
        .flat_map(|package| package.loaded().map(move |(_, file, elf)| Library { package, file, elf }));
    all.filter(|library| library.elf.kind == FileKind::Library).collect()
}

/// Which library of the distribution a file gets for a name.
struct Winners<'a> {
    facts: &'a BundleFacts,
    by_path: BTreeMap<&'a str, Library<'a>>,
    /// By the name that NEEDED entries use.
    by_name: BTreeMap<&'a str, Library<'a>>,
}

impl<'a> Winners<'a> {
    fn new(facts: &'a BundleFacts) -> Self {
        let libraries = libraries(facts);
        Self {
            facts,
            by_path: libraries.iter().map(|library| (library.file.path.as_str(), *library)).collect(),
            by_name: libraries.iter().map(|library| (library.name(), *library)).collect(),
        }
    }

    /// The one that the loader takes; of a name that it does not reach, which another lint says, the one
    /// that was meant.
    fn get(&self, file: &FileFacts, name: &str) -> Option<Library<'a>> {
        let load = self.facts.loads.get(&file.path, name).and_then(|load| load.file.as_deref());
        load.and_then(|path| self.by_path.get(path)).or_else(|| self.by_name.get(name)).copied()
    }
}

/// What of a library stays when a tool changes its names and its build id: names, versions, kinds and sizes of what
/// it exports, those of functions included. Few symbols prove nothing.
fn fingerprint(elf: &Facts, least: u64) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    for export in &elf.exports {
        (&export.name, &export.version, &export.kind, export.size).hash(&mut hasher);
    }
    (elf.exports.len() as u64 >= least).then(|| hasher.finish())
}

/// Others' files: two majors of a library may lie side by side there, but not one library under two names.
fn twice_in_others(contents: &Contents, least: u64, hits: &mut Hits) {
    let mut known: BTreeMap<u64, (&str, &str)> = BTreeMap::new();
    for (subject, file, elf) in contents.loaded().filter(|(_, _, elf)| elf.kind == FileKind::Library) {
        let Some(print) = fingerprint(elf, least) else { continue };
        let name = elf.soname.as_deref().unwrap_or(file.name());
        match known.get(&print) {
            Some((other, path)) if *other != name => {
                hits.add(subject, format!("exports exactly what {path} does, under another name: a process gets both"));
            }
            Some(_) => {}
            None => {
                known.insert(print, (name, &file.path));
            }
        }
    }
}

fn library_twice(facts: &BundleFacts, parameters: &Parameters, hits: &mut Hits) {
    let least = parameters.number("least-symbols");
    for contents in &facts.foreign {
        twice_in_others(contents, least, hits);
    }
    let libraries = libraries(facts);
    let prints: Vec<Option<u64>> = libraries.iter().map(|library| fingerprint(library.elf, least)).collect();
    for (index, one) in libraries.iter().enumerate() {
        for (other, print) in libraries[..index].iter().zip(&prints) {
            if one.file.path == other.file.path || one.is_alternative_of(other) {
                continue;
            }
            let built = |library: &Library<'_>| library.elf.build_id.clone();
            let reason = if one.name() == other.name() {
                format!(
                    "has SONAME {}, as {} has: which one is loaded depends on who is first",
                    one.name(),
                    other.subject()
                )
            } else if built(one).is_some() && built(one) == built(other) {
                format!("is the same build as {}, under another name: a process gets both", other.subject())
            } else if one.name().contains(".so") && library_stem(one.name()) == library_stem(other.name()) {
                format!(
                    "is {} under another name than {}: a process gets both",
                    library_stem(one.name()),
                    other.subject()
                )
            } else if print.is_some() && *print == prints[index] {
                format!("exports exactly what {} does, under another name: a process gets both", other.subject())
            } else {
                continue;
            };
            hits.add(one.subject(), reason);
        }
    }
}

fn version_need_orphan(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    for contents in facts.contents() {
        for (subject, _, elf) in contents.loaded() {
            for (file, versions) in elf.version_needs.iter().filter(|(file, _)| !elf.needed.contains(file)) {
                let versions: Vec<&str> = versions.iter().map(String::as_str).collect();
                hits.add(&subject, format!("expects versions of {file}, which it does not name as NEEDED"))
                    .evidence(format!("versions: {}", versions.join(", ")))
                    .evidence(format!("NEEDED: {}", elf.needed.join(", ")));
            }
        }
    }
}

/// Whether a library offers what an import asks for.
fn offers(library: &Facts, import: &Import) -> bool {
    library.exports.iter().any(|export| {
        export.name == import.name
            && (import.version.is_none() || export.version.is_none() || import.version == export.version)
    })
}

fn overlinked(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    let winners = Winners::new(facts);
    for package in &facts.packages {
        for (subject, file, elf) in package.loaded() {
            for needed in &elf.needed {
                let Some(library) = winners.get(file, needed) else { continue };
                if !elf.imports.iter().any(|import| offers(library.elf, import)) {
                    hits.add(&subject, format!("needs {needed} and uses none of its symbols"));
                }
            }
        }
    }
}

/// How many symbols a finding names.
const SHOWN: usize = 12;

fn symbol_unresolved(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    let winners = Winners::new(facts);
    for package in &facts.packages {
        for (subject, file, elf) in package.loaded() {
            let mut missing: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
            for import in elf.imports.iter().filter(|import| !import.weak) {
                let Some(library) = import.library.as_deref().and_then(|name| winners.get(file, name)) else {
                    continue;
                };
                if !offers(library.elf, import) {
                    let shown = crate::elf::demangled(&import.name).unwrap_or_else(|| import.name.clone());
                    let version = import.version.as_deref().unwrap_or("no version");
                    missing.entry(library.name()).or_default().insert(format!("{shown} ({version})"));
                }
            }
            for (library, symbols) in missing {
                let count = symbols.len();
                let words = if count == 1 { "a symbol".to_owned() } else { format!("{count} symbols") };
                hits.add(&subject, format!("uses {words} that {library} does not export"))
                    .evidence_lines(symbols.into_iter().take(SHOWN));
            }
        }
    }
}
