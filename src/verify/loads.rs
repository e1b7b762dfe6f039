//! What the loader takes from the distribution for each name that its files ask for: all packages as one
//! prefix, by the rules of [`crate::elf::resolve`].

use std::collections::BTreeMap;

use crate::elf::resolve::{Candidate, End, Environment, MemoryTree, Open, Outcome, Process, Resolution, Tree};
use crate::fs::EntryKind;
use crate::manifest::Loaders;

use super::PackageFacts;

/// Where the packages are installed while nobody has installed them.
const PREFIX: &str = "/prefix/";

/// Answers for every file of the packages, by its path below the prefix.
#[derive(Debug, Clone, Default)]
pub struct Loads(BTreeMap<String, BTreeMap<String, Load>>);

/// What one name comes to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Load {
    /// Path below the prefix of the file or link that is taken; none when the prefix has nothing that is reached.
    pub winner: Option<String>,
    /// The file itself, when the winner is a link.
    pub file: Option<String>,
    /// Files that the loader meets and passes over without a word, with the reason.
    pub passed: Vec<(String, &'static str)>,
}

impl Loads {
    /// Asks for every file of the packages.
    pub(super) fn of(packages: &[PackageFacts], loaders: &Loaders) -> Self {
        let tree = tree(packages);
        // Nothing outside of the prefix is there: what the system or a dependency brings is not judged here.
        let Some(profile) = loaders.get("conventional") else { return Self::default() };
        let environment = Environment { directory: "/".to_owned(), ..Environment::default() };
        let mut found = BTreeMap::new();
        for package in packages {
            for (_, file, elf) in package.loaded() {
                let loader = profile.loader(crate::elf::resolve::Object::from(elf).machine);
                let path = format!("{PREFIX}{}", file.path);
                let Ok(mut process) = Process::first(&tree, &loader, &environment, &path) else { continue };
                for name in package.manifest.opens.iter().chain(&file.opens) {
                    process.open(&Open { from: 0, name: name.clone() });
                }
                found.insert(file.path.clone(), answers(&tree, &process.finish()));
            }
        }
        Self(found)
    }

    /// What a file's name comes to; nothing for a file that no loader sees, or a name that it does not ask for.
    pub fn get(&self, file: &str, name: &str) -> Option<&Load> {
        self.0.get(file)?.get(name)
    }
}

fn tree(packages: &[PackageFacts]) -> MemoryTree {
    let mut tree = MemoryTree::default();
    for file in packages.iter().flat_map(PackageFacts::files) {
        let path = format!("{PREFIX}{}", file.path);
        match (&file.kind, file.objects.as_slice()) {
            (EntryKind::Link(to), _) => tree.link(path, to),
            (_, [object]) if object.member.is_none() => tree.object(path, (&*object.elf).into()),
            // A linker script, an archive: the loader ends at it, as at any file that is no library.
            _ => tree.file(path, Vec::new()),
        }
    }
    tree
}

fn answers(tree: &MemoryTree, resolution: &Resolution) -> BTreeMap<String, Load> {
    let below = |path: &str| Some(tree_path(path)?.to_owned());
    let asked = resolution.links.iter().filter(|link| link.from == 0);
    let load = |link: &crate::elf::resolve::Link| {
        let winner = match link.end {
            End::Found { object, .. } => resolution.objects.get(object).map(|object| object.path.as_str()),
            _ => None,
        };
        let real = |path: &str| Tree::real(tree, path).and_then(|path| below(&path));
        Load {
            winner: winner.and_then(|path| below(&crate::elf::resolve::normal(path))),
            file: winner.and_then(real),
            passed: link.candidates.iter().filter_map(passed).collect(),
        }
    };
    asked.map(|link| (link.name.clone(), load(link))).collect()
}

fn passed(candidate: &Candidate) -> Option<(String, &'static str)> {
    let reason = match candidate.outcome {
        Outcome::WrongMachine => "it is for another processor",
        Outcome::WrongClass => "it is a 32-bit file",
        _ => return None,
    };
    Some((tree_path(&crate::elf::resolve::normal(&candidate.path))?.to_owned(), reason))
}

fn tree_path(path: &str) -> Option<&str> {
    path.strip_prefix(PREFIX)
}
