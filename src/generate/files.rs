//! Generated files as a value, and how they differ from those that are there.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use similar::TextDiff;

/// What every generated file says near its top: others are never overwritten or removed.
pub const MARK: &str = "Written by `simpack generate";

/// Paths, `/`-joined below the output directory, and texts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileSet(BTreeMap<String, String>);

/// What a file is beside the generated one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// The text that would be generated.
    Current,
    /// Another text.
    Stale,
    /// Not there.
    Missing,
    /// Generated once, and no longer.
    Superfluous,
}

/// One file, compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Path below the output directory.
    pub path: String,
    /// What it is.
    pub status: Status,
    /// Unified difference from what is there to what would be generated; empty for a current file.
    pub diff: String,
}

impl FileSet {
    /// Adds a file.
    pub fn add(&mut self, path: impl Into<String>, text: String) {
        self.0.insert(path.into(), text);
    }

    /// Paths and texts, sorted.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The text of a file.
    pub fn get(&self, path: &str) -> Option<&str> {
        self.0.get(path).map(String::as_str)
    }

    /// All of it, by path.
    pub fn to_map(&self) -> BTreeMap<String, String> {
        self.0.clone()
    }

    /// Compares with the texts that are there, of which only generated ones count as superfluous; sorted by path.
    pub fn compare(&self, there: &BTreeMap<String, String>) -> Vec<Difference> {
        let mut found: Vec<Difference> = self.0.iter().map(|(path, text)| one(path, there.get(path), text)).collect();
        let left = there.iter().filter(|(path, text)| !self.0.contains_key(*path) && is_marked(text));
        found.extend(left.map(|(path, text)| Difference {
            path: path.clone(),
            status: Status::Superfluous,
            diff: unified(path, text, ""),
        }));
        found.sort_by(|a, b| a.path.cmp(&b.path));
        found
    }
}

fn one(path: &str, old: Option<&String>, new: &str) -> Difference {
    let status = match old {
        None => Status::Missing,
        Some(old) if old == new => Status::Current,
        Some(_) => Status::Stale,
    };
    let diff = match status {
        Status::Current => String::new(),
        _ => unified(path, old.map_or("", String::as_str), new),
    };
    Difference { path: path.to_owned(), status, diff }
}

fn unified(path: &str, old: &str, new: &str) -> String {
    TextDiff::from_lines(old, new).unified_diff().header(path, path).to_string()
}

/// Whether a text says that it was generated.
pub fn is_marked(text: &str) -> bool {
    text.lines().take(5).any(|line| line.contains(MARK))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_told_and_the_files_of_others_left_alone() {
        let mut files = FileSet::default();
        for (path, text) in [("a", "same\n"), ("b", "new\n"), ("c", "1\n")] {
            files.add(path, text.to_owned());
        }
        let marked = format!("# {MARK} conda`\nx\n");
        let there = [("a", "same\n"), ("b", "old\n"), ("d", "mine\n"), ("e", marked.as_str())];
        let there = there.map(|(path, text)| (path.to_owned(), text.to_owned())).into();
        let found = files.compare(&there);
        let status: Vec<_> = found.iter().map(|one| (one.path.as_str(), one.status)).collect();
        let expected =
            [("a", Status::Current), ("b", Status::Stale), ("c", Status::Missing), ("e", Status::Superfluous)];
        assert_eq!(status, expected);
        assert!(found[1].diff.contains("-old\n+new\n"), "{}", found[1].diff);
    }
}
