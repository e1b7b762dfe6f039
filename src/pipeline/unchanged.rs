//! A build of what was built: when nothing that it depends on has changed since the last one ended well,
//! and `dist/` is as that one left it, there is nothing to do. `watched` knows that sooner where it can.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::inputs::BuildInputs;
use super::request::BuildRequest;
use crate::error::{Error, Result};
use crate::fs::{self, Digest, DigestBuilder, EntryKind, Stamp};
use crate::project::SYMBOLS_DIR;

/// File of the work directory that remembers the last build that ended well.
const RECORD: &str = "last.json";
/// Version of that file.
const SCHEMA: u32 = 3;

/// The last build that ended well: the first line of the file. The summary follows.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Record {
    schema: u32,
    /// Everything that decides what comes out.
    from: Digest,
    /// Where it went.
    dist: PathBuf,
    /// What it left there, by path.
    files: BTreeMap<String, Stamp>,
    words: LastWords,
}

/// What the last build said.
pub(crate) struct LastResult {
    /// In words.
    pub words: LastWords,
    /// As JSON, if that was asked for: it has an entry for every step.
    pub summary: Option<Value>,
}

/// What the last build said in words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct LastWords {
    /// The line that says what was built.
    pub headline: String,
    /// The table of packages.
    pub table: String,
    /// Findings, as they are told; empty without any.
    pub report: String,
    /// How many there are.
    pub findings: usize,
    /// Steps of the plan.
    pub steps: usize,
    /// Packages.
    pub packages: usize,
    /// Their bytes.
    pub bytes: u64,
}

/// Digest over everything that decides what a build gives: the program, what it was asked for, the resolved
/// recipe, the tools and every file of the source. The plan and its keys follow from these, so it need not be
/// made. None when a part cannot be read, and then a build is not compared.
pub(crate) fn origin(ground: &BuildInputs, request: &BuildRequest) -> Option<Digest> {
    let mut digest = DigestBuilder::default()
        .field("simpack-build 3")
        .field(program()?)
        .field(serde_json::to_vec(&ground.recipe).ok()?)
        .field(serde_json::to_vec(&ground.inputs.tools).ok()?)
        .field(ground.epoch.to_le_bytes())
        .field(format!("{:?}", ground.inputs.cuda_builds))
        .field(format!("{:?}", (&request.components, request.sandbox, &request.allow, &request.warn, &request.deny)));
    for (path, content) in &ground.inputs.sources {
        digest = digest.field(path).field(content.as_bytes());
    }
    // Manifests and templates on disk go before those in the program.
    // What earlier releases promised lies beside the recipe.
    let promised = ground.recipe.dir.join(SYMBOLS_DIR);
    for dir in [Path::new("manifests"), Path::new("templates"), &promised].into_iter().filter(|dir| dir.is_dir()) {
        for entry in fs::walk(dir).ok()? {
            if let EntryKind::File { .. } = entry.kind {
                digest = digest.field(&entry.path).field(Digest::of_file(&dir.join(&entry.path)).ok()?.as_bytes());
            }
        }
    }
    Some(digest.finish())
}

/// This program: its version, and its file.
pub(crate) fn program() -> Option<String> {
    let stamp = Stamp::of(&std::env::current_exe().ok()?)?;
    Some(format!("{} {stamp:?}", env!("CARGO_PKG_VERSION")))
}

/// What the last build said, if this one would give the same; with its summary if `json`.
pub(crate) fn last_result(from: Digest, request: &BuildRequest, json: bool) -> Option<LastResult> {
    let file = std::fs::File::open(request.work.join(RECORD)).ok()?;
    let mut file = BufReader::new(file);
    let mut line = String::new();
    file.read_line(&mut line).ok()?;
    let record: Record = serde_json::from_str(&line).ok()?;
    let is_same = record.schema == SCHEMA
        && record.from == from
        && record.dist == std::path::absolute(&request.dist).ok()?
        && record.files == stamps(&request.dist)?;
    if !is_same {
        return None;
    }
    let summary = if json { Some(serde_json::from_reader(file).ok()?) } else { None };
    Some(LastResult { words: record.words, summary })
}

/// Remembers a build that ended well.
pub(crate) fn remember_result(
    from: Digest,
    request: &BuildRequest,
    words: LastWords,
    summary: &impl Serialize,
) -> Result<()> {
    let Some(files) = stamps(&request.dist) else { return Ok(()) };
    let record = Record { schema: SCHEMA, from, dist: std::path::absolute(&request.dist)?, files, words };
    let wrong = |error| Error::bug("a record does not print as JSON").because(error);
    let mut text = serde_json::to_vec(&record).map_err(wrong)?;
    text.push(b'\n');
    serde_json::to_writer(&mut text, summary).map_err(wrong)?;
    fs::write_atomic(&request.work.join(RECORD), &text)
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

    #[test]
    fn any_change_of_the_result_or_of_what_it_is_made_of_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        let request =
            BuildRequest { dist: dir.path().join("dist"), work: dir.path().join("work"), ..BuildRequest::default() };
        std::fs::create_dir_all(request.dist.join("conda")).unwrap();
        let package = request.dist.join("conda/a.conda");
        std::fs::write(&package, "one").unwrap();
        let (from, other) = (Digest::of(b"one"), Digest::of(b"other"));
        let words = LastWords {
            headline: "h".to_owned(),
            table: "t".to_owned(),
            report: String::new(),
            findings: 0,
            steps: 1,
            packages: 1,
            bytes: 3,
        };
        let summary = serde_json::json!({ "schema": 1 });
        let find = |from, request: &BuildRequest| last_result(from, request, false).map(|last| last.words);
        assert_eq!(find(from, &request), None);
        remember_result(from, &request, words.clone(), &summary).unwrap();
        assert_eq!(find(from, &request), Some(words.clone()));
        assert_eq!(last_result(from, &request, true).unwrap().summary, Some(summary.clone()));
        assert_eq!(find(other, &request), None);
        assert_eq!(find(from, &BuildRequest { dist: dir.path().join("else"), ..request.clone() }), None);
        // The same length, and the time stamp put back.
        let modified = std::fs::metadata(&package).unwrap().modified().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        std::fs::write(&package, "two").unwrap();
        std::fs::File::open(&package).unwrap().set_modified(modified).unwrap();
        assert_eq!(find(from, &request), None);
        remember_result(from, &request, words, &summary).unwrap();
        std::fs::write(request.dist.join("more"), "").unwrap();
        assert_eq!(find(from, &request), None);
        std::fs::remove_file(request.dist.join("more")).unwrap();
        assert!(find(from, &request).is_some());
        std::fs::remove_file(&package).unwrap();
        assert_eq!(find(from, &request), None);
    }
}
