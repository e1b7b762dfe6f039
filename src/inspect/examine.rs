//! The facts of one file's bytes.

use std::collections::BTreeSet;

use object::elf::{DT_NEEDED, DT_RPATH, DT_RUNPATH, DT_SONAME};

use super::facts::{Code, ElfFacts, FileFacts, Gap, Objects};
use super::location::Location;
use crate::arch::GlibcVersion;
use crate::budget::Budget;
use crate::elf::{self, Dynamic, ElfError, FileKind, Image, Versions};
use crate::fs::Content;
use crate::gpu::{self, CodeError, CodeImage, DeviceCode, Look};

/// What one file gave.
#[derive(Default)]
pub(super) struct Examined {
    /// Nothing, if there is nothing to say about it.
    pub(super) file: Option<FileFacts>,
    pub(super) gaps: Vec<Gap>,
}

/// Whether a file that begins like this is worth more than its first bytes.
pub(super) fn is_interesting(head: &[u8], look: Look) -> bool {
    look.deep || gpu::may_hold_code(head)
}

/// Examines the bytes of a file; of the mapped `file`, whose bytes they are, the memory of what was read is given back.
pub(super) fn examine(path: &Location, bytes: &[u8], look: Look, budget: &Budget, file: Option<&Content>) -> Examined {
    let mut found = Examined::default();
    let mut gap = |reason: String| found.gaps.push(Gap { path: path.to_string(), reason });
    let (elf, objects) = if bytes.starts_with(object::archive::MAGIC.as_slice()) {
        (None, Some(bytes))
    } else if elf::is_elf(bytes) && !gpu::is_cubin(bytes) {
        match elf_facts(bytes, budget) {
            Ok(facts) => (Some(facts), None),
            Err(error) => {
                gap(error.to_string());
                (None, None)
            }
        }
    } else {
        (None, None)
    };
    let code = match gpu::device_code_within(bytes, look, budget, file) {
        Ok(code) => code,
        // Said above, of the same bytes.
        Err(CodeError::Elf(_)) if !gpu::is_cubin(bytes) => DeviceCode::default(),
        Err(error) => {
            gap(error.to_string());
            DeviceCode::default()
        }
    };
    code.unexamined.into_iter().for_each(gap);
    let images = code.images;
    let objects = objects.and_then(|bytes| count_objects(bytes, &images, budget));
    if elf.is_some() || objects.is_some() || !images.is_empty() || !found.gaps.is_empty() {
        found.file =
            Some(FileFacts { path: path.clone(), size: bytes.len() as u64, elf, objects, images: Code::new(images) });
    }
    found
}

/// Only what the dynamic section and the version records say: no symbol is read.
fn elf_facts(bytes: &[u8], budget: &Budget) -> Result<ElfFacts, ElfError> {
    let image = Image::parse_within(bytes, budget.clone())?;
    let dynamic = Dynamic::parse(&image)?;
    let kind = FileKind::of(&image, dynamic.as_ref());
    let machine = image.header.machine.into();
    let mut facts =
        ElfFacts { machine, kind, soname: None, needed: Vec::new(), runpath: None, rpath: None, glibc: None };
    if let Some(dynamic) = &dynamic {
        facts.soname = dynamic.text(DT_SONAME);
        facts.needed = dynamic.texts(DT_NEEDED);
        facts.runpath = dynamic.text(DT_RUNPATH);
        facts.rpath = dynamic.text(DT_RPATH);
        let versions = Versions::parse(&image, dynamic);
        let names = versions.files.iter().flat_map(|(_, names)| names);
        facts.glibc = elf::highest(names, "GLIBC")
            .and_then(|highest| Some(GlibcVersion::new(*highest.first()?, highest.get(1).copied().unwrap_or(0))));
    }
    image.spent()?;
    Ok(facts)
}

/// Members that are ELF, and those that hold device code; `None` where the archive cannot be read, which the
/// reader of device code says.
fn count_objects(bytes: &[u8], images: &[CodeImage], budget: &Budget) -> Option<Objects> {
    let mut total = 0;
    for member in gpu::archive_members(bytes, budget).ok()? {
        total += usize::from(elf::is_elf(member.ok()?.1));
    }
    // Members may share a name: their sections' positions tell them apart only within one.
    let members: BTreeSet<&str> = images.iter().map(|image| image.place.member()).collect();
    Some(Objects { total, with_device_code: members.len() })
}
