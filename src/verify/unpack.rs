//! Unpacks packages for an examination: conda packages, wheels, tarballs.

use std::io::Read;
use std::path::Path;

use crate::container::{self, ContainerError, Form};
use crate::fs;
use crate::package::conda::{INDEX, INFO, Record};
use crate::package::deb::CONTROL_DIRECTORY;
use crate::package::oci;

/// What the name of a package that is named ends with. Directories are searched for the first ones: other archives
/// there are as often something else.
const PACKAGES: [&str; 7] = [".conda", ".whl", ".deb", ".tar.zst", ".tar.bz2", ".tar.gz", ".tgz"];
const SEARCHED: usize = 4;

/// Whether a file is a package, by its name.
pub fn is_package(path: &Path) -> bool {
    ends_with(path, &PACKAGES)
}

/// Whether it is looked for in directories.
pub(super) fn is_searched(path: &Path) -> bool {
    ends_with(path, &PACKAGES[..SEARCHED])
}

fn ends_with(path: &Path, ends: &[&str]) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    ends.iter().any(|end| name.ends_with(end))
}

/// Unpacks the package at `path` into the empty directory `to`; answers what a package manager is told of
/// it. What belongs to the package manager (`info/`) is left out; `refuse` is told what else is.
///
/// # Errors
/// Not a package, damaged, or a bomb; the causes in words.
pub(super) fn unpack(path: &Path, to: &Path, refuse: &mut dyn FnMut(ContainerError)) -> Result<Option<Record>, String> {
    let form = form(path).or_else(|why| layer(path).ok_or(why))?;
    // The modes of a wheel's files are its installer's.
    let unpacked = container::unpack(path, form, to, form == Form::Zip, &mut |refused| {
        refuse(refused);
        Ok(())
    });
    unpacked.map_err(|stop| stop.to_string())?;
    if form == Form::Deb {
        // dpkg's own files are no part of what is installed.
        let control = to.join(CONTROL_DIRECTORY);
        if control.is_dir() {
            fs_err::remove_dir_all(control).map_err(|error| error.to_string())?;
        }
        return Ok(None);
    }
    match has_conda_index(path) {
        true => told(to),
        false => Ok(None),
    }
}

/// Unpacks a package file with everything in it, what is the package manager's included (`info/`).
///
/// # Errors
/// Why it cannot be unpacked.
pub fn unpack_whole(path: &Path, to: &Path) -> Result<(), String> {
    let form = form(path)?;
    container::unpack(path, form, to, false, &mut |refused| Err(refused.into())).map_err(|stop| stop.to_string())
}

/// Whether a package has the directory of conda's own files; of any other archive there is no `info/`.
pub(super) fn has_conda_index(path: &Path) -> bool {
    // The latter is the older form of conda packages.
    ends_with(path, &[".conda", ".tar.bz2"])
}

/// The form of a package or of a layer.
pub(super) fn form_of(path: &Path) -> Option<Form> {
    form(path).ok().or_else(|| layer(path))
}

fn form(path: &Path) -> Result<Form, String> {
    let form = Form::of_path(path).filter(|_| is_package(path));
    form.ok_or_else(|| "its name is that of no package".to_owned())
}

/// The form of a layer of an image layout, which is named by its digest; none of configurations and lists.
pub(super) fn layer(path: &Path) -> Option<Form> {
    let is_blob = path.parent().is_some_and(|dir| dir.ends_with(oci::BLOBS));
    let mut head = Vec::new();
    fs::open(path).ok().filter(|_| is_blob)?.take(512).read_to_end(&mut head).ok()?;
    Form::of_bytes(&head).filter(|form| matches!(form, Form::Tar(_)))
}

/// What conda is told of an unpacked package, taken out of the tree.
fn told(to: &Path) -> Result<Option<Record>, String> {
    if !to.join(INFO).is_dir() {
        return Ok(None);
    }
    let file = to.join(INDEX);
    let record = match file.is_file() {
        true => Some(fs::read(&file).map_err(|error| error.to_string())?),
        false => None,
    };
    let record = record.map(|bytes| Record::read(&bytes).map_err(|error| format!("its {INDEX}: {error}")));
    fs_err::remove_dir_all(to.join(INFO)).map_err(|error| error.to_string())?;
    record.transpose()
}
