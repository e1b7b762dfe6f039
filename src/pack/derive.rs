//! Derives every package from the recipe and its bundles: names, pins, run-exports, conditions.
//!
//! ```text
//! volley ──────────── core of this version, selector, shaders of the lowest environment or of all (`fallback = "all"`)
//! volley-core ─────── kernel-abi (tag), glibc               exports core within its major
//! volley-rtc ──────── core within its minor, NVRTC          exports rtc within its minor
//! volley-dev ──────── exactly this core                     exports core within its major
//! volley-kernels ──── selector: one of volley-kernels-sm_90 … , PTX, all, nothing (CPU)
//! volley-kernels-all  every volley-kernels-* of a CUDA release (`fallback = "all"`)
//! volley-kernels-* ── kernel-abi (tag)
//! volley-shaders-* ── kernel-abi (tag)
//! ```
//!
//! Of a simulator whose libraries ship whole, cut to one capability, the packages hold the same paths. An environment
//! holds one of them, because each depends on a build of its own of one package, which holds nothing else:
//! ```text
//! volley-core ─────── volley-kernels of this version, which brings exactly one of the libraries
//! volley-kernels-* ── volley-slice (target)
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::json;

use crate::arch::{Capability, CudaVersion, KernelAbiTag, KernelTarget, Suffix, Version, VersionPolicy};
use crate::bundle::{
    ArtifactKind, Bundle, BundleManifest, Condition, Dependency, EARLIEST, MANIFEST_SCHEMA, OutsideLibrary, Provenance,
    Versions,
};
use crate::error::{Error, Result};
use crate::fs::{Digest, DigestBuilder};
use crate::manifest::Manifests;
use crate::package::{
    Choice, KERNEL_ABI_VERSION, PREFERRED, Package, PackageKind, RELEASE_SCALE, SELECTOR_SCALE, SLOT_VERSION,
    VARIANT_SCALE, all_kernels_name, build_number, check_epoch, conditions, kernel_abi_name, lowest_driver,
    release_number, selector_name, slot_name, unknown_number,
};
use crate::recipe::{Component, ComponentKind, Fallback, HostVariant, Recipe};

/// What tells the bundles of one distribution apart: package, CUDA release and host variant.
pub type BundleKey = (String, Option<CudaVersion>, Option<HostVariant>);

/// The key of a bundle.
pub fn key(manifest: &BundleManifest) -> BundleKey {
    (manifest.package.clone(), manifest.cuda, manifest.host.clone())
}

/// What packages depend on beyond recipe and bundles.
#[derive(Debug, Clone)]
pub struct PackContext<'a> {
    /// Known capabilities and CUDA releases.
    pub manifests: &'a Manifests,
    /// What the files of each bundle need of packages outside the distribution.
    pub outside: BTreeMap<BundleKey, BTreeSet<Dependency>>,
    /// The CUDA version of the oldest driver that compiles the PTX of a bundle, where its files were read; else that of
    /// the release counts.
    pub compiled_by: BTreeMap<BundleKey, CudaVersion>,
    /// Licence texts by file name, put into every package.
    pub licences: BTreeMap<String, String>,
    /// Those of vendors, for the bundles that hold files of theirs.
    pub vendors: BTreeMap<BundleKey, BTreeMap<String, String>>,
}

/// All packages of a distribution, in the order in which they build on each other.
///
/// Packages follow from the bundles that are there: a partial build (`--capability 9.0`) gives a
/// selector over what it built, and a build without core gives no metapackage.
///
/// # Errors
/// A bundle contradicts the recipe, or a time stamp fits no archive.
pub fn packages(recipe: &Recipe, bundles: &[Bundle], context: &PackContext<'_>) -> Result<Vec<Package>> {
    let derivation =
        Derivation { recipe, bundles, context, tag: recipe.kernel_abi_tag().filter(|_| recipe.ships_kernels()) };
    derivation.check()?;
    let mut packages = Vec::new();
    if let Some(tag) = derivation.tag.as_ref().filter(|_| !bundles.is_empty()) {
        packages.push(derivation.kernel_abi(tag));
    }
    let mut slots: Vec<KernelTarget> = Vec::new();
    for target in bundles.iter().filter(|bundle| bundle.manifest.is_slice()).filter_map(|bundle| bundle.manifest.target)
    {
        if !slots.contains(&target) {
            packages.push(derivation.slot(target));
            slots.push(target);
        }
    }
    let mut bundled: Vec<&Bundle> = bundles.iter().collect();
    bundled.sort_by_key(|Bundle { manifest, .. }| (manifest.component, manifest.target, key(manifest)));
    for bundle in bundled {
        packages.push(match bundle.manifest.component {
            ComponentKind::Core => derivation.core(bundle),
            ComponentKind::Rtc => derivation.rtc(bundle),
            ComponentKind::Kernels => derivation.kernels(bundle),
            ComponentKind::Dev => derivation.dev(bundle, &packages)?,
            ComponentKind::Static => derivation.r#static(bundle, &packages)?,
            ComponentKind::Python => derivation.python(bundle),
            ComponentKind::Source => derivation.of_bundle(PackageKind::Component, bundle),
            ComponentKind::Meta => continue,
        });
    }
    packages.extend(derivation.all_kernels(&packages)?);
    packages.extend(derivation.selectors(&packages)?);
    packages.extend(derivation.meta(&packages));
    Ok(packages)
}

struct Derivation<'a> {
    recipe: &'a Recipe,
    bundles: &'a [Bundle],
    context: &'a PackContext<'a>,
    tag: Option<KernelAbiTag>,
}

impl Derivation<'_> {
    fn check(&self) -> Result<()> {
        for Bundle { manifest, .. } in self.bundles {
            let wrong = |what: String| Err(Error::bug(format!("bundle {}: {what}", manifest.package)));
            if manifest.simulator != self.recipe.name || manifest.version != self.recipe.version {
                return wrong(format!("is of {} {}", manifest.simulator, manifest.version));
            }
            if manifest.component == ComponentKind::Kernels && manifest.target.is_none() {
                return wrong("holds kernels for no target".to_owned());
            }
            if let Some(tag) = &manifest.kernel_abi
                && Some(tag) != self.tag.as_ref()
            {
                return wrong(format!("has kernel ABI {tag}, the recipe declares another"));
            }
            check_epoch(manifest.provenance.source_date_epoch)?;
        }
        Ok(())
    }

    fn name(&self, kind: ComponentKind) -> String {
        let bundle = self.bundles.iter().find(|bundle| bundle.manifest.component == kind);
        bundle.map_or_else(|| format!("{}-{kind}", self.recipe.name), |bundle| bundle.manifest.package.clone())
    }

    fn policy(&self, kind: ComponentKind, default: VersionPolicy) -> VersionPolicy {
        self.recipe.component(kind).map_or(default, |component| component.policy)
    }

    /// Everything within what core's own version policy promises. Whoever links a variant that others do not stand in for
    /// gets that one again, as conda-forge has it: what is built without MPI runs with any.
    fn core_export(&self, of: &BundleManifest) -> Dependency {
        let core = self.recipe.component(ComponentKind::Core);
        let is_bound = |host: &&HostVariant| core.is_some_and(|core| !core.prefers(host));
        Dependency::Component {
            package: self.name(ComponentKind::Core),
            version: self.recipe.version,
            policy: self.policy(ComponentKind::Core, VersionPolicy::Major),
            host: of.host.as_ref().filter(is_bound).cloned(),
        }
    }

    /// This version of a package of the distribution, and what a policy promises beside it.
    fn within(&self, package: String, policy: VersionPolicy) -> Dependency {
        Dependency::Component { package, version: self.recipe.version, policy, host: None }
    }

    /// This very version of a package of the distribution.
    fn version(&self, package: String) -> Dependency {
        self.within(package, VersionPolicy::Capability)
    }

    fn kernel_abi_pin(&self) -> Option<Dependency> {
        self.tag.clone().map(|tag| Dependency::KernelAbi { tag })
    }

    /// The package that ties kernels to a core: nothing in it but its manifest. It is a function
    /// of the simulator's name, the tag and the kernel table alone, so that two releases that
    /// share a tag publish the same file; hence the fixed time and the schema as version.
    fn kernel_abi(&self, tag: &KernelAbiTag) -> Package {
        let kernels = self.recipe.kernels();
        let table = json!(kernels).to_string();
        let digest = DigestBuilder::default().field("kernel-abi").field(tag.to_string()).field(table).finish();
        let manifest = BundleManifest {
            kernel_abi: Some(tag.clone()),
            kernels,
            provenance: Provenance::fixed(digest),
            ..self.empty(kernel_abi_name(&self.recipe.name), ComponentKind::Kernels)
        };
        let summary = format!("ties {} kernels to a core with the same kernel table", self.recipe.name);
        self.tie(PackageKind::KernelAbi(tag.clone()), KERNEL_ABI_VERSION, manifest, summary)
    }

    /// The package by which the slices exclude each other: an environment holds one build of a package. It is a
    /// function of the simulator's name and the target alone, so one more capability changes no other package.
    fn slot(&self, target: KernelTarget) -> Package {
        let digest = DigestBuilder::default().field("slice").field(target.to_string()).finish();
        let manifest = BundleManifest {
            provenance: Provenance::fixed(digest),
            ..self.empty(slot_name(&self.recipe.name), ComponentKind::Kernels)
        };
        let summary = format!("lets an environment have {} for one target only: {target}", self.recipe.name);
        self.tie(PackageKind::Slot(target), SLOT_VERSION, manifest, summary)
    }

    /// A package whose only use is that an environment holds one build of it. Two releases publish the same file, so
    /// nothing is in it that may differ between them: no licence, home page, time or build number.
    fn tie(&self, kind: PackageKind, version: u32, manifest: BundleManifest, summary: String) -> Package {
        let numbers = Version::new(version.into(), 0, 0);
        let manifest = BundleManifest { version: numbers, policy: VersionPolicy::Capability, ..manifest };
        let mut package = self.package(kind, manifest, None);
        package.manifest.licences.clear();
        package.manifest.license = None;
        Package {
            version: version.into(),
            build_number: 0,
            scale: 0,
            licences: BTreeMap::new(),
            summary,
            homepage: None,
            ..package
        }
    }

    fn core(&self, bundle: &Bundle) -> Package {
        let program = format!("bin/{}", self.recipe.name);
        let has_program = bundle.manifest.artifacts.iter().any(|artifact| artifact.path == program);
        let mut package = self.of_bundle(PackageKind::Component, bundle);
        package.tests.extend(has_program.then(|| format!("{} --version", self.recipe.name)));
        package.manifest.dependencies.extend(self.kernel_abi_pin());
        // Without one of the libraries that ship cut, core is not whole; programs of their own are nothing that it needs.
        let needs_slice = self.recipe.is_sliced() && (!self.recipe.needs_gpu() || self.cuts_libraries());
        package.manifest.dependencies.extend(needs_slice.then(|| self.version(selector_name(&self.recipe.name))));
        package.manifest.exports.push(self.core_export(&bundle.manifest));
        package
    }

    /// Whether a library is among what ships cut.
    fn cuts_libraries(&self) -> bool {
        let cut = self.bundles.iter().filter(|bundle| bundle.manifest.is_slice());
        let mut files = cut.flat_map(|bundle| &bundle.manifest.artifacts);
        let is_library = |path: &str| path.rsplit('/').next().is_some_and(|name| name.contains(".so"));
        files.any(|file| is_library(&file.path))
    }

    /// rtc is pinned to core by rtc's policy, not by core's: what it compiles on the user's
    /// machine sees the inside of core.
    ///
    /// Of several, for several CUDA releases, an environment holds one: the newest whose code the driver runs. The oldest
    /// is there for all machines.
    fn rtc(&self, bundle: &Bundle) -> Package {
        let policy = bundle.manifest.policy;
        let mut package = self.of_bundle(PackageKind::Component, bundle);
        let rtc = self.bundles.iter().filter(|other| other.manifest.component == ComponentKind::Rtc);
        let releases: BTreeSet<CudaVersion> = rtc.filter_map(|other| other.manifest.cuda).collect();
        let oldest = releases.first().copied();
        if let Some(cuda) = bundle.manifest.cuda.filter(|_| releases.len() > 1) {
            package.build_number = release_number(cuda, package.build_number);
            package.scale *= RELEASE_SCALE;
            let lowest = lowest_driver(cuda, self.context.manifests);
            package.manifest.conditions.extend((Some(cuda) != oldest).then_some(Condition::Driver { cuda: lowest }));
        }
        package.manifest.dependencies.insert(self.within(self.name(ComponentKind::Core), policy));
        package.manifest.exports.push(self.within(bundle.manifest.package.clone(), policy));
        package
    }

    /// Kernels are files: they depend on nothing but their table, and can be put into an
    /// environment on a machine without a GPU. Where they run is the selector's business.
    fn kernels(&self, bundle: &Bundle) -> Package {
        let mut package = self.of_bundle(PackageKind::Kernels, bundle);
        package.manifest.dependencies.extend(self.kernel_abi_pin());
        let slot = bundle.manifest.target.filter(|_| bundle.manifest.is_slice());
        package.manifest.dependencies.extend(slot.map(|target| Dependency::Slot { target }));
        package
    }

    /// Headers and link names fit exactly the libraries they were built with; where a link name
    /// points into another component's files, that one is needed too. Who builds with dev links
    /// core, so dev exports it: builders take run-exports from direct dependencies only. Who links
    /// rtc depends on rtc by name, and gets its export from there.
    fn dev(&self, bundle: &Bundle, packages: &[Package]) -> Result<Package> {
        let mut package = self.of_bundle(PackageKind::Component, bundle);
        package.manifest.dependencies.insert(self.exactly(ComponentKind::Core, bundle, packages)?);
        for artifact in &bundle.manifest.artifacts {
            let ArtifactKind::Link { to } = &artifact.kind else { continue };
            let target = resolve_link(&artifact.path, to);
            // One of several libraries that ship cut is there with core.
            let is_beside = |package: &&Package| {
                let (other, own) = (&package.manifest.host, &bundle.manifest.host);
                !package.manifest.is_slice() && (other == own || other.is_none() || own.is_none())
            };
            let mut owners = packages.iter().filter(is_beside);
            let holds = |package: &&Package| package.manifest.artifacts.iter().any(|other| other.path == target);
            let Some(owner) = owners.find(holds) else { continue };
            // Any of several builds for several CUDA releases.
            let is_one = owners.all(|other| other.name() != owner.name());
            let needed = if is_one { owner.exactly()? } else { self.version(owner.name().to_owned()) };
            package.manifest.dependencies.insert(needed);
        }
        package.manifest.exports.push(self.core_export(&bundle.manifest));
        Ok(package)
    }

    fn r#static(&self, bundle: &Bundle, packages: &[Package]) -> Result<Package> {
        let mut package = self.of_bundle(PackageKind::Component, bundle);
        package.manifest.dependencies.insert(self.exactly(ComponentKind::Dev, bundle, packages)?);
        Ok(package)
    }

    /// A module for Python depends on core by its own policy, as rtc does.
    fn python(&self, bundle: &Bundle) -> Package {
        let mut package = self.of_bundle(PackageKind::Component, bundle);
        package.summary = format!("{} for Python", self.recipe.name);
        package.manifest.dependencies.insert(self.within(self.name(ComponentKind::Core), bundle.manifest.policy));
        package
    }

    /// The very package when it is built now, else its version. Of several host variants that of the bundle, or any.
    fn exactly(&self, kind: ComponentKind, bundle: &Bundle, packages: &[Package]) -> Result<Dependency> {
        let built: Vec<&Package> = packages.iter().filter(|package| package.manifest.component == kind).collect();
        match (built.iter().find(|package| package.manifest.host == bundle.manifest.host), built.as_slice()) {
            (Some(one), _) | (None, [one]) => one.exactly(),
            _ => Ok(self.version(self.name(kind))),
        }
    }

    /// What brings the kernels of all targets, once for each CUDA release, where GPUs whose capability nobody tells get
    /// them. Of several an environment holds one: the newest whose code the driver runs.
    fn all_kernels(&self, packages: &[Package]) -> Result<Vec<Package>> {
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
    fn selectors(&self, packages: &[Package]) -> Result<Vec<Package>> {
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

    /// Shaders that the metapackage brings. No package manager says what a device takes, so none is chosen by it: those of
    /// the lowest environment run wherever any do, and the loader takes the best that is there.
    fn shaders(&self, packages: &[Package]) -> Vec<Dependency> {
        let made = packages.iter().filter(|package| package.kind == PackageKind::Kernels);
        let mut shaders: Vec<(KernelTarget, &Package)> = made
            .filter_map(|package| Some((package.manifest.target.filter(|target| target.is_shader())?, package)))
            .collect();
        shaders.sort_by_key(|(target, _)| *target);
        let brought = match self.recipe.package.fallback {
            Fallback::Cpu => 0,
            Fallback::Ptx => 1,
            Fallback::All => shaders.len(),
        };
        shaders.into_iter().take(brought).map(|(_, package)| self.version(package.name().to_owned())).collect()
    }

    /// The selector's builds for GPUs whose capability nobody tells.
    fn for_unknown(&self, kernels: &[(KernelTarget, &Package)], packages: &[Package]) -> Result<Vec<Package>> {
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
    fn selector_of_all(&self, packages: &[Package]) -> Option<Package> {
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

    fn selector(&self, target: KernelTarget, kernels: Option<&Package>, choice: Choice) -> Result<Package> {
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

    /// The metapackage: this very version of core, and of the selector where there is one.
    fn meta(&self, packages: &[Package]) -> Option<Package> {
        packages.iter().find(|package| package.manifest.component == ComponentKind::Core)?;
        let mut dependencies = vec![self.version(self.name(ComponentKind::Core))];
        if packages.iter().any(|package| matches!(package.kind, PackageKind::Selector(_))) {
            dependencies.push(self.version(selector_name(&self.recipe.name)));
        }
        dependencies.extend(self.shaders(packages));
        let bundle = self.bundles.iter().find(|bundle| bundle.manifest.component == ComponentKind::Meta);
        let mut package = match bundle {
            Some(bundle) => self.of_bundle(PackageKind::Component, bundle),
            None => {
                let mut manifest = self.empty(self.recipe.name.clone(), ComponentKind::Meta);
                let declared = self.recipe.component(ComponentKind::Meta);
                let used = declared.into_iter().flat_map(Component::used_by_packages);
                manifest.uses = used.map(Dependency::from).collect();
                self.package(PackageKind::Component, manifest, None)
            }
        };
        package.manifest.dependencies.extend(dependencies);
        Some(package)
    }

    /// Manifest of a package without files. Its provenance is that of the bundles.
    fn empty(&self, package: String, component: ComponentKind) -> BundleManifest {
        let from = self.bundles.first().map(|bundle| &bundle.manifest.provenance);
        let plan = DigestBuilder::default().field("derived").finish();
        BundleManifest {
            schema: MANIFEST_SCHEMA,
            package,
            simulator: self.recipe.name.clone(),
            version: self.recipe.version,
            component,
            policy: self.policy(component, VersionPolicy::Capability),
            platform: None,
            target: None,
            cuda: None,
            host: None,
            kernel_abi: None,
            kernels: Vec::new(),
            exact: BTreeMap::new(),
            needs: BTreeMap::new(),
            embedded: Vec::new(),
            glibc: None,
            uses: Vec::new(),
            dependencies: BTreeSet::new(),
            conditions: Vec::new(),
            exports: Vec::new(),
            license: None,
            licences: BTreeMap::new(),
            opens: Vec::new(),
            outside: Vec::new(),
            artifacts: Vec::new(),
            waivers: Vec::new(),
            smoke: None,
            compile: None,
            device_sources: None,
            as_wheel: false,
            provenance: Provenance {
                simpack: env!("CARGO_PKG_VERSION").to_owned(),
                recipe: from.map_or(plan, |from| from.recipe),
                plan,
                tools: BTreeMap::new(),
                sources: BTreeMap::new(),
                source_date_epoch: from.map_or(EARLIEST, |from| from.source_date_epoch),
            },
        }
    }

    fn of_bundle(&self, kind: PackageKind, bundle: &Bundle) -> Package {
        let mut package = self.package(kind, bundle.manifest.clone(), Some(bundle.root.clone()));
        let Some(host) = &bundle.manifest.host else { return package };
        package.manifest.dependencies.extend(host.python().into_iter().flat_map(of_python));
        let source = self.recipe.variant_source(bundle.manifest.component);
        if let Some(component) = source.filter(|component| component.has_preference()) {
            let more = if component.prefers(host) { PREFERRED } else { 0 };
            package.build_number = package.build_number.saturating_mul(VARIANT_SCALE).saturating_add(more);
            package.scale = VARIANT_SCALE;
        }
        package
    }

    /// A package with what follows from its files.
    fn package(&self, kind: PackageKind, mut manifest: BundleManifest, root: Option<PathBuf>) -> Package {
        let outside = self.context.outside.get(&key(&manifest)).into_iter().flatten();
        let is_said = |given: &Dependency| manifest.uses.iter().any(|used| used.asks_for_same(given));
        let given = manifest.outside.iter().filter_map(OutsideLibrary::dependency).filter(|given| !is_said(given));
        manifest.dependencies = manifest.uses.iter().chain(outside).cloned().chain(given).collect();
        manifest.conditions = manifest.glibc.map(|from| Condition::Glibc { from }).into_iter().collect();
        manifest.exports = Vec::new();
        manifest.license = Some(self.recipe.license.clone());
        let mut licences = self.context.licences.clone();
        // What brings others holds nothing of theirs, whatever it is called.
        let vendors = self.context.vendors.get(&key(&manifest)).filter(|_| root.is_some());
        licences.extend(vendors.into_iter().flatten().map(|(name, text)| (name.clone(), text.clone())));
        let texts = licences.iter();
        manifest.licences = texts.map(|(name, text)| (name.clone(), Digest::of(text.as_bytes()))).collect();
        Package {
            kind,
            version: manifest.version,
            build_number: self.recipe.package.build_number,
            scale: 1,
            licences,
            summary: self.recipe.summary.clone(),
            homepage: self.recipe.homepage.clone(),
            tests: Vec::new(),
            manifest,
            root,
        }
    }
}

/// What a module that is built for a version of Python depends on: that Python, and its binary interface.
fn of_python(version: &str) -> Vec<Dependency> {
    let Some((major, minor)) = version.split_once('.') else { return Vec::new() };
    let next = minor.parse::<u32>().map_or_else(|_| minor.to_owned(), |minor| (minor + 1).to_string());
    let package = |name: &str, versions: String| Dependency::of_conda(name, Versions::Written(versions));
    vec![
        package("python", format!(">={version},<{major}.{next}.0a0")),
        package("python_abi", format!("{version}.* *_cp{major}{minor}")),
    ]
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

/// Path below the prefix that a relative link text means; the text itself for an absolute one.
fn resolve_link(path: &str, to: &str) -> String {
    if to.starts_with('/') {
        return to.to_owned();
    }
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in to.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}
