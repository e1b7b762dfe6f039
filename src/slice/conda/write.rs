//! The archive of a laid-out package.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use super::{Conda, CondaLabel, agrees, extract};
use crate::bundle::EARLIEST;
use crate::error::{Error, Result};
use crate::fs::{self, Entry, EntryKind, Tree};
use crate::package::conda::{CondaArchive, INFO};
use crate::package::{Effort, Efforts, check_epoch};
use crate::parallel::threads;

impl Conda {
    /// Writes the package with other content for the files in `sliced` (file by name) to `output`; `scratch`
    /// is an empty directory on the same file system as the unpacked package.
    ///
    /// # Errors
    /// `output` cannot be written, or does not read back.
    pub fn write(
        &self,
        sliced: &BTreeMap<String, PathBuf>,
        label: &CondaLabel,
        scratch: &Path,
        output: &Path,
    ) -> Result<()> {
        let layout = scratch.join("layout");
        self.lay_out(sliced, label, &layout)?;
        self.pack(&layout, label, scratch, output)
    }

    fn pack(&self, layout: &Path, label: &CondaLabel, scratch: &Path, output: &Path) -> Result<()> {
        let tree = Tree::at(layout)?;
        let (about, files): (Vec<Entry>, Vec<Entry>) =
            fs::walk(layout)?.into_iter().partition(|entry| entry.path.starts_with(INFO));
        let parent = output.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs_err::create_dir_all(parent)?;
        let seconds = self.index["timestamp"].as_i64().unwrap_or(0).div_euclid(1000);
        let time = check_epoch(u64::try_from(seconds).unwrap_or(0).max(EARLIEST))
            .map_err(|error| Error::incomplete(&self.path, "its time stamp is none").because(error))?;
        let threads = NonZeroUsize::new(threads()).unwrap_or(NonZeroUsize::MIN);
        let mut archive = CondaArchive::new(parent, &self.stem(label)?, time, Efforts::default(), threads)?;
        files.iter().try_for_each(|entry| add(&mut archive, &tree, entry, label.effort))?;
        let mut archive = archive.about()?;
        about.iter().try_for_each(|entry| add(&mut archive, &tree, entry, Effort::Strong))?;
        let archive = archive.finish()?;
        read_back(archive.path(), &scratch.join("again"))?;
        fs::set_mode(archive.path(), 0o644)?;
        archive.as_file().sync_data()?;
        archive.persist(output).map_err(|error| Error::file(output, error.error))?;
        Ok(())
    }
}

fn add(archive: &mut CondaArchive, tree: &Tree, entry: &Entry, effort: Effort) -> Result<()> {
    match &entry.kind {
        EntryKind::Directory => Ok(()),
        EntryKind::Link(to) => archive.link(&entry.path, to),
        EntryKind::File { size, executable } => {
            archive.entry(&entry.path, *size, *executable, effort, &tree.open(&entry.path)?)
        }
    }
}

/// The written package says of every file what it is.
fn read_back(path: &Path, root: &Path) -> Result<()> {
    let wrong = |what: String| Error::bug(format!("the sliced package is wrong: {what}"));
    extract(path, root).map_err(|error| wrong(error.to_string()))?;
    agrees(root).map_err(wrong)?;
    fs_err::remove_dir_all(root)?;
    Ok(())
}
