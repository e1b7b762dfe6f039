//! A file to edit, its tables read once for everything that is asked of it.

use super::intent::State;
use crate::elf::{Dynamic, ElfError, FileKind, Image};

/// The tables of one file.
pub struct Source<'a> {
    /// Headers, segments, sections.
    pub image: Image<'a>,
    /// The dynamic section, if there is one.
    pub dynamic: Option<Dynamic<'a>>,
    /// The editable texts; none without a dynamic section.
    pub state: State,
}

impl<'a> Source<'a> {
    /// Reads the tables of the file with these bytes.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(bytes: &'a [u8]) -> Result<Self, ElfError> {
        let image = Image::parse(bytes)?;
        let dynamic = Dynamic::parse(&image)?;
        let state = dynamic.as_ref().map_or_else(State::default, |dynamic| State::of(&image, dynamic));
        image.budget.finish()?;
        Ok(Self { image, dynamic, state })
    }

    /// What the file is for.
    pub fn kind(&self) -> FileKind {
        FileKind::of(&self.image, self.dynamic.as_ref())
    }
}
