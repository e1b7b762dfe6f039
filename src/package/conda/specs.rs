//! Match specs and build strings: dependencies and conditions in conda's words.

use std::collections::{BTreeMap, BTreeSet};

use rattler_conda_types::{MatchSpec, ParseStrictness};
use serde_json::{Value, json};

use super::super::{KERNEL_ABI_VERSION, Package, PackageKind, Rendered, SLOT_VERSION, kernel_abi_name, slot_name};
use super::info;
use crate::arch::{KernelTarget, Version, VersionPolicy};
use crate::bundle::{BundleManifest, Condition, Dependency, DeviceRange, Ecosystem, Versions};
use crate::error::Result;
use crate::fs::Digest;
use crate::manifest::Vendor;

/// How a build string is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BuildText {
    /// Hash and build number: `h1234567_0`.
    Hashed,
    /// Words before the hash: `cuda13_sm_90_h1234567`.
    Named(String),
    /// Exactly this.
    Fixed(String),
}

/// Conditions on the machine, which conda knows as virtual packages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// What must be known and fit.
    pub depends: Vec<String>,
    /// What must fit where it is known.
    pub constrains: Vec<String>,
}

/// The package that a match spec asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Its name.
    pub name: String,
    /// Its build string, where the spec asks for exactly one.
    pub build: Option<String>,
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
            Dependency::Component { package, version, policy } => compatible(package, *version, *policy),
            Dependency::Build { package, version, .. } => match self.builds.get(dependency) {
                Some(build) => format!("{package} =={version} {build}"),
                None => format!("{package} =={version}"),
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
            Dependency::Package { ecosystem: Ecosystem::Conda, name, versions } => ranged(name, versions),
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
            BuildText::Named(words) => format!("{words}_{hash}"),
            BuildText::Fixed(text) => text,
        };
        self.builds.insert(package.exactly()?, build.clone());
        let subdir = package.manifest.platform.map_or_else(|| "noarch".to_owned(), |platform| platform.to_string());
        let run_exports = self.run_exports(package);
        let rendered = Rendered { package, build, subdir, depends, constrains, run_exports };
        info::check(&rendered)?;
        Ok(rendered)
    }
}

/// `volley-core >=1.0.0,<2.0a0`: everything from this version on that keeps the policy's promise.
/// The bound ends in `a0` because conda sorts pre-releases of 2.0 below it: without it `2.0rc1`
/// would pass. An exact policy accepts this version only.
fn compatible(name: &str, version: Version, policy: VersionPolicy) -> String {
    match policy.upper_bound(version) {
        Some(bound) => format!("{name} >={version},<{bound}.0a0"),
        None => format!("{name} =={version}"),
    }
}

fn ranged(name: &str, versions: &Versions) -> String {
    format!("{name} {versions}").trim_end().to_owned()
}

/// What a match spec of a channel asks for; none for one that names no single package.
pub fn wanted(spec: &str) -> Option<Wanted> {
    let spec = MatchSpec::from_str(spec, ParseStrictness::Lenient).ok()?;
    let build = match spec.build {
        Some(rattler_conda_types::StringMatcher::Exact(build)) => Some(build),
        _ => None,
    };
    Some(Wanted { name: spec.name.as_exact()?.as_normalized().to_owned(), build })
}

/// Conditions as virtual packages: `__cuda` is the CUDA version of the driver, and `__cuda_arch` (CEP 46) the lowest
/// compute capability of the machine's GPUs. Clients that do not know `__cuda_arch` leave it out. SASS therefore
/// *depends* on it: nobody gets machine code by guess. What serves unknown GPUs, too, only *constrains* it: it fits
/// where nothing is known, and not where the GPU is known to be another.
pub fn selection(conditions: &[Condition]) -> Selection {
    let mut selection = Selection::default();
    for condition in conditions {
        match condition {
            Condition::Driver { cuda } => selection.depends.push(format!("__cuda >={cuda}")),
            Condition::Glibc { from } => selection.depends.push(format!("__glibc >={from}")),
            Condition::Device { ranges, if_unknown } => {
                let list = if *if_unknown { &mut selection.constrains } else { &mut selection.depends };
                let ranges: Vec<String> = ranges.iter().map(devices).collect();
                list.push(format!("__cuda_arch {}", ranges.join("|")));
            }
        }
    }
    selection
}

fn devices(range: &DeviceRange) -> String {
    match range {
        DeviceRange::Only(capabilities) => {
            capabilities.iter().map(|capability| format!("=={capability}")).collect::<Vec<_>>().join("|")
        }
        DeviceRange::From { from, below, except } => {
            let below = below.map(|below| format!(",<{below}")).unwrap_or_default();
            let except: String = except.iter().map(|capability| format!(",!={capability}")).collect();
            format!(">={from}{below}{except}")
        }
    }
}

/// How the build string of a package is made.
pub fn build_text(package: &Package) -> BuildText {
    let BundleManifest { target, cuda, kernel_abi, .. } = &package.manifest;
    match &package.kind {
        PackageKind::Component => BuildText::Hashed,
        PackageKind::Kernels => {
            let tag = kernel_abi.as_ref().map(|tag| format!("_{tag}")).unwrap_or_default();
            BuildText::Named(match cuda.filter(|_| *target != Some(KernelTarget::Cpu)) {
                Some(cuda) => format!("cuda{}{tag}", cuda.major),
                None => format!("cpu{tag}"),
            })
        }
        PackageKind::Selector => {
            let word = target.map(build_word).unwrap_or_default();
            BuildText::Named(cuda.map_or_else(|| word.clone(), |cuda| format!("cuda{}_{word}", cuda.major)))
        }
        PackageKind::KernelAbi(tag) => BuildText::Fixed(tag.to_string()),
        PackageKind::Slot(target) => BuildText::Fixed(build_word(*target)),
    }
}

/// A target as part of a build string, which knows no `-`: `sm_90`, `compute_75`, `cpu`.
fn build_word(target: KernelTarget) -> String {
    target.to_string().replace('-', "_")
}

/// What a build string's digest is over: the manifest (files by digest, provenance) and the
/// conditions. No directory, host, user or clock is in it.
pub(super) fn hash_input(
    manifest: &BundleManifest,
    depends: &[String],
    constrains: &[String],
) -> BTreeMap<&'static str, Value> {
    BTreeMap::from([("manifest", json!(manifest)), ("depends", json!(depends)), ("constrains", json!(constrains))])
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
    fn specs_of_other_packages_are_read() {
        let exact = Wanted { name: "sim-kernels-sm_90".to_owned(), build: Some("cuda13_k1_h2".to_owned()) };
        assert_eq!(wanted("sim-kernels-sm_90 ==1.2.0 cuda13_k1_h2"), Some(exact));
        assert_eq!(wanted("libfoo >=1,<2"), Some(Wanted { name: "libfoo".to_owned(), build: None }));
        assert_eq!(wanted("!!"), None);
    }

    #[test]
    fn what_a_recipe_writes_comes_out_again() {
        let manifests = crate::manifest::Manifests::load(&crate::data::Data::at("no such directory")).unwrap();
        let specs = Specs::new("sim", &manifests.vendor);
        let used = |library: Option<&str>, package: &str, versions: &str| {
            let (package, versions) = (package.to_owned(), versions.to_owned());
            specs.spec(&Dependency::from(&Used { library: library.map(str::to_owned), package, versions }))
        };
        assert_eq!(used(None, "hdf5", ""), "hdf5");
        assert_eq!(used(None, "hdf5", ">=1.14,<2"), "hdf5 >=1.14,<2");
        assert_eq!(used(Some("nvrtc"), "cuda-nvrtc", ">=13.0,<14"), "cuda-nvrtc >=13.0,<14");
        assert_eq!(used(None, "numpy", "==1.26.*"), "numpy ==1.26.*");
    }
}
