//! Packages that bring the kernels for a machine.

use std::collections::BTreeSet;

use super::derivation::{Derivation, key};
use crate::arch::{Capability, CudaVersion, KernelTarget, Suffix};
use crate::bundle::{BundleManifest, Condition};
use crate::error::Result;
use crate::package::{
    Choice, Package, PackageKind, RELEASE_SCALE, SELECTOR_SCALE, all_kernels_name, build_number, conditions,
    lowest_driver, release_number, selector_name, unknown_number,
};
use crate::recipe::{ComponentKind, Fallback};

impl Derivation<'_> {
    /// What brings the kernels of all targets, once for each CUDA release, where GPUs whose capability nobody tells get
    /// them. Of several an environment holds one: the newest whose code the driver runs.
    pub(super) fn all_kernels(&self, packages: &[Package]) -> Result<Vec<Package>> {
        if self.recipe.package.fallback != Fallback::All || self.recipe.is_sliced() || !self.recipe.is_cuda() {
            return Ok(Vec::new());
        }
        let kernels: Vec<(CudaVersion, &Package)> = device_code(packages).collect();
        let releases: BTreeSet<CudaVersion> = kernels.iter().map(|(cuda, _)| *cuda).collect();
        let one = |cuda: CudaVersion| {
            let of_release = || kernels.iter().filter(|(of, _)| *of == cuda).map(|(_, package)| *package);
            let mut manifest = BundleManifest {
                cuda: Some(cuda),
                kernel_abi: self.tag.clone(),
                ..self.empty(all_kernels_name(&self.recipe.name), ComponentKind::Kernels)
            };
            if let Some(first) = of_release().next() {
                manifest.provenance.recipe = first.manifest.provenance.recipe;
            }
            let mut package = self.package(PackageKind::AllKernels, manifest, None);
            package.build_number = release_number(cuda, self.recipe.package.build_number);
            package.scale = RELEASE_SCALE;
            package.summary = format!("{} kernels for all GPUs that CUDA {cuda} compiles for", self.recipe.name);
            package.manifest.dependencies.extend(self.kernel_abi_pin());
            for kernels in of_release() {
                package.manifest.dependencies.insert(kernels.exactly()?);
            }
            package.manifest.conditions.push(Condition::Driver { cuda: lowest_driver(cuda, self.context.manifests) });
            Ok(package)
        };
        releases.into_iter().map(one).collect()
    }

    /// The selector's builds: CPU, what serves unknown GPUs, PTX ascending, SASS ascending. Each brings exactly its kernel
    /// package. All of them, the CPU's too, depend on the kernel ABI: otherwise a core with another
    /// table would silently get the CPU build instead of the selector of its own version.
    pub(super) fn selectors(&self, packages: &[Package]) -> Result<Vec<Package>> {
        let kernels: Vec<(KernelTarget, &Package)> = packages
            .iter()
            .filter(|package| package.kind == PackageKind::Kernels)
            .filter_map(|package| Some((package.manifest.target.filter(|target| !target.is_shader())?, package)))
            .collect();
        if kernels.is_empty() {
            return Ok(Vec::new());
        }
        let cpu = kernels.iter().find(|(target, _)| *target == KernelTarget::Cpu).map(|(_, package)| *package);
        let mut builds = Vec::new();
        // Where nothing runs without a GPU, no build is for machines without one: clients say that `__cuda` is missing.
        let for_cpu = !self.recipe.needs_gpu();
        if cpu.is_none() && for_cpu {
            builds.push(self.selector(KernelTarget::Cpu, None, Choice::Fitting)?);
        }
        for &(target, package) in &kernels {
            builds.push(self.selector(target, Some(package), Choice::Fitting)?);
        }
        let unknown = self.for_unknown(&kernels, packages)?;
        if !unknown.is_empty() && for_cpu {
            builds.push(self.selector(KernelTarget::Cpu, cpu, Choice::NoCode)?);
        }
        builds.extend(unknown);
        builds.sort_by_key(|package| package.build_number);
        Ok(builds)
    }

    /// The selector's builds for GPUs whose capability nobody tells.
    pub(super) fn for_unknown(
        &self,
        kernels: &[(KernelTarget, &Package)],
        packages: &[Package],
    ) -> Result<Vec<Package>> {
        match self.recipe.package.fallback {
            Fallback::Cpu => Ok(Vec::new()),
            Fallback::All => Ok(self.selector_of_all(packages).into_iter().collect()),
            Fallback::Ptx => {
                // That of the same release: a driver may be too old for another's.
                let lowest = |cuda| {
                    let same = kernels.iter().filter(|(_, package)| package.manifest.cuda == cuda);
                    lowest_ptx(same.map(|&(target, _)| target))
                };
                let is_lowest = |(target, package): &&(KernelTarget, &Package)| {
                    target.capability().is_some_and(|capability| {
                        *target == KernelTarget::Ptx(capability) && lowest(package.manifest.cuda) == Some(capability)
                    })
                };
                let found = kernels.iter().filter(is_lowest);
                found.map(|&(target, package)| self.selector(target, Some(package), Choice::Unknown)).collect()
            }
        }
    }

    /// The selector that brings all kernels. It names no list, so that one more capability does not change it.
    pub(super) fn selector_of_all(&self, packages: &[Package]) -> Option<Package> {
        let releases: BTreeSet<CudaVersion> = device_code(packages).map(|(cuda, _)| cuda).collect();
        let driver = releases.iter().map(|cuda| lowest_driver(*cuda, self.context.manifests)).min()?;
        let manifest = BundleManifest {
            kernel_abi: self.tag.clone(),
            ..self.empty(selector_name(&self.recipe.name), ComponentKind::Kernels)
        };
        let mut package = self.package(PackageKind::Selector(Choice::Unknown), manifest, None);
        package.build_number = unknown_number(self.recipe.package.build_number);
        package.scale = SELECTOR_SCALE;
        package.manifest.dependencies.extend(self.kernel_abi_pin());
        package.manifest.dependencies.insert(self.version(all_kernels_name(&self.recipe.name)));
        package.manifest.conditions.push(Condition::Driver { cuda: driver });
        package.summary = format!("{} kernels for a GPU whose capability nobody tells: all", self.recipe.name);
        Some(package)
    }

    pub(super) fn selector(&self, target: KernelTarget, kernels: Option<&Package>, choice: Choice) -> Result<Package> {
        let cuda = kernels.and_then(|kernels| kernels.manifest.cuda).unwrap_or(self.recipe.cuda);
        let compiled_by = kernels.and_then(|kernels| self.context.compiled_by.get(&key(&kernels.manifest)));
        let driver = match target {
            KernelTarget::Ptx(_) => compiled_by.copied().unwrap_or(cuda),
            _ => lowest_driver(cuda, self.context.manifests),
        };
        let mut manifest = BundleManifest {
            target: Some(target),
            cuda: kernels.map(|_| cuda).filter(|_| target != KernelTarget::Cpu),
            kernel_abi: self.tag.clone(),
            ..self.empty(selector_name(&self.recipe.name), ComponentKind::Kernels)
        };
        if let Some(kernels) = kernels {
            manifest.provenance.recipe = kernels.manifest.provenance.recipe;
        }
        let mut package = self.package(PackageKind::Selector(choice), manifest, None);
        package.build_number = build_number(target, cuda, choice, self.recipe.package.build_number);
        package.scale = SELECTOR_SCALE;
        package.manifest.dependencies.extend(self.kernel_abi_pin());
        package.manifest.dependencies.extend(kernels.map(Package::exactly).transpose()?);
        package.manifest.conditions.extend(conditions(target, driver, choice, self.context.manifests));
        let name = &self.recipe.name;
        package.summary = match choice {
            Choice::Fitting => format!("{name} kernels for this machine: {target}"),
            Choice::Unknown => format!("{name} kernels for a GPU whose capability nobody tells: {target}"),
            Choice::NoCode => format!("{name} kernels for a GPU that none of them runs on: {target}"),
        };
        Ok(package)
    }
}

/// Packages with device code, each with its CUDA release.
fn device_code(packages: &[Package]) -> impl Iterator<Item = (CudaVersion, &Package)> {
    let kernels = packages.iter().filter(|package| package.kind == PackageKind::Kernels);
    let kernels = kernels.filter(|package| package.manifest.target != Some(KernelTarget::Cpu));
    kernels.filter_map(|package| Some((package.manifest.cuda?, package)))
}

/// The PTX that serves unknown GPUs: the lowest plain one.
fn lowest_ptx(targets: impl Iterator<Item = KernelTarget>) -> Option<Capability> {
    let plain = targets.filter_map(|target| match target {
        KernelTarget::Ptx(capability) if capability.suffix == Suffix::Plain => Some(capability),
        _ => None,
    });
    plain.min()
}
