//! Writes a tree of files that strangers named: nothing lands outside, no link leads outside.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::entry::refused;
use super::{ContainerError, Entry, Kind, Refusal, Stop};
use crate::error::Result;
use crate::fs::Tree;

/// How many links one path may lead through, as in the kernel.
const MOST_LINKS: usize = 40;

/// A tree that is being unpacked. Links come last, so that no file is written through one.
pub struct Extraction {
    root: PathBuf,
    tree: Tree,
    links: Mutex<Links>,
}

#[derive(Default)]
struct Links {
    /// Path and text of symbolic links.
    symbolic: Vec<(String, String)>,
    /// Path of hard links, and the path of the file that they share.
    hard: Vec<(String, String)>,
}

impl Extraction {
    /// Into the directory `root`, which is made if it is not there.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn into(root: &Path) -> Result<Self> {
        Ok(Self { root: root.to_owned(), tree: Tree::make(root)?, links: Mutex::default() })
    }

    /// Adds a member; links are made at the end, hard links as copies. Of members that several threads add, no two may
    /// have the same path, or one lie below the other.
    ///
    /// # Errors
    /// It cannot be read or written, or contradicts another member.
    pub fn add(&self, entry: &mut Entry<'_>) -> Result<(), ContainerError> {
        let links = || self.links.lock().unwrap_or_else(PoisonError::into_inner);
        match entry.kind.clone() {
            Kind::Directory => self.tree.directory(&entry.path).map_err(|error| self.explained(&entry.path, error))?,
            Kind::Link(text) => links().symbolic.push((entry.path.clone(), text)),
            Kind::HardLink(of) => links().hard.push((entry.path.clone(), of)),
            Kind::File => self.file(entry)?,
        }
        Ok(())
    }

    fn file(&self, entry: &mut Entry<'_>) -> Result<(), ContainerError> {
        let (path, modified) = (entry.path.clone(), entry.modified);
        // Whoever unpacked it has to read it.
        let mode = entry.mode | 0o400;
        self.put(&path, || {
            self.tree.create(&path, mode, |mut file| {
                let mut buffer = vec![0; 1 << 16];
                loop {
                    let count = entry.content.read(&mut buffer).map_err(|error| entry.unreadable(error))?;
                    if count == 0 {
                        break;
                    }
                    file.write_all(&buffer[..count])?;
                }
                // Build systems compare the times of generated files with those of their sources.
                Ok(modified.map_or(Ok(()), |time| file.set_modified(time))?)
            })
        })
    }

    /// Makes the links; `refuse` decides about those that lead nowhere or out, which are not left.
    ///
    /// # Errors
    /// A link cannot be written, or `refuse` fails.
    pub fn finish(mut self, refuse: &mut dyn FnMut(ContainerError) -> Result<(), Stop>) -> Result<(), Stop> {
        let mut links = std::mem::take(self.links.get_mut().unwrap_or_else(PoisonError::into_inner));
        // Several threads may have added them; of two with one path, the later counts.
        links.symbolic.sort_by(|a, b| a.0.cmp(&b.0));
        for (name, of) in &links.hard {
            match self.tree.open(of) {
                Ok(from) => self.put(name, || Ok(self.tree.copy(&from, name, None)?))?,
                Err(_) => refuse(refused(name, Refusal::NoOriginal(of.clone())))?,
            }
        }
        for (name, text) in &links.symbolic {
            match self.put(name, || Ok(self.tree.symlink(text, name)?)) {
                Err(error @ ContainerError::Refused { .. }) => refuse(error)?,
                made => made?,
            }
        }
        for (name, _) in &links.symbolic {
            if self.root.join(name).is_symlink()
                && let Err(error) = stays_inside(&self.root, Path::new(name))
            {
                self.tree.remove(name)?;
                refuse(error)?;
            }
        }
        Ok(())
    }

    /// Makes something where an earlier entry may have put a file, which is removed, as tar does.
    fn put(&self, name: &str, make: impl FnOnce() -> Result<(), ContainerError>) -> Result<(), ContainerError> {
        match self.root.join(name).symlink_metadata() {
            Ok(data) if data.is_dir() => return Err(refused(name, Refusal::Twice)),
            Ok(_) => self.tree.remove(name).map_err(|error| self.explained(name, error))?,
            Err(_) => {}
        }
        make().map_err(|error| match error {
            ContainerError::Write(error) => self.explained(name, error),
            error => error,
        })
    }

    /// Why nothing can be made at a path: the container's own doing if a member is in the way.
    fn explained(&self, name: &str, error: crate::error::Error) -> ContainerError {
        let no_directory = |path: &Path| self.root.join(path).symlink_metadata().is_ok_and(|data| !data.is_dir());
        match Path::new(name).ancestors().any(no_directory) {
            true => refused(name, Refusal::BelowFile),
            false => error.into(),
        }
    }
}

/// Refuses symbolic links below `root` that are absolute or lead out of it.
///
/// # Errors
/// The first of them, or a directory that cannot be read.
pub fn links_stay_inside(root: &Path) -> Result<(), ContainerError> {
    for entry in walkdir::WalkDir::new(root).min_depth(1) {
        let entry = entry.map_err(std::io::Error::from)?;
        if entry.file_type().is_symlink() {
            let name = entry.path().strip_prefix(root).unwrap_or(entry.path());
            stays_inside(root, name)?;
        }
    }
    Ok(())
}

/// Follows a path below `root` as the kernel would, link by link.
fn stays_inside(root: &Path, name: &Path) -> Result<(), ContainerError> {
    let parts = |path: &Path| path.components().rev().map(|part| part.as_os_str().to_owned()).collect::<Vec<_>>();
    let refused = |why| refused(&name.to_string_lossy(), why);
    let mut rest: Vec<OsString> = parts(name);
    let mut here = PathBuf::new();
    let mut followed = 0;
    while let Some(part) = rest.pop() {
        match Path::new(&part).components().next() {
            None | Some(Component::CurDir) => {}
            Some(Component::ParentDir) => {
                if !here.pop() {
                    return Err(refused(Refusal::LinkOut));
                }
            }
            Some(Component::RootDir | Component::Prefix(_)) => return Err(refused(Refusal::LinkOut)),
            Some(Component::Normal(_)) => {
                here.push(&part);
                if let Ok(text) = fs_err::read_link(root.join(&here)) {
                    followed += 1;
                    if followed > MOST_LINKS {
                        return Err(refused(Refusal::LinkLoop));
                    }
                    here.pop();
                    rest.extend(parts(&text));
                }
            }
        }
    }
    Ok(())
}
