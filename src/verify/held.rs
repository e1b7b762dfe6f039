//! Small packages that simpack made, read into memory: nothing is unpacked to a disk for a verification of them. Whatever is
//! large, odd or somebody else's is left to [`super::unpack`], which says what is wrong with it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::unpack::{form_of, has_conda_index};
use crate::bundle::{BundleManifest, HeldFile, Inventory, is_manifest, read_manifest};
use crate::container::{self, ContainerError, Entry, Form, Kind, Limits, Stop};
use crate::fs::Content;
use crate::package::conda::{INDEX, INFO, Record};
use crate::package::{deb, oci};

/// Bytes that all packages of a verification may take together.
pub(super) const ROOM: u64 = 64 << 20;
/// A package with more bytes than this is not tried: it would not fit either.
const LARGEST: u64 = 4 << 20;

/// What a package holds.
pub(super) struct Held {
    /// What a package manager is told of it.
    pub(super) record: Option<Record>,
    /// What each bundle says of itself, with the files below its prefix, which those of one prefix share. Never empty.
    pub(super) bundles: Vec<(BundleManifest, Inventory)>,
}

/// Reads the package at `path`, if it is one of simpack's and small. `room` is what is left of [`ROOM`].
pub(super) fn held(path: &Path, room: &AtomicU64) -> Option<Held> {
    if room.load(Relaxed) == 0 || fs_err::metadata(path).ok()?.len() > LARGEST {
        return None;
    }
    let form = form_of(path)?;
    let content = Content::open(path).ok()?;
    let mut files = members(form, content.bytes(), room)?;
    let mut record = None;
    if form == Form::Deb {
        files.retain(|path, _| !below(path, deb::CONTROL_DIRECTORY));
    } else if has_conda_index(path) {
        record = match files.get(INDEX) {
            Some(index) => Some(Record::read(&index.bytes).ok()?),
            None => None,
        };
        files.retain(|path, _| !path.starts_with(INFO));
    }
    let mut bundles = Vec::new();
    for prefix in prefixes(form, &files)? {
        let own = files.iter().filter_map(|(path, file)| Some((path.strip_prefix(prefix.as_str())?, file)));
        let own: BTreeMap<String, HeldFile> = own.map(|(path, file)| (path.to_owned(), file.clone())).collect();
        let read = |(path, file): (&String, &HeldFile)| read_manifest(path, &file.bytes).ok();
        let manifests: Option<Vec<_>> = own.iter().filter(|(path, _)| is_manifest(path)).map(read).collect();
        let files = Inventory::holding(own);
        bundles.extend(manifests?.into_iter().map(|manifest| (manifest, files.clone())));
    }
    (!bundles.is_empty()).then_some(Held { record, bundles })
}

/// The members by path; none where one is no plain file, or two contradict each other.
fn members(form: Form, bytes: &[u8], room: &AtomicU64) -> Option<BTreeMap<String, HeldFile>> {
    let mut files: BTreeMap<String, HeldFile> = BTreeMap::new();
    let mut directories = BTreeSet::new();
    let quota = Limits::USUAL.quota(bytes.len() as u64);
    let taken = container::read(form, bytes, &quota, &mut |entry| {
        let mut entry = entry?;
        match entry.kind {
            Kind::Directory => drop(directories.insert(entry.path)),
            Kind::File => {
                let bytes = content(&mut entry, room).ok_or_else(left)?;
                // The modes of a wheel's files are its installer's; whoever unpacks has to read.
                let mode = if form == Form::Zip { entry.installed_mode() } else { entry.mode } | 0o400;
                if files.insert(entry.path, HeldFile { bytes: bytes.into(), mode }).is_some() {
                    return Err(left());
                }
            }
            Kind::Link(_) | Kind::HardLink(_) => return Err(left()),
        }
        Ok(())
    });
    taken.ok()?;
    let is_below_file = |path: &String| {
        let above = |end: usize| files.contains_key(&path[..end]);
        path.match_indices('/').any(|(end, _)| above(end))
    };
    let is_sound = !directories.iter().any(|path| files.contains_key(path) || is_below_file(path));
    (is_sound && !files.keys().any(is_below_file)).then_some(files)
}

/// Ends the reading: the package is not one that is held. Nobody is told.
fn left() -> Stop {
    Stop::Container(ContainerError::Damaged("it is unpacked".into()))
}

/// The bytes of a member, as far as there is room.
fn content(entry: &mut Entry<'_>, room: &AtomicU64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut piece = [0; 1 << 14];
    loop {
        let count = entry.content.read(&mut piece).ok()?;
        if count == 0 {
            return Some(bytes);
        }
        room.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(count as u64)).ok()?;
        bytes.extend_from_slice(&piece[..count]);
    }
}

/// Where prefixes with manifests lie in a package, each with a slash behind it: at its top; in a wheel in the directory of a
/// simulator; in a layer below `opt`; in a package of Debian below `usr`. None where they lie inside each other.
fn prefixes(form: Form, files: &BTreeMap<String, HeldFile>) -> Option<Vec<String>> {
    let mut found = BTreeSet::new();
    for path in files.keys() {
        let manifest = path.match_indices("share/simpack/").map(|(at, _)| path.split_at(at));
        for (prefix, _) in manifest.filter(|(_, rest)| is_manifest(rest)) {
            let parts: Vec<&str> = prefix.split_terminator('/').collect();
            let fits = match parts.as_slice() {
                [] => prefix.is_empty(),
                [_] if form == Form::Zip => true,
                [above] => form == Form::Deb && *above == deb::PREFIX,
                [above, _] => matches!(form, Form::Tar(_)) && *above == oci::ABOVE,
                _ => false,
            };
            if fits {
                found.insert(prefix.to_owned());
            }
        }
    }
    let is_apart = !found.contains("") || found.len() == 1;
    is_apart.then(|| found.into_iter().collect())
}

fn below(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
}
