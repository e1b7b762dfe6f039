//! What is wanted: the edits, the state before, the state after.

use object::elf;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::elf::bytes::Bytes;
use crate::elf::{Dynamic, ElfError, Image};

/// Which tag holds the search path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PathTag {
    /// `DT_RUNPATH`: for the file's own needs, after `LD_LIBRARY_PATH`.
    #[default]
    Runpath,
    /// `DT_RPATH`: also for the needs of its needs, before `LD_LIBRARY_PATH`.
    Rpath,
}

/// Where added directories go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// Behind those already there.
    #[default]
    Append,
    /// Before those already there.
    Prepend,
}

/// A change of the search path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SearchPathEdit {
    /// Exactly these directories.
    Set {
        /// Directories in order; none removes the entry.
        directories: Vec<String>,
        /// Tag to hold them; the other tag goes.
        tag: PathTag,
    },
    /// These directories as well, those already there excepted.
    Add {
        /// Directories in order.
        directories: Vec<String>,
        /// Tag to hold the result; the other tag goes.
        tag: PathTag,
        /// Where.
        place: Place,
    },
    /// No search path at all.
    Remove,
}

/// A change of the list of needed libraries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NeededEdit {
    /// Needs this one too (behind the others); nothing to do if it does already.
    Add(String),
    /// Does not need this one; nothing to do if it does not.
    Remove(String),
    /// Needs another in its place.
    Replace {
        /// Name there now.
        from: String,
        /// Name to be there.
        to: String,
    },
}

/// All edits of one call.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Edits {
    /// Search path.
    pub search_path: Option<SearchPathEdit>,
    /// Name of the library.
    pub soname: Option<String>,
    /// Needed libraries.
    pub needed: Vec<NeededEdit>,
    /// Program interpreter.
    pub interpreter: Option<String>,
}

/// The editable texts of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct State {
    /// `DT_SONAME`.
    pub soname: Option<String>,
    /// `DT_NEEDED`, in order.
    pub needed: Vec<String>,
    /// `DT_RPATH`.
    pub rpath: Option<String>,
    /// `DT_RUNPATH`.
    pub runpath: Option<String>,
    /// `PT_INTERP`.
    pub interpreter: Option<String>,
}

impl State {
    pub(super) fn of(image: &Image<'_>, dynamic: &Dynamic<'_>) -> Self {
        let interpreter = image
            .segment(elf::PT_INTERP)
            .and_then(|segment| image.segment_bytes(segment))
            .and_then(|bytes| Bytes(bytes).string(0, &image.budget));
        Self {
            soname: dynamic.text(elf::DT_SONAME),
            needed: dynamic.texts(elf::DT_NEEDED),
            rpath: dynamic.text(elf::DT_RPATH),
            runpath: dynamic.text(elf::DT_RUNPATH),
            interpreter,
        }
    }

    /// The editable texts of a file.
    ///
    /// # Errors
    /// The file cannot be read. A file without a dynamic section has no texts.
    pub fn read(bytes: &[u8]) -> Result<Self, ElfError> {
        let image = Image::parse(bytes)?;
        let dynamic = Dynamic::parse(&image)?;
        let state = dynamic.map_or_else(Self::default, |dynamic| Self::of(&image, &dynamic));
        image.budget.finish()?;
        Ok(state)
    }

    /// The state after `edits`.
    ///
    /// # Errors
    /// The edits contradict each other, or a text cannot be stored.
    pub fn after(&self, edits: &Edits) -> Result<Self, ElfError> {
        check_texts(edits)?;
        let mut state = self.clone();
        if let Some(edit) = &edits.search_path {
            state.edit_search_path(edit);
        }
        if let Some(soname) = &edits.soname {
            state.soname = Some(soname.clone());
        }
        state.edit_needed(&edits.needed)?;
        if let Some(interpreter) = &edits.interpreter {
            if self.interpreter.is_none() {
                return Err(ElfError::refused(
                    "it has no program interpreter to replace",
                    "only dynamically linked executables have one",
                ));
            }
            state.interpreter = Some(interpreter.clone());
        }
        Ok(state)
    }

    fn edit_search_path(&mut self, edit: &SearchPathEdit) {
        let (directories, tag) = match edit {
            SearchPathEdit::Remove => (Vec::new(), PathTag::Runpath),
            SearchPathEdit::Set { directories, tag } => (directories.clone(), *tag),
            SearchPathEdit::Add { directories, tag, place } => {
                let text = self.runpath.as_deref().or(self.rpath.as_deref()).unwrap_or_default();
                let mut path: Vec<String> = text.split(':').filter(|part| !part.is_empty()).map(String::from).collect();
                // One entry may join several, as the file does.
                let mut fresh: Vec<String> = Vec::new();
                for directory in directories.iter().flat_map(|entry| entry.split(':')).filter(|it| !it.is_empty()) {
                    if !path.iter().chain(&fresh).any(|known| known == directory) {
                        fresh.push(directory.to_owned());
                    }
                }
                match place {
                    Place::Append => path.extend(fresh),
                    Place::Prepend => path.splice(..0, fresh).for_each(drop),
                }
                (path, *tag)
            }
        };
        let text = (!directories.is_empty()).then(|| directories.join(":"));
        (self.runpath, self.rpath) = match tag {
            PathTag::Runpath => (text, None),
            PathTag::Rpath => (None, text),
        };
    }

    fn edit_needed(&mut self, edits: &[NeededEdit]) -> Result<(), ElfError> {
        let before = self.needed.clone();
        let mut touched: Vec<&str> = Vec::new();
        for edit in edits {
            let name = match edit {
                NeededEdit::Add(name) | NeededEdit::Remove(name) => name,
                NeededEdit::Replace { from, .. } => from,
            };
            if touched.contains(&name.as_str()) {
                return Err(ElfError::Contradiction(format!("two different edits of the needed library {name}")));
            }
            touched.push(name);
        }
        for edit in edits {
            match edit {
                NeededEdit::Add(name) if !self.needed.contains(name) => self.needed.push(name.clone()),
                NeededEdit::Add(_) => {}
                NeededEdit::Remove(name) => self.needed.retain(|needed| needed != name),
                NeededEdit::Replace { from, to } if touched.contains(&to.as_str()) && from != to => {
                    return Err(ElfError::Contradiction(format!("{to} is put in the place of {from} and edited too")));
                }
                NeededEdit::Replace { from, to } => {
                    // The file may have the new name already: then the old one just goes.
                    if before.contains(to) && from != to {
                        self.needed.retain(|needed| needed != from);
                    } else {
                        self.needed.iter_mut().filter(|needed| *needed == from).for_each(|needed| *needed = to.clone());
                    }
                }
            }
        }
        Ok(())
    }
}

fn check_texts(edits: &Edits) -> Result<(), ElfError> {
    let bad = |what: &str, text: &str| {
        Err(ElfError::Contradiction(format!("{what} `{}` is empty or holds a NUL byte", text.escape_default())))
    };
    let wrong = |text: &str| text.is_empty() || text.contains('\0');
    if let Some(SearchPathEdit::Set { directories, .. } | SearchPathEdit::Add { directories, .. }) = &edits.search_path
    {
        for directory in directories {
            if wrong(directory) {
                return bad("the directory", directory);
            }
        }
    }
    for edit in &edits.needed {
        let names: &[&String] = match edit {
            NeededEdit::Add(name) | NeededEdit::Remove(name) => &[name],
            NeededEdit::Replace { from, to } => &[from, to],
        };
        for name in names {
            if wrong(name) {
                return bad("the needed library", name);
            }
        }
    }
    for (what, text) in [("the SONAME", &edits.soname), ("the interpreter", &edits.interpreter)] {
        if let Some(text) = text.as_deref().filter(|text| wrong(text)) {
            return bad(what, text);
        }
    }
    Ok(())
}
