//! Bundles to packages: search paths first, packages and the channel last.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::path::Path;

use super::inputs::Job;
use crate::abi::{self, Floor, SymbolsFile};
use crate::arch::KernelTarget;
use crate::bundle::{ArtifactKind, Bundle};
use crate::elf::{self, Facts};
use crate::error::{Error, Result};
use crate::fs::{self, Content, Digest, Entry, EntryKind};
use crate::manifest::Drivers;
use crate::pack::{self, PackContext};
use crate::parallel::until_failure;
use crate::patch::{self, PatchSpec};
use crate::recipe::{ComponentKind, HostKind, Recipe};

/// A package that was written.
pub(crate) struct Packed {
    pub name: String,
    pub version: String,
    pub build: String,
    pub subdir: String,
    /// Target that a build of the selector stands for.
    pub selects: Option<KernelTarget>,
    pub bytes: u64,
    pub sha256: Digest,
}

/// Sets the search path of every host file of a bundle: `$ORIGIN`-relative to the libraries of the
/// distribution, then the driver directories. On up to `jobs` threads.
pub(crate) fn patch(recipe: &Recipe, drivers: &Drivers, bundle: &Bundle, jobs: usize) -> Result<()> {
    if !matches!(bundle.manifest.component, ComponentKind::Core | ComponentKind::Rtc) {
        return Ok(());
    }
    let mut entries = fs::walk(&bundle.root)?;
    entries.retain(|entry| matches!(entry.kind, EntryKind::File { .. }));
    let one = |entry: &Entry| set_search_path(recipe, drivers, &bundle.root.join(&entry.path), &entry.path);
    until_failure(&entries, jobs, one).map(drop)
}

/// The same for one file, which is installed as `installed` below the prefix; what no loader sees stays as it is.
pub(crate) fn set_search_path(recipe: &Recipe, drivers: &Drivers, path: &Path, installed: &str) -> Result<()> {
    let content = Content::open(path)?;
    let bytes = content.bytes();
    let is_loaded = elf::is_elf(bytes) && elf::facts(bytes).map_err(|error| error.at(path))?.dynamic;
    if is_loaded {
        let mut runpath = vec![patch::origin_to("lib", installed)];
        runpath.extend(recipe.driver.directories.iter().cloned());
        patch::apply(path, &PatchSpec { runpath, tag: recipe.driver.tag }, drivers)?;
    }
    Ok(())
}

/// Writes every package in every format below `dist`, and the channel's index.
/// `symbols` give dependencies their floors.
pub(crate) fn pack(
    job: &Job,
    bundles: &[Bundle],
    symbols: &[SymbolsFile],
    dist: &Path,
    jobs: usize,
) -> Result<Vec<Packed>> {
    let jobs = NonZeroUsize::new(jobs).unwrap_or(NonZeroUsize::MIN);
    let specs = pack::packages(&job.inputs.recipe, bundles, &surroundings(job, bundles, symbols)?)?;
    let channel = dist.join("conda");
    let built = pack::write_conda(&specs, &channel, jobs)?;
    pack::index(&channel)?;
    pack::write_tars(&specs, &dist.join("tar"), jobs)?;
    let packed = specs.iter().zip(built).map(|(spec, built)| Packed {
        name: spec.name.clone(),
        version: spec.version.clone(),
        build: spec.build.clone(),
        subdir: built.subdir,
        selects: spec.manifest.target.filter(|_| spec.root.is_none()),
        bytes: built.size,
        sha256: built.sha256,
    });
    Ok(packed.collect())
}

fn surroundings<'a>(job: &'a Job, bundles: &[Bundle], symbols: &[SymbolsFile]) -> Result<PackContext<'a>> {
    let own: BTreeSet<&str> = bundles.iter().map(|bundle| bundle.manifest.package.as_str()).collect();
    let foreign: Vec<&SymbolsFile> = symbols.iter().filter(|file| !own.contains(file.package.as_str())).collect();
    let mut floors: BTreeMap<String, Vec<Floor>> = BTreeMap::new();
    let mut needed: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut provided = BTreeSet::new();
    for bundle in bundles {
        for artifact in &bundle.manifest.artifacts {
            let name = artifact.path.rsplit('/').next().unwrap_or(&artifact.path);
            provided.insert(name.to_owned());
        }
        for (_, facts) in host_facts(bundle)? {
            let found = foreign.iter().filter_map(|file| abi::floor(&facts, file));
            floors.entry(bundle.manifest.package.clone()).or_default().extend(found);
            needed.entry(bundle.manifest.package.clone()).or_default().extend(facts.needed);
        }
    }
    let mut providers = BTreeMap::new();
    for names in needed.values_mut() {
        names.retain(|name| !provided.contains(name) && !foreign.iter().any(|file| file.library == *name));
        for name in names.iter() {
            if let Some(spec) = provider(job, name) {
                providers.insert(name.clone(), spec);
            }
        }
    }
    let floors = floors.into_iter().map(|(package, floors)| (package, abi::dependencies(floors)));
    Ok(PackContext {
        manifests: &job.inputs.manifests,
        needed,
        providers,
        floors: floors.collect(),
        licences: licences(&job.inputs.source)?,
    })
}

/// Match spec of the package that provides a library; none for what the system always has.
fn provider(job: &Job, soname: &str) -> Option<String> {
    if let Some(library) = job.inputs.manifests.vendor.library(soname) {
        return Some(library.conda.clone());
    }
    if job.inputs.recipe.host.kind() != HostKind::System {
        return None;
    }
    // What the machine's g++ linked against, as conda-forge's compilers export it.
    let package = match soname {
        "libstdc++.so.6" => "libstdcxx",
        "libgcc_s.so.1" => "libgcc",
        "libgomp.so.1" => "libgomp",
        _ => return None,
    };
    Some(job.inputs.tools.host_major().map_or(package.to_owned(), |major| format!("{package} >={major}")))
}

/// Licence texts at the top of the source.
pub(crate) fn licences(source: &Path) -> Result<BTreeMap<String, String>> {
    let mut licences = BTreeMap::new();
    for entry in fs_err::read_dir(source)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let upper = name.to_uppercase();
        let is_licence = ["LICENSE", "LICENCE", "COPYING", "NOTICE"].iter().any(|start| upper.starts_with(start));
        if is_licence && entry.path().is_file() {
            let text = fs_err::read_to_string(entry.path())?;
            licences.insert(name, text);
        }
    }
    match licences.is_empty() {
        false => Ok(licences),
        true => Err(Error::recipe(format!("no licence text at the top of {}", source.display()))
            .hint("packages carry the licence: add a file LICENSE or COPYING to the source")),
    }
}

/// What the ELF files of a bundle say of themselves, with their paths.
pub(crate) fn host_facts(bundle: &Bundle) -> Result<Vec<(String, Facts)>> {
    let mut found = Vec::new();
    for artifact in &bundle.manifest.artifacts {
        let ArtifactKind::File { .. } = artifact.kind else { continue };
        let path = bundle.root.join(&artifact.path);
        let content = Content::open(&path)?;
        let bytes = content.bytes();
        if elf::is_elf(bytes) {
            found.push((artifact.path.clone(), elf::facts(bytes).map_err(|error| error.at(&path))?));
        }
    }
    Ok(found)
}
