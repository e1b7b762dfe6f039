//! What steps see of the machine: the system's programs, the tools, what a step declares, its own
//! directory. The means to hold them to it are the machine's best.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::toolset::{Toolset, temporary};
use crate::error::{Error, Result};
use crate::fs::{self, Digest, Tree};
use crate::process::{Isolation, IsolationKind, Sandbox, candidates};

/// Whether steps are isolated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxMode {
    /// By the best means that the machine has, if it has any.
    #[default]
    Auto,
    /// Never.
    Off,
    /// Always: without any means, nothing is built.
    Require,
}

/// The system's programs, libraries and headers, and what its loader and its choice of compilers need.
/// They are not declared by steps: the versions of the tools stand for them in keys.
const SYSTEM: [&str; 13] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/gnu/store",
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
];

/// What all steps of one run see, and by which means they are held to it.
#[derive(Debug, Clone)]
pub struct StepIsolation {
    by: Option<Isolation>,
    seen: BTreeSet<PathBuf>,
    links: BTreeMap<PathBuf, PathBuf>,
    /// Why nothing isolates steps, or not the best means.
    why: Vec<String>,
}

impl StepIsolation {
    /// Looks for the means, and tries them on the source tree and a directory below `work`.
    ///
    /// # Errors
    /// Isolation is required and this machine has no means.
    pub fn find(mode: SandboxMode, tools: &Toolset, source: &Path, work: &Path) -> Result<Self> {
        Self::with_programs(mode, tools.programs(), source, work)
    }

    /// The same for steps that see the system's programs, and `programs`.
    pub(crate) fn with_programs(mode: SandboxMode, programs: Vec<PathBuf>, source: &Path, work: &Path) -> Result<Self> {
        let (seen, links) = system(programs);
        let mut found = Self { by: None, seen, links, why: Vec::new() };
        if mode == SandboxMode::Off {
            found.why.push("--sandbox off".to_owned());
            return Ok(found);
        }
        let scratch = tempfile::Builder::new()
            .prefix(super::scratch::SCRATCH)
            .tempdir_in(work)
            .map_err(|error| Error::file(work, "cannot make a directory for a step").because(error))?;
        let (scratch, source) = (fs_err::canonicalize(scratch.path())?, fs_err::canonicalize(source)?);
        for by in candidates() {
            found.by = Some(by);
            let Some(sandbox) = found.sandbox(&scratch, [source.clone()], [])? else { continue };
            match sandbox.probe(&source) {
                Ok(()) => return Ok(found),
                Err(error) => found.why.push(said(&error)),
            }
        }
        found.by = None;
        match mode {
            SandboxMode::Require => {
                let error = Error::toolchain("steps cannot be isolated on this machine");
                let error = found.why.into_iter().fold(error, Error::detail);
                Err(error.hint("install bubblewrap, allow unprivileged user namespaces, or build with --sandbox auto"))
            }
            _ => Ok(found),
        }
    }

    /// How steps are isolated.
    pub fn kind(&self) -> IsolationKind {
        self.by.as_ref().map_or(IsolationKind::None, Isolation::kind)
    }

    /// The means by which steps are isolated, if there are any.
    pub(in crate::engine) fn means(&self) -> Option<&Isolation> {
        self.by.as_ref()
    }

    /// One line for people, said once a run.
    pub fn describe(&self) -> String {
        match &self.by {
            Some(Isolation::Landlock) => "by landlock: no TCP, other files cannot be opened".to_owned(),
            Some(by) => format!("by {by}: no network, only declared files"),
            None => format!("not isolated: they see the network and all files ({})", self.why.join("; ")),
        }
    }

    /// Whether a file belongs to the system or to a tool.
    pub(in crate::engine) fn is_of_tools(&self, path: &Path) -> bool {
        self.seen.iter().chain(self.links.keys()).any(|dir| path.starts_with(dir))
    }

    /// The sandbox of one step, whose own directory `work` is; none when steps are not isolated.
    pub(crate) fn sandbox(
        &self,
        work: &Path,
        read: impl IntoIterator<Item = PathBuf>,
        write: impl IntoIterator<Item = PathBuf>,
    ) -> Result<Option<Sandbox>> {
        let Some(by) = self.by.clone() else { return Ok(None) };
        let (root, temporary) = (work.join("root"), temporary(work));
        fs_err::create_dir_all(&root)?;
        fs_err::create_dir_all(&temporary)?;
        Ok(Some(Sandbox {
            by,
            read: self.seen.iter().cloned().chain(read).collect(),
            write: write.into_iter().chain([work.to_owned()]).collect(),
            links: self.links.clone(),
            temporary,
            root,
        }))
    }
}

/// An error with its cause on one line.
fn said(error: &Error) -> String {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    format!("{error}{cause}")
}

/// Directories and files of the system and the tools, which are `programs`, and the links of the top directory.
fn system(programs: Vec<PathBuf>) -> (BTreeSet<PathBuf>, BTreeMap<PathBuf, PathBuf>) {
    let (mut seen, mut links) = (BTreeSet::new(), BTreeMap::new());
    for path in SYSTEM.map(PathBuf::from) {
        match std::fs::read_link(&path) {
            Ok(target) if path.parent() == Some(Path::new("/")) => {
                links.insert(path, target);
            }
            _ if path.exists() => {
                seen.insert(path);
            }
            _ => {}
        }
    }
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    for program in programs {
        let real = std::fs::canonicalize(&program).unwrap_or_else(|_| program.clone());
        for path in [program, real] {
            let root = root_of(&path, &home);
            if !seen.iter().chain(links.keys()).any(|dir| root.starts_with(dir)) {
                seen.insert(root);
            }
        }
    }
    (seen, links)
}

/// The directory that a program was installed into: that of its `bin`, unless this would show a whole
/// home directory or everything.
fn root_of(program: &Path, home: &Path) -> PathBuf {
    let dir = program.parent().unwrap_or(program);
    let is_bin = dir.file_name().is_some_and(|name| name == "bin" || name == "sbin");
    let above = dir.parent().filter(|above| is_bin && above.parent().is_some() && !home.starts_with(above));
    above.unwrap_or(dir).to_owned()
}

/// Where links of a source tree lead to outside of it: a step that sees the tree must see that, too.
pub(in crate::engine) fn outside_links(root: &Path, sources: &BTreeMap<String, Digest>) -> Result<BTreeSet<PathBuf>> {
    let mut known = BTreeSet::new();
    let mut outside = BTreeSet::new();
    for path in sources.keys() {
        let mut at = root.to_owned();
        for name in Path::new(path).components() {
            at.push(name);
            if !known.insert(at.clone()) || !at.is_symlink() {
                continue;
            }
            let text = fs_err::read_link(&at)?;
            let spelled = plain(&at.parent().unwrap_or(root).join(text));
            for target in [spelled, fs_err::canonicalize(&at)?] {
                if !target.starts_with(root) {
                    outside.insert(target);
                }
            }
        }
    }
    Ok(outside)
}

/// A path without `.` and `..`, by its letters alone.
pub(in crate::engine) fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

/// Copies the declared files of a step into `to`: what it does not declare is not there.
///
/// # Errors
/// A file is not the one that the plan was made of.
pub(in crate::engine) fn copy_declared<'a>(
    root: &Path,
    below: &str,
    files: impl IntoIterator<Item = (&'a str, Digest)>,
    to: &Path,
) -> Result<()> {
    let tree = Tree::make(to)?;
    for (path, digest) in files {
        let rest = Path::new(path).strip_prefix(below).unwrap_or(Path::new(path));
        let rest = fs::utf8(rest)?;
        // A link of the source leads where the user allows it.
        tree.copy(&fs::open(&root.join(path))?, rest, None)?;
        if Digest::of_open(&tree.open(rest)?)? != digest {
            return Err(changed(path));
        }
    }
    Ok(())
}

/// A source file that is not as it was when the plan was made.
pub(in crate::engine) fn changed(path: &str) -> Error {
    Error::build(format!("{path} was changed while it was built"))
        .hint("build again; or, if no build reads it, keep it out: `inputs` of a build name what it reads")
        .hint(
            "without `inputs`, a build reads all that is not hidden and that no .gitignore file in the source ignores",
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_brings_what_it_was_installed_with_but_no_home_directory() {
        let root = |program: &str| root_of(Path::new(program), Path::new("/home/ada"));
        assert_eq!(root("/opt/gcc/bin/g++"), Path::new("/opt/gcc"));
        assert_eq!(root("/data/zig/zig"), Path::new("/data/zig"));
        assert_eq!(root("/home/ada/tools/bin/g++"), Path::new("/home/ada/tools"));
        assert_eq!(root("/home/ada/bin/g++"), Path::new("/home/ada/bin"));
        assert_eq!(root("/home/bin/g++"), Path::new("/home/bin"));
        assert_eq!(root("/bin/g++"), Path::new("/bin"));
    }

    #[test]
    fn links_that_lead_outside_are_seen_where_they_lead() {
        let dir = tempfile::tempdir().unwrap();
        let top = fs_err::canonicalize(dir.path()).unwrap();
        fs_err::create_dir_all(top.join("tree/sub")).unwrap();
        fs_err::create_dir_all(top.join("shared")).unwrap();
        for file in ["tree/a.h", "shared/b.h"] {
            fs_err::write(top.join(file), file).unwrap();
        }
        let link = |text: &str, at: &str| fs_err::os::unix::fs::symlink(text, top.join(at)).unwrap();
        link("../../shared", "tree/sub/shared");
        link("../a.h", "tree/sub/a.h");
        let paths = ["a.h", "sub/a.h", "sub/shared/b.h"];
        let sources = paths.map(|path| (path.to_owned(), Digest::of(b""))).into();
        assert_eq!(outside_links(&top.join("tree"), &sources).unwrap(), [top.join("shared")].into());
    }

    #[test]
    fn only_declared_files_are_copied_and_only_as_they_were_planned() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        for (path, text) in [("sub/a.c", "a"), ("sub/deep/b.h", "b"), ("sub/secret", "c")] {
            fs_err::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs_err::write(root.join(path), text).unwrap();
        }
        let to = dir.path().join("copy");
        let declared = [("sub/a.c", Digest::of(b"a")), ("sub/deep/b.h", Digest::of(b"b"))];
        copy_declared(&root, "sub", declared, &to).unwrap();
        let copied: Vec<_> = crate::fs::walk(&to).unwrap().into_iter().map(|entry| entry.path).collect();
        assert_eq!(copied, ["a.c", "deep", "deep/b.h"]);
        let again = dir.path().join("again");
        let error = copy_declared(&root, "sub", [("sub/a.c", Digest::of(b"other"))], &again).unwrap_err();
        assert_eq!(error.to_string(), "sub/a.c was changed while it was built");
    }
}
