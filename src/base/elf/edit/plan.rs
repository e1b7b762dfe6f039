//! From edits to writes.

use object::elf;

use super::draft::Draft;
use super::intent::{Edits, State};
use super::patch_plan::{Change, PatchPlan};
use super::references::TEXT_TAGS;
use super::source::Source;
use super::write::write;
use crate::elf::bytes::Bytes;
use crate::elf::{Dynamic, ElfError, FileKind, Image};

/// Plans `edits` of the file with these bytes.
///
/// # Errors
/// The file cannot be read, the edits contradict each other, or the result would not work.
pub fn plan(bytes: &[u8], edits: &Edits) -> Result<PatchPlan, ElfError> {
    Source::read(bytes)?.plan(edits)
}

impl Source<'_> {
    /// Plans `edits`.
    ///
    /// # Errors
    /// The edits contradict each other, or the result would not work.
    pub fn plan(&self, edits: &Edits) -> Result<PatchPlan, ElfError> {
        plan_of(self, edits)
    }
}

fn plan_of(source: &Source<'_>, edits: &Edits) -> Result<PatchPlan, ElfError> {
    let Source { image, state: before, .. } = source;
    let dynamic = editable(source)?;
    let wanted = before.after(edits)?;
    let mut plan = PatchPlan {
        length: image.bytes.len(),
        changes: changes(before, &wanted),
        writes: Vec::new(),
        tail_at: image.bytes.len(),
        tail: Vec::new(),
        wanted,
    };
    if plan.changes.is_empty() {
        return Ok(plan);
    }
    let draft = Draft::new(image, dynamic, before, &plan.wanted)?;
    (plan.writes, plan.tail_at, plan.tail) = write(draft)?;
    Ok(plan)
}

/// The dynamic section of a file that can be edited, or the reason why not.
fn editable<'s, 'a>(source: &'s Source<'a>) -> Result<&'s Dynamic<'a>, ElfError> {
    let image = &source.image;
    if image.header.kind != elf::ET_DYN && image.header.kind != elf::ET_EXEC {
        return Err(ElfError::refused("it is not linked yet", "only libraries and executables have a search path"));
    }
    let dynamic = source.dynamic.as_ref().filter(|_| image.segment(elf::PT_DYNAMIC).is_some()).ok_or_else(|| {
        ElfError::refused("it is static: the loader never searches for it", "link it dynamically or leave it out")
    })?;
    if source.kind() == FileKind::StaticPie {
        return Err(ElfError::refused(
            "a static-pie executable relocates itself and crashes after any change",
            "link it dynamically or leave it out",
        ));
    }
    if dynamic.value(elf::DT_STRTAB).is_none() || dynamic.strings().is_empty() {
        return Err(ElfError::damaged("the dynamic section names no strings"));
    }
    if dynamic.strings().last() != Some(&0) {
        return Err(ElfError::damaged("the dynamic strings do not end"));
    }
    readable_texts(image, dynamic)?;
    for segment in image.loads() {
        if image.segment_bytes(segment).is_none() || segment.memory_size < segment.file_size {
            return Err(ElfError::damaged("a loaded segment reaches past the end of the file"));
        }
        if segment.address.checked_add(segment.memory_size).is_none() || !segment.align.max(1).is_power_of_two() {
            return Err(ElfError::damaged("a loaded segment lies outside the address space"));
        }
    }
    Ok(dynamic)
}

/// Every text must be where it is said to be, and be one that is written back as it was read.
fn readable_texts(image: &Image<'_>, dynamic: &Dynamic<'_>) -> Result<(), ElfError> {
    let named = dynamic.entries.iter().filter(|entry| TEXT_TAGS.contains(&entry.tag));
    let mut texts: Vec<&[u8]> = Vec::new();
    for entry in named {
        let text = Bytes(dynamic.strings()).text(entry.value);
        texts.push(text.ok_or_else(|| ElfError::damaged("a name lies outside the dynamic strings"))?);
    }
    if let Some(segment) = image.segment(elf::PT_INTERP) {
        let text = image.segment_bytes(segment).and_then(|bytes| Bytes(bytes).text(0));
        texts.push(text.ok_or_else(|| ElfError::damaged("the interpreter's name does not end"))?);
    }
    if texts.iter().any(|text| std::str::from_utf8(text).is_err()) {
        return Err(ElfError::refused("one of its names is not UTF-8", "leave it out"));
    }
    Ok(())
}

fn changes(before: &State, after: &State) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut text = |what: &str, from: &Option<String>, to: &Option<String>| {
        if from != to {
            changes.push(Change { what: what.into(), from: from.clone(), to: to.clone() });
        }
    };
    text("runpath", &before.runpath, &after.runpath);
    text("rpath", &before.rpath, &after.rpath);
    text("soname", &before.soname, &after.soname);
    text("interpreter", &before.interpreter, &after.interpreter);
    let gone = before.needed.iter().filter(|name| !after.needed.contains(name));
    let fresh = after.needed.iter().filter(|name| !before.needed.contains(name));
    let (gone, fresh): (Vec<_>, Vec<_>) = (gone.collect(), fresh.collect());
    if gone.len() == fresh.len() {
        for (from, to) in gone.into_iter().zip(fresh) {
            text("needed", &Some(from.clone()), &Some(to.clone()));
        }
    } else {
        gone.into_iter().for_each(|name| text("needed", &Some(name.clone()), &None));
        fresh.into_iter().for_each(|name| text("needed", &None, &Some(name.clone())));
    }
    changes
}
