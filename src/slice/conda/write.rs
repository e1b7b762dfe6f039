//! The archive of a laid-out package, by rattler's writer.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rattler_conda_types::compression_level::CompressionLevel;
use rattler_package_streaming::write::write_conda_package;

use super::{Conda, CondaLabel, agrees, extract};
use crate::bundle::EARLIEST;
use crate::error::{Error, Result};
use crate::fs::{self, EntryKind};

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
        let files = fs::walk(layout)?.into_iter().filter(|entry| entry.kind != EntryKind::Directory);
        let paths: Vec<PathBuf> = files.map(|entry| layout.join(entry.path)).collect();
        let parent = output.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs_err::create_dir_all(parent)?;
        let seconds = self.index["timestamp"].as_i64().unwrap_or(0).div_euclid(1000).max(EARLIEST.cast_signed());
        let time = jiff::Timestamp::from_second(seconds).map_err(|error| Error::file(&self.path, error))?;
        let mut archive = tempfile::Builder::new().prefix(".simpack-").tempfile_in(parent)?;
        write_conda_package(
            std::io::BufWriter::new(archive.as_file_mut()),
            layout,
            &paths,
            CompressionLevel::Numeric(label.level),
            None,
            &self.stem(label)?,
            Some(&time),
            None,
        )
        .map_err(|error| Error::file(output, "cannot be written").because(error))?;
        read_back(archive.path(), &scratch.join("again"))?;
        fs::set_mode(archive.path(), 0o644)?;
        archive.as_file().sync_data()?;
        archive.persist(output).map_err(|error| Error::file(output, error.error))?;
        Ok(())
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
