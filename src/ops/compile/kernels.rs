//! Kernel groups of a package, compiled from its sources for one GPU.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use super::compilers::CudaCompilers;
use super::installed::Installed;
use super::kept::{Kept, New, Record};
use super::place::Place;
use super::report::What;
use crate::arch::{Capability, KernelTarget};
use crate::bundle::{Artifact, ArtifactKind, DeviceSources, KERNELS_LIST, KERNELS_SCHEMA, KernelsList};
use crate::engine::same_source_path;
use crate::error::{Error, Result};
use crate::fs::{self, Digest, DigestBuilder, EntryKind, Tree};
use crate::parallel;
use crate::plan::nvcc_arguments;
use crate::process::Call;
use crate::recipe::{KernelGroup, VariantChoice};

/// Time that nvcc may take for one unit.
const LIMIT: Duration = Duration::from_secs(3600);

/// What one GPU's device code is made from, and where it goes.
///
/// # Errors
/// The groups do not print as JSON.
pub(super) fn planned(
    installed: &Installed,
    sources: &DeviceSources,
    gpu: Capability,
    compilers: &CudaCompilers,
) -> Result<New> {
    let manifest = &installed.manifest;
    let groups = serde_json::to_vec(sources).map_err(|error| Error::bug("kernel groups are no JSON").because(error))?;
    let mut key = DigestBuilder::default().field("kernels 1").field(groups).field(gpu.sm());
    key = key.field(compilers.toolchain.compile_digest.as_bytes()).field(compilers.cxx.describe());
    for artifact in &manifest.artifacts {
        if let ArtifactKind::File { sha256, .. } = &artifact.kind {
            key = key.field(&artifact.path).field(sha256.as_bytes());
        }
    }
    Ok(New {
        key: key.finish(),
        package: manifest.package.clone(),
        simulator: manifest.simulator.clone(),
        version: manifest.version,
        what: What::Kernels,
        name: gpu.sm(),
        path: format!("kernels/{}/cuda{}/{}", sources.kernel_abi, compilers.toolchain.cuda.major, gpu.sm()),
        compilers: compilers.describe().into(),
        sets: BTreeMap::new(),
    })
}

/// One call of nvcc.
struct Unit<'a> {
    group: &'a KernelGroup,
    source: &'a str,
    variant: &'a VariantChoice,
}

/// Compiles all groups for one GPU.
///
/// # Errors
/// A unit does not compile, or the run was interrupted.
pub(super) fn make(
    (installed, sources): (&Installed, &DeviceSources),
    (gpu, compilers): (Capability, &CudaCompilers),
    (place, jobs): (&Place<'_>, usize),
    kept: &Kept,
    new: New,
) -> Result<Record> {
    let (started, target) = (Instant::now(), KernelTarget::Sass(gpu));
    let cuda = format!("kernels/{}/cuda{}", sources.kernel_abi, compilers.toolchain.cuda.major);
    let tree = Tree::make(&place.work.join("tree"))?;
    let units: Vec<Unit<'_>> = sources
        .groups
        .iter()
        .flat_map(|group| group.sources.iter().map(move |source| (group, source)))
        .flat_map(|(group, source)| group.variants.iter().map(move |variant| Unit { group, source, variant }))
        .collect();
    let log = kept.log(&new);
    let numbered: Vec<(usize, &Unit<'_>)> = units.iter().enumerate().collect();
    let made = parallel::until_failure(&numbered, jobs, |(number, unit)| {
        let own = place.work.join(format!("unit{number}"));
        fs_err::create_dir_all(&own)?;
        let (args, name) = nvcc_arguments(unit.group, unit.source, unit.variant, target);
        let output = own.join("made");
        let call = Call::new(&compilers.toolchain.nvcc)
            .args(args)
            .args(["-ccbin", fs::utf8(&compilers.cxx.cxx)?])
            .args(same_source_path(unit.source))
            .args(["-o", fs::utf8(&output)?, unit.source])
            .dir(installed.prefix.join(&sources.directory));
        let what = format!("{} for {target} ({})", unit.source, unit.variant.name);
        place.run(call, &own, &what, LIMIT, &log)?;
        Ok((format!("{cuda}/{}/{target}/{name}", unit.variant.name), output))
    })?;
    for (path, output) in made {
        tree.copy(&fs::open(&output)?, &path, Some(0o644))?;
    }
    let mut lists: Vec<&str> = units.iter().map(|unit| unit.variant.name.as_str()).collect();
    lists.sort_unstable();
    lists.dedup();
    for variant in lists {
        let dir = format!("{cuda}/{variant}/{target}");
        let list = KernelsList {
            schema: KERNELS_SCHEMA,
            kernel_abi: sources.kernel_abi.clone(),
            target,
            cuda: Some(compilers.toolchain.cuda),
            variant: variant.to_owned(),
            modules: modules(&place.work.join("tree").join(&dir))?,
            kernels: sources.groups.iter().flat_map(|group| group.table.iter().cloned()).collect(),
            compilers: compilers.toolchain.versions.clone(),
        };
        let text = serde_json::to_vec_pretty(&list).map_err(|error| Error::bug("a list is no JSON").because(error))?;
        tree.file(&format!("{dir}/{KERNELS_LIST}"), &text, 0o644)?;
    }
    kept.keep(new, &place.work.join("tree"), started.elapsed().as_secs_f64())
}

/// The files of a directory.
fn modules(dir: &Path) -> Result<Vec<Artifact>> {
    let mut found = Vec::new();
    for entry in fs::walk(dir)? {
        if let EntryKind::File { size, executable } = entry.kind {
            let sha256 = Digest::of_file(&dir.join(&entry.path))?;
            found.push(Artifact { path: entry.path, kind: ArtifactKind::File { sha256, size, executable } });
        }
    }
    Ok(found)
}
