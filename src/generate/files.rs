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
        found.extend(left.map(|(path, _)| Difference { path: path.clone(), status: Status::Superfluous }));
        found.sort_by(|a, b| a.path.cmp(&b.path));
        found
    }

    /// Unified difference from what is there to what would be generated; empty for a current file.
    pub fn diff(&self, path: &str, there: &BTreeMap<String, String>) -> String {
        let old = there.get(path).map_or("", String::as_str);
        let new = self.get(path).unwrap_or_default();
        match old == new {
            true => String::new(),
            false => TextDiff::from_lines(old, new).unified_diff().header(path, path).to_string(),
        }
    }
}

fn one(path: &str, old: Option<&String>, new: &str) -> Difference {
    let status = match old {
        None => Status::Missing,
        Some(old) if old == new => Status::Current,
        Some(_) => Status::Stale,
    };
    Difference { path: path.to_owned(), status }
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
        let there: BTreeMap<String, String> =
            there.map(|(path, text)| (path.to_owned(), text.to_owned())).into_iter().collect();
        let found = files.compare(&there);
        let status: Vec<_> = found.iter().map(|one| (one.path.as_str(), one.status)).collect();
        let expected =
            [("a", Status::Current), ("b", Status::Stale), ("c", Status::Missing), ("e", Status::Superfluous)];
        assert_eq!(status, expected);
        let diffs = ["a", "b", "c", "e"].map(|path| files.diff(path, &there));
        assert_eq!(diffs[0], "");
        assert!(
            diffs[1].contains("-old\n+new\n") && diffs[2].contains("+1\n") && diffs[3].contains("-x\n"),
            "{diffs:?}"
        );
    }
}
