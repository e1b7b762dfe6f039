//! Finds the trees, merges them, and puts the root in its place in one step.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use tempfile::TempDir;

use super::merge::{Conflict, MARK, Member, Merged, Source, merge};
use crate::amount::count;
use crate::bundle::Inventory;
use crate::error::{Error, Result};
use crate::fs::{self, EntryKind, Tree};
use crate::package::deb;
use crate::process::check_interrupted;
use crate::ui::{Ui, size};
use crate::verify::unpack_whole;

/// Version of the JSON form.
const SCHEMA: u32 = 1;
/// Conflicts that an error names.
const NAMED: usize = 20;

/// What to put together.
#[derive(Debug, Clone, Default)]
pub struct ComposeRequest {
    /// Trees of components (staged bundles, prefixes, unpacked archives) and package files.
    pub parts: Vec<PathBuf>,
    /// The root that is made.
    pub output: PathBuf,
    /// Hard links to the files of directories, instead of copies.
    pub link: bool,
}

/// `simpack compose --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Composed {
    /// Always 1.
    pub schema: u32,
    /// The root.
    pub root: String,
    /// What it was made of, in the order of the command line.
    pub parts: Vec<Part>,
    /// Files and links that several parts have, equal in all of them.
    pub shared: usize,
    /// Paths at which parts differ: then nothing is written.
    pub conflicts: Vec<Conflict>,
}

/// What came from one part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Part {
    /// The directory or package, as it was named.
    pub name: String,
    /// Files and links that were taken from it.
    pub files: usize,
    /// Bytes of these files.
    pub bytes: u64,
}

/// Composes; answers the exit code: 0, or 1 when parts differ at a path.
///
/// # Errors
/// A part cannot be read, is not relocatable, or the root cannot be written.
pub fn run(request: &ComposeRequest, ui: &Ui) -> Result<u8> {
    refuse_foreign(&request.output)?;
    let mut unpacked = Vec::new();
    let sources = request.parts.iter().map(|part| source(part, &mut unpacked)).collect::<Result<Vec<Source>>>()?;
    let merged = merge(&sources)?;
    let composed = report(request, &sources, &merged);
    if merged.conflicts.is_empty() {
        write(request, &sources, &merged, &composed)?;
    }
    if !ui.json(&composed)? {
        ui.say(composed.text());
    }
    Ok(u8::from(!merged.conflicts.is_empty()))
}

/// The root is replaced only where simpack made it.
fn refuse_foreign(root: &Path) -> Result<()> {
    let is_free = match std::fs::read_dir(root) {
        Ok(mut entries) => entries.next().is_none() || root.join(MARK).is_file(),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    };
    match is_free {
        true => Ok(()),
        false => Err(Error::usage(format!("{} holds files that `simpack compose` did not put there", root.display()))
            .hint("choose another directory with -o, or remove it first")),
    }
}

fn source(part: &Path, unpacked: &mut Vec<TempDir>) -> Result<Source> {
    let name = part.display().to_string();
    if part.is_dir() {
        return Ok(Source { name, root: part.to_owned(), files: Inventory::default() });
    }
    if !part.is_file() {
        return Err(Error::usage(format!("{name} does not exist")).hint("name directories of components, or packages"));
    }
    let dir = tempfile::Builder::new().prefix("simpack-compose-").tempdir()?;
    unpack_whole(part, dir.path()).map_err(|reason| Error::file(part, format!("cannot be unpacked: {reason}")))?;
    // What dpkg installs below /usr is a prefix like the others.
    let below = dir.path().join(deb::PREFIX);
    let is_deb = part.extension().is_some_and(|ending| ending == "deb") && below.is_dir();
    let root = if is_deb { below } else { dir.path().to_owned() };
    unpacked.push(dir);
    Ok(Source { name, root, files: Inventory::default() })
}

fn report(request: &ComposeRequest, sources: &[Source], merged: &Merged) -> Composed {
    let part = |(index, source): (usize, &Source)| {
        let own = || merged.members.values().filter(move |member| member.source == index);
        let bytes = own().map(|member| match member.kind {
            EntryKind::File { size, .. } => size,
            _ => 0,
        });
        Part {
            name: source.name.clone(),
            files: own().filter(|member| member.kind != EntryKind::Directory).count(),
            bytes: bytes.sum(),
        }
    };
    Composed {
        schema: SCHEMA,
        root: request.output.display().to_string(),
        parts: sources.iter().enumerate().map(part).collect(),
        shared: merged.shared,
        conflicts: merged.conflicts.clone(),
    }
}

/// Writes the root beside its place and exchanges the two.
fn write(request: &ComposeRequest, sources: &[Source], merged: &Merged, composed: &Composed) -> Result<()> {
    let parent = request.output.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs_err::create_dir_all(parent)?;
    let fresh = tempfile::Builder::new().prefix(".simpack-compose-").tempdir_in(parent)?;
    let tree = Tree::at(fresh.path())?;
    for (path, member) in &merged.members {
        check_interrupted()?;
        place(&tree, fresh.path(), path, member, &sources[member.source], request)?;
    }
    let mut mark = serde_json::to_vec_pretty(composed)
        .map_err(|error| Error::bug("a composed root does not print as JSON").because(error))?;
    mark.push(b'\n');
    tree.file(MARK, &mark, 0o644)?;
    fs::set_mode(fresh.path(), 0o755)?;
    fs::replace_dir(&fresh.keep(), &request.output)
}

fn place(
    tree: &Tree,
    fresh: &Path,
    path: &str,
    member: &Member,
    source: &Source,
    request: &ComposeRequest,
) -> Result<()> {
    match &member.kind {
        EntryKind::Directory => tree.directory(path),
        EntryKind::Link(text) => tree.symlink(text, path),
        // What was unpacked goes away: a link to it saves nothing.
        EntryKind::File { .. } if request.link && Path::new(&source.name) == source.root => {
            tree.place(path)?;
            fs_err::hard_link(source.root.join(path), fresh.join(path)).map_err(|error| {
                Error::file(source.root.join(path), "cannot be linked into the root")
                    .because(error)
                    .hint("hard links stay within one file system: leave --link out, and files are copied")
            })
        }
        EntryKind::File { executable, .. } => {
            let mode = if *executable { 0o755 } else { 0o644 };
            tree.copy(&Tree::at(&source.root)?.open(path)?, path, Some(mode))
        }
    }
}

impl Composed {
    fn text(&self) -> String {
        let mut lines = Vec::new();
        for Conflict { path, sources: [one, other], why } in self.conflicts.iter().take(NAMED) {
            lines.push(format!("conflict  {path}: {why}\n          {one}\n          {other}"));
        }
        if !self.conflicts.is_empty() {
            let more = self.conflicts.len().saturating_sub(NAMED);
            let more = if more > 0 { format!(", {more} of them not shown") } else { String::new() };
            lines.push(format!("{}{more}; {} is as it was", count(self.conflicts.len(), "conflict"), self.root));
            return lines.join("\n");
        }
        let (mut files, mut bytes) = (0, 0);
        for part in &self.parts {
            lines.push(format!("  {:>5} files  {:>9}  {}", part.files, size(part.bytes), part.name));
            files += part.files;
            bytes += part.bytes;
        }
        lines.push(format!(
            "{} from {} in {} ({}), {} the same in several",
            count(files, "file"),
            count(self.parts.len(), "part"),
            self.root,
            size(bytes),
            self.shared
        ));
        lines.join("\n")
    }
}
