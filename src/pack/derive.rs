//! Derives every package from the recipe and its bundles: names, pins, run-exports, conditions.
//!
//! ```text
//! volley ──────────── core of this version, selector
//! volley-core ─────── kernel-abi (tag), glibc               exports core within its major
//! volley-rtc ──────── core within its minor, NVRTC          exports rtc within its minor
//! volley-dev ──────── exactly this core                     exports core within its major
//! volley-kernels ──── selector: one of volley-kernels-sm_90 … , PTX, nothing (CPU)
//! volley-kernels-* ── kernel-abi (tag)
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

use serde_json::{Value, json};

use super::spec::{PackageSpec, build_hash};
use super::{epoch, pin, selector};
use crate::arch::{Capability, KernelAbiTag, KernelTarget, Suffix, Version, VersionPolicy};
use crate::bundle::{ArtifactKind, Bundle, BundleManifest, EARLIEST, MANIFEST_SCHEMA, Provenance};
use crate::error::{Error, Result};
use crate::fs::DigestBuilder;
use crate::manifest::Manifests;
use crate::recipe::{ComponentKind, Recipe};

/// What packages depend on beyond recipe and bundles.
#[derive(Debug, Clone)]
pub struct PackContext<'a> {
    /// Known capabilities and CUDA releases.
    pub manifests: &'a Manifests,
    /// NEEDED sonames of each bundle's files, by package name, without those that the distribution
    /// itself provides.
    pub needed: BTreeMap<String, BTreeSet<String>>,
    /// Match spec of the package that provides a soname: `libstdc++.so.6` to `libstdcxx >=12`.
    /// Sonames that are not here come from the machine (glibc's own, for instance).
    pub providers: BTreeMap<String, String>,
    /// Match specs with the lowest releases that have every symbol a package's files use, by package.
    pub floors: BTreeMap<String, Vec<String>>,
    /// Licence texts by file name, put into every package.
    pub licences: BTreeMap<String, String>,
}

/// All packages of a distribution, in the order in which they build on each other.
///
/// Packages follow from the bundles that are there: a partial build (`--capability 9.0`) gives a
/// selector over what it built, and a build without core gives no metapackage.
///
/// # Errors
/// A bundle contradicts the recipe, a time stamp fits no archive, or a dependency is no match spec.
pub fn packages(recipe: &Recipe, bundles: &[Bundle], surroundings: &PackContext<'_>) -> Result<Vec<PackageSpec>> {
    let derivation = Derivation { recipe, bundles, surroundings, tag: recipe.kernel_abi_tag() };
    derivation.check()?;
    let mut specs = Vec::new();
    if let Some(tag) = derivation.tag.as_ref().filter(|_| !bundles.is_empty()) {
        specs.push(derivation.kernel_abi(tag)?);
    }
    for bundle in bundles.iter().filter(|bundle| bundle.manifest.is_slice()) {
        specs.extend(bundle.manifest.target.map(|target| derivation.slot(target)).transpose()?);
    }
    let mut bundled: Vec<&Bundle> = bundles.iter().collect();
    bundled.sort_by_key(|bundle| (bundle.manifest.component, bundle.manifest.target, bundle.manifest.package.clone()));
    for bundle in bundled {
        let spec = match bundle.manifest.component {
            ComponentKind::Core => derivation.core(bundle),
            ComponentKind::Rtc => derivation.rtc(bundle),
            ComponentKind::Kernels => derivation.kernels(bundle),
            ComponentKind::Dev => derivation.dev(bundle, &specs),
            ComponentKind::Static => derivation.r#static(bundle, &specs),
            ComponentKind::Source => derivation.plain(bundle),
            ComponentKind::Meta => continue,
        };
        specs.push(spec?);
    }
    specs.extend(derivation.selectors(&specs)?);
    if let Some(meta) = derivation.meta(&specs)? {
        specs.push(meta);
    }
    unique(&specs)?;
    Ok(specs)
}

struct Derivation<'a> {
    recipe: &'a Recipe,
    bundles: &'a [Bundle],
    surroundings: &'a PackContext<'a>,
    tag: Option<KernelAbiTag>,
}

/// What a package is before its build string is known.
struct Draft {
    manifest: BundleManifest,
    root: Option<PathBuf>,
    depends: Vec<String>,
    constrains: Vec<String>,
    run_exports: Vec<String>,
    tests: Vec<String>,
    build: Build,
}

/// How a build string is made.
enum Build {
    /// `h1234567_0`.
    Hashed,
    /// `cuda13_sm_90_h1234567`, with a build number of its own.
    Named(String, u64),
    /// Exactly this.
    Fixed(String),
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
            epoch::check(manifest.provenance.source_date_epoch)?;
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

    /// Everything within what core's own version policy promises.
    fn core_export(&self) -> String {
        let policy = self.policy(ComponentKind::Core, VersionPolicy::Major);
        pin::compatible(&self.name(ComponentKind::Core), self.recipe.version, policy)
    }

    fn kernel_abi_pin(&self) -> Option<String> {
        self.tag.as_ref().map(|tag| pin::kernel_abi(&self.recipe.name, tag))
    }

    /// The package that ties kernels to a core: nothing in it but its manifest. It is a function
    /// of the simulator's name, the tag and the kernel table alone, so that two releases that
    /// share a tag publish the same file; hence the fixed time and the schema as version.
    fn kernel_abi(&self, tag: &KernelAbiTag) -> Result<PackageSpec> {
        let kernels = self.recipe.kernels();
        let table = json!(kernels).to_string();
        let digest = DigestBuilder::default().field("kernel-abi").field(tag.to_string()).field(table).finish();
        let manifest = BundleManifest {
            version: Version { major: pin::KERNEL_ABI_VERSION, minor: 0, patch: 0 },
            policy: VersionPolicy::Capability,
            kernel_abi: Some(tag.clone()),
            kernels,
            provenance: Provenance::fixed(digest),
            ..self.empty(pin::kernel_abi_name(&self.recipe.name), ComponentKind::Kernels, &[])
        };
        let mut spec = self.finish(Draft { build: Build::Fixed(tag.to_string()), ..draft(manifest, None) })?;
        spec.version = pin::KERNEL_ABI_VERSION.to_string();
        spec.licences = BTreeMap::new();
        spec.summary = format!("ties {} kernels to a core with the same kernel table", self.recipe.name);
        Ok(spec)
    }

    /// The package by which the slices exclude each other: an environment holds one build of a package. It is a
    /// function of the simulator's name and the target alone, so one more capability changes no other package.
    fn slot(&self, target: KernelTarget) -> Result<PackageSpec> {
        let digest = DigestBuilder::default().field("slice").field(target.to_string()).finish();
        let manifest = BundleManifest {
            version: Version { major: pin::SLOT_VERSION, minor: 0, patch: 0 },
            policy: VersionPolicy::Capability,
            provenance: Provenance::fixed(digest),
            ..self.empty(pin::slot_name(&self.recipe.name), ComponentKind::Kernels, &[])
        };
        let mut spec = self.finish(Draft { build: Build::Fixed(build_word(target)), ..draft(manifest, None) })?;
        spec.version = pin::SLOT_VERSION.to_string();
        spec.licences = BTreeMap::new();
        spec.summary = format!("lets an environment have {} for one target only: {target}", self.recipe.name);
        Ok(spec)
    }

    fn core(&self, bundle: &Bundle) -> Result<PackageSpec> {
        let program = format!("bin/{}", self.recipe.name);
        let has_program = bundle.manifest.artifacts.iter().any(|artifact| artifact.path == program);
        let tests = has_program.then(|| format!("{} --version", self.recipe.name));
        // Without one of the libraries that ship cut, core is not whole.
        let library =
            self.recipe.is_sliced().then(|| format!("{}-kernels =={}", self.recipe.name, self.recipe.version));
        self.finish(Draft {
            depends: self.kernel_abi_pin().into_iter().chain(library).collect(),
            run_exports: vec![self.core_export()],
            tests: tests.into_iter().collect(),
            ..self.draft(bundle)
        })
    }

    /// rtc is pinned to core by rtc's policy, not by core's: what it compiles on the user's
    /// machine sees the inside of core.
    fn rtc(&self, bundle: &Bundle) -> Result<PackageSpec> {
        let policy = bundle.manifest.policy;
        let version = self.recipe.version;
        self.finish(Draft {
            depends: vec![pin::compatible(&self.name(ComponentKind::Core), version, policy)],
            run_exports: vec![pin::compatible(&bundle.manifest.package, version, policy)],
            ..self.draft(bundle)
        })
    }

    /// Kernels are files: they depend on nothing but their table, and can be put into an
    /// environment on a machine without a GPU. Where they run is the selector's business.
    fn kernels(&self, bundle: &Bundle) -> Result<PackageSpec> {
        let tag = self.tag.as_ref().map(|tag| format!("_{tag}")).unwrap_or_default();
        let name = match bundle.manifest.target {
            Some(KernelTarget::Cpu) => format!("cpu{tag}"),
            _ => format!("cuda{}{tag}", bundle.manifest.cuda.unwrap_or(self.recipe.cuda).major),
        };
        let slot = bundle.manifest.target.filter(|_| bundle.manifest.is_slice());
        let slot = slot.map(|target| pin::slot(&self.recipe.name, &build_word(target)));
        self.finish(Draft {
            depends: self.kernel_abi_pin().into_iter().chain(slot).collect(),
            build: Build::Named(name, self.recipe.package.build_number),
            ..self.draft(bundle)
        })
    }

    /// Headers and link names fit exactly the libraries they were built with; where a link name
    /// points into another component's files, that one is needed too. Who builds with dev links
    /// core, so dev exports it: builders take run-exports from direct dependencies only. Who links
    /// rtc depends on rtc by name, and gets its export from there.
    fn dev(&self, bundle: &Bundle, specs: &[PackageSpec]) -> Result<PackageSpec> {
        let mut depends = vec![self.exactly(ComponentKind::Core, specs)];
        for artifact in &bundle.manifest.artifacts {
            let ArtifactKind::Link { to } = &artifact.kind else { continue };
            let target = resolve_link(&artifact.path, to);
            // One of several libraries that ship cut is there with core.
            let mut owners = specs.iter().filter(|spec| !spec.manifest.is_slice());
            let owner = owners.find(|spec| spec.manifest.artifacts.iter().any(|other| other.path == target));
            depends.extend(owner.map(PackageSpec::exactly));
        }
        self.finish(Draft { depends, run_exports: vec![self.core_export()], ..self.draft(bundle) })
    }

    fn r#static(&self, bundle: &Bundle, specs: &[PackageSpec]) -> Result<PackageSpec> {
        let depends = vec![self.exactly(ComponentKind::Dev, specs)];
        self.finish(Draft { depends, ..self.draft(bundle) })
    }

    fn plain(&self, bundle: &Bundle) -> Result<PackageSpec> {
        self.finish(self.draft(bundle))
    }

    /// The very package when it is built now, else its version.
    fn exactly(&self, kind: ComponentKind, specs: &[PackageSpec]) -> String {
        let built = specs.iter().find(|spec| spec.manifest.component == kind);
        built.map_or_else(|| format!("{} =={}", self.name(kind), self.recipe.version), PackageSpec::exactly)
    }

    /// The selector's builds: CPU, PTX ascending, SASS ascending. Each brings exactly its kernel
    /// package. All of them, the CPU's too, depend on the kernel ABI: otherwise a core with another
    /// table would silently get the CPU build instead of the selector of its own version.
    fn selectors(&self, specs: &[PackageSpec]) -> Result<Vec<PackageSpec>> {
        let kernels: Vec<(KernelTarget, &PackageSpec)> = specs
            .iter()
            .filter(|spec| spec.manifest.component == ComponentKind::Kernels)
            .filter_map(|spec| Some((spec.manifest.target?, spec)))
            .collect();
        if kernels.is_empty() {
            return Ok(Vec::new());
        }
        let lowest_ptx = lowest_ptx(kernels.iter().map(|&(target, _)| target));
        let mut builds = Vec::new();
        if !kernels.iter().any(|(target, _)| *target == KernelTarget::Cpu) {
            builds.push(self.selector(KernelTarget::Cpu, None, None)?);
        }
        for &(target, spec) in &kernels {
            builds.push(self.selector(target, Some(spec), lowest_ptx)?);
        }
        builds.sort_by_key(|spec| spec.build_number);
        Ok(builds)
    }

    fn selector(
        &self,
        target: KernelTarget,
        kernels: Option<&PackageSpec>,
        lowest_ptx: Option<Capability>,
    ) -> Result<PackageSpec> {
        let cuda = kernels.and_then(|spec| spec.manifest.cuda).unwrap_or(self.recipe.cuda);
        let (mut depends, constrains) = selector::conditions(target, cuda, lowest_ptx, self.surroundings.manifests);
        depends.extend(self.kernel_abi_pin());
        depends.extend(kernels.map(PackageSpec::exactly));
        let name = match kernels {
            Some(_) if target != KernelTarget::Cpu => format!("cuda{}_{}", cuda.major, build_word(target)),
            _ => build_word(target),
        };
        let manifest = BundleManifest {
            target: Some(target),
            cuda: kernels.map(|_| cuda).filter(|_| target != KernelTarget::Cpu),
            kernel_abi: self.tag.clone(),
            ..self.empty(format!("{}-kernels", self.recipe.name), ComponentKind::Kernels, &depends)
        };
        let number = selector::build_number(target, cuda, self.recipe.package.build_number);
        let mut spec =
            self.finish(Draft { depends, constrains, build: Build::Named(name, number), ..draft(manifest, None) })?;
        spec.summary = format!("{} kernels for this machine: {target}", self.recipe.name);
        Ok(spec)
    }

    /// The metapackage: this very version of core, and of the selector where there is one.
    fn meta(&self, specs: &[PackageSpec]) -> Result<Option<PackageSpec>> {
        if !specs.iter().any(|spec| spec.manifest.component == ComponentKind::Core) {
            return Ok(None);
        }
        let version = self.recipe.version;
        let mut depends = vec![format!("{} =={version}", self.name(ComponentKind::Core))];
        let selector = format!("{}-kernels", self.recipe.name);
        if specs.iter().any(|spec| spec.name == selector) {
            depends.push(format!("{selector} =={version}"));
        }
        let bundle = self.bundles.iter().find(|bundle| bundle.manifest.component == ComponentKind::Meta);
        let draft = match bundle {
            Some(bundle) => self.draft(bundle),
            None => {
                let mut manifest = self.empty(self.recipe.name.clone(), ComponentKind::Meta, &depends);
                let declared = self.recipe.component(ComponentKind::Meta);
                manifest.uses = declared.map(|component| component.uses.clone()).unwrap_or_default();
                draft(manifest, None)
            }
        };
        self.finish(Draft { depends, ..draft }).map(Some)
    }

    fn draft(&self, bundle: &Bundle) -> Draft {
        draft(bundle.manifest.clone(), Some(bundle.root.clone()))
    }

    /// Manifest of a package without files. Its provenance is that of the bundles, and of what it
    /// depends on in place of steps.
    fn empty(&self, package: String, component: ComponentKind, depends: &[String]) -> BundleManifest {
        let from = self.bundles.first().map(|bundle| &bundle.manifest.provenance);
        let plan = depends.iter().fold(DigestBuilder::default().field("derived"), DigestBuilder::field).finish();
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
            kernel_abi: None,
            kernels: Vec::new(),
            glibc: None,
            uses: Vec::new(),
            opens: Vec::new(),
            artifacts: Vec::new(),
            smoke: None,
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

    /// Adds what follows from the files, and the build string.
    fn finish(&self, draft: Draft) -> Result<PackageSpec> {
        let manifest = draft.manifest;
        let mut depends: BTreeSet<String> = draft.depends.into_iter().chain(manifest.uses.iter().cloned()).collect();
        depends.extend(manifest.glibc.map(|glibc| format!("__glibc >={glibc}")));
        for soname in self.surroundings.needed.get(&manifest.package).into_iter().flatten() {
            depends.extend(self.surroundings.providers.get(soname).cloned());
        }
        depends.extend(self.surroundings.floors.get(&manifest.package).into_iter().flatten().cloned());
        let depends: Vec<String> = depends.into_iter().collect();
        let constrains: Vec<String> = draft.constrains.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
        let hash_input = hash_input(&manifest, &depends, &constrains);
        let hash = build_hash(&hash_input)?;
        let recipe_number = self.recipe.package.build_number;
        let (build, build_number) = match draft.build {
            Build::Hashed => (format!("{hash}_{recipe_number}"), recipe_number),
            Build::Named(name, number) => (format!("{name}_{hash}"), number),
            Build::Fixed(text) => (text, 0),
        };
        let spec = PackageSpec {
            name: manifest.package.clone(),
            version: manifest.version.to_string(),
            build,
            build_number,
            subdir: manifest.platform.map_or_else(|| "noarch".to_owned(), |platform| platform.to_string()),
            depends,
            constrains,
            run_exports: draft.run_exports,
            license: self.recipe.license.clone(),
            summary: self.recipe.summary.clone(),
            homepage: self.recipe.homepage.clone(),
            tests: draft.tests,
            licences: self.surroundings.licences.clone(),
            hash_input,
            manifest,
            root: draft.root,
        };
        super::info::check(&spec)?;
        Ok(spec)
    }
}

fn draft(manifest: BundleManifest, root: Option<PathBuf>) -> Draft {
    Draft {
        manifest,
        root,
        depends: Vec::new(),
        constrains: Vec::new(),
        run_exports: Vec::new(),
        tests: Vec::new(),
        build: Build::Hashed,
    }
}

/// What a build string's digest is over: the manifest (files by digest, provenance) and the
/// conditions. No directory, host, user or clock is in it.
fn hash_input(manifest: &BundleManifest, depends: &[String], constrains: &[String]) -> BTreeMap<String, Value> {
    let pairs = [("manifest", json!(manifest)), ("depends", json!(depends)), ("constrains", json!(constrains))];
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// A target as part of a build string, which knows no `-`: `sm_90`, `compute_75`, `cpu`.
fn build_word(target: KernelTarget) -> String {
    target.to_string().replace('-', "_")
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

fn unique(specs: &[PackageSpec]) -> Result<()> {
    let mut stems = BTreeSet::new();
    match specs.iter().find(|spec| !stems.insert(spec.stem())) {
        Some(twice) => Err(Error::bug(format!("two packages are named {}", twice.stem()))),
        None => Ok(()),
    }
}
