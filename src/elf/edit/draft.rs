//! An edit in progress: the dynamic entries of the wanted state, and fitting them in place.

use std::collections::{BTreeMap, BTreeSet};

use object::elf::{self, DynamicTag};

use super::intent::State;
use super::needs::NeedsTable;
use super::overlay::Overlay;
use super::pieces::{Piece, PieceKind, pieces};
use super::references::{TEXT_TAGS, foreign};
use super::strings::Strings;
use crate::elf::dynamic::ENTRY_SIZE;
use crate::elf::{Dynamic, DynamicEntry, ElfError, Image};

/// A dynamic entry while it is edited.
#[derive(Clone)]
pub(super) enum Slot {
    /// Stays as it is.
    Keep(DynamicEntry),
    /// Names a text that still needs its place.
    Text(DynamicTag, String),
}

/// The work in progress.
pub(super) struct Draft<'a> {
    pub(super) image: &'a Image<'a>,
    pub(super) dynamic: &'a Dynamic<'a>,
    pub(super) pieces: Vec<Piece>,
    pub(super) overlay: Overlay,
    pub(super) strings: Strings,
    pub(super) slots: Vec<Slot>,
    /// References that no edit changes.
    pub(super) foreign: BTreeSet<u64>,
    /// Version records, if they follow an edit, with the names that still need their place.
    pub(super) needs: Option<(NeedsTable, BTreeMap<usize, String>)>,
    /// The new interpreter, if it changes.
    pub(super) interpreter: Option<String>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(
        image: &'a Image<'a>,
        dynamic: &'a Dynamic<'a>,
        before: &State,
        wanted: &State,
    ) -> Result<Self, ElfError> {
        let mut draft = Self {
            image,
            dynamic,
            pieces: pieces(image, dynamic)?,
            overlay: Overlay::default(),
            strings: Strings::new(&[], BTreeSet::new()),
            slots: slots(dynamic, before, wanted),
            foreign: foreign(image, dynamic)?,
            needs: None,
            interpreter: wanted.interpreter.clone().filter(|_| before.interpreter != wanted.interpreter),
        };
        let freed_names = draft.edit_needs(before, wanted)?;
        let mut kept = draft.foreign.clone();
        kept.extend(draft.kept_texts().map(|entry| entry.value));
        draft.strings = Strings::new(dynamic.strings(), kept.clone());
        let old = dynamic.entries.iter().filter(|entry| TEXT_TAGS.contains(&entry.tag)).map(|entry| entry.value);
        for at in old.chain(freed_names).filter(|at| !kept.contains(at)) {
            draft.strings.clear(at);
        }
        Ok(draft)
    }

    pub(super) fn kept_texts(&self) -> impl Iterator<Item = &DynamicEntry> {
        self.slots.iter().filter_map(|slot| match slot {
            Slot::Keep(entry) if TEXT_TAGS.contains(&entry.tag) => Some(entry),
            _ => None,
        })
    }

    /// The dynamic entries of a draft that changes no text.
    pub(super) fn kept_entries(&self) -> Vec<DynamicEntry> {
        let kept = self.slots.iter().filter_map(|slot| match slot {
            Slot::Keep(entry) => Some(*entry),
            Slot::Text(..) => None,
        });
        kept.collect()
    }

    /// Lets the version records follow the needed libraries; gives the positions of freed names.
    fn edit_needs(&mut self, before: &State, wanted: &State) -> Result<Vec<u64>, ElfError> {
        let Some(mut table) = NeedsTable::parse(self.image, self.dynamic)? else { return Ok(Vec::new()) };
        let gone: BTreeSet<&String> = before.needed.iter().filter(|name| !wanted.needed.contains(name)).collect();
        let fresh: Vec<&String> = wanted.needed.iter().filter(|name| !before.needed.contains(name)).collect();
        let mut freed = Vec::new();
        let mut renamed = BTreeMap::new();
        if table.files.iter().any(|file| gone.contains(&file.file)) {
            let replacement = |old: &String| {
                // A name that replaces another stands at its place in the list.
                let place = before.needed.iter().position(|name| name == old)?;
                let same_length = before.needed.len() == wanted.needed.len();
                same_length.then(|| wanted.needed.get(place)).flatten().filter(|name| fresh.contains(name))
            };
            let mut dropped = BTreeSet::new();
            for file in &table.files {
                if gone.contains(&file.file) {
                    freed.push(u64::from(file.file_at));
                    if replacement(&file.file).is_none() {
                        dropped.extend(file.versions.iter().map(|version| version.index));
                        freed.extend(file.versions.iter().map(|version| u64::from(version.name_at)));
                    }
                }
            }
            table.files.retain(|file| !gone.contains(&file.file) || replacement(&file.file).is_some());
            for (index, file) in table.files.iter().enumerate() {
                if let Some(name) = replacement(&file.file).filter(|_| gone.contains(&file.file)) {
                    renamed.insert(index, name.clone());
                }
            }
            self.unversion(&dropped)?;
            self.count_needs(table.files.len() as u64);
        }
        for (index, file) in table.files.iter().enumerate() {
            self.foreign.extend(file.versions.iter().map(|version| u64::from(version.name_at)));
            if !renamed.contains_key(&index) {
                self.foreign.insert(u64::from(file.file_at));
            }
        }
        if self.foreign.last().is_some_and(|last| *last >= self.dynamic.strings().len() as u64) {
            return Err(ElfError::damaged("a version name lies outside the dynamic strings"));
        }
        if !freed.is_empty() {
            self.needs = Some((table, renamed));
        }
        Ok(freed)
    }

    /// Symbols of the dropped versions become unversioned (`VER_NDX_GLOBAL`).
    fn unversion(&mut self, dropped: &BTreeSet<u16>) -> Result<(), ElfError> {
        let Some(piece) = self.pieces.iter().find(|piece| piece.kind == PieceKind::SymbolVersions) else {
            return Ok(());
        };
        for at in (piece.offset..piece.offset + (piece.size & !1)).step_by(2) {
            let raw = self.image.bytes.u16(at).ok_or_else(|| ElfError::damaged("the symbol versions are cut"))?;
            if dropped.contains(&(raw & elf::VERSYM_VERSION)) {
                self.overlay.put(at, &elf::VER_NDX_GLOBAL.0.to_le_bytes());
            }
        }
        Ok(())
    }

    /// Keeps the count of version records in step; without records their entries go.
    fn count_needs(&mut self, count: u64) {
        for slot in &mut self.slots {
            if let Slot::Keep(entry) = slot
                && entry.tag == elf::DT_VERNEEDNUM
            {
                entry.value = count;
            }
        }
        if count == 0 {
            self.slots.retain(
                |slot| !matches!(slot, Slot::Keep(entry) if matches!(entry.tag, elf::DT_VERNEED | elf::DT_VERNEEDNUM)),
            );
        }
        if let Some(index) = self.image.sections.iter().position(|section| section.kind == elf::SHT_GNU_VERNEED) {
            let at = self.image.header.sections_at + index as u64 * 64 + 44;
            self.overlay.put(at, &(count as u32).to_le_bytes());
        }
    }

    pub(super) fn capacity_suffices(&self) -> bool {
        // One more for the closing entry.
        (self.slots.len() as u64) < self.dynamic.capacity
    }

    pub(super) fn interpreter_fits(&self) -> bool {
        let room = self.image.segment(elf::PT_INTERP).map_or(0, |segment| segment.file_size);
        self.interpreter.as_ref().is_none_or(|text| (text.len() as u64) < room)
    }

    /// Writes everything over existing bytes, if all of it fits; else leaves the draft as it was, but
    /// for the cleared texts, which are cleared either way.
    pub(super) fn fit_in_place(&mut self) -> bool {
        if !self.capacity_suffices() || !self.interpreter_fits() {
            self.write_strings();
            return false;
        }
        let cleared = self.strings.bytes().to_vec();
        let placed: Option<Vec<DynamicEntry>> = self
            .slots
            .iter()
            .map(|slot| match slot {
                Slot::Keep(entry) => Some(*entry),
                Slot::Text(tag, text) => Some(DynamicEntry { tag: *tag, value: self.strings.place(text)? }),
            })
            .collect();
        let renamed =
            self.needs.as_mut().map(|(table, names)| place_needs(table, names, |text| self.strings.place(text)));
        let (Some(entries), None | Some(Some(()))) = (placed, renamed) else {
            self.reset_strings(&cleared);
            self.write_strings();
            return false;
        };
        self.write_strings();
        self.write_needs();
        self.write_interpreter_in_place();
        let mut bytes = entry_bytes(&entries);
        bytes.resize((self.dynamic.capacity * ENTRY_SIZE) as usize, 0);
        self.overlay.put(self.dynamic.offset, &bytes);
        true
    }

    fn reset_strings(&mut self, cleared: &[u8]) {
        let mut kept = self.foreign.clone();
        kept.extend(self.kept_texts().map(|entry| entry.value));
        self.strings = Strings::new(cleared, kept);
    }

    /// Puts the edited string table over the old one.
    fn write_strings(&mut self) {
        let old = self.dynamic.strings();
        for (index, (new, old)) in self.strings.bytes().iter().zip(old).enumerate() {
            if new != old {
                self.overlay.put(self.dynamic.strings_at + index as u64, &[*new]);
            }
        }
    }

    /// Puts the edited version records over the old ones: they never grow.
    pub(super) fn write_needs(&mut self) {
        if let Some((table, _)) = &self.needs {
            self.overlay.put(table.offset, &table.to_bytes());
        }
    }

    pub(super) fn write_interpreter_in_place(&mut self) {
        if let (Some(text), Some(segment)) = (&self.interpreter, self.image.segment(elf::PT_INTERP)) {
            let mut bytes = text.clone().into_bytes();
            // The kernel wants a NUL at the end of the segment (fs/binfmt_elf.c); more are fine.
            bytes.resize(segment.file_size as usize, 0);
            self.overlay.put(segment.offset, &bytes);
        }
    }
}

/// Gives the renamed files of version records their places.
pub(super) fn place_needs(
    table: &mut NeedsTable,
    names: &BTreeMap<usize, String>,
    mut place: impl FnMut(&str) -> Option<u64>,
) -> Option<()> {
    for (index, name) in names {
        let at = place(name)?;
        table.files.get_mut(*index)?.file_at = u32::try_from(at).ok()?;
    }
    Some(())
}

/// Entries as bytes, with the closing one.
pub(super) fn entry_bytes(entries: &[DynamicEntry]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity((entries.len() + 1) * 16);
    for entry in entries {
        bytes.extend_from_slice(&entry.tag.0.to_le_bytes());
        bytes.extend_from_slice(&entry.value.to_le_bytes());
    }
    bytes.extend_from_slice(&[0; 16]);
    bytes
}

/// The entries of the wanted state: names first where they were, the search path behind them.
fn slots(dynamic: &Dynamic<'_>, before: &State, wanted: &State) -> Vec<Slot> {
    let edits_needed = before.needed != wanted.needed;
    let edits_soname = before.soname != wanted.soname;
    let edits_path = (&before.runpath, &before.rpath) != (&wanted.runpath, &wanted.rpath);
    let mut slots: Vec<Slot> = Vec::new();
    let mut needed_place = None;
    for entry in &dynamic.entries {
        match entry.tag {
            elf::DT_NEEDED if edits_needed => {
                needed_place.get_or_insert(slots.len());
            }
            elf::DT_SONAME if edits_soname => {}
            elf::DT_RPATH | elf::DT_RUNPATH if edits_path => {}
            _ => slots.push(Slot::Keep(*entry)),
        }
    }
    if edits_needed {
        let needed: Vec<Slot> = wanted
            .needed
            .iter()
            .map(|name| {
                let old = dynamic
                    .entries
                    .iter()
                    .find(|entry| entry.tag == elf::DT_NEEDED && dynamic.string(entry.value).as_ref() == Some(name));
                old.map_or_else(|| Slot::Text(elf::DT_NEEDED, name.clone()), |entry| Slot::Keep(*entry))
            })
            .collect();
        let place = needed_place.unwrap_or(0);
        slots.splice(place..place, needed);
    }
    if edits_soname && let Some(soname) = &wanted.soname {
        let place = behind(&slots, &[elf::DT_NEEDED]);
        slots.insert(place, Slot::Text(elf::DT_SONAME, soname.clone()));
    }
    if edits_path {
        for (tag, text) in [(elf::DT_RPATH, &wanted.rpath), (elf::DT_RUNPATH, &wanted.runpath)] {
            if let Some(text) = text {
                let place = behind(&slots, &[elf::DT_NEEDED, elf::DT_SONAME]);
                slots.insert(place, Slot::Text(tag, text.clone()));
            }
        }
    }
    slots
}

fn behind(slots: &[Slot], tags: &[DynamicTag]) -> usize {
    let is = |slot: &Slot| match slot {
        Slot::Keep(entry) => tags.contains(&entry.tag),
        Slot::Text(tag, _) => tags.contains(tag),
    };
    slots.iter().rposition(is).map_or(0, |last| last + 1)
}
