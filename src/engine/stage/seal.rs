//! What completes a bundle once its files are final.

use std::collections::BTreeSet;

use super::device_code::{PendingList, needs, write_list};
use super::place::artifacts;
use crate::bundle::{ArtifactKind, Bundle, KernelsList, OutsideLibrary};
use crate::error::{Error, Result};
use crate::fs;
use crate::fs::Tree;

/// Says which libraries files of a bundle need out of what its build was given.
pub type OutsideOf<'a> = dyn Fn(&Bundle) -> Result<Vec<OutsideLibrary>> + 'a;

/// Completes a bundle once its files are final: the glibc floor, the artifacts, `simpack.json`.
///
/// # Errors
/// A file cannot be read, or `simpack.json` cannot be written.
pub fn seal(bundle: &mut Bundle, lists: Vec<PendingList>, outside: &OutsideOf<'_>) -> Result<()> {
    for PendingList { dir, list } in lists {
        let list = KernelsList { modules: artifacts(bundle, &dir)?, ..list };
        if list.target.is_shader() {
            let needs = needs(bundle, &dir, &list.modules)?;
            bundle.manifest.needs.insert(list.variant.clone(), needs);
        }
        write_list(bundle, &dir, &list)?;
    }
    let list = bundle.manifest.path();
    bundle.manifest.artifacts = artifacts(bundle, "")?;
    bundle.manifest.artifacts.retain(|artifact| artifact.path != list);
    bundle.manifest.outside = outside(bundle)?;
    // Sources that a build put elsewhere, or left out, cannot be compiled on users' machines.
    let has = |path: String| bundle.manifest.artifacts.iter().any(|artifact| artifact.path == path);
    bundle.manifest.device_sources = bundle.manifest.device_sources.take().filter(|sources| {
        let all = sources.groups.iter().flat_map(|group| &group.sources);
        all.map(|source| format!("{}/{source}", sources.directory)).all(has)
    });
    let made_by = match &bundle.manifest.compile {
        Some(compile) if !has(compile.command[0].clone()) => {
            return Err(Error::recipe(format!("{} does not hold {}", bundle.manifest.package, compile.command[0]))
                .hint("`compile` of a component calls a program of its own: add it to `files`"));
        }
        Some(_) => made_by(bundle)?,
        None => Vec::new(),
    };
    bundle.manifest.compile.iter_mut().for_each(|compile| compile.made_by.clone_from(&made_by));
    // The highest that any host file needs.
    bundle.manifest.glibc = bundle.host_facts()?.iter().filter_map(|(_, facts)| facts.glibc()).max();
    let mut text = serde_json::to_vec_pretty(&bundle.manifest)
        .map_err(|error| Error::bug("a manifest does not print as JSON").because(error))?;
    text.push(b'\n');
    Tree::at(&bundle.root)?.write(&list, &text)
}

/// What the objects of a bundle say of the compilers that made them, as GCC and Clang write it into `.comment`.
pub(super) fn made_by(bundle: &Bundle) -> Result<Vec<String>> {
    let marks = ["GCC: (", "clang version "].map(memchr::memmem::Finder::new);
    let mut found = BTreeSet::new();
    for artifact in &bundle.manifest.artifacts {
        let ArtifactKind::File { .. } = artifact.kind else { continue };
        let file = fs::Content::open(&bundle.root.join(&artifact.path))?;
        if !file.bytes().starts_with(b"\x7fELF") && !file.bytes().starts_with(b"!<arch>\n") {
            continue;
        }
        for at in marks.iter().flat_map(|mark| mark.find_iter(file.bytes())) {
            let text = file.bytes()[at..].split(|byte| *byte == 0).next().unwrap_or_default();
            let text =
                std::str::from_utf8(text).ok().filter(|text| text.len() < 100 && !text.contains(char::is_control));
            found.extend(text.map(str::to_owned));
        }
    }
    Ok(found.into_iter().collect())
}
