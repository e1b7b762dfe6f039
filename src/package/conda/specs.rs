//! Match specs and build strings: dependencies and conditions in conda's words.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::super::{
    Choice, KERNEL_ABI_VERSION, Package, PackageKind, Rendered, SLOT_VERSION, kernel_abi_name, slot_name,
};
use super::hash::hash_input;
use super::{exactly, info, selection, spelled};
use crate::arch::{KernelTarget, Version, VersionPolicy};
use crate::bundle::{BundleManifest, Dependency, Ecosystem, Versions};
use crate::error::Result;
use crate::fs::Digest;
use crate::manifest::Vendor;
use crate::recipe::HostVariant;

/// How a build string is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BuildText {
    /// Hash and build number: `h1234567_0`.
    Hashed,
    /// Words before hash and build number: `cuda13_sm_90_h1234567_30900130`.
    Named(String),
    /// Exactly this.
    Fixed(String),
}

/// Match specs of the packages of one distribution. A dependency on exactly one build names the build string of a
/// package that was rendered before; without that it names the version.
pub struct Specs<'a> {
    simulator: &'a str,
    vendor: &'a Vendor,
    builds: BTreeMap<Dependency, String>,
}

impl<'a> Specs<'a> {
    /// For the packages of a simulator.
    pub fn new(simulator: &'a str, vendor: &'a Vendor) -> Self {
        Self { simulator, vendor, builds: BTreeMap::new() }
    }

    /// The match spec of a dependency.
    pub fn spec(&self, dependency: &Dependency) -> String {
        match dependency {
            Dependency::Component { package, version, policy, host } => {
                let build = host.as_ref().map(|host| format!(" {}_*", host.word())).unwrap_or_default();
                compatible(package, *version, *policy) + &build
            }
            Dependency::Build { package, version, .. } => match self.builds.get(dependency) {
                Some(build) => format!("{} {build}", exactly(package, *version)),
                None => exactly(package, *version),
            },
            Dependency::KernelAbi { tag } => {
                format!("{} {KERNEL_ABI_VERSION}.* {tag}", kernel_abi_name(self.simulator))
            }
            Dependency::Slot { target } => {
                format!("{} {SLOT_VERSION}.* {}", slot_name(self.simulator), build_word(*target))
            }
            Dependency::Vendor { library, versions, .. } => {
                ranged(self.vendor.by_name(library).map_or(library, |library| &library.conda), versions)
            }
            Dependency::Package { ecosystem: Ecosystem::Conda, name, versions, .. } => ranged(name, versions),
        }
    }

    /// All that a package depends on, sorted.
    pub fn depends(&self, package: &Package) -> Vec<String> {
        let specs = package.manifest.dependencies.iter().map(|dependency| self.spec(dependency));
        let depends: BTreeSet<String> = specs.chain(selection(&package.manifest.conditions).depends).collect();
        depends.into_iter().collect()
    }

    /// What a package exports.
    pub fn run_exports(&self, package: &Package) -> Vec<String> {
        package.manifest.exports.iter().map(|dependency| self.spec(dependency)).collect()
    }

    /// A package whose dependencies on exact builds were rendered before it.
    ///
    /// # Errors
    /// No client could read it.
    pub fn render<'p>(&mut self, package: &'p Package) -> Result<Rendered<'p>> {
        let depends = self.depends(package);
        let constrains = selection(&package.manifest.conditions).constrains;
        let hash = build_hash(&hash_input(&package.manifest, &depends, &constrains))?;
        let build = match build_text(package) {
            BuildText::Hashed => format!("{hash}_{}", package.build_number),
            BuildText::Named(words) => format!("{words}_{hash}_{}", package.build_number),
            BuildText::Fixed(text) => text,
        };
        self.builds.insert(package.exactly()?, build.clone());
        let subdir = package.manifest.platform.map_or_else(|| "noarch".to_owned(), |platform| platform.to_string());
        let run_exports = self.run_exports(package);
        let version = spelled(package.version);
        let rendered = Rendered { package, version, build, subdir, depends, constrains, run_exports };
        info::check(&rendered)?;
        Ok(rendered)
    }
}

/// The match spec of the builds of a package that are of a host variant in these of its axes, whatever the others are:
/// build strings begin with words of all axes.
pub fn of_variant(package: &str, version: Version, host: &HostVariant, axes: &BTreeSet<&str>) -> String {
    let words = host.words().map(|(axis, word)| if axes.contains(axis) { word } else { "*".to_owned() });
    let mut pattern = words.collect::<Vec<_>>().join("_");
    // What stands behind the last word that counts is any other word and the hash.
    while let Some(shorter) = pattern.strip_suffix("_*") {
        pattern = shorter.to_owned();
    }
    format!("{} {pattern}_*", exactly(package, version))
}

/// `volley-core >=1.0.0,<2.0a0`: everything from this version on that keeps the policy's promise.
/// The bound ends in `a0` because conda sorts pre-releases of 2.0 below it: without it `2.0rc1`
/// would pass. An exact policy accepts this version only.
fn compatible(name: &str, version: Version, policy: VersionPolicy) -> String {
    match policy.upper_bound(version) {
        Some(bound) => format!("{name} >={},<{bound}.0a0", spelled(version)),
        None => exactly(name, version),
    }
}

fn ranged(name: &str, versions: &Versions) -> String {
    format!("{name} {versions}").trim_end().to_owned()
}

/// How the build string of a package is made. It ends in the build number (CEP 34), so that a rebuild has file names of its
/// own, but for packages whose bytes no rebuild changes.
pub fn build_text(package: &Package) -> BuildText {
    let BundleManifest { target, cuda, host, kernel_abi, .. } = &package.manifest;
    match &package.kind {
        PackageKind::Component => host.as_ref().map_or(BuildText::Hashed, |host| BuildText::Named(host.word())),
        PackageKind::Kernels => {
            let tag = kernel_abi.as_ref().map(|tag| format!("_{tag}")).unwrap_or_default();
            BuildText::Named(match cuda.filter(|_| *target != Some(KernelTarget::Cpu)) {
                Some(cuda) => format!("cuda{}{tag}", cuda.major),
                None if target.is_some_and(KernelTarget::is_shader) => format!("spirv{tag}"),
                None => format!("cpu{tag}"),
            })
        }
        PackageKind::AllKernels => {
            BuildText::Named(cuda.map_or_else(String::new, |cuda| format!("cuda{}", cuda.major)))
        }
        PackageKind::Selector(choice) => {
            let word = target.map_or_else(|| "all".to_owned(), build_word);
            let word = cuda.map_or_else(|| word.clone(), |cuda| format!("cuda{}_{word}", cuda.major));
            BuildText::Named(match choice {
                Choice::Fitting => word,
                Choice::Unknown => format!("unknown_{word}"),
                Choice::NoCode => format!("nocode_{word}"),
            })
        }
        PackageKind::KernelAbi(tag) => BuildText::Fixed(tag.to_string()),
        PackageKind::Slot(target) => BuildText::Fixed(build_word(*target)),
    }
}

/// A target as part of a build string, which knows no `-`: `sm_90`, `compute_75`, `cpu`.
fn build_word(target: KernelTarget) -> String {
    target.to_string().replace('-', "_")
}

/// `h` and seven hex digits over the input of a build's hash: the digits that conda's build strings
/// carry, over the bytes of `info/hash_input.json`, so that anyone can compute them again.
fn build_hash(input: &BTreeMap<&str, Value>) -> Result<String> {
    Ok(format!("h{}", Digest::of(&info::json_lines(input)?).short(7)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::Used;

    #[test]
    fn pins_follow_the_policy() {
        let version: Version = "1.2.3".parse().unwrap();
        assert_eq!(compatible("x", version, VersionPolicy::Major), "x >=1.2.3,<2.0a0");
        assert_eq!(compatible("x", version, VersionPolicy::MajorMinor), "x >=1.2.3,<1.3.0a0");
        assert_eq!(compatible("x", version, VersionPolicy::Capability), "x ==1.2.3");
    }

    #[test]
    fn what_a_recipe_writes_comes_out_again() {
        let manifests = crate::manifest::Manifests::load(&crate::data::Data::at("no such directory")).unwrap();
        let specs = Specs::new("sim", &manifests.vendor);
        let used = |library: Option<&str>, package: &str, versions: &str| {
            let (package, versions) = (package.to_owned(), versions.to_owned());
            specs.spec(&Dependency::from(&Used {
                library: library.map(str::to_owned),
                package,
                versions,
                provides: Vec::new(),
                wheel: None,
                headers_only: false,
            }))
        };
        assert_eq!(used(None, "hdf5", ""), "hdf5");
        assert_eq!(used(None, "hdf5", ">=1.14,<2"), "hdf5 >=1.14,<2");
        assert_eq!(used(Some("nvrtc"), "cuda-nvrtc", ">=13.0,<14"), "cuda-nvrtc >=13.0,<14");
        assert_eq!(used(None, "numpy", "==1.26.*"), "numpy ==1.26.*");
    }
}
