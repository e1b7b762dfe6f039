//! Relocatable device code of several compilers in one archive or library: what may not be linked together.

use std::collections::BTreeMap;

use super::driver::release;
use crate::arch::CudaVersion;
use crate::gpu::{CodeImage, CodeKind};
use crate::lint::{Hits, Parameters, Predicate};
use crate::manifest::{Agree, LinkedCode, LinkerAge, Manifests};
use crate::report::Subject;
use crate::verify::{BundleFacts, Contents, FileFacts};

pub(super) fn predicates() -> Vec<Predicate<BundleFacts>> {
    vec![Predicate { id: "toolchain-mixed", parameters: &[], check: toolchain_mixed }]
}

/// One object with relocatable code.
struct Object<'a> {
    /// Its name, and that of the compiler: `a.o (nvcc 11.8)`.
    label: String,
    release: Option<CudaVersion>,
    images: Vec<&'a CodeImage>,
}

fn toolchain_mixed(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    let manifests = &facts.rules.manifests;
    for contents in facts.contents() {
        let mut loose = Vec::new();
        for file in &contents.files {
            let objects = objects(file, manifests);
            // Objects that lie beside each other are linked together as well as those of an archive.
            if let [object] = objects.as_slice()
                && file.path.ends_with(".o")
                && !object.images.is_empty()
            {
                loose.extend(objects);
                continue;
            }
            mixed(&contents.subject(&file.path), &objects, manifests, hits);
            old_linker(contents, file, &objects, manifests, hits);
        }
        mixed(&contents.name.as_str().into(), &loose, manifests, hits);
    }
}

/// Objects by the archive's member; of a library there is one, for what its linker left over.
fn objects<'a>(file: &'a FileFacts, manifests: &Manifests) -> Vec<Object<'a>> {
    let mut by_member: BTreeMap<&str, Vec<&CodeImage>> = BTreeMap::new();
    let unlinked = |image: &&CodeImage| image.relocatable || image.kind == CodeKind::LtoIr;
    for image in file.device.images.iter() {
        by_member.entry(image.place.member()).or_default().push(image);
    }
    by_member.retain(|_, images| images.iter().any(unlinked));
    let labelled = by_member.into_iter().map(|(member, images)| {
        let host = file.objects.iter().find(|object| object.member.as_deref().unwrap_or("") == member);
        let imports = host.into_iter().flat_map(|object| &object.elf.imports).map(|import| import.name.as_str());
        let maker = manifests.contracts.maker(imports);
        let release = made_by(&images, manifests);
        let version =
            release.map_or_else(|| "of an unknown release".to_owned(), |release| format!("of CUDA {release}"));
        let name = if member.is_empty() { file.name() } else { member };
        Object { label: format!("{name} ({maker} {version})"), release, images }
    });
    labelled.collect()
}

/// The release that compiled an object: by the notes of its machine code, else by its PTX.
fn made_by(images: &[&CodeImage], manifests: &Manifests) -> Option<CudaVersion> {
    let noted = images.iter().filter_map(|image| release(image)).max();
    let by_ptx = || {
        let ptx = images.iter().filter(|image| image.kind == CodeKind::Ptx);
        let isa = ptx.map(|image| (u32::from(image.version.0), u32::from(image.version.1))).max()?;
        manifests.cuda.iter().filter(|release| release.ptx_isa() == isa).map(|release| release.version()).min()
    };
    noted.or_else(by_ptx)
}

fn code_of(image: &CodeImage) -> Option<LinkedCode> {
    match image.kind {
        CodeKind::Sass if image.relocatable => Some(LinkedCode::Sass),
        CodeKind::LtoIr => Some(LinkedCode::LtoIr),
        _ => None,
    }
}

/// One sentence for each kind of code whose objects do not agree: it names one object of either side.
fn mixed(subject: &Subject, objects: &[Object<'_>], manifests: &Manifests, hits: &mut Hits) {
    for code in [LinkedCode::Sass, LinkedCode::LtoIr] {
        let Some(contract) = manifests.contracts.of(code) else { continue };
        let mut sides: BTreeMap<u32, Vec<&Object<'_>>> = BTreeMap::new();
        for object in objects {
            let Some(image) = object.images.iter().find(|image| code_of(image) == Some(code)) else { continue };
            let side = match contract.agree {
                Agree::CubinAbi => Some(u32::from(image.version.1)),
                Agree::CudaMajor => object.release.map(|release| release.major),
            };
            if let Some(side) = side {
                sides.entry(side).or_default().push(object);
            }
        }
        let mut firsts = sides.values().filter_map(|objects| objects.first());
        if let (Some(one), Some(other)) = (firsts.next(), firsts.next_back()) {
            let counts: Vec<String> = sides.values().map(|objects| objects.len().to_string()).collect();
            hits.add(subject, format!("{} cannot be linked with {}: {}", one.label, other.label, contract.why))
                .evidence(format!("{} objects of either kind", counts.join(" and ")));
        }
    }
}

/// Linked code whose linker is older than an object that is still in the file.
fn old_linker(contents: &Contents, file: &FileFacts, objects: &[Object<'_>], manifests: &Manifests, hits: &mut Hits) {
    let linked = file.device.images.iter().filter(|image| !image.relocatable);
    let linkers = linked
        .flat_map(|image| &image.compilers)
        .filter_map(|compiler| compiler.strip_prefix("nvlink ")?.split(',').next()?.trim().parse::<CudaVersion>().ok());
    let Some(linker) = linkers.min() else { return };
    let contract = manifests.contracts.of(LinkedCode::Sass).filter(|contract| contract.linker == LinkerAge::NotOlder);
    let newer = objects.iter().find(|object| object.release.is_some_and(|release| release > linker));
    if let (Some(contract), Some(object)) = (contract, newer) {
        hits.add(
            contents.subject(&file.path),
            format!("was linked by nvlink {linker} with {}: {}", object.label, contract.why),
        );
    }
}
