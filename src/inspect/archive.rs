//! Files inside packages and archives, one after another, without a disk between.

use std::io::Read;

use super::examine::{Examined, examine, is_interesting};
use super::facts::{Gap, Inspected, PackageFacts};
use super::location::Location;
use crate::budget::Budget;
use crate::container::{Entry, Form, Kind, Limits, Quota, Stop, read, read_tar};
use crate::gpu::Look;
use crate::package::{Metadata, PackageFormat};

/// A member that is packed and larger than this is not held in memory to be examined, and that is said.
const MOST_HELD: u64 = 1 << 30;
/// The first bytes by which a member is judged.
const HEAD: u64 = 512;

/// What the package or archive called `name` holds, by its bytes; `None` for a file that is none.
pub fn package(name: &str, bytes: &[u8], look: Look) -> Option<Inspected> {
    Form::of_name(name).map(|form| archive(&Location::default(), form, bytes, look, &Budget::of(bytes)))
}

/// Looks into the archive at `place`, whose bytes are all there.
///
/// What its members may take to read comes from `shared`.
pub(super) fn archive(place: &Location, form: Form, bytes: &[u8], look: Look, shared: &Budget) -> Inspected {
    let quota = Limits::USUAL.quota(bytes.len() as u64);
    let mut walk = Walk { package: place, quota: &quota, shared, held: 0, look, depth: 0, found: Inspected::default() };
    walk.inside(place, |walk| read(form, bytes, &quota, &mut |entry| walk.entry(place, entry)));
    walk.found
}

struct Walk<'a> {
    /// The outermost package, whose metadata count.
    package: &'a Location,
    quota: &'a Quota,
    /// What all members have in common.
    shared: &'a Budget,
    /// Bytes of the largest member that was held in memory.
    held: u64,
    look: Look,
    depth: usize,
    found: Inspected,
}

impl Walk<'_> {
    /// Reads an archive in the one that is being read.
    fn inside(&mut self, place: &Location, read: impl FnOnce(&mut Self) -> Result<(), Stop>) {
        self.depth += 1;
        if let Err(reason) = read(self) {
            self.gap(place, &reason.to_string());
        }
        self.depth -= 1;
    }

    fn gap(&mut self, place: &Location, reason: &str) {
        self.found.unexamined.push(Gap { path: place.to_string(), reason: reason.to_owned() });
    }

    /// A member: its head decides whether the rest is read.
    fn entry(
        &mut self,
        archive: &Location,
        entry: Result<Entry<'_>, crate::container::ContainerError>,
    ) -> Result<(), Stop> {
        match entry {
            Err(error) => self.gap(archive, &error.to_string()),
            Ok(entry) if entry.kind != Kind::File => {}
            Ok(Entry { path, stored: Some(bytes), .. }) => self.bytes(archive, &path, bytes),
            Ok(entry) => self.stream(archive, entry),
        }
        Ok(())
    }

    fn stream(&mut self, archive: &Location, entry: Entry<'_>) {
        let (inside, size) = (entry.path.as_str(), entry.size);
        let path = archive.member(inside);
        let quota = self.quota;
        let form = Form::of_name(inside).filter(|_| self.depth < Limits::USUAL.depth);
        if let Some(Form::Tar(packing)) = form {
            let content = entry.content;
            return self.inside(&path, |walk| read_tar(packing, content, quota, &mut |entry| walk.entry(&path, entry)));
        }
        let mut bytes = Vec::new();
        if let Err(error) = entry.content.take(HEAD).read_to_end(&mut bytes) {
            return self.gap(&path, &format!("cannot be unpacked: {error}"));
        }
        let wanted = is_interesting(&bytes, self.look) || PackageFormat::of_member(inside).is_some() || form.is_some();
        if !wanted {
            return self.seen(size);
        }
        // The room of the largest one is used again for the others.
        let room = self.shared.keep(size.saturating_sub(self.held));
        if size > MOST_HELD || room.is_none() {
            self.seen(size);
            return self.gap(&path, &format!("is packed and its {size} bytes are more than are held in memory"));
        }
        self.held = self.held.max(size);
        match entry.content.take(size).read_to_end(&mut bytes) {
            Ok(_) => self.bytes(archive, inside, &bytes),
            Err(error) => self.gap(&path, &format!("cannot be unpacked: {error}")),
        }
    }

    fn seen(&mut self, size: u64) {
        self.found.seen += 1;
        self.found.bytes += size;
    }

    fn bytes(&mut self, archive: &Location, inside: &str, bytes: &[u8]) {
        let path = archive.member(inside);
        if let Some(form) = Form::of_name(inside).filter(|_| self.depth < Limits::USUAL.depth) {
            let quota = self.quota;
            return self.inside(&path, |walk| read(form, bytes, quota, &mut |entry| walk.entry(&path, entry)));
        }
        self.seen(bytes.len() as u64);
        if let Some(format) = PackageFormat::of_member(inside).filter(|_| archive == self.package) {
            let package = self.package.to_string();
            match format.read(inside, bytes) {
                Ok(Metadata { name, version, depends }) => {
                    self.found.packages.push(PackageFacts { path: package, format, name, version, depends });
                }
                Err(reason) => self.gap(&path, &reason),
            }
        }
        if is_interesting(&bytes[..bytes.len().min(HEAD as usize)], self.look) {
            let Examined { file, gaps } =
                examine(&path, bytes, self.look, &self.shared.share(bytes.len() as u64), None);
            self.found.files.extend(file);
            self.found.unexamined.extend(gaps);
        }
    }
}
