//! Texts that name the prefix of their build, where nothing lies once packages are installed: CMake packages and `.pc` files find it
//! from where they lie themselves.
//!
//! Scripts and other texts have no such words in common; the lint `prefix-in-text` names them.

use std::path::Path;

use crate::build_system::{PREFIX, prefixes_in};
use crate::error::Result;
use crate::fs::{self, Content, EntryKind, Tree};

/// Longer texts were not written by people.
const MOST_TEXT: u64 = 1 << 20;

/// Makes the CMake packages and `.pc` files of `tree`, which is to be a prefix, independent of where that lies.
///
/// # Errors
/// A file cannot be read or written.
pub(in crate::engine::step) fn relocate(tree: &Path) -> Result<()> {
    let files = Tree::at(tree)?;
    for entry in fs::walk(tree)? {
        let EntryKind::File { executable, size } = entry.kind else { continue };
        let Some(kind) = Kind::of(&entry.path).filter(|_| size <= MOST_TEXT) else { continue };
        let content = Content::open(&tree.join(&entry.path))?;
        let Some(text) = std::str::from_utf8(content.bytes()).ok().filter(|text| text.contains(PREFIX)) else {
            continue;
        };
        let changed = relocated(text, kind, &entry.path);
        if changed != text {
            drop(content);
            files.remove(&entry.path)?;
            files.file(&entry.path, changed.as_bytes(), if executable { 0o755 } else { 0o644 })?;
        }
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Kind {
    CMake,
    PkgConfig,
}

impl Kind {
    fn of(path: &str) -> Option<Self> {
        match path.rsplit_once('.')?.1 {
            "cmake" => Some(Self::CMake),
            "pc" => Some(Self::PkgConfig),
            _ => None,
        }
    }
}

/// The text of a file at `path` of its prefix, with the prefix named from there.
fn relocated(text: &str, kind: Kind, path: &str) -> String {
    let up = "/..".repeat(path.matches('/').count());
    let mut scope = Scope::File;
    let line = |line: &str| {
        let directory = match kind {
            Kind::PkgConfig => "${pcfiledir}",
            Kind::CMake => {
                scope = scope.after(line);
                match scope {
                    Scope::File => "${CMAKE_CURRENT_LIST_DIR}",
                    // There, the other variable is the caller's directory.
                    Scope::Function => "${CMAKE_CURRENT_FUNCTION_LIST_DIR}",
                    // Nothing tells where a macro stands, and in brackets nothing is replaced: the lint names what stays.
                    Scope::Macro | Scope::Bracket => return line.to_owned(),
                }
            }
        };
        replaced(line, &format!("{directory}{up}"))
    };
    text.split_inclusive('\n').map(line).collect()
}

fn replaced(line: &str, by: &str) -> String {
    let mut made = String::new();
    let mut from = 0;
    for at in prefixes_in(line) {
        made.push_str(&line[from..at]);
        made.push_str(by);
        from = at + PREFIX.len();
    }
    made + &line[from..]
}

/// In what of a CMake file a line stands.
#[derive(Clone, Copy, PartialEq)]
enum Scope {
    File,
    Function,
    Macro,
    /// A bracket argument has begun somewhere: what follows is left as it is.
    Bracket,
}

impl Scope {
    fn after(self, line: &str) -> Self {
        let command = line.split('(').next().unwrap_or_default().trim().to_lowercase();
        match (self, command.as_str()) {
            (Self::Bracket, _) => Self::Bracket,
            _ if line.contains("[[") || line.contains("[=") => Self::Bracket,
            (_, "function") => Self::Function,
            (_, "macro") => Self::Macro,
            (_, "endfunction" | "endmacro") => Self::File,
            (scope, _) => scope,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_find_their_prefix_from_where_they_lie() {
        let pc = "prefix=/opt/simpack\nlibdir=/opt/simpack/lib\nother=/opt/simpack-data -I/opt/simpack/include /mnt/opt/simpack\n";
        assert_eq!(
            relocated(pc, Kind::PkgConfig, "lib/pkgconfig/sim.pc"),
            "prefix=${pcfiledir}/../..\nlibdir=${pcfiledir}/../../lib\nother=/opt/simpack-data -I${pcfiledir}/../../include /mnt/opt/simpack\n"
        );
        let cmake = "set(SIM_DIR /opt/simpack)\nfunction(sim_compile)\n  run(\"/opt/simpack/bin/simc\")\nendfunction()\n\
                     macro(sim_old)\n  run(/opt/simpack/bin/simc)\nendmacro()\nset(A /opt/simpack/a)\nset(B [[\n/opt/simpack]])\n";
        assert_eq!(
            relocated(cmake, Kind::CMake, "lib/cmake/sim/sim-config.cmake"),
            "set(SIM_DIR ${CMAKE_CURRENT_LIST_DIR}/../../..)\nfunction(sim_compile)\n  \
             run(\"${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../../bin/simc\")\nendfunction()\n\
             macro(sim_old)\n  run(/opt/simpack/bin/simc)\nendmacro()\nset(A ${CMAKE_CURRENT_LIST_DIR}/../../../a)\nset(B [[\n/opt/simpack]])\n"
        );
    }
}
