//! Everything that a file holds for GPUs, whatever kind of file it is.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use super::code_image::{CodeImage, DeviceCode, Kernel, Look};
use super::code_place::CodePlace;
use super::containers::fatbin::{
    CodeKind, Fatbin, FatbinEntry, Fatbins, SECTIONS, Unpacker, fatbins_within, is_fatbin,
};
use super::containers::in_data::{Ranges, containers_in, searched};
use super::containers::members::archive_members;
use super::containers::offload::{self, is_offload_bundle, offload_bundles_within};
use super::cubin::is_cubin;
use super::entry::{SMALL, read_code, read_listed};
use super::ptx::is_ptx;
use super::shader::webgpu::{is_wgsl, webgpu_within};
use super::spirv::{SpirvEntryPoint, SpirvModule, is_spirv, spirv_within};
use super::{CodeError, KernelSignature};
use crate::arch::Capability;
use crate::budget::Budget;
use crate::elf::{Image, is_elf};
use crate::fs::Content;
use crate::parallel::{side_by_side, threads};

/// All device code in the bytes of a file, with its kernels: an ELF file of the host, a cubin, a
/// fatbin, PTX text, or a static archive of such. Any other file simply has none.
///
/// # Errors
/// The file itself cannot be read. What is wrong with one piece of code stands in
/// [`DeviceCode::unexamined`].
pub fn device_code(bytes: &[u8]) -> Result<DeviceCode, CodeError> {
    device_code_with(bytes, Look { kernels: true, deep: false })
}

/// As [`device_code`], looking as closely as `look` says.
///
/// # Errors
/// As [`device_code`].
pub fn device_code_with(bytes: &[u8], look: Look) -> Result<DeviceCode, CodeError> {
    device_code_within(bytes, look, &Budget::of(bytes), None)
}

/// As [`device_code_with`], within a budget that others share. Of `file`, whose bytes these are, the memory of what was
/// read is given back on the way.
///
/// # Errors
/// As [`device_code`].
pub fn device_code_within(
    bytes: &[u8],
    look: Look,
    budget: &Budget,
    file: Option<&Content>,
) -> Result<DeviceCode, CodeError> {
    let mut search = Search {
        look,
        budget: budget.clone(),
        file,
        found: DeviceCode::default(),
        noted: BTreeSet::new(),
        signatures: HashSet::new(),
    };
    if bytes.starts_with(object::archive::MAGIC.as_slice()) || bytes.starts_with(object::archive::THIN_MAGIC.as_slice())
    {
        search.archive(bytes)?;
    } else {
        search.file(bytes, &CodePlace::default())?;
    }
    search.unspent();
    Ok(search.found)
}

/// First bytes of loose LTO-IR (`nvcc -ltoir`, `libnccl_device.ltoir`); what follows is not documented.
const LTO_IR: [u8; 4] = [0xed, 0x43, 0x4e, 0x7f];

/// Whether a file that begins with these bytes may hold device code, by the first bytes alone. PTX may begin with
/// any comment, so text that begins with one may hold some.
pub fn may_hold_code(head: &[u8]) -> bool {
    is_elf(head)
        || head.starts_with(object::archive::MAGIC.as_slice())
        || head.starts_with(object::archive::THIN_MAGIC.as_slice())
        || is_fatbin(head)
        || is_spirv(head)
        || is_offload_bundle(head)
        || head.starts_with(&LTO_IR)
        || matches!(head.trim_ascii_start(), [] | [b'/'] | [b'.', ..] | [b'/', b'/' | b'*', ..])
}

/// Where HIP keeps its bundles (clang, "HIP Support").
const HIP_BUNDLES: &str = ".hip_fatbin";
/// Relocatable HIP code: one section for each device.
const HIP_PIECE: &str = "__CLANG_OFFLOAD_BUNDLE__";
/// Where clang's newer driver keeps device code of OpenMP, and of CUDA and HIP if asked to.
const LLVM_OFFLOADING: &str = ".llvm.offloading";

/// Bundles of linked code have the section's name, those of objects may have a suffix behind it; the section of
/// wrappers is none of them.
fn is_hip(name: &str) -> bool {
    name == HIP_BUNDLES || name.starts_with(".hip_fatbin.") || name.starts_with(HIP_PIECE)
}

fn entry_point(entry: &SpirvEntryPoint) -> Kernel {
    Kernel { signature: KernelSignature::new(entry.name.clone(), Vec::new()).into(), resources: None }
}

/// Objects made with `-ffat-lto-objects` hold machine code beside the compiler's intermediate code.
fn has_machine_code(image: &Image<'_>) -> bool {
    image.sections.iter().any(|section| section.name.starts_with(".text") && section.size > 0)
}

struct Search<'s> {
    look: Look,
    budget: Budget,
    /// What is mapped of the file.
    file: Option<&'s Content>,
    found: DeviceCode,
    /// Capabilities of which some machine code has told its compiler.
    noted: BTreeSet<Capability>,
    /// Each signature once: the code for every capability has the same.
    signatures: HashSet<Arc<KernelSignature>>,
}

/// From so many bytes of containers on, threads are worth starting.
const WORTH_THREADS: u64 = 1 << 20;
/// Entries, or groups of them, that are read before their images are counted.
const RUNS_AT_ONCE: usize = 256;
/// Bytes of containers that are listed before they are read.
const READ_AT_ONCE: usize = 16 << 20;

/// Of machine code up to this size, one piece for each capability is unpacked for its compiler's note, whatever was
/// asked for: without, a file whose PTX was taken out would seem to need an older driver.
const SAMPLED: u64 = 4 << 20;

/// About the bytes that is printed of one piece of code.
const PRINTED: usize = 512;

impl Search<'_> {
    fn archive(&mut self, bytes: &[u8]) -> Result<(), CodeError> {
        let budget = self.budget.clone();
        for member in archive_members(bytes, &budget)? {
            let (name, data) = member?;
            let place = CodePlace::of_member(&name);
            if let Err(error) = self.file(data, &place) {
                self.gap(&place, &error.to_string());
            }
        }
        Ok(())
    }

    /// Says that something was not examined. When the budget is spent, that is said once, at the end.
    fn gap(&mut self, place: &CodePlace, reason: &str) {
        if self.budget.finish().is_ok() && self.budget.keep_text(128 + place.len() + reason.len()).is_some() {
            let gap = if place.is_file() { reason.to_owned() } else { format!("{place}: {reason}") };
            self.found.unexamined.push(gap);
        }
    }

    /// An image at its place; `None` when the budget is spent.
    fn image(&mut self, mut image: CodeImage) -> Option<()> {
        for kernel in &mut image.kernels {
            match self.signatures.get(&kernel.signature) {
                Some(known) => kernel.signature = Arc::clone(known),
                None => drop(self.signatures.insert(Arc::clone(&kernel.signature))),
            }
        }
        image.kernels.shrink_to_fit();
        let texts = image.place.len() + image.label.as_ref().map_or(0, String::len);
        self.budget.keep_text(2 * size_of::<CodeImage>() + PRINTED + 2 * texts)?;
        self.found.images.push(image);
        Some(())
    }

    /// Says what the budget left out.
    fn unspent(&mut self) {
        if let Err(over) = self.budget.finish() {
            self.found.unexamined.push(over.to_string());
        }
    }

    fn file(&mut self, bytes: &[u8], place: &CodePlace) -> Result<(), CodeError> {
        if is_cubin(bytes) {
            self.loose(CodeKind::Sass, bytes, place);
        } else if is_elf(bytes) {
            self.elf(bytes, place)?;
        } else if is_fatbin(bytes) {
            self.containers(fatbins_within(bytes, &self.budget)?, 0, place, false);
        } else if is_spirv(bytes) {
            self.spirv(bytes, place);
        } else if is_wgsl(bytes) {
            self.wgsl(bytes, place);
        } else if is_offload_bundle(bytes) {
            self.bundles(bytes, 0, place);
        } else if bytes.starts_with(&LTO_IR) {
            self.image(CodeImage::new(CodeKind::LtoIr, place, 0, bytes.len() as u64));
        } else if is_ptx(bytes) {
            self.loose(CodeKind::Ptx, bytes, place);
        } else if self.look.deep {
            self.hidden(bytes, &[(0, bytes.len() as u64)], place, &Ranges::default());
        }
        Ok(())
    }

    fn elf(&mut self, bytes: &[u8], place: &CodePlace) -> Result<(), CodeError> {
        let image = Image::parse_within(bytes, self.budget.clone())?;
        let slim = !has_machine_code(&image);
        let before = self.found.images.len();
        let mut seen = Ranges::default();
        for section in image.sections.iter().filter(|section| section.in_file()) {
            let name = section.name.as_str();
            let place = || place.section(name);
            if name.starts_with(".gnu.lto_.symtab") && slim {
                let what = "holds only the compiler's intermediate code (slim LTO): what is in it, nobody can say";
                self.gap(&place(), what);
            } else if name == LLVM_OFFLOADING {
                let what = "offloading images of LLVM, which simpack does not list";
                self.gap(&place(), what);
            } else if !SECTIONS.contains(&name) && !is_hip(name) {
                continue;
            } else if let Some(content) = image.section_bytes(section) {
                if seen.add(section.offset, section.offset + section.size) {
                    self.section(name, content, section.offset, &place());
                } else {
                    self.gap(&place(), "lies in another section with device code");
                }
            } else {
                self.gap(&place(), "reaches past the end of the file");
            }
        }
        if image.header.kind != object::elf::ET_REL {
            self.found.images[before..].iter_mut().for_each(|image| image.left_by_link = image.relocatable);
        }
        let parts = if self.look.deep { vec![(0, bytes.len() as u64)] } else { searched(&image) };
        self.hidden(bytes, &parts, place, &seen);
        Ok(())
    }

    /// A section that holds device code.
    fn section(&mut self, name: &str, content: &[u8], at: u64, place: &CodePlace) {
        if let Some(id) = name.strip_prefix(HIP_PIECE) {
            let mut image = CodeImage::new(CodeKind::Offload, place, at, content.len() as u64);
            image.label = Some(offload::device(id).to_owned());
            image.relocatable = true;
            if !id.starts_with("host") {
                self.image(image);
            }
        } else if is_hip(name) {
            self.bundles(content, at, place);
        } else {
            self.linked(content, at, place);
        }
    }

    /// The containers of a section, a part at a time: what was read of the file goes again.
    fn linked(&mut self, content: &[u8], at: u64, place: &CodePlace) {
        let budget = self.budget.clone();
        let (mut part, mut begin) = (Vec::new(), 0);
        for container in Fatbins::new(content, &budget) {
            match container {
                Ok(container) => {
                    let end = (container.at + container.size) as usize;
                    part.push(container);
                    if end - begin >= READ_AT_ONCE {
                        self.containers(std::mem::take(&mut part), at, place, false);
                        self.release(&content[begin..end]);
                        begin = end;
                    }
                }
                Err(error) => {
                    self.containers(std::mem::take(&mut part), at, place, false);
                    self.gap(place, &error.to_string());
                }
            }
            if budget.finish().is_err() {
                return;
            }
        }
        self.containers(part, at, place, false);
    }

    /// Gives back what is mapped of bytes that were read.
    fn release(&self, bytes: &[u8]) {
        if let Some(file) = self.file {
            file.release(bytes);
        }
    }

    /// Bundles of clang: one image for each device.
    fn bundles(&mut self, bytes: &[u8], base: u64, place: &CodePlace) {
        let bundles = match offload_bundles_within(bytes, &self.budget) {
            Ok(bundles) => bundles,
            Err(error) => return self.gap(place, &error.to_string()),
        };
        for bundle in bundles {
            let devices = bundle.entries.iter().filter(|entry| !entry.is_host()).count().max(1) as u64;
            for entry in bundle.entries.iter().filter(|entry| !entry.is_host()) {
                let inside = if bundle.compressed { 0 } else { entry.offset };
                let mut image = CodeImage::new(CodeKind::Offload, place, base + bundle.at + inside, entry.size);
                // Of a compressed bundle, each entry takes its share.
                image.stored_size = if bundle.compressed { bundle.size / devices } else { entry.size };
                image.label = Some(entry.device().to_owned());
                if self.image(image).is_none() {
                    return;
                }
            }
        }
    }

    /// A SPIR-V module.
    fn spirv(&mut self, bytes: &[u8], place: &CodePlace) {
        let mut image = CodeImage::new(CodeKind::Spirv, place, 0, bytes.len() as u64);
        let read = spirv_within(bytes, &self.budget);
        if let Ok(module) = &read {
            image.version = (u16::from(module.version.0), u16::from(module.version.1));
        }
        self.shader(image, read, place);
    }

    /// A shader for WebGPU.
    fn wgsl(&mut self, bytes: &[u8], place: &CodePlace) {
        let image = CodeImage::new(CodeKind::Wgsl, place, 0, bytes.len() as u64);
        let read = webgpu_within(bytes, &self.budget);
        self.shader(image, read, place);
    }

    /// A shader: its kernels are its entry points.
    fn shader(&mut self, mut image: CodeImage, read: Result<SpirvModule, CodeError>, place: &CodePlace) {
        match read {
            Ok(module) => {
                if self.look.kernels {
                    image.kernels = module.entry_points.iter().map(entry_point).collect();
                }
                module.unexamined.iter().for_each(|reason| self.gap(place, reason));
                image.spirv = Some(module);
            }
            Err(error) => self.gap(place, &error.to_string()),
        }
        self.image(image);
    }

    /// Containers in parts of the bytes, but in the ranges that were seen.
    fn hidden(&mut self, bytes: &[u8], parts: &[(u64, u64)], place: &CodePlace, seen: &Ranges) {
        let place = place.section("data");
        for container in containers_in(bytes, parts, seen, &self.budget, self.file) {
            self.containers(vec![container], 0, &place, true);
        }
    }

    fn containers(&mut self, containers: Vec<Fatbin<'_>>, base: u64, place: &CodePlace, hidden: bool) {
        let begins: Vec<u64> = containers.iter().map(|container| container.at).collect();
        let container = |at: u64| begins[..begins.partition_point(|begin| *begin <= at)].last().copied().unwrap_or(at);
        let entries: Vec<FatbinEntry<'_>> = containers.into_iter().flat_map(|container| container.entries).collect();
        let noted = self.look_for_notes(&entries);
        let listed = |entry: &FatbinEntry<'_>| {
            let mut image = CodeImage::new(entry.kind, place, base + entry.at, entry.stored_size);
            image.container = base + container(entry.at);
            image.capability = entry.capability;
            image.version = entry.version;
            image.unpacked_size = entry.unpacked_size;
            image.debug = entry.debug;
            image.relocatable = place.section.as_deref() == Some("__nv_relfatbin");
            image.hidden = hidden;
            image
        };
        // Members of one group are unpacked together, one after another.
        let runs: Vec<&[FatbinEntry<'_>]> = entries.chunk_by(FatbinEntry::shares_group).collect();
        let stored = entries.iter().fold(0u64, |sum, entry| sum.saturating_add(entry.stored_size));
        let most = if self.look.kernels && stored >= WORTH_THREADS { threads() } else { 1 };
        // A part at a time, so that a file that spends its budget is not read to its end.
        for runs in runs.chunks(RUNS_AT_ONCE) {
            let (look, budget) = (self.look, self.budget.clone());
            let read = side_by_side(
                runs,
                most,
                || Unpacker::new(&budget),
                |unpacker, run| {
                    let one =
                        |entry| read_listed(entry, listed(entry), look, noted.contains(&entry.at), unpacker, &budget);
                    run.iter().map(one).collect::<Vec<_>>()
                },
            );
            for (image, reason) in read.into_iter().flatten() {
                if let Some(reason) = reason {
                    self.gap(place, &reason);
                }
                if self.image(image).is_none() {
                    return;
                }
            }
            runs.iter().flat_map(|run| run.first()).for_each(|entry| self.release(entry.stored()));
        }
    }

    /// Where the machine code stands that is read for its compiler's note although no kernels were asked for: one piece
    /// for each capability.
    fn look_for_notes(&mut self, entries: &[FatbinEntry<'_>]) -> BTreeSet<u64> {
        let is_machine_code = |entry: &&FatbinEntry<'_>| entry.kind == CodeKind::Sass && !self.look.kernels;
        let mut found = BTreeSet::new();
        for entry in entries.iter().filter(is_machine_code) {
            let Some(capability) = entry.capability.filter(|_| (SMALL..=SAMPLED).contains(&entry.unpacked_size)) else {
                continue;
            };
            if self.noted.insert(capability) {
                found.insert(entry.at);
            }
        }
        found
    }

    /// A file that is one piece of code.
    fn loose(&mut self, kind: CodeKind, bytes: &[u8], place: &CodePlace) {
        let mut image = CodeImage::new(kind, place, 0, bytes.len() as u64);
        if let Err(error) = read_code(kind, bytes, &self.budget, &mut image) {
            self.gap(place, &error.to_string());
        }
        if !self.look.kernels {
            image.kernels.clear();
        }
        self.image(image);
    }
}

#[cfg(test)]
#[path = "device_code_tests.rs"]
mod tests;
