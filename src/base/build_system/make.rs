//! GNU make.

use std::io::Read;
use std::path::Path;

use super::{Begun, BuildSystem, HostBuild, HostTools, MachineTool, PREFIX};
use crate::error::{Error, Result};
use crate::fs::{self, EntryKind, Tree};
use crate::process::Call;

pub(super) struct Make;

/// Deletes what a failed command has written: half of a file would be up to date for the next build.
const DELETE_ON_ERROR: &str = "--eval=.DELETE_ON_ERROR:";

/// Ends of names of what is compiled by itself. Fortran is not among them: its files make modules for one another.
const UNITS: [&str; 6] = ["c", "cc", "cpp", "cxx", "cu", "C"];
/// Ends of names of files that can include others, besides units.
const INCLUDING: [&str; 11] = ["h", "hh", "hpp", "hxx", "cuh", "inc", "inl", "ipp", "tcc", "tpp", "def"];
/// Bytes of them that are searched, at most.
const MOST_SEARCHED: u64 = 256 << 20;

fn extension(path: &str) -> &str {
    Path::new(path).extension().and_then(|extension| extension.to_str()).unwrap_or_default()
}

/// Whether another source may include one of these: it has the name between quotes, or there is too much to search.
fn are_included(source: &Path, units: &[String]) -> Result<bool> {
    if units.is_empty() {
        return Ok(false);
    }
    let names: Vec<&[u8]> = units.iter().map(|path| path.rsplit('/').next().unwrap_or(path).as_bytes()).collect();
    let (tree, mut searched) = (Tree::at(source)?, 0);
    for entry in fs::walk(source)? {
        let EntryKind::File { size, .. } = entry.kind else { continue };
        if !UNITS.contains(&extension(&entry.path)) && !INCLUDING.contains(&extension(&entry.path)) {
            continue;
        }
        searched += size;
        if searched > MOST_SEARCHED {
            return Ok(true);
        }
        let mut text = Vec::new();
        tree.open(&entry.path)?.take(size).read_to_end(&mut text)?;
        let lines = text.split(|byte| *byte == b'\n');
        let mut including = lines.filter(|line| line.trim_ascii_start().starts_with(b"#"));
        if including.any(|line| names.iter().any(|name| memchr::memmem::find(line, name).is_some())) {
            return Ok(true);
        }
    }
    Ok(false)
}

impl BuildSystem for Make {
    fn tools(&self) -> &'static [&'static str] {
        &["c++", "make"]
    }

    fn top_files(&self) -> &'static [&'static str] {
        &["GNUmakefile", "makefile", "Makefile"]
    }

    fn of_machine(&self) -> Option<&'static MachineTool> {
        Some(&MachineTool { name: "make", hint: "install GNU make" })
    }

    fn jobserver(&self) -> Option<&'static str> {
        Some("make")
    }

    fn has_install_target(&self) -> bool {
        true
    }

    fn resumes(&self) -> bool {
        true
    }

    /// make knows no headers and no commands but those that makefiles name, so it goes on only where nothing has changed
    /// but sources that are compiled on their own. Whatever was killed may have left half a file, which is newer than what
    /// it is made of.
    fn resume(&self, begun: &Begun<'_>) -> Result<bool> {
        let changes = begun.changes;
        if !begun.ended || !changes.added.is_empty() || !changes.removed.is_empty() {
            return Ok(false);
        }
        let are_units = changes.changed.iter().all(|path| UNITS.contains(&extension(path)));
        Ok(are_units && !are_included(begun.source, &changes.changed)?)
    }

    fn calls(&self, step: &HostBuild<'_>, tools: &dyn HostTools) -> Result<Vec<Call>> {
        if fs::utf8(step.work)?.contains(char::is_whitespace) {
            return Err(Error::build(format!(
                "make cannot work in {}: it takes the name apart at the space",
                step.work.display()
            ))
            .hint("name a directory without spaces in --work"));
        }
        let options = step.options(PREFIX, tools)?.into_iter();
        let mut options: Vec<String> = options.map(|(name, value)| format!("{name}={value}")).collect();
        options.push(format!("PREFIX={PREFIX}"));
        options.push(format!("DESTDIR={}", fs::utf8(step.dest)?));
        let base = tools.call(Path::new("make"))?.dir(step.source).arg(DELETE_ON_ERROR);
        let base = match tools.share(&base)? {
            Some(shared) => shared,
            None => base.arg(format!("-j{}", step.jobs)),
        };
        let base = base.args(options);
        let mut calls = vec![base.clone().args(step.targets.iter().cloned())];
        if !step.installs {
            calls.push(base.arg("install"));
        }
        Ok(calls)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build_system::SourceChanges;

    #[test]
    fn make_goes_on_only_with_units_that_nothing_includes() {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("main.c", "#include \"sim.h\"\nint main() {}\n"),
            ("impl.c", "int impl;\n"),
            ("all.c", "  # include \"impl.c\"\n"),
            ("sim.h", "int sim(void);\n"),
            ("Makefile", "OBJS = main.o all.o # main.c\n"),
        ] {
            fs_err::write(dir.path().join(path), text).unwrap();
        }
        let resumes = |changed: &[&str], removed: &[&str], ended| {
            let listed = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect();
            let changes = SourceChanges { added: Vec::new(), changed: listed(changed), removed: listed(removed) };
            Make.resume(&Begun { work: dir.path(), source: dir.path(), changes: &changes, ended }).unwrap()
        };
        assert!(resumes(&[], &[], true) && resumes(&["main.c", "all.c"], &[], true));
        for changed in [&["impl.c"][..], &["main.c", "impl.c"], &["sim.h"], &["Makefile"], &["gen.py"], &["a.f90"]] {
            assert!(!resumes(changed, &[], true), "{changed:?}");
        }
        assert!(!resumes(&[], &["main.c"], true) && !resumes(&[], &[], false));
    }
}
