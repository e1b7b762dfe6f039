//! The oldest driver that takes the device code, computed from the code, against the declared one.

use crate::arch::CudaVersion;
use crate::gpu::{CodeImage, CodeKind};
use crate::lint::{Hits, Parameters, Predicate};
use crate::manifest::Manifests;
use crate::package::conda::Record;
use crate::recipe::ComponentKind;
use crate::verify::{BundleFacts, PackageFacts, PackageIndex};

pub(super) fn predicates() -> Vec<Predicate<BundleFacts>> {
    vec![Predicate { id: "driver-minimum", parameters: &[], check: driver_minimum }]
}

/// What a piece of code asks of the driver: its CUDA version, and why.
enum Need {
    Sass(CudaVersion, String),
    Ptx(CudaVersion, String),
    Unknown(String),
}

/// The CUDA release whose assembler or linker made a piece of machine code, from its notes:
/// `ptxas 13.0, V13.0.88`, or before CUDA 12.5 `cuda 11.8`.
pub(super) fn release(image: &CodeImage) -> Option<CudaVersion> {
    let releases = image.compilers.iter().filter_map(|compiler| {
        let (name, version) = compiler.split_once(' ')?;
        if !matches!(name, "ptxas" | "nvlink" | "cuda") {
            return None;
        }
        version.split(',').next()?.trim().parse::<CudaVersion>().ok()
    });
    releases.max()
}

/// Minor-version compatibility covers machine code, not PTX ("CUDA Compatibility").
fn need(image: &CodeImage, manifests: &Manifests) -> Option<Need> {
    match image.kind {
        CodeKind::Sass => {
            // Without notes the cubin's ABI tells the major from 13 on.
            let by_abi = (image.version.1 >= 8).then(|| CudaVersion::new(13, 0));
            let made = release(image).or(by_abi)?;
            let major = manifests.cuda.major(made.major);
            let Some(major) = major else {
                return Some(Need::Unknown(format!("machine code of CUDA {made}, whose drivers are not known")));
            };
            Some(Need::Sass(major.min_driver_cuda, format!("CUDA {made} made it: driver {}", major.min_driver)))
        }
        CodeKind::Ptx => {
            let (major, minor) = image.version;
            match manifests.cuda.cuda_for_ptx((major.into(), minor.into())) {
                Some(cuda) => Some(Need::Ptx(cuda, format!("PTX ISA {major}.{minor}"))),
                None => Some(Need::Unknown(format!("PTX ISA {major}.{minor}, newer than every known driver"))),
            }
        }
        CodeKind::LtoIr | CodeKind::Spirv | CodeKind::Wgsl | CodeKind::Offload | CodeKind::Other(_) => None,
    }
}

fn driver_minimum(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    let manifests = &facts.rules.manifests;
    let kernels = facts.packages.iter().filter(|package| package.manifest.component == ComponentKind::Kernels);
    for package in kernels.filter(|package| !package.files().is_empty()) {
        let declared = package.manifest.cuda.map(|cuda| {
            let lowest = manifests.cuda.major(cuda.major).map_or(cuda, |major| major.min_driver_cuda);
            (lowest, cuda)
        });
        let selected = selected(facts, package);
        for file in package.files() {
            let mut worst: [Option<(CudaVersion, String)>; 2] = [None, None];
            for image in &file.device.images {
                let (place, found) = match need(image, manifests) {
                    Some(Need::Sass(cuda, why)) => (0, (cuda, why)),
                    Some(Need::Ptx(cuda, why)) => (1, (cuda, why)),
                    Some(Need::Unknown(what)) => {
                        hits.incomplete(package.subject(&file.path), format!("holds {what}"));
                        continue;
                    }
                    None => continue,
                };
                worst[place] = worst[place].take().max(Some(found));
            }
            let [sass, ptx] = worst;
            let of_manifest = |is_ptx: bool| declared.map(|(sass, ptx)| if is_ptx { ptx } else { sass });
            for (kind, need, is_ptx) in [("machine code", sass, false), ("PTX", ptx, true)] {
                let Some((cuda, why)) = need else { continue };
                let promises = [("the package declares", of_manifest(is_ptx)), ("the selector asks for", selected)];
                for (who, promised) in promises {
                    if let Some(promised) = promised.filter(|promised| *promised < cuda) {
                        hits.add(
                            package.subject(&file.path),
                            format!("its {kind} needs a driver of CUDA {cuda}, {who} {promised}"),
                        )
                        .evidence(&why);
                    }
                }
            }
        }
    }
}

/// What the selector's build for a kernel package asks of the driver.
fn selected(facts: &BundleFacts, package: &PackageFacts) -> Option<CudaVersion> {
    let brings = |record: &Record| record.wanted().any(|(_, wanted)| wanted.name() == Some(package.name()));
    // Packages of several CUDA releases share their names.
    let is_its = |index: &&PackageIndex| index.cuda == package.manifest.cuda && brings(&index.record);
    facts.indexes.iter().filter(is_its).filter_map(|index| index.record.driver()).min()
}
