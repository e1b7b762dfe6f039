//! What a run looked at, by stamps: while request, program, environment and all these files are as they were, what
//! followed from them does so again, and nothing need be read.
//!
//! A stamp is trusted only when the file had been left alone for a while before the run began that read it: what
//! changes in the same instant as it is read could change again without another time stamp. Until then
//! everything is read and digested.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::fs::{Digest, DigestBuilder, Stamp};

/// Variables that shells set anew for every command, and that nothing here reads.
const RESTLESS: [&str; 4] = ["_", "OLDPWD", "PWD", "SHLVL"];

/// What a run was asked, and what it looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Watched {
    /// As [`asked`] says.
    asked: Digest,
    /// Every file and directory that was looked at or for; none where there is nothing.
    paths: BTreeMap<String, Option<Stamp>>,
}

impl Watched {
    /// What a run looked at that began at `began`; none where a file was changed since shortly before, or cannot be
    /// watched: the next run reads everything.
    pub fn new(asked: Option<Digest>, looked_at: Vec<PathBuf>, began: SystemTime) -> Option<Self> {
        let mut paths = BTreeMap::new();
        for path in looked_at {
            let path = std::path::absolute(path).ok()?;
            let stamp = Stamp::of(&path);
            if stamp.as_ref().is_some_and(|stamp| !stamp.is_settled_before(began)) {
                return None;
            }
            paths.insert(path.to_str()?.to_owned(), stamp);
        }
        Some(Self { asked: asked?, paths })
    }

    /// Whether the same is asked, and nothing of what was looked at has changed.
    pub fn holds(&self, asked: Digest) -> bool {
        self.asked == asked && self.paths.iter().all(|(path, stamp)| Stamp::of(Path::new(path)) == *stamp)
    }
}

/// Everything below a directory.
pub fn below(dir: &Path) -> Option<Vec<PathBuf>> {
    walkdir::WalkDir::new(dir).follow_links(true).into_iter().map(|entry| Some(entry.ok()?.into_path())).collect()
}

/// This program: its version, and its file.
pub fn program() -> Option<String> {
    let stamp = Stamp::of(&std::env::current_exe().ok()?)?;
    Some(format!("{} {stamp:?}", env!("CARGO_PKG_VERSION")))
}

/// Digest over a request, the program, the directory it runs in and its environment, which has the settings, too.
pub fn asked(request: &impl std::fmt::Debug) -> Option<Digest> {
    let mut digest = DigestBuilder::default()
        .field("simpack-asked 2")
        .field(program()?)
        .field(std::env::current_dir().ok()?.as_os_str().as_encoded_bytes())
        .field(format!("{request:?}"));
    let mut variables: Vec<_> = std::env::vars_os().collect();
    variables.sort();
    for (name, value) in variables.iter().filter(|(name, _)| !RESTLESS.iter().any(|restless| name == restless)) {
        digest = digest.field(name.as_encoded_bytes()).field(value.as_encoded_bytes());
    }
    Some(digest.finish())
}
