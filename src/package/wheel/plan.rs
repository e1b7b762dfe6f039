//! Which wheels a distribution becomes, and what each asks for.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::layout::{Laid, Member, Place, lay, script};
use super::metadata::requires::{Requires, has_wheel, slot_version};
use super::names::{extra, kernel_abi_version, normalized, release};
use super::planned::Planned;
use super::variants::{self, NULL, Variant};
use super::{level, module, python};
use crate::arch::{CudaVersion, KernelTarget};
use crate::bundle::{Artifact, ArtifactKind};
use crate::error::Result;
use crate::manifest::Manifests;
use crate::package::{Choice, FormatContext, Package, PackageKind, sbom};
use crate::recipe::{ComponentKind, Recipe, WheelExperiment};

/// All wheels of a distribution, in the order of its packages; files that differ from the staged ones go into `scratch`.
///
/// # Errors
/// A package needs what has no wheel, or a file cannot be laid out.
pub(super) fn plan<'a>(
    packages: &'a [Package],
    context: &FormatContext<'_>,
    scratch: &Path,
) -> Result<Vec<Planned<'a>>> {
    let set = Set::of(packages, context);
    let mut planned = Vec::new();
    for package in &set.packages {
        planned.push(set.wheel(package, scratch)?);
    }
    planned.extend(set.rtc_slots());
    let core = set.packages.iter().copied().find(|package| package.manifest.component == ComponentKind::Core);
    planned.extend(core.into_iter().flat_map(|core| set.metapackages(core)));
    if set.has_variants() {
        planned.extend(set.variants()?);
    }
    Ok(planned)
}

/// A build of the selector that stands for a target.
const SELECTOR: PackageKind = PackageKind::Selector(Choice::Fitting);

/// The wheels of a distribution before their files are looked at.
struct Set<'a, 'c> {
    all: &'a [Package],
    /// Those with a wheel.
    packages: Vec<&'a Package>,
    requires: Requires<'c>,
    /// The directory of all files, which is a module of Python.
    module: String,
    manifests: &'c Manifests,
    recipe: &'c Recipe,
}

impl<'a, 'c> Set<'a, 'c> {
    fn of(all: &'a [Package], context: &FormatContext<'c>) -> Self {
        let with_wheel = all.iter().filter(|package| has_wheel(package) && is_best(package, all));
        let packages: Vec<&Package> = with_wheel.collect();
        let simulator = &context.recipe.name;
        let mut set = Set {
            all,
            packages,
            requires: Requires {
                simulator,
                wheels: BTreeMap::new(),
                vendor: &context.manifests.vendor,
                cuda: context.recipe.cuda,
            },
            module: module::name(simulator, all),
            manifests: context.manifests,
            recipe: context.recipe,
        };
        set.requires.wheels =
            set.packages.iter().map(|package| (package.name().to_owned(), set.wheel_name(package))).collect();
        set
    }

    /// The name of a package's wheel.
    fn wheel_name(&self, package: &Package) -> String {
        match package.manifest.component {
            ComponentKind::Core => normalized(self.requires.simulator),
            _ => normalized(&self.package_name(package)),
        }
    }

    /// The name of a package among wheels, of which several CUDA releases may be installed at a time.
    fn package_name(&self, package: &Package) -> String {
        let cuda = package.manifest.cuda.filter(|_| package.manifest.target != Some(KernelTarget::Cpu));
        match (&package.kind, package.manifest.component, cuda) {
            (PackageKind::Kernels, _, Some(cuda)) => format!("{}-{}", package.name(), release(cuda)),
            (_, ComponentKind::Rtc, Some(cuda)) if self.rtc().len() > 1 => {
                format!("{}-cu{}{}", package.name(), cuda.major, cuda.minor)
            }
            _ => package.name().to_owned(),
        }
    }

    fn rtc(&self) -> Vec<&'a Package> {
        let is_rtc = |package: &&&Package| package.manifest.component == ComponentKind::Rtc;
        self.packages.iter().filter(is_rtc).copied().collect()
    }

    fn wheel(&self, package: &'a Package, scratch: &Path) -> Result<Planned<'a>> {
        let vendor = self.requires.vendor_directories(package);
        let (known, tag) = (&self.manifests.redistribution, self.recipe.driver.tag);
        let name = self.wheel_name(package);
        let place = Place { module: &self.module, project: &name, vendor: &vendor, known, tag, scratch };
        let is_core = package.manifest.component == ComponentKind::Core;
        let programs = if is_core { self.programs(package)? } else { Vec::new() };
        let added = if is_core { self.module(&programs)? } else { Vec::new() };
        let laid = lay(package, &self.package_name(package), self.all, added, &place)?;
        let platform = (!laid.facts.is_empty()).then(|| self.platform(&laid));
        let python = python::version(package)?.map(|version| python::tag(package, version));
        let requires_python = self.requires.python(package)?;
        let mut planned = Planned {
            package,
            name,
            version: package.version.to_string(),
            build: Some(self.recipe.package.build_number).filter(|number| *number > 0),
            requires_python,
            python,
            platform,
            summary: package.summary.clone(),
            requires: self.requires.of(package)?.into_iter().collect(),
            extras: BTreeMap::new(),
            scripts: programs.into_iter().map(|name| (name, format!("{}:main", self.module))).collect(),
            variant: None,
            variant_json: None,
            sbom: Some(sbom(&laid.package, &self.manifests.redistribution)?),
            members: laid.members,
        };
        match &package.kind {
            PackageKind::KernelAbi(tag) => planned.is_tie(self.requires.kernel_abi(), kernel_abi_version(tag)),
            PackageKind::Slot(target) => planned.is_tie(self.requires.slot(), slot_version(*target)),
            _ => {}
        }
        match package.manifest.component {
            ComponentKind::Core => self.complete_core(&mut planned)?,
            ComponentKind::Rtc if self.rtc().len() > 1 => {
                let release = package.manifest.cuda.unwrap_or(self.recipe.cuda);
                planned.requires.insert(format!("{}=={}", self.rtc_slot(), slot_of(release)));
            }
            _ => {}
        }
        let data = format!("{}.data/scripts", planned.stem());
        planned
            .members
            .extend(laid.scripts.into_iter().map(|(name, script)| Member { path: format!("{data}/{name}"), ..script }));
        planned.members.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(planned)
    }

    /// The programs that core's module starts, by name: its own, and those that ship cut.
    fn programs(&self, core: &Package) -> Result<Vec<String>> {
        let cut = self.kernels().into_iter().filter(|package| package.manifest.is_slice());
        let mut found = BTreeSet::new();
        for package in std::iter::once(core).chain(cut) {
            found.extend(programs(package)?);
        }
        Ok(found.into_iter().collect())
    }

    fn platform(&self, laid: &Laid) -> String {
        let provided: BTreeSet<&str> =
            self.all.iter().flat_map(|package| &package.manifest.artifacts).map(|it| name_of(&it.path)).collect();
        let is_beside = |name: &str| provided.contains(name) || self.manifests.vendor.library(name).is_some();
        level(&laid.facts, &is_beside, &self.manifests.glibc).tag("x86_64")
    }

    /// Core is what people install: it has the extras, and what the metapackage asks for.
    fn complete_core(&self, core: &mut Planned<'_>) -> Result<()> {
        let meta = self.all.iter().find(|package| package.manifest.component == ComponentKind::Meta);
        if let Some(meta) = meta {
            let own = format!("{}==", core.name);
            core.requires.extend(self.requires.of(meta)?.into_iter().filter(|one| !one.starts_with(&own)));
        }
        core.extras = self.extras();
        let mut pythons = BTreeSet::new();
        for package in &self.packages {
            pythons.extend(python::version(package)?);
        }
        let paths: String = pythons.into_iter().map(|version| python::path_file(&self.module, version)).collect();
        if !paths.is_empty() {
            core.members.push(Member::of(format!("{}.pth", self.module), paths.into_bytes()));
        }
        Ok(())
    }

    /// The files of the Python module.
    fn module(&self, programs: &[String]) -> Result<Vec<Member>> {
        let named = self.kernels().into_iter().map(|kernels| (kernels, self.package_name(kernels)));
        let kernels: Vec<(&Package, String)> = named.collect();
        module::Module { recipe: self.recipe, programs: programs.to_vec(), kernels: &kernels, all: self.all }.members()
    }

    /// Packages of device code, each with a target.
    fn kernels(&self) -> Vec<&'a Package> {
        self.packages.iter().copied().filter(|package| package.kind == PackageKind::Kernels).collect()
    }

    /// What can be installed besides core, by extra. Of libraries that ship cut an environment holds one, so no extra
    /// brings several of them.
    fn extras(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut extras: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let kernels = self.kernels();
        let majors: BTreeSet<u32> = kernels.iter().filter_map(|it| Some(it.manifest.cuda?.major)).collect();
        for package in kernels {
            let Some(target) = package.manifest.target else { continue };
            let exactly = format!("{}=={}", self.wheel_name(package), package.version);
            for name in extras_of(package, target, majors.len() > 1) {
                extras.entry(name).or_default().insert(exactly.clone());
            }
        }
        let selector = self.all.iter().find(|package| package.kind == SELECTOR && self.has_variants());
        extras.extend(selector.map(|selector| {
            let exactly = format!("{}=={}", normalized(selector.name()), selector.version);
            ("gpu".to_owned(), BTreeSet::from([exactly]))
        }));
        for package in self.packages.iter().filter(|package| is_part(package)) {
            // Of several releases of rtc the oldest serves all drivers.
            let word = package.manifest.component.to_string();
            let exactly = format!("{}=={}", self.wheel_name(package), package.version);
            extras.entry(word).or_insert_with(|| BTreeSet::from([exactly]));
        }
        extras
    }

    fn has_variants(&self) -> bool {
        self.recipe.package.wheel_experiments.contains(&WheelExperiment::Variants)
    }

    /// The builds of the selector as variants of one wheel, and one without a label that brings nothing.
    fn variants(&self) -> Result<Vec<Planned<'a>>> {
        let kernels = self.kernels();
        let mut planned: Vec<Planned<'a>> = Vec::new();
        for selector in self.all.iter().filter(|package| package.kind == SELECTOR) {
            let is_its = |package: &&&Package| {
                let (own, its) = (&package.manifest, &selector.manifest);
                own.target == its.target && (its.target == Some(KernelTarget::Cpu) || own.cuda == its.cuda)
            };
            let brings = kernels.iter().find(is_its);
            if brings.is_none() && selector.manifest.target != Some(KernelTarget::Cpu) {
                continue;
            }
            let mut requires = BTreeSet::new();
            requires.extend(
                selector
                    .manifest
                    .kernel_abi
                    .iter()
                    .map(|tag| format!("{}=={}", self.requires.kernel_abi(), kernel_abi_version(tag))),
            );
            let plain = requires.clone();
            requires.extend(brings.map(|package| format!("{}=={}", self.wheel_name(package), package.version)));
            let one = |variant: Option<Variant>, requires| Planned {
                name: normalized(selector.name()),
                version: selector.version.to_string(),
                summary: selector.summary.clone(),
                requires,
                variant,
                ..Planned::empty(selector)
            };
            let variant = Variant::of(selector);
            planned.extend((variant.label == NULL).then(|| one(None, plain)));
            planned.push(one(Some(variant), requires));
        }
        let all: Vec<Variant> = planned.iter().filter_map(|wheel| wheel.variant.clone()).collect();
        for wheel in &mut planned {
            let own = wheel.variant.as_ref();
            wheel.variant_json = own.map(|own| variants::described(&[own], &all)).transpose()?;
        }
        Ok(planned)
    }

    fn rtc_slot(&self) -> String {
        normalized(&format!("{}-rtc-slot", self.requires.simulator))
    }

    /// Of several releases of rtc, which have the same files, an environment holds one.
    fn rtc_slots(&self) -> Vec<Planned<'a>> {
        let rtc = self.rtc();
        let releases =
            rtc.iter().filter(|_| rtc.len() > 1).filter_map(|package| Some((*package, package.manifest.cuda?)));
        let slot = |(package, cuda): (&'a Package, CudaVersion)| Planned {
            name: self.rtc_slot(),
            version: slot_of(cuda),
            summary: format!("lets an environment have the rtc of one CUDA release only: {cuda}"),
            ..Planned::empty(package)
        };
        releases.map(slot).collect()
    }

    /// One for each CUDA major: core and all of its device code, for whoever knows the driver and not the GPU.
    fn metapackages(&self, core: &'a Package) -> Vec<Planned<'a>> {
        let releases: BTreeSet<String> = self
            .kernels()
            .iter()
            .filter(|package| !package.manifest.is_slice())
            .filter_map(|package| package.manifest.cuda)
            .map(release)
            .collect();
        let name = normalized(self.requires.simulator);
        let one = |release: String| Planned {
            name: format!("{name}-{release}"),
            version: core.version.to_string(),
            requires: BTreeSet::from([format!("{name}[{release}]=={}", core.version)]),
            summary: format!("{} with all of its device code for CUDA {}", core.manifest.simulator, &release[2..]),
            ..Planned::empty(core)
        };
        releases.into_iter().map(one).collect()
    }
}

/// Of two CUDA releases of one major the wheels would have one name: machine code of the newer runs on all drivers of
/// the major, PTX of the older is understood by most.
fn is_best(package: &Package, all: &[Package]) -> bool {
    let Some((target, cuda)) = package.manifest.target.zip(package.manifest.cuda) else { return true };
    let same = all.iter().filter(|other| other.kind == package.kind && other.name() == package.name());
    let releases = same.filter_map(|other| other.manifest.cuda).filter(|other| other.major == cuda.major);
    let best = match target {
        KernelTarget::Ptx(_) => releases.min(),
        _ => releases.max(),
    };
    package.kind != PackageKind::Kernels || best == Some(cuda)
}

/// The extras that bring a package of device code.
fn extras_of(package: &Package, target: KernelTarget, of_several_majors: bool) -> Vec<String> {
    let mut names = vec![extra(target, None)];
    let release = package.manifest.cuda.filter(|_| target != KernelTarget::Cpu).map(release);
    let of = package.manifest.cuda.filter(|_| of_several_majors && release.is_some());
    names.extend(of.map(|cuda| extra(target, Some(cuda))));
    if !package.manifest.is_slice() {
        names.push("all".to_owned());
        names.extend(matches!(target, KernelTarget::Ptx(_)).then(|| "ptx".to_owned()));
        names.extend(release);
    }
    names
}

/// The programs of a package, by their names; scripts of Python are not among them.
fn programs(package: &Package) -> Result<Vec<String>> {
    let is_program = |artifact: &&Artifact| matches!(artifact.kind, ArtifactKind::File { executable: true, .. });
    let mut found = Vec::new();
    for Artifact { path, .. } in package.manifest.artifacts.iter().filter(is_program) {
        let Some(name) = path.strip_prefix("bin/").filter(|name| !name.contains('/')) else { continue };
        if script(package, path, path)?.is_none() {
            found.push(name.to_owned());
        }
    }
    Ok(found)
}

/// Whether a package is a part beside core and device code.
fn is_part(package: &Package) -> bool {
    use ComponentKind::{Dev, Rtc, Source, Static};
    package.kind == PackageKind::Component && matches!(package.manifest.component, Rtc | Dev | Static | Source)
}

fn slot_of(cuda: CudaVersion) -> String {
    (cuda.major * 10 + cuda.minor.min(9)).to_string()
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
