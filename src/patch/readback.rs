//! Reading back with a reader that shares no code with the editor, at the level the loader uses:
//! header, program headers, dynamic section.

use std::fs::File;
use std::path::Path;

use goblin::container::{Container, Ctx};
use goblin::elf::dynamic::{DT_NEEDED, DT_RPATH, DT_RUNPATH, DT_SONAME};
use goblin::elf::program_header::PT_INTERP;
use goblin::elf::{Dynamic, Elf, ProgramHeader};
use goblin::strtab::Strtab;

use crate::elf::edit::State;
use crate::error::{Error, Result};
use crate::fs::Content;

/// Reads the editable texts of a file that was just written, of `length` bytes, and compares them with
/// `wanted`. `path` names it in errors.
///
/// # Errors
/// The file cannot be read, or holds something else.
pub fn read_back(path: &Path, file: &File, length: u64, wanted: &State) -> Result<()> {
    let content = Content::of(file, length).map_err(|error| Error::file(path, error))?;
    let found = state(content.bytes())
        .map_err(|error| Error::bug(format!("{}: cannot be read back: {error}", path.display())))?;
    if found == *wanted {
        return Ok(());
    }
    Err(Error::bug(format!("{}: reads back differently from what was written", path.display()))
        .detail(format!("wanted {wanted:?}"))
        .detail(format!("found  {found:?}")))
}

fn state(bytes: &[u8]) -> goblin::error::Result<State> {
    let header = Elf::parse_header(bytes)?;
    let context = Ctx::new(Container::Big, header.endianness()?);
    let segments = ProgramHeader::parse(bytes, header.e_phoff as usize, usize::from(header.e_phnum), context)?;
    let mut state = State::default();
    if let Some(segment) = segments.iter().find(|segment| segment.p_type == PT_INTERP) {
        let text = bytes.get(segment.file_range()).unwrap_or_default();
        let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
        state.interpreter = Some(String::from_utf8_lossy(&text[..end]).into_owned());
    }
    let Some(dynamic) = Dynamic::parse(bytes, &segments, context)? else { return Ok(state) };
    let strings = bytes.get(dynamic.info.strtab..).and_then(|rest| rest.get(..dynamic.info.strsz)).unwrap_or_default();
    let strings = Strtab::from_slice_unparsed(strings, 0, strings.len(), 0);
    for entry in &dynamic.dyns {
        let text = || strings.get_unsafe(entry.d_val as usize).map(str::to_owned);
        match entry.d_tag {
            DT_NEEDED => state.needed.extend(text()),
            DT_SONAME => state.soname = text(),
            DT_RPATH => state.rpath = text(),
            DT_RUNPATH => state.runpath = text(),
            _ => {}
        }
    }
    Ok(state)
}
