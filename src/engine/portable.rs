//! What steps made, as a directory that travels between machines: `shard.json` lists the entries, and each file of theirs
//! lies below `files/` under its digest. Links, modes and empty names are in the list alone, so that whatever carries the
//! directory (archives of CI services lose modes and follow links) cannot change them.

use std::collections::BTreeMap;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::cache::{Cache, CacheEntry, List};
use crate::bundle::{Artifact, ArtifactKind};
use crate::error::{Error, Result};
use crate::fs::{self, Digest, Tree};
use crate::parallel::until_failure;
use crate::plan::{BuildPlan, HeaderList, PlanIdentity, RecordedHeaders, Shard, SoughtNames};

/// The list of a shard.
pub const SHARD_FILE: &str = "shard.json";
/// Version of the list.
const SCHEMA: u32 = 1;
/// Directory of the files.
const FILES: &str = "files";

/// What one machine made of a plan, as listed; `A` is what it was asked for.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ShardList<A> {
    schema: u32,
    /// Which part of the plan.
    pub shard: Shard,
    /// Which plan.
    pub plan: PlanIdentity,
    /// What the machine was asked for.
    pub asked: A,
    steps: Vec<ListedStep>,
    /// Names that the compilations of the steps sought.
    sought: Vec<SoughtNames>,
}

/// A step with what it left.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct ListedStep {
    entry: List,
    /// The list of headers that gives the step its key, under the key of what was known before.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    headers: Option<(Digest, HeaderList)>,
}

/// How much a shard holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Amount {
    /// Files, each content once.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
}

impl<A: Serialize + DeserializeOwned> ShardList<A> {
    /// Writes into the empty directory `to` what the steps of `plan`, one part of the plan that `identity` names, made:
    /// `entries` by the ids of steps, `headers` that hold for them.
    ///
    /// # Errors
    /// A step has no entry, or something cannot be read or written.
    pub fn write(
        (shard, identity, asked): (Shard, PlanIdentity, A),
        plan: &BuildPlan,
        entries: &BTreeMap<String, CacheEntry>,
        headers: &RecordedHeaders,
        to: &Path,
    ) -> Result<Amount> {
        let tree = Tree::at(to)?;
        let mut written: BTreeMap<Digest, u64> = BTreeMap::new();
        let mut steps = Vec::new();
        for step in &plan.steps {
            let entry = entries.get(&step.id).ok_or_else(|| Error::bug(format!("{} left no entry", step.id)))?;
            let from = Tree::at(&entry.root)?;
            for artifact in &entry.artifacts {
                if let ArtifactKind::File { sha256, size, .. } = artifact.kind
                    && written.insert(sha256, size).is_none()
                {
                    tree.copy(&from.open(&artifact.path)?, &place(sha256), Some(0o644))?;
                }
            }
            let list = |direct: Digest| Some((direct, headers.lists.get(&direct)?.first()?.clone()));
            steps.push(ListedStep {
                entry: List::new(step.key, &entry.made, entry.artifacts.clone()),
                headers: step.direct.and_then(list),
            });
        }
        let sought = headers.sought.values().cloned().collect();
        let list = Self { schema: SCHEMA, shard, plan: identity, asked, steps, sought };
        let text =
            serde_json::to_vec(&list).map_err(|error| Error::bug("a list does not print as JSON").because(error))?;
        tree.write(SHARD_FILE, &text)?;
        Ok(Amount { files: written.len(), bytes: written.into_values().fold(0, u64::saturating_add) })
    }

    /// Reads the list of the shard in `dir`.
    ///
    /// # Errors
    /// There is none, or it is damaged or another version's.
    pub fn read(dir: &Path) -> Result<Self> {
        #[derive(Deserialize)]
        struct Head {
            schema: u32,
        }
        let path = dir.join(SHARD_FILE);
        let text = fs::read(&path).map_err(|error| Error::file(dir, "is no shard").because(error))?;
        let wrong = |error: serde_json::Error| Error::file(&path, "is damaged").because(error);
        let head: Head = serde_json::from_slice(&text).map_err(wrong)?;
        match head.schema {
            SCHEMA => serde_json::from_slice(&text).map_err(wrong),
            other => Err(Error::file(&path, format!("has version {other}, and this simpack reads version {SCHEMA}"))
                .hint("build all shards and merge them by one simpack")),
        }
    }

    /// Ids of its steps.
    pub fn steps(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().map(|step| step.entry.step.as_str())
    }

    /// The same with their keys.
    pub fn keys(&self) -> impl Iterator<Item = (&str, Digest)> {
        self.steps.iter().map(|step| (step.entry.step.as_str(), step.entry.key))
    }

    /// The lists of headers that its compilations left.
    pub fn headers(&self) -> RecordedHeaders {
        let lists = self.steps.iter().filter_map(|step| step.headers.clone());
        RecordedHeaders {
            lists: lists.map(|(direct, list)| (direct, vec![list])).collect(),
            sought: self.sought.iter().map(|names| (names.digest(), names.clone())).collect(),
        }
    }

    /// Puts its entries into `cache`, on up to `jobs` threads; answers them by the ids of their steps. `dir` is where the
    /// shard lies.
    ///
    /// # Errors
    /// A file is missing, or is not what its digest says.
    pub fn unpack(&self, dir: &Path, cache: &Cache, jobs: usize) -> Result<BTreeMap<String, CacheEntry>> {
        let from = Tree::at(dir)?;
        let one = |step: &ListedStep| -> Result<_> {
            let listed = &step.entry;
            let damaged = |artifact: &Artifact, why: &str| {
                Error::file(dir, format!("is damaged: {} of {} {why}", artifact.path, listed.step))
                    .hint("copy the shard again, or build it again")
            };
            let scratch = tempfile::tempdir_in(cache.root())?;
            let root = scratch.path().join(FILES);
            let tree = Tree::make(&root)?;
            for artifact in &listed.artifacts {
                match &artifact.kind {
                    ArtifactKind::Link { to } => tree.symlink(to, &artifact.path)?,
                    ArtifactKind::File { sha256, size, executable } => {
                        let file = from.open(&place(*sha256));
                        let file = file.map_err(|error| damaged(artifact, "is missing").because(error))?;
                        if file.metadata()?.len() != *size {
                            return Err(damaged(artifact, "is not what was put there"));
                        }
                        tree.copy(&file, &artifact.path, Some(if *executable { 0o755 } else { 0o644 }))?;
                    }
                }
            }
            let entry = cache.put(listed.key, &listed.made(), &root)?;
            match listed.artifacts.iter().find(|artifact| !entry.artifacts.contains(artifact)) {
                Some(artifact) => Err(damaged(artifact, "is not what was put there")),
                None if entry.artifacts.len() != listed.artifacts.len() => {
                    Err(Error::file(dir, format!("is damaged: the list of {} is not sorted", listed.step)))
                }
                None => Ok((listed.step.clone(), entry)),
            }
        };
        Ok(until_failure(&self.steps, jobs, one)?.into_iter().collect())
    }
}

/// Where the file with a digest lies in a shard.
fn place(sha256: Digest) -> String {
    let name = sha256.to_string();
    format!("{FILES}/{}/{name}", &name[..2])
}
