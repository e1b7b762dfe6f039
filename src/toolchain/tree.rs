//! Writes a tree of files that ignored_variables named: nothing lands outside, no link leads outside.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use crate::error::{Error, Result};
use crate::fs;

/// How many links one path may lead through, as in the kernel.
const MOST_LINKS: usize = 40;

/// A tree that is being written. Links come last, so that no file is written through one.
pub(super) struct Tree {
    root: PathBuf,
    /// Path and text of symbolic links.
    symlinks: Vec<(PathBuf, PathBuf)>,
    /// Path of hard links, and the path of the file that they share.
    copies: Vec<(PathBuf, PathBuf)>,
}

impl Tree {
    /// A tree in the empty directory `root`.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), symlinks: Vec::new(), copies: Vec::new() }
    }

    /// A directory.
    pub fn directory(&self, name: &Path) -> Result<()> {
        directories(&self.root, &inside(name)?)
    }

    /// A file with what `content` holds; only the execute bit of `mode` counts.
    pub fn file(&self, name: &Path, content: &mut dyn Read, mode: u32, time: Option<SystemTime>) -> Result<()> {
        let target = self.place(&inside(name)?)?;
        let mut file = fs_err::File::create(&target)?;
        let mut buffer = vec![0; 1 << 16];
        loop {
            let count = content.read(&mut buffer)?;
            if count == 0 {
                break;
            }
            file.write_all(&buffer[..count])?;
        }
        if let Some(time) = time {
            // Build systems compare the times of generated files with those of their sources.
            file.file().set_modified(time)?;
        }
        fs::set_mode(&target, if mode & 0o111 == 0 { 0o644 } else { 0o755 })
    }

    /// A symbolic link, made at the end.
    pub fn symlink(&mut self, name: &Path, text: &Path) -> Result<()> {
        self.symlinks.push((inside(name)?, text.to_owned()));
        Ok(())
    }

    /// Another name of the file `of`, made at the end as a copy.
    pub fn copy(&mut self, name: &Path, of: &Path) -> Result<()> {
        self.copies.push((inside(name)?, inside(of)?));
        Ok(())
    }

    /// Makes the links; answers the directory that holds everything: the root, or the one directory in it.
    pub fn finish(self) -> Result<PathBuf> {
        for (name, of) in &self.copies {
            let from = self.root.join(of);
            if !from.symlink_metadata().is_ok_and(|data| data.is_file()) {
                return Err(refused(name, format!("is a second name of {}, which is not there", of.display())));
            }
            let target = self.place(name)?;
            fs_err::copy(from, target)?;
        }
        for (name, text) in &self.symlinks {
            let target = self.place(name)?;
            fs_err::os::unix::fs::symlink(text, target)?;
        }
        let top = single_directory(&self.root)?.unwrap_or(self.root);
        links_stay_inside(&top)?;
        Ok(top)
    }

    /// Where a file goes, with the directories above it; what an earlier entry put there is removed, as
    /// tar does.
    fn place(&self, name: &Path) -> Result<PathBuf> {
        directories(&self.root, name.parent().unwrap_or(Path::new("")))?;
        let target = self.root.join(name);
        match target.symlink_metadata() {
            Ok(data) if data.is_dir() => Err(refused(name, "is a directory and a file".to_owned())),
            Ok(_) => {
                fs_err::remove_file(&target)?;
                Ok(target)
            }
            Err(_) => Ok(target),
        }
    }
}

/// Refuses symbolic links below `root` that are absolute or lead out of it.
pub(super) fn links_stay_inside(root: &Path) -> Result<()> {
    for entry in walkdir::WalkDir::new(root).min_depth(1) {
        let entry = entry.map_err(|error| Error::file(root, error))?;
        if entry.file_type().is_symlink() {
            let name = entry.path().strip_prefix(root).unwrap_or(entry.path());
            stays_inside(root, name)?;
        }
    }
    Ok(())
}

/// Follows a path below `root` as the kernel would, link by link.
fn stays_inside(root: &Path, name: &Path) -> Result<()> {
    let parts = |path: &Path| path.components().rev().map(|part| part.as_os_str().to_owned()).collect::<Vec<_>>();
    let leaves = || refused(name, "is a link that leaves the tree".to_owned());
    let mut rest: Vec<OsString> = parts(name);
    let mut here = PathBuf::new();
    let mut followed = 0;
    while let Some(part) = rest.pop() {
        match Path::new(&part).components().next() {
            None | Some(Component::CurDir) => {}
            Some(Component::ParentDir) => {
                if !here.pop() {
                    return Err(leaves());
                }
            }
            Some(Component::RootDir | Component::Prefix(_)) => return Err(leaves()),
            Some(Component::Normal(_)) => {
                here.push(&part);
                if let Ok(text) = fs_err::read_link(root.join(&here)) {
                    followed += 1;
                    if followed > MOST_LINKS {
                        return Err(refused(name, "is a link that leads nowhere".to_owned()));
                    }
                    here.pop();
                    rest.extend(parts(&text));
                }
            }
        }
    }
    Ok(())
}

/// The only entry of `dir`, when that is a directory.
fn single_directory(dir: &Path) -> Result<Option<PathBuf>> {
    let mut entries = fs_err::read_dir(dir)?;
    let (first, second) = (entries.next().transpose()?, entries.next());
    Ok(match (first, second) {
        (Some(first), None) if first.file_type()?.is_dir() => Some(first.path()),
        _ => None,
    })
}

/// The same path without `.`, when it cannot leave the tree.
fn inside(name: &Path) -> Result<PathBuf> {
    let mut clean = PathBuf::new();
    for part in name.components() {
        match part {
            Component::Normal(part) => clean.push(part),
            Component::CurDir => {}
            _ => return Err(refused(name, "leaves the archive".to_owned())),
        }
    }
    Ok(clean)
}

/// Makes `name` below `root`, through directories only.
fn directories(root: &Path, name: &Path) -> Result<()> {
    let mut here = root.to_owned();
    for part in name.components() {
        here.push(part);
        match here.symlink_metadata() {
            Ok(data) if data.is_dir() => {}
            Ok(_) => return Err(refused(name, "lies below something that is no directory".to_owned())),
            Err(_) => fs_err::create_dir(&here)?,
        }
    }
    Ok(())
}

fn refused(name: &Path, why: String) -> Error {
    Error::toolchain(format!("{} {why}", name.display()))
}
