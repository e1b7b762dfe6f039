//! One step that asks the host how structures lie, by its compiler or by a command, and compares them with the table's.

use std::path::{Path, PathBuf};

use super::sandbox::toolset::Toolset;
use crate::error::{Error, ErrorKind, Result};
use crate::fs;
use crate::layout::{LayoutError, Structure, StructuresDump, anchor, differences, dwarf_structures};
use crate::near::nearest;
use crate::process::{Call, Outcome};
use crate::recipe::{HeaderLanguage, HostType, LayoutSource};

/// What a step about structures is called with.
pub(super) struct StructuresStep<'a> {
    /// Name of the kernel group.
    pub group: &'a str,
    pub by: &'a LayoutSource,
    pub types: &'a [HostType],
    /// As the table has them; none where the host's are asked for.
    pub declared: &'a [Structure],
    /// Copy of what is read.
    pub source: &'a Path,
    /// Directory of this step.
    pub work: &'a Path,
}

/// File of the result: what the host says, as JSON.
pub const STRUCTURES_FILE: &str = "structures.json";
/// What the compiler makes.
const OBJECT: &str = "structures.o";
/// Bytes that a command may print.
const MOST_PRINTED: usize = 16 << 20;

impl StructuresStep<'_> {
    pub(super) fn call(&self, tools: &Toolset) -> Result<Call> {
        match self.by {
            LayoutSource::Command { command } => tools.command(command, (self.source, self.work)),
            LayoutSource::Headers { headers, language, flags } => {
                let unit = self.work.join(format!("structures.{}", language.name()));
                fs::write_atomic(&unit, self.unit(headers).as_bytes())?;
                let command = if *language == HeaderLanguage::C { &tools.cc } else { &tools.cxx };
                let Some((program, args)) = command.split_first() else {
                    return Err(Error::bug("no compiler for the structures of the host"));
                };
                let call = tools.call(program, self.work)?.dir(self.source).args(args).args(flags);
                // Debug information of every type that is declared, where it can be read: types that nothing uses are left
                // out, and those of a class elsewhere than its constructor, unless the compiler is asked.
                let call = call.args(["-iquote.", "-x", language.name(), "-c", "-g", "-fno-lto"]);
                let call = call.args(["-fno-eliminate-unused-debug-types", "-gz=none", "-w"]);
                Ok(call.args(["-o", fs::utf8(&self.work.join(OBJECT))?, fs::utf8(&unit)?]))
            }
        }
    }

    /// A translation unit with a pointer to each type, whose size makes the compiler look at all of it. What it says of these
    /// lines names the type by its place in the recipe.
    fn unit(&self, headers: &[String]) -> String {
        let mut text: String = headers.iter().map(|header| format!("#include \"{header}\"\n")).collect();
        for (number, one) in self.types.iter().enumerate() {
            let (anchor, host, line) = (anchor(number), &one.host, number + 1);
            text.push_str(&format!("#line {line} \"types of [kernels.{}.structures]\"\n", self.group));
            text.push_str(&format!("{host} *{anchor}; enum {{ size_of_{anchor} = sizeof({host}) }};\n"));
        }
        text
    }

    /// The directory with what the host says.
    ///
    /// # Errors
    /// It cannot be read, or no shader can have it; the table declares something else.
    pub(super) fn finish(&self, outcome: Option<&Outcome>) -> Result<PathBuf> {
        let found = match self.by {
            LayoutSource::Headers { .. } => {
                let names: Vec<&str> = self.types.iter().map(|one| one.name.as_str()).collect();
                dwarf_structures(&fs::read(&self.work.join(OBJECT))?, &names)
            }
            LayoutSource::Command { .. } => printed(outcome.map(|it| it.stdout.as_slice()).unwrap_or_default()),
        };
        let found = found.and_then(|found| self.with_all_types(found)).map_err(|error| self.refused(error))?;
        if !self.declared.is_empty() {
            self.compare(&found)?;
        }
        let made = self.work.join("made");
        fs::Tree::make(&made)?.write(STRUCTURES_FILE, StructuresDump::of(found).text().as_bytes())?;
        Ok(made)
    }

    fn with_all_types(&self, found: Vec<Structure>) -> Result<Vec<Structure>, LayoutError> {
        let is_there = |one: &&HostType| found.iter().any(|structure| structure.name == one.name);
        match self.types.iter().find(|one| !is_there(one)) {
            None => Ok(found),
            Some(one) => {
                let known = found.into_iter().map(|structure| structure.name).collect();
                Err(LayoutError::Missing { name: one.name.clone(), known })
            }
        }
    }

    fn refused(&self, error: LayoutError) -> Error {
        let said = Error::build(format!("structures of kernel group `{}`: {error}", self.group));
        let said = match self.by {
            LayoutSource::Command { command } => said.detail(format!("printed by: {}", command.join(" "))),
            LayoutSource::Headers { .. } => said,
        };
        let LayoutError::Missing { name, known } = &error else { return said };
        match nearest(name, known.iter().cloned()) {
            Some(near) => said.hint(format!("did you mean `{near}`?")),
            None => said,
        }
    }

    fn compare(&self, found: &[Structure]) -> Result<()> {
        let names: Vec<&str> = self.types.iter().map(|one| one.name.as_str()).collect();
        let mut differences = differences(found, self.declared, &names).into_iter();
        let Some(first) = differences.next() else { return Ok(()) };
        let error = Error::new(ErrorKind::Stale, format!("{first}: the table of `{}` is stale", self.group));
        let error = differences.fold(error, Error::detail);
        Err(error.hint(
            "`simpack generate table` writes the structures as the host has them; bring the shaders in line with both",
        ))
    }
}

fn printed(text: &[u8]) -> Result<Vec<Structure>, LayoutError> {
    if text.len() > MOST_PRINTED {
        return Err(LayoutError::Damaged(format!("more than {MOST_PRINTED} bytes were printed")));
    }
    StructuresDump::read(text)
}
