//! Header dependencies as values: what a compiler said it read, and what would make that untrue.
//!
//! A result is found in two steps, as in a compiler cache's direct mode: the key of everything that is
//! known before (tools, arguments, the unit) leads to lists of files that earlier compilations read; the
//! list whose files still have their digests completes the key. A list ends to hold, too, when a file
//! appears that the same `#include` lines could find first.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::fs::{Digest, DigestBuilder};

/// What one compilation read of the source tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct HeaderList {
    /// Files of the source tree that were read, the unit among them, with their digests.
    pub read: BTreeMap<String, Digest>,
    /// Digest of the names that were looked for.
    pub sought: Digest,
    /// Files of the source tree that bear one of these names, read or not.
    pub alike: BTreeSet<String>,
}

/// File names that a compilation looked for: those of all files it read, the system's too, and those
/// that `__has_include` asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SoughtNames {
    /// Names without directories.
    pub names: BTreeSet<String>,
    /// A name is computed by macros, so that every new file may be the one.
    pub any: bool,
}

impl SoughtNames {
    /// Adds what another file looks for.
    pub fn add(&mut self, other: &Self) {
        self.names.extend(other.names.iter().cloned());
        self.any |= other.any;
    }

    /// Digest of the names, by which lists name them.
    pub fn digest(&self) -> Digest {
        let start = DigestBuilder::default().field([u8::from(self.any)]);
        self.names.iter().fold(start, |builder, name| builder.field(name)).finish()
    }

    /// Files of a source tree that bear one of the names. A header's precompiled form is taken in the
    /// place of the header, so it counts as bearing its name.
    pub fn alike(&self, sources: &BTreeMap<String, Digest>) -> BTreeSet<String> {
        let bears = |path: &&String| self.any || self.names.contains(included_as(path));
        sources.keys().filter(bears).cloned().collect()
    }
}

/// The name by which an `#include` finds a file: a header's precompiled form is taken in its place.
fn included_as(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_suffix(".gch").unwrap_or(name)
}

/// Lists of earlier compilations, by the key of what was known before each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordedHeaders {
    /// Lists, the latest first.
    pub lists: BTreeMap<Digest, Vec<HeaderList>>,
    /// Sought names by their digest.
    pub sought: BTreeMap<Digest, SoughtNames>,
}

impl RecordedHeaders {
    /// Adds one compilation's list.
    pub fn add(&mut self, direct: Digest, list: HeaderList, sought: SoughtNames) {
        self.sought.insert(list.sought, sought);
        let lists = self.lists.entry(direct).or_default();
        lists.retain(|old| *old != list);
        lists.insert(0, list);
    }
}

/// Finds the lists that hold for one source tree; the tree is gone through once.
pub(super) struct Holding<'a> {
    recorded: &'a RecordedHeaders,
    sources: &'a BTreeMap<String, Digest>,
    /// Files by the name by which an `#include` finds them.
    by_name: BTreeMap<&'a str, Vec<&'a String>>,
}

impl<'a> Holding<'a> {
    pub(super) fn new(recorded: &'a RecordedHeaders, sources: &'a BTreeMap<String, Digest>) -> Self {
        let mut by_name: BTreeMap<&str, Vec<&String>> = BTreeMap::new();
        for path in sources.keys() {
            by_name.entry(included_as(path)).or_default().push(path);
        }
        Self { recorded, sources, by_name }
    }

    /// The list of an earlier compilation under the key `direct` that would be made again today.
    pub(super) fn list(&self, direct: Digest) -> Option<&'a HeaderList> {
        self.recorded.lists.get(&direct)?.iter().find(|list| self.holds(list))
    }

    fn holds(&self, list: &HeaderList) -> bool {
        // A file that is gone and was not read changes nothing.
        list.read.iter().all(|(path, digest)| self.sources.get(path) == Some(digest))
            && self.recorded.sought.get(&list.sought).is_some_and(|sought| self.are_known(sought, list))
    }

    /// Whether the list names every file that bears a sought name today.
    fn are_known(&self, sought: &SoughtNames, list: &HeaderList) -> bool {
        if sought.any {
            return self.sources.keys().all(|path| list.alike.contains(path));
        }
        let bearing = sought.names.iter().filter_map(|name| self.by_name.get(name.as_str())).flatten();
        bearing.into_iter().all(|path| list.alike.contains(*path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> BTreeMap<String, Digest> {
        files.iter().map(|(path, text)| ((*path).to_owned(), Digest::of(text.as_bytes()))).collect()
    }

    /// A compilation of `k/a.cu` that read `k/a.h` and the system's `math.h`.
    fn recorded(any: bool) -> (Digest, RecordedHeaders) {
        let sources = tree(&[("k/a.cu", "1"), ("k/a.h", "2"), ("k/b.h", "3")]);
        let names = ["a.cu", "a.h", "math.h", "maybe.h"].map(str::to_owned).into();
        let sought = SoughtNames { names, any };
        let read = tree(&[("k/a.cu", "1"), ("k/a.h", "2")]);
        let list = HeaderList { read, sought: sought.digest(), alike: sought.alike(&sources) };
        let mut recorded = RecordedHeaders::default();
        let direct = Digest::of(b"direct");
        recorded.add(direct, list, sought);
        (direct, recorded)
    }

    fn holds(any: bool, files: &[(&str, &str)]) -> bool {
        let (direct, recorded) = recorded(any);
        Holding::new(&recorded, &tree(files)).list(direct).is_some()
    }

    #[test]
    fn a_list_holds_until_a_read_file_changes_or_another_could_be_found_first() {
        let same: &[_] = &[("k/a.cu", "1"), ("k/a.h", "2"), ("k/b.h", "3")];
        assert!(holds(false, same));
        assert!(holds(false, &[("k/a.cu", "1"), ("k/a.h", "2"), ("k/b.h", "other")]), "b.h was not read");
        assert!(holds(false, &[("k/a.cu", "1"), ("k/a.h", "2")]), "b.h may go");
        assert!(!holds(false, &[("k/a.cu", "1"), ("k/a.h", "other")]));
        assert!(!holds(false, &[("k/a.cu", "1")]), "a.h is gone");
        let with = |path| [same, &[(path, "4")]].concat();
        assert!(holds(false, &with("k/c.h")));
        assert!(!holds(false, &with("first/a.h")), "may shadow k/a.h");
        assert!(!holds(false, &with("k/math.h")), "may shadow the system's");
        assert!(!holds(false, &with("k/maybe.h")), "__has_include finds it now");
        assert!(!holds(false, &with("k/a.h.gch")), "is taken in the place of k/a.h");
        assert!(holds(true, same));
        assert!(!holds(true, &with("k/c.h")), "any new file counts");
    }

    #[test]
    fn the_latest_list_comes_first_and_only_once() {
        let (direct, mut recorded) = recorded(false);
        let old = recorded.lists[&direct][0].clone();
        let sought = recorded.sought[&old.sought].clone();
        let new = HeaderList { read: tree(&[("k/a.cu", "5")]), ..old.clone() };
        recorded.add(direct, new.clone(), sought.clone());
        assert_eq!(recorded.lists[&direct], [new.clone(), old.clone()]);
        recorded.add(direct, old.clone(), sought);
        assert_eq!(recorded.lists[&direct], [old, new]);
    }
}
