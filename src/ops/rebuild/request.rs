//! From the provenance of packages to the build that made them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::arch::{CudaVersion, KernelTarget};
use crate::bundle::{BundleManifest, Provenance};
use crate::error::{Error, Result};
use crate::pipeline::{BuildRequest, CudaSource};
use crate::recipe::{ComponentKind, HostKind};

/// The provenance that says how the packages were made: that of one with tools of its own, where
/// there is one. Derived packages (selector, metapackage) have none.
///
/// # Errors
/// The packages come from several builds, or say nothing.
pub(super) fn provenance(manifests: &[BundleManifest]) -> Result<&Provenance> {
    let made: Vec<&BundleManifest> =
        manifests.iter().filter(|manifest| !manifest.provenance.simpack.is_empty()).collect();
    let with_tools = || made.iter().filter(|manifest| !manifest.provenance.tools.is_empty());
    // That of the host part, where it is here: it stands for all CUDA releases.
    let best = with_tools().find(|manifest| manifest.cuda.is_none()).or_else(|| with_tools().next());
    let best = best.or_else(|| made.first());
    let best = best.ok_or_else(|| {
        Error::usage("no package here says how it was made").hint("name the directory of the whole distribution")
    })?;
    let mut of_release: BTreeMap<Option<CudaVersion>, &BundleManifest> = BTreeMap::new();
    for other in made.iter().copied() {
        let first = *of_release.entry(other.cuda).or_insert(other);
        if first.provenance.recipe != other.provenance.recipe {
            return Err(Error::usage("the packages come from several recipes")
                .detail(format!("{}: recipe {}", first.package, first.provenance.recipe))
                .detail(format!("{}: recipe {}", other.package, other.provenance.recipe))
                .hint("name the packages of one build"));
        }
    }
    Ok(&best.provenance)
}

/// The build that makes packages with these manifests below `root`, from `recipe`.
pub(super) fn request(manifests: &[BundleManifest], recipe: &str, root: &Path) -> Result<BuildRequest> {
    let from = provenance(manifests)?;
    let tool = |name: &str| from.tools.get(name);
    let with_code = manifests.iter().filter(|manifest| is_kernels(manifest) || manifest.is_slice());
    let releases: BTreeSet<CudaVersion> = with_code.filter_map(|manifest| manifest.cuda).collect();
    let cuda = releases.first().copied().filter(|_| releases.len() == 1);
    let is_system_cuda = tool("nvcc").is_some_and(|nvcc| nvcc.version.ends_with("(system)"));
    let mut request = BuildRequest {
        recipe: Some(recipe.to_owned()),
        cuda,
        cuda_source: if is_system_cuda && releases.len() < 2 { CudaSource::System } else { CudaSource::Wheels },
        components: components(manifests),
        source_date_epoch: Some(from.source_date_epoch),
        artifacts: Some(root.join("artifacts")),
        dist: root.join("dist"),
        work: root.join("work"),
        ..BuildRequest::default()
    };
    // A package that is no kernel package says nothing about targets: the recipe's own then.
    if manifests.iter().any(is_kernels) {
        let targets = manifests.iter().filter(|manifest| is_kernels(manifest)).filter_map(|manifest| manifest.target);
        let (mut sass, mut ptx, mut environments) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for target in targets {
            match target {
                KernelTarget::Sass(capability) => sass.insert(capability),
                KernelTarget::Ptx(capability) => ptx.insert(capability),
                KernelTarget::Vulkan(..) | KernelTarget::WebGpu => environments.insert(target.to_string()),
                KernelTarget::Cpu | KernelTarget::Spirv(..) => false,
            };
        }
        request.capabilities = Some(sass.into_iter().collect());
        request.ptx = Some(ptx.into_iter().collect());
        request.environments = Some(environments.into_iter().collect());
    }
    Ok(request)
}

/// Which compiler made the host part; none when nothing tells. Only the pinned one has a digest.
pub(super) fn host(from: &Provenance) -> Option<HostKind> {
    from.tools.get("c++").map(|cxx| if cxx.sha256.is_none() { HostKind::System } else { HostKind::Zig })
}

fn is_kernels(manifest: &BundleManifest) -> bool {
    manifest.component == ComponentKind::Kernels && !manifest.kernels.is_empty() && manifest.target.is_some()
}

/// Components to make: only one when all packages belong to it, else everything. A module for Python is examined beside
/// the library that it is linked with, which may be core's or one that ships cut.
fn components(manifests: &[BundleManifest]) -> Vec<String> {
    let has_files = |manifest: &BundleManifest| !manifest.provenance.tools.is_empty();
    let kinds: BTreeSet<ComponentKind> = manifests.iter().map(|manifest| manifest.component).collect();
    match kinds.into_iter().collect::<Vec<_>>().as_slice() {
        [kind] if *kind != ComponentKind::Python && manifests.iter().all(has_files) => vec![kind.to_string()],
        _ => Vec::new(),
    }
}
