//! What all packages of a distribution have, and what they are derived from.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::arch::{CudaVersion, KernelAbiTag, VersionPolicy};
use crate::bundle::{
    Bundle, BundleManifest, Condition, Dependency, EARLIEST, MANIFEST_SCHEMA, OutsideLibrary, Provenance, Versions,
};
use crate::error::{Error, Result};
use crate::fs::{Digest, DigestBuilder};
use crate::manifest::Manifests;
use crate::package::{PREFERRED, Package, PackageKind, VARIANT_SCALE, check_epoch};
use crate::recipe::{ComponentKind, HostVariant, Recipe};

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

/// What packages are derived from.
pub(super) struct Derivation<'a> {
    pub(super) recipe: &'a Recipe,
    pub(super) bundles: &'a [Bundle],
    pub(super) context: &'a PackContext<'a>,
    pub(super) tag: Option<KernelAbiTag>,
}

impl Derivation<'_> {
    pub(super) fn check(&self) -> Result<()> {
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

    pub(super) fn name(&self, kind: ComponentKind) -> String {
        let bundle = self.bundles.iter().find(|bundle| bundle.manifest.component == kind);
        bundle.map_or_else(|| format!("{}-{kind}", self.recipe.name), |bundle| bundle.manifest.package.clone())
    }

    pub(super) fn policy(&self, kind: ComponentKind, default: VersionPolicy) -> VersionPolicy {
        self.recipe.component(kind).map_or(default, |component| component.policy)
    }

    /// Everything within what core's own version policy promises. Whoever links a variant that others do not stand in for
    /// gets that one again, as conda-forge has it: what is built without MPI runs with any.
    pub(super) fn core_export(&self, of: &BundleManifest) -> Dependency {
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
    pub(super) fn within(&self, package: String, policy: VersionPolicy) -> Dependency {
        Dependency::Component { package, version: self.recipe.version, policy, host: None }
    }

    /// This very version of a package of the distribution.
    pub(super) fn version(&self, package: String) -> Dependency {
        self.within(package, VersionPolicy::Capability)
    }

    pub(super) fn kernel_abi_pin(&self) -> Option<Dependency> {
        self.tag.clone().map(|tag| Dependency::KernelAbi { tag })
    }

    /// Manifest of a package without files. Its provenance is that of the bundles.
    pub(super) fn empty(&self, package: String, component: ComponentKind) -> BundleManifest {
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

    pub(super) fn of_bundle(&self, kind: PackageKind, bundle: &Bundle) -> Package {
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
    pub(super) fn package(&self, kind: PackageKind, mut manifest: BundleManifest, root: Option<PathBuf>) -> Package {
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
