//! `simpack publish`: adds the packages of a build to a channel, beside those that are there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::amount::count;
use crate::attest::SIGNATURE;
use crate::error::{DENIED, Error, Result};
use crate::fs::{self, Content, Digest, EntryKind, Tree};
use crate::package::conda;
use crate::pipeline;
use crate::process::check_interrupted;
use crate::ui::Ui;

/// Version of the JSON form.
const SCHEMA: u32 = 1;
/// Directories of a channel.
const SUBDIRS: [&str; 2] = ["linux-64", "noarch"];
/// Held while a channel is changed.
const LOCK: &str = ".simpack-publish.lock";

/// What to publish, and where.
#[derive(Debug, Clone, Default)]
pub struct PublishRequest {
    /// The channel's directory; made when it is not there.
    pub channel: PathBuf,
    /// Where a build left packages of conda.
    pub dist: PathBuf,
}

/// `simpack publish --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Published {
    /// Always 1.
    pub schema: u32,
    /// The channel's directory.
    pub channel: String,
    /// Files that were added, sorted.
    pub added: Vec<String>,
    /// Files that the channel had already, sorted.
    pub kept: Vec<String>,
    /// Files that the channel has with other bytes: then nothing is written.
    pub conflicts: Vec<String>,
}

/// Publishes; answers the exit code: 0, or 1 when a file was published before with other bytes.
///
/// # Errors
/// There are no packages, one cannot be read, or the channel cannot be written.
pub fn publish(request: &PublishRequest, ui: &Ui) -> Result<u8> {
    let found = packages(&request.dist)?;
    refuse_incremental(&request.dist)?;
    fs_err::create_dir_all(&request.channel)?;
    let published = fs::with_lock(&request.channel.join(LOCK), || add(&found, &request.channel))?;
    if !ui.json(&published)? {
        ui.say(published.text());
    }
    Ok(if published.conflicts.is_empty() { 0 } else { DENIED })
}

/// Packages and their signatures, by their path below a channel.
fn packages(dist: &Path) -> Result<BTreeMap<String, PathBuf>> {
    let below = dist.join("conda");
    let root = if below.is_dir() { below } else { dist.to_owned() };
    let mut found = BTreeMap::new();
    for subdir in SUBDIRS.into_iter().filter(|subdir| root.join(subdir).is_dir()) {
        for entry in fs::walk(&root.join(subdir))? {
            let name = entry.path.strip_suffix(SIGNATURE).unwrap_or(&entry.path);
            if name.ends_with(".conda") && !name.contains('/') && matches!(entry.kind, EntryKind::File { .. }) {
                found.insert(format!("{subdir}/{}", entry.path), root.join(subdir).join(&entry.path));
            }
        }
    }
    match found.is_empty() {
        false => Ok(found),
        true => Err(Error::usage(format!("{} holds no packages of conda", dist.display()))
            .hint("run `simpack build` first, or name the directory that it wrote")),
    }
}

/// What nobody has built clean is nobody else's to install.
fn refuse_incremental(dist: &Path) -> Result<()> {
    #[derive(Default, Deserialize)]
    struct Mark {
        #[serde(default)]
        incremental: Vec<String>,
    }
    // Whoever publishes packages of another origin has no such file.
    let Ok(text) = fs::read(&dist.join(pipeline::MARK)) else { return Ok(()) };
    let mark: Mark = serde_json::from_slice(&text).unwrap_or_default();
    match mark.incremental.as_slice() {
        [] => Ok(()),
        steps => Err(Error::usage(format!("{} was built incrementally", dist.display()))
            .detail(format!("in build trees of earlier builds: {}", steps.join(", ")))
            .hint("`simpack build --clean` builds it from nothing, and says whether the packages were right")),
    }
}

fn add(found: &BTreeMap<String, PathBuf>, channel: &Path) -> Result<Published> {
    let (mut added, mut kept, mut conflicts) = (Vec::new(), Vec::new(), Vec::new());
    for (path, from) in found {
        let there = channel.join(path);
        let list = match there.symlink_metadata() {
            Err(_) => &mut added,
            Ok(_) if Digest::of_file(&there)? == Digest::of_file(from)? => &mut kept,
            // Another key signs, or the same one at another time.
            Ok(_) if path.ends_with(SIGNATURE) => &mut kept,
            Ok(_) => &mut conflicts,
        };
        list.push(path.clone());
    }
    if conflicts.is_empty() {
        let tree = Tree::at(channel)?;
        for path in &added {
            check_interrupted()?;
            tree.write(path, Content::open(&found[path])?.bytes())?;
        }
        conda::index(channel, None, Timestamp::now())?;
    }
    Ok(Published { schema: SCHEMA, channel: channel.display().to_string(), added, kept, conflicts })
}

impl Published {
    fn text(&self) -> String {
        let files = |number| count(number, "file");
        if self.conflicts.is_empty() {
            return format!("{}: {} added, {} already there", self.channel, files(self.added.len()), self.kept.len());
        }
        let mut text =
            format!("{}: {} there with other bytes, nothing added", self.channel, files(self.conflicts.len()));
        for path in &self.conflicts {
            text.push_str(&format!("\n  {path}"));
        }
        text + "\n  clients keep what they fetched: raise `build-number` in [package.conda], and build again"
    }
}
