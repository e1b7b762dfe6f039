//! The files of several trees as one tree, or what keeps them apart.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use crate::bundle::Inventory;
use crate::container::links_stay_inside;
use crate::error::{Error, Result};
use crate::fs::{self, EntryKind};

/// Top directories that belong to a package manager, not to what it installed.
const MANAGERS: [&str; 2] = ["conda-meta", "info"];
/// What a composed root says of itself; it is made anew.
pub(super) const MARK: &str = "share/simpack/composed.json";
/// Files that tell consumers where things are.
const TOLD: [&str; 4] = [".pc", ".cmake", ".la", "-config"];
/// No such file is larger, in bytes.
const LARGEST_TEXT: u64 = 4 << 20;

/// One tree that goes into the root.
#[derive(Debug)]
pub(super) struct Source {
    /// As the user named it.
    pub name: String,
    /// Its files.
    pub root: PathBuf,
    /// What is known of them.
    pub files: Inventory,
}

/// A file, link or directory of the root and the source that it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Member {
    pub source: usize,
    pub kind: EntryKind,
}

/// Two sources that want different things at one path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Conflict {
    /// The path below the root.
    pub path: String,
    /// The sources, as they were named.
    pub sources: [String; 2],
    /// How they differ.
    pub why: String,
}

/// All members by path, and how many files several sources share.
#[derive(Debug, Default)]
pub(super) struct Merged {
    pub members: BTreeMap<String, Member>,
    pub shared: usize,
    pub conflicts: Vec<Conflict>,
}

/// Puts the trees one over the other.
///
/// # Errors
/// A tree cannot be read, a link leads out of it, or one of its files names the place where it lies.
pub(super) fn merge(sources: &[Source]) -> Result<Merged> {
    let mut merged = Merged::default();
    for (index, source) in sources.iter().enumerate() {
        let outside = |error| Error::file(&source.root, error).hint("links of a component must stay inside of it");
        links_stay_inside(&source.root).map_err(outside)?;
        let place = fs_err::canonicalize(&source.root)?;
        for entry in fs::walk(&source.root)? {
            let top = entry.path.split('/').next().unwrap_or_default();
            if MANAGERS.contains(&top) || entry.path == MARK {
                continue;
            }
            if let EntryKind::File { size, .. } = entry.kind {
                relocatable(source, fs::utf8(&place)?, &entry.path, size)?;
            }
            merged.add(sources, index, entry.path, entry.kind)?;
        }
    }
    merged.below_files(sources);
    Ok(merged)
}

impl Merged {
    fn add(&mut self, sources: &[Source], source: usize, path: String, kind: EntryKind) -> Result<()> {
        let Some(there) = self.members.get(&path) else {
            self.members.insert(path, Member { source, kind });
            return Ok(());
        };
        let (one, other) = (&sources[there.source], &sources[source]);
        let same = match (&there.kind, &kind) {
            (EntryKind::Directory, EntryKind::Directory) => return Ok(()),
            (EntryKind::Link(a), EntryKind::Link(b)) if a != b => Some(format!("links to {a} and to {b}")),
            (EntryKind::Link(_), EntryKind::Link(_)) => None,
            (EntryKind::File { executable: a, .. }, EntryKind::File { executable: b, .. }) => {
                match (one.files.digest(&one.root, &path)? == other.files.digest(&other.root, &path)?, a == b) {
                    (true, true) => None,
                    (true, false) => Some("executable in one of them only".to_owned()),
                    (false, _) => Some("different bytes".to_owned()),
                }
            }
            _ => Some("a file, a link or a directory in one and another of these in the other".to_owned()),
        };
        match same {
            None => self.shared += 1,
            Some(why) => {
                self.conflicts.push(Conflict { path, sources: [one.name.clone(), other.name.clone()], why });
            }
        }
        Ok(())
    }

    /// Members below what is a file or a link in another source.
    fn below_files(&mut self, sources: &[Source]) {
        for (path, member) in &self.members {
            let above = path.match_indices('/').filter_map(|(at, _)| self.members.get_key_value(&path[..at]));
            let blocked = above.into_iter().find(|(_, above)| above.kind != EntryKind::Directory);
            if let Some((above, there)) = blocked {
                let names = [there, member].map(|member| sources[member.source].name.clone());
                self.conflicts.push(Conflict {
                    path: path.clone(),
                    sources: names,
                    why: format!("{above} is no directory"),
                });
            }
        }
        self.conflicts.sort_by(|a, b| a.path.cmp(&b.path));
        self.conflicts.dedup_by(|a, b| a.path == b.path);
    }
}

/// Refuses what would send consumers of the root to the component's own place, which is `named`.
fn relocatable(source: &Source, named: &str, path: &str, size: u64) -> Result<()> {
    if size > LARGEST_TEXT || !TOLD.iter().any(|end| path.ends_with(end)) {
        return Ok(());
    }
    let text = fs::read(&source.root.join(path))?;
    match named != "/" && memchr::memmem::find(&text, named.as_bytes()).is_some() {
        false => Ok(()),
        true => Err(Error::file(Path::new(&source.name).join(path), format!("names {named}, where it lies now")).hint(
            "let it find its files from its own place: ${pcfiledir} in pkg-config, CMAKE_CURRENT_LIST_DIR in CMake",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)], links: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            fs::write_atomic(&dir.path().join(path), text.as_bytes()).unwrap();
        }
        for (path, to) in links {
            let path = dir.path().join(path);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::os::unix::fs::symlink(to, path).unwrap();
        }
        dir
    }

    fn merged(trees: &[&tempfile::TempDir]) -> Result<Merged> {
        let source = |(index, tree): (usize, &&tempfile::TempDir)| Source {
            name: format!("part{index}"),
            root: tree.path().to_owned(),
            files: Inventory::default(),
        };
        merge(&trees.iter().enumerate().map(source).collect::<Vec<_>>())
    }

    #[test]
    fn what_is_the_same_is_shared_and_what_differs_is_told() {
        let one = tree(&[("lib/a", "1"), ("LICENSE", "x"), ("info/index.json", "1")], &[("lib/l", "a")]);
        let two = tree(&[("lib/b", "2"), ("LICENSE", "x"), ("info/index.json", "2")], &[("lib/l", "a")]);
        let both = merged(&[&one, &two]).unwrap();
        assert_eq!(both.members.keys().collect::<Vec<_>>(), ["LICENSE", "lib", "lib/a", "lib/b", "lib/l"]);
        assert_eq!((both.shared, both.conflicts.len()), (2, 0));
        let other = tree(&[("lib/a", "3"), ("LICENSE/text", "x")], &[("lib/l", "b")]);
        let told: Vec<String> = merged(&[&one, &other])
            .unwrap()
            .conflicts
            .into_iter()
            .map(|conflict| format!("{}: {}", conflict.path, conflict.why))
            .collect();
        assert_eq!(
            told,
            [
                "LICENSE: a file, a link or a directory in one and another of these in the other",
                "LICENSE/text: LICENSE is no directory",
                "lib/a: different bytes",
                "lib/l: links to a and to b",
            ]
        );
    }

    #[test]
    fn what_leads_out_or_names_its_place_is_refused() {
        let out = tree(&[("a", "1")], &[("lib/l", "../../x")]);
        assert!(merged(&[&out]).unwrap_err().to_string().contains("leaves the tree"));
        let fixed = tree(&[], &[]);
        let place = fs_err::canonicalize(fixed.path()).unwrap();
        let text = format!("prefix={}\n", place.display());
        fs::write_atomic(&fixed.path().join("lib/pkgconfig/a.pc"), text.as_bytes()).unwrap();
        assert!(merged(&[&fixed]).unwrap_err().to_string().contains("where it lies now"));
        fs::write_atomic(&fixed.path().join("lib/pkgconfig/a.pc"), b"prefix=${pcfiledir}/../..\n").unwrap();
        assert_eq!(merged(&[&fixed]).unwrap().members.len(), 3);
    }
}
