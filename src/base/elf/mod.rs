//! ELF files over bytes: what one says ([`facts`]), its raw tables ([`Image`]).
//!
//! Nothing here touches a disk, a clock or the environment: callers bring the bytes, usually from a
//! memory map, and only the tables are read, so that a library of hundreds of megabytes costs a few
//! pages. 64-bit little-endian is read; everything else is recognised and refused with its reason.

pub(crate) mod bytes;
mod demangle;
mod dynamic;
pub mod edit;
mod error;
pub(crate) mod facts;
#[cfg(test)]
pub(crate) mod fixture;
mod image;
mod instructions;
pub mod ld_cache;
mod names;
mod property;
mod read_facts;
pub mod resolve;
mod search_entry;
mod symbols;

pub use demangle::demangled;
pub use demangle::most_words;
pub use dynamic::{Dynamic, DynamicEntry};
pub use error::ElfError;
pub use facts::{Export, Facts, FileKind, Import, Machine, Relro, SectionFact, Stack, highest};
pub use image::{Header, Image, Section, Segment, is_elf};
pub use instructions::{HostCode, Need, Use, host_code};
pub use names::{library_names, library_stem, soname_major};
pub use property::isa_level;
pub use read_facts::{facts, facts_of};
pub use search_entry::{SearchEntry, search_entry};
pub use symbols::{Symbol, SymbolTable, Versions};
