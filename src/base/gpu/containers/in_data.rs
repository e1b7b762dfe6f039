//! Containers in ordinary data: some vendor libraries load theirs through the driver's interface, so that no section
//! and no registration leads to them.

use std::collections::BTreeMap;

use object::elf;

use super::fatbin::{CONTAINER_START, Fatbin, SECTIONS, fatbin_within};
use crate::budget::Budget;
use crate::elf::{Image, Section};
use crate::fs::Content;

/// Ranges of a file that do not lie in each other.
#[derive(Default)]
pub(in crate::gpu) struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    /// Adds a range, unless it reaches into one that is here; an empty one is nowhere.
    pub(in crate::gpu) fn add(&mut self, from: u64, to: u64) -> bool {
        let free = from >= to || self.first_before(to).is_none_or(|(_, end)| end <= from);
        if free && from < to {
            self.0.insert(from, to);
        }
        free
    }

    /// The last range that begins before `at`.
    fn first_before(&self, at: u64) -> Option<(u64, u64)> {
        self.0.range(..at).next_back().map(|(from, to)| (*from, *to))
    }

    /// Whether a range that ends at `end`, and begins in none of these, reaches into one.
    fn reaches_into(&self, from: u64, end: u64) -> bool {
        self.first_before(end).is_some_and(|(start, _)| start >= from)
    }
}

/// Containers that begin in these parts of the file (offsets, ascending) and in no range that was seen; as far as the
/// budget reaches. What is mapped of `file`, whose bytes these are, is given back behind the search.
pub(in crate::gpu) fn containers_in<'a>(
    bytes: &'a [u8],
    parts: &[(u64, u64)],
    seen: &Ranges,
    budget: &Budget,
    file: Option<&Content>,
) -> Vec<Fatbin<'a>> {
    let mut containers = Vec::new();
    let mut start = 0;
    for (from, to) in parts {
        let end = usize::try_from(*to).unwrap_or(usize::MAX).min(bytes.len());
        start = start.max(usize::try_from(*from).unwrap_or(usize::MAX));
        while start < end {
            // A pattern may begin in one window and end in the next.
            let window = &bytes[start..end.min(start + WINDOW + CONTAINER_START.len() - 1)];
            let Some(found) = memchr::memmem::find(window, &CONTAINER_START) else {
                file.inspect(|file| file.release(window));
                start = end.min(start + WINDOW);
                continue;
            };
            let at = (start + found) as u64;
            start += found + CONTAINER_START.len();
            if let Some((_, end)) = seen.first_before(at + 1).filter(|(_, end)| at < *end) {
                start = end as usize;
                continue;
            }
            // The pattern alone proves nothing: what does not read as a container, or reaches into one, is none.
            if let Ok(container) = fatbin_within(bytes, at, budget)
                && !container.entries.is_empty()
                && !seen.reaches_into(at, at + container.size)
            {
                start = (at + container.size) as usize;
                containers.push(container);
            }
            if budget.finish().is_err() {
                return containers;
            }
        }
    }
    containers
}

/// Bytes that are searched before their memory is given back.
const WINDOW: usize = 8 << 20;

/// What links with CUDA names by it: `libcuda.so.1`, `libcudart.so.13`. CUDA's runtime holds the driver's name as a
/// text, also where it is linked in.
const DRIVER: &[u8] = b"libcuda";
/// The part that the names of all functions have that register device code.
const REGISTERS: &[u8] = b"__cudaRegister";
/// How the driver is opened by name.
const OPENS: &[u8] = b"dlopen";

/// Which parts of a file may hold containers that nothing leads to: its loaded data, if the file has to do with CUDA.
/// It does if it holds device code where tools look for it, if its dynamic names tell so, or if it opens libraries and
/// the driver's name stands in its constants.
pub(in crate::gpu) fn searched(image: &Image<'_>) -> Vec<(u64, u64)> {
    let in_file = || image.sections.iter().filter(|section| section.in_file());
    let holds = |section: &Section, word: &[u8]| {
        image.section_bytes(section).is_some_and(|bytes| memchr::memmem::find(bytes, word).is_some())
    };
    let constants_name_driver =
        || in_file().any(|section| section.name.starts_with(".rodata") && holds(section, DRIVER));
    let concerns_cuda = |section: &Section| match section.name.as_str() {
        ".nvFatBinSegment" => true,
        ".dynstr" => {
            holds(section, DRIVER) || holds(section, REGISTERS) || (holds(section, OPENS) && constants_name_driver())
        }
        name => SECTIONS.contains(&name),
    };
    if !in_file().any(concerns_cuda) {
        return Vec::new();
    }
    let is_data = |section: &&Section| {
        let flags = section.flags.0;
        flags & elf::SHF_ALLOC.0 != 0 && flags & elf::SHF_EXECINSTR.0 == 0 && !SECTIONS.contains(&&*section.name)
    };
    let end = |section: &Section| section.offset.saturating_add(section.size);
    let mut parts: Vec<(u64, u64)> = in_file().filter(is_data).map(|section| (section.offset, end(section))).collect();
    parts.sort_unstable();
    parts
}
