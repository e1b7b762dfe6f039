//! Fills a directory with everything that a lock names.

use std::collections::BTreeMap;
use std::path::Path;

use super::dependencies::PackageFile;
use super::store::Store;
use super::vendored::{FILES, SCHEMA, TREES, Vendored, VendoredFile, VendoredTree, keep};
use crate::error::{Error, Result};
use crate::fs::{self, Digest};
use crate::recipe::Source;
use crate::toolchain::sources::digest::tree_digest;
use crate::toolchain::sources::source::{key, name, sha256};
use crate::toolchain::transfer::settings::IndexSettings;
use crate::ui::Ui;

impl Store {
    /// Brings the files of toolchains, of a source and of packages of channels into `to`; what is there already is not
    /// fetched again, and what an earlier list names and nobody needs any more goes.
    ///
    /// # Errors
    /// `to` holds something else, or a file cannot be had.
    pub fn vendor(
        &self,
        tools: &[String],
        source: Option<&Source>,
        packages: &[PackageFile],
        to: &Path,
        (ui, offline): (&Ui, bool),
    ) -> Result<Vendored> {
        let before = Vendored::read(to)?;
        let is_empty = !to.exists() || fs_err::read_dir(to)?.next().is_none();
        if before.is_none() && !is_empty {
            return Err(Error::usage(format!("{} holds something that simpack did not put there", to.display()))
                .hint("choose an empty directory with --output"));
        }
        let into = to.join(FILES);
        fs_err::create_dir_all(&into)?;
        // From the first file on it is known whose directory this is.
        let mut list = Vendored { schema: SCHEMA, files: Vec::new(), trees: Vec::new() };
        if before.is_none() {
            list.write(to)?;
        }
        // Inside of a source tree it is no part of the source.
        fs::mark_as_cache(to)?;
        let mut add = |name: &str, sha256: Digest, path: &Path| -> Result<()> {
            let size = keep(path, sha256, &into)?;
            list.files.push(VendoredFile { name: name.to_owned(), sha256, size });
            Ok(())
        };
        for tool in tools {
            let pin = self.pins().get(tool)?;
            let all_here = pin.wheels.iter().all(|wheel| into.join(wheel.sha256.to_string()).is_file());
            let settings = match &self.settings {
                Some(settings) => settings.clone(),
                None if all_here => IndexSettings::default(),
                None => IndexSettings::discover()?,
            };
            let paths = self.bring(pin, &settings, &into, ui, offline)?;
            for (wheel, path) in pin.wheels.iter().zip(paths) {
                add(&wheel.file, wheel.sha256, &path)?;
            }
        }
        let paths = self.bring_packages(packages, &into, ui, offline)?;
        for (package, path) in packages.iter().zip(paths) {
            add(&package.file, package.sha256, &path)?;
        }
        for source in source.map(Source::fetched).unwrap_or_default() {
            if matches!(source, Source::Git { .. }) {
                list.trees.push(self.vendor_tree(source, to, ui, offline)?);
                continue;
            }
            let sha256 = sha256(source)?;
            let there = into.join(sha256.to_string());
            let path = match there.is_file() {
                true => there,
                false => self.transfer(source, into.clone(), ui, offline)?,
            };
            add(&name(source), sha256, &path)?;
        }
        list.files.sort();
        list.files.dedup();
        list.write(to)?;
        let before = before.unwrap_or_else(|| list.clone());
        for old in before.files.iter().filter(|old| list.files.iter().all(|file| file.sha256 != old.sha256)) {
            let _ = fs_err::remove_file(into.join(old.sha256.to_string()));
        }
        for old in before.trees.iter().filter(|old| list.trees.iter().all(|tree| tree.key != old.key)) {
            let _ = fs_err::remove_dir_all(to.join(TREES).join(old.key.to_string()));
        }
        // Locks of transfers.
        for entry in fs_err::read_dir(&into)?.flatten() {
            if entry.path().extension().is_some_and(|ending| ending == "lock") {
                let _ = fs_err::remove_file(entry.path());
            }
        }
        Ok(list)
    }

    fn vendor_tree(&self, source: &Source, to: &Path, ui: &Ui, offline: bool) -> Result<VendoredTree> {
        let (root, key) = (self.source(source, ui, offline)?, key(source)?);
        let place = to.join(TREES).join(key.to_string());
        if place.exists() {
            fs_err::remove_dir_all(&place)?;
        }
        fs::copy_tree(&root, &place, &BTreeMap::new())?;
        Ok(VendoredTree { name: name(source), key, sha256: tree_digest(&place)? })
    }
}
