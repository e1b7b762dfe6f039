//! Members of static archives, whose names may not be longer than a path.

use object::read::archive::ArchiveFile;

use crate::budget::Budget;
use crate::gpu::CodeError;

/// No name of a member is longer (`PATH_MAX`).
pub(in crate::gpu) const LONGEST_NAME: usize = 4096;
/// Bytes of a member's header.
const HEADER: usize = 60;

/// Members of the static archive `bytes`, each with its name.
///
/// # Errors
/// It is damaged, or names its members only (thin archives). A damaged member ends the list.
pub fn archive_members<'a>(
    bytes: &'a [u8],
    budget: &'a Budget,
) -> Result<impl Iterator<Item = Result<(String, &'a [u8]), CodeError>>, CodeError> {
    let broken = |error: object::Error| CodeError::damaged(format!("static archive: {error}"));
    // Members name their names by position: with one long name, the end of each would be searched for again.
    if long_names(bytes).is_some_and(|names| names.split(|byte| *byte == b'\n').any(|name| name.len() > LONGEST_NAME)) {
        return Err(CodeError::damaged("static archive: the name of a member is longer than any path"));
    }
    let archive = ArchiveFile::parse(bytes).map_err(broken)?;
    if archive.is_thin() {
        return Err(CodeError::Unsupported("a thin static archive, which only names its members,"));
    }
    let mut ended = false;
    Ok(archive.members().map_while(move |member| {
        if std::mem::replace(&mut ended, member.is_err()) {
            return None;
        }
        Some(member.map_err(broken).and_then(|member| {
            let without_end = || CodeError::damaged("static archive: members without an end");
            budget.work(256 + 4 * member.name().len() as u64).ok_or_else(|| CodeError::stopped(budget, without_end))?;
            Ok((String::from_utf8_lossy(member.name()).into_owned(), member.data(bytes).map_err(broken)?))
        }))
    }))
}

/// The member that holds long names, if headers lead to one.
fn long_names(bytes: &[u8]) -> Option<&[u8]> {
    let mut at = object::archive::MAGIC.len();
    loop {
        let header = bytes.get(at..at + HEADER)?;
        let size: usize = std::str::from_utf8(&header[48..58]).ok()?.trim_end().parse().ok()?;
        let content = at + HEADER;
        if header.starts_with(b"// ") {
            return bytes.get(content..content.checked_add(size)?);
        }
        at = content.checked_add(size)?.checked_next_multiple_of(2)?;
    }
}
