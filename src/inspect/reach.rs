//! From what an inspection found to how far it reaches: libraries, wheels, trees and environments that simpack did
//! not make.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::{Inspected, look};
use crate::arch::CudaVersion;
use crate::elf::{Machine, soname_major};
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
    Ok(reach_of(&inspected, None, manifests))
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
        return Ok(vec![reach_of(&inspected, None, manifests)]);
    }
    let brought = Brought::by(&inspected);
    let (files, gaps) = (inspected.files, inspected.unexamined);
    let mut parts: BTreeMap<String, Inspected> = BTreeMap::new();
    let whole = inspected.path;
    let owner = |file: &str| owners.get(file).unwrap_or(&whole).clone();
    for file in files {
        parts.entry(owner(&file.path.to_string())).or_default().files.push(file);
    }
    for gap in gaps {
        parts.entry(owner(&gap.path)).or_default().unexamined.push(gap);
    }
    let reach = |(path, part): (String, Inspected)| {
        reach_of(&Inspected { path, is_tree: true, ..part }, Some(&brought), manifests)
    };
    let all = parts.into_iter().map(reach);
    let mut found: Vec<Reach> = all.filter(|reach| !reach.units.is_empty() || !reach.unexamined.is_empty()).collect();
    if found.is_empty() {
        let nothing = Inspected { path: path.display().to_string(), ..Inspected::default() };
        found.push(reach_of(&nothing, None, manifests));
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

/// What the projects of an environment bring together.
struct Brought {
    /// Names of libraries.
    libraries: BTreeSet<String>,
    /// Releases of NVRTC: the minor number is in the name of its built-in functions alone.
    nvrtc: BTreeSet<CudaVersion>,
}

impl Brought {
    fn by(inspected: &Inspected) -> Self {
        let files = inspected.files.iter().filter(|file| file.elf.is_some());
        let libraries: BTreeSet<String> =
            files.map(|file| file.path.file().rsplit('/').next().unwrap_or_default().to_owned()).collect();
        let release = |name: &String| name.strip_prefix("libnvrtc-builtins.so.")?.parse().ok();
        Self { nvrtc: libraries.iter().filter_map(release).collect(), libraries }
    }

    /// Says of a file what its environment does.
    fn complete(&self, unit: &mut Unit, needed: &[String], manifests: &Manifests) {
        if let Some(compiles) = &mut unit.compiles {
            compiles.release = self.nvrtc.iter().filter(|release| release.major == compiles.major).max().copied();
        }
        for name in needed.iter().filter(|name| !self.libraries.contains(*name)) {
            let Some(library) = manifests.vendor.library(name) else { continue };
            let major = unit.compiles.as_ref().map(|compiles| compiles.major).or_else(|| major_of(needed, manifests));
            let wheel = major.and_then(|major| library.wheel(CudaVersion::new(major, 0)));
            unit.absent.insert(name.clone(), wheel.map_or_else(|| library.name.clone(), |(project, _)| project));
        }
    }
}

/// The CUDA major that libraries are of, by those whose own version it is.
fn major_of(needed: &[String], manifests: &Manifests) -> Option<u32> {
    needed.iter().find_map(|name| {
        manifests.vendor.library(name).filter(|library| library.versioned_with_cuda)?;
        soname_major(name)
    })
}

/// How far what was inspected reaches; `brought` is what its environment brings, where it lies in one.
fn reach_of(inspected: &Inspected, brought: Option<&Brought>, manifests: &Manifests) -> Reach {
    let subject = inspected.path.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
    let mut units = Vec::new();
    // Files that are the code themselves (cubins, PTX) stand together, those of one package by themselves.
    let mut loose: BTreeMap<String, Vec<&CodeImage>> = BTreeMap::new();
    for file in &inspected.files {
        let (inside, alone): (Vec<&CodeImage>, Vec<&CodeImage>) =
            file.images.iter().partition(|image| !image.place.is_file());
        let needed = file.elf.as_ref().map_or(&[] as &[String], |elf| &elf.needed);
        let name = if file.path.is_all() { subject.clone() } else { file.path.to_string() };
        let is_x86 = file.elf.as_ref().is_some_and(|elf| elf.machine == Machine::X86_64);
        let mut unit = Unit { is_x86, ..Unit::new(name, &inside, needed, manifests) };
        if let Some(brought) = brought {
            brought.complete(&mut unit, needed, manifests);
        }
        units.push(unit);
        let owner = file.path.archive().unwrap_or(&subject);
        loose.entry(owner.to_owned()).or_default().extend(alone);
    }
    units.extend(loose.into_iter().map(|(owner, images)| Unit::new(owner, &images, &[], manifests)));
    let unexamined = inspected.unexamined.iter().map(|gap| match gap.path.is_empty() {
        true => gap.reason.clone(),
        false => format!("{}: {}", gap.path, gap.reason),
    });
    Reach::of(subject, units, manifests).without(unexamined.collect())
}
