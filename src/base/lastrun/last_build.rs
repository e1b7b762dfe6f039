//! The last build in a work directory that ended well: one file of three lines of JSON, so that a run reads no more of
//! it than it needs. The first says what the build depended on, what it left and what it said in words; the second is
//! its summary as JSON, with an entry for every step; the third has the keys of its steps and of those before.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::steps::{History, StepKeys};
use super::watch::Watched;
use crate::error::{Error, Result};
use crate::fs::{self, Digest, Stamp};

/// File of the work directory.
const FILE: &str = "last-build.jsonl";
/// Version of that file.
const SCHEMA: u32 = 2;

/// What a build leaves to the next one.
pub struct Ended<'a, W, S> {
    /// Everything that decides what came out; none where a part of it cannot be told.
    pub from: Option<Digest>,
    /// What it looked at, if that can be watched.
    pub watched: Option<Watched>,
    /// Where the packages are.
    pub dist: &'a Path,
    /// What it said in words.
    pub words: W,
    /// What it said as JSON.
    pub summary: &'a S,
    /// Keys of its steps.
    pub keys: StepKeys,
}

/// The first line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Head<W> {
    schema: u32,
    from: Option<Digest>,
    watched: Option<Watched>,
    dist: PathBuf,
    /// What was left there, by path; none where that cannot be read.
    files: Option<BTreeMap<String, Stamp>>,
    words: W,
}

/// The last build in a work directory, with what it said as `W`.
#[derive(Debug)]
pub struct LastBuild<W> {
    file: PathBuf,
    head: Head<W>,
}

impl<W: Serialize + DeserializeOwned> LastBuild<W> {
    /// Reads what the last build left; none where there is nothing that this simpack wrote.
    pub fn read(work: &Path) -> Option<Self> {
        let file = work.join(FILE);
        let head: Head<W> = serde_json::from_str(&lines(&file, 1)?.pop()?).ok()?;
        (head.schema == SCHEMA).then_some(Self { file, head })
    }

    /// Whether the same is asked again, nothing that it looked at has changed, and everything is as it left it.
    pub fn is_untouched(&self, asked: Option<Digest>, dist: &Path) -> bool {
        let holds = |watched: &Watched| asked.is_some_and(|asked| watched.holds(asked));
        self.head.watched.as_ref().is_some_and(holds) && self.is_in_place(dist)
    }

    /// Whether it came from the same, and everything is as it left it.
    pub fn is_same(&self, from: Option<Digest>, dist: &Path) -> bool {
        from.is_some() && self.head.from == from && self.is_in_place(dist)
    }

    fn is_in_place(&self, dist: &Path) -> bool {
        let is_there = std::path::absolute(dist).is_ok_and(|dist| dist == self.head.dist);
        is_there && self.head.files.is_some() && stamps(dist) == self.head.files
    }

    /// Remembers what a later run looked at to find out that nothing has changed.
    pub fn watch(&mut self, watched: Option<Watched>) {
        self.head.watched = watched;
        let Some(mut rest) = lines(&self.file, 3) else { return };
        // This only saves time, so that a disk that is full is no reason to fail.
        if let (Ok(head), Some(first)) = (serde_json::to_string(&self.head), rest.first_mut()) {
            *first = head;
            let _ = fs::write_renamed(&self.file, rest.join("\n").as_bytes());
        }
    }

    /// What it said as JSON.
    pub fn summary(&self) -> Option<Value> {
        serde_json::from_str(&lines(&self.file, 2)?.pop()?).ok()
    }

    /// What it said in words.
    pub fn words(self) -> W {
        self.head.words
    }
}

impl LastBuild<Value> {
    /// Keys of the steps of the build before, and of the last one.
    pub fn keys(work: &Path) -> Option<(StepKeys, StepKeys)> {
        let last = Self::read(work)?;
        let History { before, last } = serde_json::from_str(&lines(&last.file, 3)?.pop()?).ok()?;
        Some((before, last))
    }
}

impl<W: Serialize, S: Serialize> Ended<'_, W, S> {
    /// Remembers a build that ended well in `work`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn remember(self, work: &Path) -> Result<()> {
        let Self { from, watched, dist, words, summary, keys } = self;
        let before = LastBuild::keys(work).map(|(_, last)| last).unwrap_or_default();
        let (files, dist) = (stamps(dist), std::path::absolute(dist)?);
        let head = Head { schema: SCHEMA, from, watched, dist, files, words };
        let text = [json(&head)?, json(summary)?, json(&History { before, last: keys })?].join("\n");
        fs::write_atomic(&work.join(FILE), text.as_bytes())
    }
}

fn json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::bug("a build's record does not print as JSON").because(error))
}

/// The first `count` lines of a file.
fn lines(file: &Path, count: usize) -> Option<Vec<String>> {
    let lines = BufReader::new(std::fs::File::open(file).ok()?).lines().take(count);
    lines.collect::<std::io::Result<Vec<_>>>().ok().filter(|lines| lines.len() == count)
}

/// All files and links below a directory.
fn stamps(dir: &Path) -> Option<BTreeMap<String, Stamp>> {
    let mut stamps = BTreeMap::new();
    for entry in walkdir::WalkDir::new(dir).min_depth(1) {
        let entry = entry.ok()?;
        if !entry.file_type().is_dir() {
            stamps.insert(fs::relative(dir, entry.path()).ok()?, Stamp::from(&entry.metadata().ok()?));
        }
    }
    Some(stamps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended<'a>(from: Digest, dist: &'a Path, summary: &'a Value, key: &str) -> Ended<'a, String, Value> {
        let keys = [("step".to_owned(), [("source".to_owned(), key.to_owned())].into())].into();
        Ended { from: Some(from), watched: None, dist, words: "built".to_owned(), summary, keys }
    }

    #[test]
    fn any_change_of_the_result_or_of_what_it_is_made_of_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        let (dist, work) = (dir.path().join("dist"), dir.path().join("work"));
        std::fs::create_dir_all(dist.join("conda")).unwrap();
        let package = dist.join("conda/a.conda");
        std::fs::write(&package, "one").unwrap();
        let (from, other) = (Digest::of(b"one"), Digest::of(b"other"));
        let summary = serde_json::json!({ "schema": 1 });
        let read = || LastBuild::<String>::read(&work);
        let same = |from, dist: &Path| read().is_some_and(|last| last.is_same(Some(from), dist));
        assert!(read().is_none());
        ended(from, &dist, &summary, "1").remember(&work).unwrap();
        assert!(same(from, &dist));
        assert_eq!(read().unwrap().summary(), Some(summary.clone()));
        assert_eq!(read().unwrap().words(), "built");
        assert!(!same(other, &dist));
        assert!(!same(from, &dir.path().join("else")));
        assert!(!read().unwrap().is_same(None, &dist));
        // The same length, and the time stamp put back.
        let modified = std::fs::metadata(&package).unwrap().modified().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        std::fs::write(&package, "two").unwrap();
        std::fs::File::open(&package).unwrap().set_modified(modified).unwrap();
        assert!(!same(from, &dist));
        ended(from, &dist, &summary, "2").remember(&work).unwrap();
        std::fs::write(dist.join("more"), "").unwrap();
        assert!(!same(from, &dist));
        std::fs::remove_file(dist.join("more")).unwrap();
        assert!(same(from, &dist));
        std::fs::remove_file(&package).unwrap();
        assert!(!same(from, &dist));
    }

    #[test]
    fn keys_of_two_builds_are_kept_and_what_is_watched_can_be_told_later() {
        let dir = tempfile::tempdir().unwrap();
        let (work, summary) = (dir.path().join("work"), Value::Null);
        let (from, asked) = (Digest::of(b"from"), Digest::of(b"asked"));
        assert_eq!(LastBuild::keys(&work), None);
        for key in ["1", "2", "3"] {
            ended(from, dir.path(), &summary, key).remember(&work).unwrap();
        }
        let value = |keys: &StepKeys| keys["step"]["source"].clone();
        let (before, last) = LastBuild::keys(&work).unwrap();
        assert_eq!((value(&before), value(&last)), ("2".to_owned(), "3".to_owned()));
        let dist = tempfile::tempdir().unwrap();
        ended(from, dist.path(), &summary, "4").remember(&work).unwrap();
        let mut read = LastBuild::<String>::read(&work).unwrap();
        assert!(!read.is_untouched(Some(asked), dist.path()), "nothing is watched yet");
        read.watch(Watched::new(Some(asked), vec![dir.path().join("absent")], std::time::SystemTime::now()));
        let read = LastBuild::<String>::read(&work).unwrap();
        assert!(read.is_untouched(Some(asked), dist.path()));
        assert!(!read.is_untouched(Some(from), dist.path()) && !read.is_untouched(None, dist.path()));
        assert_eq!(read.summary(), Some(Value::Null));
        assert_eq!(value(&LastBuild::keys(&work).unwrap().1), "4");
        std::fs::write(dir.path().join("absent"), "").unwrap();
        assert!(!read.is_untouched(Some(asked), dist.path()), "what was absent is there");
    }

    #[test]
    fn what_another_simpack_wrote_or_a_damaged_file_is_as_good_as_none() {
        let dir = tempfile::tempdir().unwrap();
        let summary = Value::Null;
        ended(Digest::of(b"from"), dir.path(), &summary, "1").remember(dir.path()).unwrap();
        let file = dir.path().join(FILE);
        let text = std::fs::read_to_string(&file).unwrap();
        let later = text.replacen("\"schema\":2", "\"schema\":3", 1);
        let more = text.replacen("{\"schema\"", "{\"more\":1,\"schema\"", 1);
        for (text, has_head) in
            [(later, false), (more, false), (String::new(), false), (text[..text.len() - 9].to_owned(), true)]
        {
            std::fs::write(&file, &text).unwrap();
            assert_eq!(LastBuild::<String>::read(dir.path()).is_some(), has_head, "{text}");
            assert_eq!(LastBuild::keys(dir.path()), None, "{text}");
        }
    }
}
