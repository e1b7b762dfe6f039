//! The files of a package as a wheel has them: below one directory, without links, with search paths that reach the
//! wheels of vendors.

use std::path::{Path, PathBuf};

use super::super::Package;
use super::links::{Entry, without_links};
use super::names::normalized;
use crate::build_system::script_of_wheel;
use crate::bundle::{Artifact, ArtifactKind, BundleManifest};
use crate::elf::edit::{Edits, PathTag, SearchPathEdit, plan};
use crate::elf::{self, Facts, Machine};
use crate::error::{Error, Result};
use crate::fs::{Content, Digest};
use crate::manifest::Redistribution;

/// A file of a wheel.
#[derive(Debug, Clone)]
pub(super) struct Member {
    /// Path below `site-packages`.
    pub path: String,
    /// Digest of its bytes.
    pub sha256: Digest,
    /// How many.
    pub size: u64,
    /// Whether it can be started.
    pub executable: bool,
    /// Where the bytes are.
    pub source: Source,
}

/// Where the bytes of a file are.
#[derive(Debug, Clone)]
pub(super) enum Source {
    /// Here.
    Bytes(Vec<u8>),
    /// In the package's staged tree, under this path.
    Staged(String),
    /// In a file of its own.
    File(PathBuf),
}

impl Member {
    /// A file with these bytes.
    pub fn of(path: String, bytes: Vec<u8>) -> Self {
        let (sha256, size) = (Digest::of(&bytes), bytes.len() as u64);
        Self { path, sha256, size, executable: false, source: Source::Bytes(bytes) }
    }
}

/// A package laid out for a wheel.
pub(super) struct Laid {
    /// The package with the files that the wheel has.
    pub package: Package,
    /// Its files, its `simpack.json` among them.
    pub members: Vec<Member>,
    /// Scripts that an installer puts on PATH, by name.
    pub scripts: Vec<(String, Member)>,
    /// What its host files say of themselves.
    pub facts: Vec<Facts>,
}

/// What laying out needs to know.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    /// Directory below `site-packages`.
    pub module: &'a str,
    /// The name of the wheel, normalized.
    pub project: &'a str,
    /// Directories below `site-packages` in which host files find the vendor's libraries.
    pub vendor: &'a [String],
    /// Whose files stay as they are: vendors let theirs be passed on unchanged alone.
    pub known: &'a Redistribution,
    /// Which tag holds search paths.
    pub tag: PathTag,
    /// Directory for files that differ from the staged ones.
    pub scratch: &'a Path,
}

/// Lays a package out under a name that tells it from all others of the distribution, with files that only the wheel
/// has; their paths are below the prefix.
///
/// # Errors
/// A link cannot be replaced, a file cannot be read or given its search path.
pub(super) fn lay(
    package: &Package,
    name: &str,
    all: &[Package],
    added: Vec<Member>,
    place: &Place<'_>,
) -> Result<Laid> {
    let (mut members, mut scripts, mut facts) = (added, Vec::new(), Vec::new());
    for (path, entry) in without_links(package, all)? {
        if let Entry::File(staged) = &entry
            && let Some((name, script)) = script(package, &path, staged)?
        {
            scripts.push((name, script));
            continue;
        }
        if is_described(package, &path, place.project)? {
            continue;
        }
        members.push(match entry {
            Entry::Text(text) => Member::of(path, text.into_bytes()),
            Entry::File(staged) => {
                let (member, said) = file(package, &path, &staged, place)?;
                facts.extend(said);
                member
            }
        });
    }
    members.sort_by(|a, b| a.path.cmp(&b.path));
    let artifacts = members.iter().map(|member| {
        let Member { path, sha256, size, executable, .. } = member;
        let kind = ArtifactKind::File { sha256: *sha256, size: *size, executable: *executable };
        Artifact { path: path.clone(), kind }
    });
    let artifacts = artifacts.collect();
    let manifest = BundleManifest { package: name.to_owned(), artifacts, as_wheel: true, ..package.manifest.clone() };
    // Its own manifest tells what lies below the prefix; of modules beside it the wheel's list does.
    let mut below_prefix = Package { manifest: manifest.clone(), ..package.clone() };
    below_prefix.manifest.artifacts.retain(|artifact| manifest.module(&artifact.path).is_none());
    members.push(Member::of(manifest.path(), below_prefix.manifest_json()?));
    for member in &mut members {
        member.path = match manifest.module(&member.path) {
            Some(module) => module.to_owned(),
            None => format!("{}/{}", place.module, member.path),
        };
    }
    Ok(Laid { package: Package { manifest, ..package.clone() }, members, scripts, facts })
}

/// Whether a file is what a project of Python says of itself, beside modules for every Python: the wheel says it, too.
///
/// # Errors
/// It is another project's: a wheel holds one.
fn is_described(package: &Package, path: &str, project: &str) -> Result<bool> {
    let top = package.manifest.module(path).and_then(|module| module.split('/').next());
    let Some(name) = top.and_then(|top| top.strip_suffix(".dist-info")) else { return Ok(false) };
    let own = normalized(name.split_once('-').map_or(name, |(name, _)| name));
    match own == project {
        true => Ok(true),
        false => Err(Error::recipe(format!("{} holds the project {own} of Python", package.name()))
            .detail(format!("its wheel is the project {project}, and a wheel holds one"))
            .hint("leave its .dist-info directory out, or `wheel` out of --format")),
    }
}

/// A program of Python as wheels have it, which an installer lets start with the environment's Python; none for any other
/// file of a package, which has it under the path `staged`.
///
/// # Errors
/// The file cannot be read.
pub(super) fn script(package: &Package, path: &str, staged: &str) -> Result<Option<(String, Member)>> {
    let Some((name, root)) = path.strip_prefix("bin/").zip(package.root.as_ref()) else { return Ok(None) };
    let content = Content::open(&root.join(staged))?;
    let script = script_of_wheel(content.bytes());
    Ok(script.map(|bytes| (name.to_owned(), Member { executable: true, ..Member::of(path.to_owned(), bytes) })))
}

/// A staged file at its place; host files with what they say.
fn file(package: &Package, path: &str, staged: &str, place: &Place<'_>) -> Result<(Member, Option<Facts>)> {
    let artifact = package.manifest.artifacts.iter().find(|artifact| artifact.path == staged);
    let Some(Artifact { kind: ArtifactKind::File { sha256, size, executable }, .. }) = artifact else {
        return Err(Error::bug(format!("{staged} is no file of {}", package.name())));
    };
    let (sha256, size, executable) = (*sha256, *size, *executable);
    let source = Source::Staged(staged.to_owned());
    let member = Member { path: path.to_owned(), sha256, size, executable, source };
    let root = package.root.as_ref().filter(|_| package.manifest.platform.is_some());
    let Some(root) = root else { return Ok((member, None)) };
    let content = Content::open(&root.join(staged))?;
    if !elf::is_elf(content.bytes()) {
        return Ok((member, None));
    }
    let unreadable = |error| Error::file(staged, format!("cannot be read: {error}"));
    let facts = elf::facts(content.bytes()).map_err(unreadable)?;
    if facts.machine == Machine::Cuda {
        return Ok((member, None));
    }
    let is_vendors = place.known.terms(path.rsplit('/').next().unwrap_or(path)).is_some();
    let wanted = search_path(&facts, path, place);
    if !facts.dynamic || is_vendors || wanted == facts.search_path() {
        return Ok((member, Some(facts)));
    }
    let edit = SearchPathEdit::Set { directories: wanted, tag: place.tag };
    let edits = Edits { search_path: Some(edit), ..Edits::default() };
    let bytes = plan(content.bytes(), &edits).and_then(|plan| plan.apply(content.bytes())).map_err(unreadable)?;
    let patched = Member { executable, ..Member::of(path.to_owned(), bytes) };
    Ok((spilled(patched, place.scratch)?, Some(facts)))
}

/// The search path of a file that is installed as `path`: what it has for its own distribution, then the vendor's
/// wheels, then the driver's directories.
fn search_path(facts: &Facts, path: &str, place: &Place<'_>) -> Vec<String> {
    let (mut found, rest): (Vec<String>, Vec<String>) =
        facts.search_path().into_iter().partition(|directory| directory.starts_with("$ORIGIN"));
    let up = "../".repeat(path.matches('/').count() + 1);
    let vendor = place.vendor.iter().map(|directory| format!("$ORIGIN/{up}{directory}"));
    found.extend(vendor.filter(|directory| !facts.search_path().contains(directory)));
    found.extend(rest);
    found
}

/// The same with its bytes in a file: libraries are large.
fn spilled(member: Member, scratch: &Path) -> Result<Member> {
    let Source::Bytes(bytes) = &member.source else { return Ok(member) };
    let (_, file) = tempfile::Builder::new().tempfile_in(scratch)?.keep().map_err(|error| Error::from(error.error))?;
    fs_err::write(&file, bytes)?;
    Ok(Member { source: Source::File(file), ..member })
}
