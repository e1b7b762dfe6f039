//! Packages of components: what each depends on, and what it exports.

use std::collections::BTreeSet;

use super::derivation::Derivation;
use crate::arch::{CudaVersion, KernelTarget};
use crate::bundle::{ArtifactKind, Bundle, Condition, Dependency};
use crate::error::Result;
use crate::package::{Package, PackageKind, RELEASE_SCALE, lowest_driver, release_number, selector_name};
use crate::recipe::{Component, ComponentKind, Fallback};

impl Derivation<'_> {
    pub(super) fn core(&self, bundle: &Bundle) -> Package {
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
    pub(super) fn cuts_libraries(&self) -> bool {
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
    pub(super) fn rtc(&self, bundle: &Bundle) -> Package {
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
    pub(super) fn kernels(&self, bundle: &Bundle) -> Package {
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
    pub(super) fn dev(&self, bundle: &Bundle, packages: &[Package]) -> Result<Package> {
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

    pub(super) fn r#static(&self, bundle: &Bundle, packages: &[Package]) -> Result<Package> {
        let mut package = self.of_bundle(PackageKind::Component, bundle);
        package.manifest.dependencies.insert(self.exactly(ComponentKind::Dev, bundle, packages)?);
        Ok(package)
    }

    /// A module for Python depends on core by its own policy, as rtc does.
    pub(super) fn python(&self, bundle: &Bundle) -> Package {
        let mut package = self.of_bundle(PackageKind::Component, bundle);
        package.summary = format!("{} for Python", self.recipe.name);
        package.manifest.dependencies.insert(self.within(self.name(ComponentKind::Core), bundle.manifest.policy));
        package
    }

    /// The very package when it is built now, else its version. Of several host variants that of the bundle, or any.
    pub(super) fn exactly(&self, kind: ComponentKind, bundle: &Bundle, packages: &[Package]) -> Result<Dependency> {
        let built: Vec<&Package> = packages.iter().filter(|package| package.manifest.component == kind).collect();
        match (built.iter().find(|package| package.manifest.host == bundle.manifest.host), built.as_slice()) {
            (Some(one), _) | (None, [one]) => one.exactly(),
            _ => Ok(self.version(self.name(kind))),
        }
    }

    /// The metapackage: this very version of core, and of the selector where there is one.
    pub(super) fn meta(&self, packages: &[Package]) -> Option<Package> {
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

    /// Shaders that the metapackage brings. No package manager says what a device takes, so none is chosen by it: those of
    /// the lowest environment run wherever any do, and the loader takes the best that is there.
    pub(super) fn shaders(&self, packages: &[Package]) -> Vec<Dependency> {
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
