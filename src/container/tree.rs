//! Writes a tree of files that strangers named: nothing lands outside, no link leads outside.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use super::entry::refused;
use super::{ContainerError, Entry, Kind, Refusal, Stop};

/// How many links one path may lead through, as in the kernel.
const MOST_LINKS: usize = 40;

/// A tree that is being written. Links come last, so that no file is written through one.
pub struct Tree {
    root: PathBuf,
    /// Path and text of symbolic links.
    symlinks: Vec<(String, String)>,
    /// Path of hard links, and the path of the file that they share.
    copies: Vec<(String, String)>,
}

impl Tree {
    /// A tree in the empty directory `root`.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), symlinks: Vec::new(), copies: Vec::new() }
    }

    /// Adds a member; links are made at the end, hard links as copies.
    ///
    /// # Errors
    /// It cannot be read or written, or contradicts another member.
    pub fn add(&mut self, entry: &mut Entry<'_>) -> Result<(), ContainerError> {
        match entry.kind.clone() {
            Kind::Directory => directories(&self.root, &entry.path)?,
            Kind::Link(text) => self.symlinks.push((entry.path.clone(), text)),
            Kind::HardLink(of) => self.copies.push((entry.path.clone(), of)),
            Kind::File => self.file(entry)?,
        }
        Ok(())
    }

    fn file(&self, entry: &mut Entry<'_>) -> Result<(), ContainerError> {
        let target = self.place(&entry.path)?;
        let mut file = fs_err::File::create(&target)?;
        let mut buffer = vec![0; 1 << 16];
        loop {
            let count = entry.content.read(&mut buffer).map_err(|error| entry.unreadable(error))?;
            if count == 0 {
                break;
            }
            file.write_all(&buffer[..count])?;
        }
        if let Some(time) = entry.modified {
            // Build systems compare the times of generated files with those of their sources.
            file.file().set_modified(time)?;
        }
        // Whoever unpacked it has to read it.
        fs_err::set_permissions(&target, std::fs::Permissions::from_mode(entry.mode | 0o400))?;
        Ok(())
    }

    /// Makes the links; `refuse` decides about those that lead nowhere or out, which are not left.
    ///
    /// # Errors
    /// A link cannot be written, or `refuse` fails.
    pub fn finish(self, refuse: &mut dyn FnMut(ContainerError) -> Result<(), Stop>) -> Result<(), Stop> {
        for (name, of) in &self.copies {
            let from = self.root.join(of);
            if from.symlink_metadata().is_ok_and(|data| data.is_file()) {
                fs_err::copy(from, self.place(name)?)?;
            } else {
                refuse(refused(name, Refusal::NoOriginal(of.clone())))?;
            }
        }
        for (name, text) in &self.symlinks {
            match self.place(name) {
                Ok(target) => fs_err::os::unix::fs::symlink(text, target)?,
                Err(error) => refuse(error)?,
            }
        }
        for (name, _) in &self.symlinks {
            let place = self.root.join(name);
            if place.is_symlink()
                && let Err(error) = stays_inside(&self.root, Path::new(name))
            {
                fs_err::remove_file(place)?;
                refuse(error)?;
            }
        }
        Ok(())
    }

    /// Where a file goes, with the directories above it; what an earlier entry put there is removed, as
    /// tar does.
    fn place(&self, name: &str) -> Result<PathBuf, ContainerError> {
        directories(&self.root, name.rsplit_once('/').map_or("", |(parent, _)| parent))?;
        let target = self.root.join(name);
        match target.symlink_metadata() {
            Ok(data) if data.is_dir() => Err(refused(name, Refusal::Twice)),
            Ok(_) => {
                fs_err::remove_file(&target)?;
                Ok(target)
            }
            Err(_) => Ok(target),
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

/// Makes `name` below `root`, through directories only.
fn directories(root: &Path, name: &str) -> Result<(), ContainerError> {
    let mut here = root.to_owned();
    for part in name.split('/').filter(|part| !part.is_empty()) {
        here.push(part);
        match here.symlink_metadata() {
            Ok(data) if data.is_dir() => {}
            Ok(_) => return Err(refused(name, Refusal::BelowFile)),
            Err(_) => fs_err::create_dir(&here)?,
        }
    }
    Ok(())
}
