//! From what an inspection found to how far it reaches: libraries, wheels, trees and environments that simpack did
//! not make.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Inspected, look};
use crate::elf::Machine;
use crate::error::Result;
use crate::fit::{Reach, Unit};
use crate::gpu::{CodeImage, Look};
use crate::manifest::Manifests;
use crate::package::{projects, site_directories};
use crate::ui::Ui;

/// Looks into a library, package, tree or environment and says how far it reaches. With `kernels` the code is
/// unpacked, which takes longer: only then do compilers tell their release.
///
/// # Errors
/// The path does not exist or cannot be opened.
pub fn reach(path: &Path, kernels: bool, manifests: &Manifests, ui: &Ui) -> Result<Reach> {
    let inspected = look(path, Look { kernels, deep: false }, ui)?;
    Ok(reach_of(&inspected, manifests))
}

/// As [`reach`], of an environment of Python: of each installed project by itself that has to do with GPUs, and of what
/// belongs to none; of anything else as a whole.
///
/// # Errors
/// As [`reach`].
pub fn reaches(path: &Path, manifests: &Manifests, ui: &Ui) -> Result<Vec<Reach>> {
    let inspected = look(path, Look { kernels: false, deep: false }, ui)?;
    let owners = owners(path);
    if owners.is_empty() {
        return Ok(vec![reach_of(&inspected, manifests)]);
    }
    let (files, gaps) = (inspected.files, inspected.unexamined);
    let mut parts: BTreeMap<String, Inspected> = BTreeMap::new();
    let whole = inspected.path;
    let owner = |file: &str| owners.get(file).unwrap_or(&whole).clone();
    for file in files {
        parts.entry(owner(&file.path)).or_default().files.push(file);
    }
    for gap in gaps {
        parts.entry(owner(&gap.path)).or_default().unexamined.push(gap);
    }
    let reach = |(path, part): (String, Inspected)| reach_of(&Inspected { path, is_tree: true, ..part }, manifests);
    let all = parts.into_iter().map(reach);
    let mut found: Vec<Reach> = all.filter(|reach| !reach.units.is_empty() || !reach.unexamined.is_empty()).collect();
    if found.is_empty() {
        found.push(reach_of(&Inspected { path: path.display().to_string(), ..Inspected::default() }, manifests));
    }
    Ok(found)
}

/// The installed projects of an environment, by the paths of their files below it.
fn owners(environment: &Path) -> BTreeMap<String, String> {
    let mut owners = BTreeMap::new();
    for site in site_directories(environment) {
        let Some(below) = site.strip_prefix(environment).ok().and_then(Path::to_str) else { continue };
        let at = |path: &str| if below.is_empty() { path.to_owned() } else { format!("{below}/{path}") };
        for project in projects(&site) {
            let label = project.label();
            owners.extend(project.files.into_iter().flatten().map(|file| (at(&file.path), label.clone())));
        }
    }
    owners
}

/// How far what was inspected reaches.
pub fn reach_of(inspected: &Inspected, manifests: &Manifests) -> Reach {
    let subject = inspected.path.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
    let mut units = Vec::new();
    // Files that are the code themselves (cubins, PTX) stand together, those of one package by themselves.
    let mut loose: BTreeMap<String, Vec<&CodeImage>> = BTreeMap::new();
    for file in &inspected.files {
        let (inside, alone): (Vec<&CodeImage>, Vec<&CodeImage>) =
            file.images.iter().partition(|image| !image.place.is_empty());
        let needed = file.elf.as_ref().map_or(&[] as &[String], |elf| &elf.needed);
        let name = if file.path.is_empty() { subject.clone() } else { file.path.clone() };
        let is_x86 = file.elf.as_ref().is_some_and(|elf| elf.machine == Machine::X86_64);
        units.push(Unit { is_x86, ..Unit::new(name, &inside, needed, manifests) });
        let owner = file.path.split_once(": ").map_or(subject.as_str(), |(package, _)| package);
        loose.entry(owner.to_owned()).or_default().extend(alone);
    }
    units.extend(loose.into_iter().map(|(owner, images)| Unit::new(owner, &images, &[], manifests)));
    let unexamined = inspected.unexamined.iter().map(|gap| match gap.path.is_empty() {
        true => gap.reason.clone(),
        false => format!("{}: {}", gap.path, gap.reason),
    });
    Reach::of(subject, units, manifests).without(unexamined.collect())
}
