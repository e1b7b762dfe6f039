//! An edit in progress: what no edit changes, and the texts of the wanted state that need their places.

use std::collections::{BTreeMap, BTreeSet};

use object::elf;

use super::growth::tail::{self, Part, Tail};
use super::intent::State;
use super::needs::NeedsTable;
use super::overlay::Overlay;
use super::pieces::{Piece, PieceKind, pieces};
use super::references::{EDITABLE_TAGS, TEXT_TAGS, foreign};
use super::strings::Strings;
use crate::elf::image::SECTION_SIZE;
use crate::elf::{Dynamic, DynamicEntry, ElfError, Image};

/// Places of texts in the dynamic strings.
pub(super) type Places = BTreeMap<String, u64>;

/// The work in progress.
pub(super) struct Draft<'a> {
    pub(super) image: &'a Image<'a>,
    pub(super) dynamic: &'a Dynamic<'a>,
    pub(super) wanted: &'a State,
    /// What has the file grown by before, if it has.
    pub(super) tail: Option<Tail>,
    pub(super) parts: Vec<Part>,
    pub(super) overlay: Overlay,
    /// The dynamic strings without any editable text.
    pub(super) base: Strings,
    /// Dynamic entries that name no editable text.
    pub(super) kept: Vec<DynamicEntry>,
    needs: Option<NeedsTable>,
    /// Versions went, and the records of others close up.
    drops_needs: bool,
    /// The new interpreter, if it changes.
    pub(super) interpreter: Option<String>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(
        image: &'a Image<'a>,
        dynamic: &'a Dynamic<'a>,
        before: &State,
        wanted: &'a State,
    ) -> Result<Self, ElfError> {
        let mut names = foreign(image, dynamic)?;
        let entries = dynamic.entries.iter();
        let (named, kept): (Vec<DynamicEntry>, Vec<DynamicEntry>) =
            entries.partition(|entry| EDITABLE_TAGS.contains(&entry.tag));
        names.extend(kept.iter().filter(|entry| TEXT_TAGS.contains(&entry.tag)).map(|entry| entry.value));
        let pieces = pieces(image, dynamic)?;
        let needs = NeedsTable::parse(image, dynamic)?;
        // Names of versions stay in place as long as somebody needs one of them.
        let versions = |needs: &Option<NeedsTable>| -> BTreeSet<u64> {
            let files = needs.iter().flat_map(|table| &table.files);
            files.flat_map(|file| &file.versions).map(|version| u64::from(version.name_at)).collect()
        };
        let before_names = versions(&needs);
        let all = names.iter().chain(&before_names).copied();
        if all.clone().any(|at| at >= dynamic.strings().len() as u64) {
            return Err(ElfError::damaged("a name lies outside the dynamic strings"));
        }
        let (tail, parts) = tail::find(image, dynamic, &pieces, all, &kept);
        let mut freed: BTreeSet<u64> = named.iter().map(|entry| entry.value).chain(before_names).collect();
        freed.extend(needs.iter().flat_map(|table| &table.files).map(|file| u64::from(file.file_at)));
        let mut draft = Self {
            image,
            dynamic,
            wanted,
            tail,
            parts,
            overlay: Overlay::default(),
            base: Strings::new(&[], &BTreeSet::new(), []),
            kept,
            needs,
            drops_needs: false,
            interpreter: wanted.interpreter.clone().filter(|_| before.interpreter != wanted.interpreter),
        };
        draft.edit_needs(before)?;
        names.extend(versions(&draft.needs));
        draft.base = Strings::new(draft.home_strings(), &names, freed);
        Ok(draft)
    }

    /// The dynamic strings of the file before it grew, else those of now.
    fn home_strings(&self) -> &'a [u8] {
        let part = self.parts.iter().find(|part| part.now.kind == PieceKind::Strings);
        let home = part.and_then(|part| part.home).filter(|home| home.offset != self.dynamic.strings_at);
        home.and_then(|home| self.image.bytes.get(home.offset, home.size)).unwrap_or(self.dynamic.strings())
    }

    /// Lets the version records follow the needed libraries.
    fn edit_needs(&mut self, before: &State) -> Result<(), ElfError> {
        let Some(table) = &mut self.needs else { return Ok(()) };
        let wanted = self.wanted;
        let gone = |name: &String| before.needed.contains(name) && !wanted.needed.contains(name);
        let replacement = |old: &String| {
            // A name that replaces another stands at its place in the list.
            let place = before.needed.iter().position(|name| name == old)?;
            let same_length = before.needed.len() == wanted.needed.len();
            same_length.then(|| wanted.needed.get(place)).flatten().filter(|name| !before.needed.contains(name))
        };
        let mut dropped = BTreeSet::new();
        for file in table.files.iter_mut().filter(|file| gone(&file.file)) {
            match replacement(&file.file) {
                Some(name) => file.file.clone_from(name),
                None => dropped.extend(file.versions.iter().map(|version| version.index)),
            }
        }
        let count = table.files.len();
        table.files.retain(|file| !gone(&file.file));
        if table.files.len() < count {
            let left = table.files.len();
            self.drops_needs = true;
            self.unversion(&dropped)?;
            self.count_needs(left as u64);
        }
        Ok(())
    }

    /// Symbols of the dropped versions become unversioned (`VER_NDX_GLOBAL`).
    fn unversion(&mut self, dropped: &BTreeSet<u16>) -> Result<(), ElfError> {
        let Some(part) = self.parts.iter().find(|part| part.now.kind == PieceKind::SymbolVersions) else {
            return Ok(());
        };
        let piece = part.now;
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
        for entry in self.kept.iter_mut().filter(|entry| entry.tag == elf::DT_VERNEEDNUM) {
            entry.value = count;
        }
        let section = self.image.sections.iter().position(|section| section.kind == elf::SHT_GNU_VERNEED);
        if count == 0 {
            self.kept.retain(|entry| !matches!(entry.tag, elf::DT_VERNEED | elf::DT_VERNEEDNUM));
            // Nothing says any more where it is, so it must not move: its bytes go.
            let part = self.parts.iter().position(|part| part.now.kind == PieceKind::VersionNeeds);
            if section.is_none()
                && let Some(part) = part.map(|index| self.parts.remove(index))
            {
                for place in [Some(part.now), part.home].into_iter().flatten() {
                    self.overlay.put(place.offset, &vec![0; place.size as usize]);
                }
                self.needs = None;
            }
        }
        if let Some(index) = section {
            let at = self.image.header.sections_at + index as u64 * SECTION_SIZE + 44;
            self.overlay.put(at, &(count as u32).to_le_bytes());
        }
    }

    /// All texts that need a place.
    pub(super) fn texts(&self) -> BTreeSet<&str> {
        let State { soname, rpath, runpath, needed, .. } = self.wanted;
        let files = self.needs.iter().flat_map(|table| &table.files).map(|file| &file.file);
        needed.iter().chain([soname, rpath, runpath].into_iter().flatten()).chain(files).map(String::as_str).collect()
    }

    /// The dynamic entries of the wanted state: names first, the search path behind them.
    pub(super) fn entries(&self, places: &Places) -> Vec<DynamicEntry> {
        let State { soname, rpath, runpath, needed, .. } = self.wanted;
        let named = needed
            .iter()
            .map(|text| (elf::DT_NEEDED, text))
            .chain(soname.iter().map(|text| (elf::DT_SONAME, text)))
            .chain(rpath.iter().map(|text| (elf::DT_RPATH, text)))
            .chain(runpath.iter().map(|text| (elf::DT_RUNPATH, text)));
        let named = named.filter_map(|(tag, text)| Some(DynamicEntry { tag, value: *places.get(text)? }));
        named.chain(self.kept.iter().copied()).collect()
    }

    /// How many dynamic entries there will be, without the closing one.
    pub(super) fn entry_count(&self) -> u64 {
        let State { soname, rpath, runpath, needed, .. } = self.wanted;
        (needed.len() + [soname, rpath, runpath].into_iter().flatten().count() + self.kept.len()) as u64
    }

    /// Whether a piece has room for what it will hold; the dynamic strings show when they are laid out.
    pub(super) fn fits(&self, piece: &Piece) -> bool {
        match piece.kind {
            // One more for the closing entry.
            PieceKind::Dynamic => self.entry_count() < piece.size / 16,
            PieceKind::Interpreter => {
                self.wanted.interpreter.as_ref().is_none_or(|text| (text.len() as u64) < piece.size)
            }
            _ => true,
        }
    }

    /// Puts the places of the files' names into the version records, where they are now.
    pub(super) fn write_needs(&mut self, places: &Places) -> Result<(), ElfError> {
        let Some(table) = &mut self.needs else { return Ok(()) };
        for file in &mut table.files {
            let at = places.get(&file.file).and_then(|at| u32::try_from(*at).ok());
            file.file_at = at.ok_or_else(|| ElfError::damaged("the dynamic strings are too large"))?;
            self.overlay.put(file.at + 4, &file.file_at.to_le_bytes());
        }
        if self.drops_needs {
            self.overlay.put(table.offset, &table.to_bytes());
        }
        Ok(())
    }
}
