//! From what an inspection found to how far it reaches: libraries, wheels, trees and environments that simpack did
//! not make.

use std::collections::BTreeMap;
use std::path::Path;

use super::{ImageFacts, Inspected, look};
use crate::arch::KernelTarget;
use crate::error::Result;
use crate::fit::{Piece, Reach, Unit};
use crate::gpu::{CodeKind, Look};
use crate::manifest::Manifests;
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

/// How far what was inspected reaches.
pub fn reach_of(inspected: &Inspected, manifests: &Manifests) -> Reach {
    let subject = inspected.path.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
    let mut units = Vec::new();
    // Files that are the code themselves (cubins, PTX) stand together, those of one package by themselves.
    let mut loose: BTreeMap<String, Vec<Piece<'_>>> = BTreeMap::new();
    for file in &inspected.files {
        let (inside, alone): (Vec<_>, Vec<_>) = file.images.iter().partition(|image| !image.place.is_empty());
        let needed = file.elf.as_ref().map_or(&[] as &[String], |elf| &elf.needed);
        let pieces: Vec<Piece<'_>> = inside.into_iter().map(piece).collect();
        let name = if file.path.is_empty() { subject.clone() } else { file.path.clone() };
        units.push(Unit::new(name, &pieces, needed, manifests));
        let owner = file.path.split_once(": ").map_or(subject.as_str(), |(package, _)| package);
        loose.entry(owner.to_owned()).or_default().extend(alone.into_iter().map(piece));
    }
    units.extend(loose.into_iter().map(|(owner, pieces)| Unit::new(owner, &pieces, &[], manifests)));
    Reach::of(subject, units, manifests)
}

fn piece(image: &ImageFacts) -> Piece<'_> {
    let is_ptx = matches!(image.target, Some(KernelTarget::Ptx(_)));
    Piece {
        target: image.target,
        isa: is_ptx.then_some((u32::from(image.version.0), u32::from(image.version.1))),
        compilers: &image.compilers,
        relocatable: image.relocatable,
        kind: match (image.kind, &image.label) {
            (CodeKind::LtoIr, _) => "LTO-IR, which has to be linked first".to_owned(),
            (CodeKind::Spirv, _) => "SPIR-V".to_owned(),
            (CodeKind::Offload, Some(label)) => format!("code for {label}"),
            (CodeKind::Offload, None) => "code of another vendor's devices".to_owned(),
            (CodeKind::Other(number), _) => format!("code of unknown kind {number:#x}"),
            (CodeKind::Sass | CodeKind::Ptx, _) => "code for no known capability".to_owned(),
        },
    }
}
