//! Bundles to packages, and the channel last.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::path::Path;

use super::vendors;
use crate::abi::{self, Floor, SymbolsFile};
use crate::arch::{CudaVersion, KernelTarget, Version, VersionRange};
use crate::bundle::{Bundle, BundleManifest, Dependency, Versions};
use crate::error::Result;
use crate::gpu::CodeImage;
use crate::manifest::Manifests;
use crate::pack::{self, PackContext};
use crate::package::{BuiltPackage, FormatContext, FormatName, Package};
use crate::pipeline::job::Job;
use crate::recipe::{ComponentKind, HostKind, Recipe};

/// What a format wrote.
pub(crate) struct Packed {
    pub format: FormatName,
    pub built: Vec<BuiltPackage>,
}

/// Writes every package in each format below `dist`, in the formats' order; `dist` takes the place of `earlier`. `symbols`
/// give dependencies their floors; packages carry `licences`, by their names.
pub(crate) fn pack(
    job: &Job,
    (bundles, symbols, licences): (&[Bundle], &[SymbolsFile], BTreeMap<String, String>),
    formats: &[FormatName],
    dist: &Path,
    earlier: &Path,
    jobs: usize,
) -> Result<Vec<Packed>> {
    let jobs = NonZeroUsize::new(jobs).unwrap_or(NonZeroUsize::MIN);
    let manifests = &job.inputs.manifests;
    let packages = pack::packages(job.inputs.recipes.own(), bundles, &context(job, bundles, symbols, licences)?)?;
    let own = job.inputs.recipes.own();
    let plain: Vec<Package> =
        packages.iter().filter(|package| is_in_all_formats(own, &package.manifest)).cloned().collect();
    let now = jiff::Timestamp::now();
    let write = |&name: &FormatName| {
        let format = name.format();
        let earlier = earlier.join(format.name());
        let with = FormatContext { recipe: own, manifests, earlier: Some(&earlier), now };
        let packages = if format.has_variants() { &packages } else { &plain };
        let built = format.write(packages, &with, &dist.join(format.name()), jobs)?;
        Ok(Packed { format: name, built })
    };
    formats.iter().map(write).collect()
}

/// Whether a package is in formats whose clients choose among no host variants.
pub(in crate::pipeline) fn is_in_all_formats(recipe: &Recipe, manifest: &BundleManifest) -> bool {
    let is_default = |host| recipe.is_default_variant(manifest.component, host);
    manifest.component != ComponentKind::Python && manifest.host.as_ref().is_none_or(is_default)
}

fn context<'a>(
    job: &'a Job,
    bundles: &[Bundle],
    symbols: &[SymbolsFile],
    licences: BTreeMap<String, String>,
) -> Result<PackContext<'a>> {
    let own: BTreeSet<&str> = bundles.iter().map(|bundle| bundle.manifest.package.as_str()).collect();
    let foreign: Vec<&SymbolsFile> = symbols.iter().filter(|file| !own.contains(file.package.as_str())).collect();
    let mut provided = BTreeSet::new();
    let (mut facts, mut compiled_by) = (Vec::new(), BTreeMap::new());
    for bundle in bundles {
        for artifact in &bundle.manifest.artifacts {
            let name = artifact.path.rsplit('/').next().unwrap_or(&artifact.path);
            provided.insert(name.to_owned());
        }
        compiled_by.extend(ptx_driver(bundle, &job.inputs.manifests)?.map(|cuda| (pack::key(&bundle.manifest), cuda)));
        facts.push((pack::key(&bundle.manifest), bundle.host_facts()?));
    }
    let is_outside =
        |soname: &&String| !provided.contains(*soname) && !foreign.iter().any(|file| file.library == **soname);
    let mut outside: BTreeMap<_, BTreeSet<Dependency>> = BTreeMap::new();
    for (package, files) in facts {
        let floors = files.iter().flat_map(|(_, facts)| foreign.iter().filter_map(|file| abi::floor(facts, file)));
        let mut needs = by_floors(floors.collect());
        let needed = files.iter().flat_map(|(_, facts)| &facts.needed);
        needs.extend(needed.filter(is_outside).filter_map(|soname| provider(job, soname)));
        outside.entry(package).or_default().extend(needs);
    }
    let vendors = vendors::licences(job, bundles, &licences)?;
    Ok(PackContext { manifests: &job.inputs.manifests, outside, compiled_by, licences, vendors })
}

/// The CUDA version of the oldest driver that compiles the PTX of a bundle, by the ISA versions in it.
fn ptx_driver(bundle: &Bundle, manifests: &Manifests) -> Result<Option<CudaVersion>> {
    let mut highest = None;
    if let Some(KernelTarget::Ptx(_)) = bundle.manifest.target {
        let code = bundle.device_code()?;
        highest = code.iter().flat_map(|code| &code.images).filter_map(CodeImage::ptx_isa).max();
    }
    Ok(highest.and_then(|isa| manifests.cuda.cuda_for_ptx(isa)))
}

/// What symbols ask for, as dependencies: packages with symbols files are conda's.
pub(crate) fn by_floors(floors: Vec<Floor>) -> BTreeSet<Dependency> {
    let packages = abi::dependencies(floors).into_iter();
    packages.map(|(name, range)| Dependency::of_conda(name, range.into())).collect()
}

/// The package that provides a library; none for what the system always has.
fn provider(job: &Job, soname: &str) -> Option<Dependency> {
    if let Some(library) = job.inputs.manifests.vendor.library(soname) {
        let (library, soname) = (library.name.clone(), Some(soname.to_owned()));
        return Some(Dependency::Vendor { library, soname, versions: Versions::any() });
    }
    if job.inputs.recipes.own().host.kind() == HostKind::Zig {
        return None;
    }
    // What the machine's g++ linked against, as conda-forge's compilers export it.
    let package = match soname {
        "libstdc++.so.6" => "libstdcxx",
        "libgcc_s.so.1" => "libgcc",
        "libgomp.so.1" => "libgomp",
        _ => return None,
    };
    let major = job.inputs.tools.host_major();
    let versions = major.map_or_else(Versions::any, |major| VersionRange::at_least(Version::from(major)).into());
    Some(Dependency::of_conda(package, versions))
}
