//! Dependencies in the words of Python's indexes (dependency specifiers).

use std::collections::BTreeMap;

use crate::arch::{CudaVersion, KernelTarget, VersionPolicy};
use crate::bundle::{Dependency, Ecosystem, Versions};
use crate::error::{Error, Result};
use crate::manifest::{Vendor, VendorLibrary};
use crate::package::wheel::names::{kernel_abi_version, normalized};
use crate::package::wheel::python;
use crate::package::{Package, PackageKind, preference, selector_name};
use crate::recipe::{InWheels, PYTHON};

/// conda packages of what systems of every manylinux level have.
const OF_THE_SYSTEM: [&str; 3] = ["libgcc", "libgomp", "libstdcxx"];

/// How the packages of a distribution are called as wheels.
pub(in crate::package::wheel) struct Requires<'a> {
    /// Simulator.
    pub simulator: &'a str,
    /// Wheels by the packages that they are made of.
    pub wheels: BTreeMap<String, String>,
    /// Vendor libraries.
    pub vendor: &'a Vendor,
    /// CUDA release of what has none of its own.
    pub cuda: CudaVersion,
}

impl Requires<'_> {
    /// What the wheel of a package asks for, in no order.
    ///
    /// # Errors
    /// It needs what has no wheel.
    pub fn of(&self, package: &Package) -> Result<Vec<String>> {
        let mut all = Vec::new();
        for dependency in &package.manifest.dependencies {
            all.extend(self.one(dependency, package)?);
        }
        // What a file needs is any version of a library; what `uses` says of it goes before.
        let named: Vec<String> = all.clone();
        all.retain(|one| !named.iter().any(|other| is_narrower(other, one)));
        Ok(all)
    }

    /// The versions of Python that the wheel of a package can be installed for, where that is known.
    ///
    /// # Errors
    /// They are written in conda's own way.
    pub fn python(&self, package: &Package) -> Result<Option<String>> {
        if let Some(version) = python::version(package)? {
            return Ok(Some(format!("=={version}.*")));
        }
        let asked = package.manifest.dependencies.iter().find_map(|dependency| match dependency {
            Dependency::Package { ecosystem: Ecosystem::Conda, name, versions, .. } if name == PYTHON => Some(versions),
            _ => None,
        });
        let range = asked.map(ToString::to_string).filter(|range| !range.is_empty());
        range.map(|range| requirement("", range, PYTHON, package)).transpose()
    }

    fn one(&self, dependency: &Dependency, package: &Package) -> Result<Option<String>> {
        Ok(match dependency {
            // Extras stand for the selector.
            Dependency::Component { package, .. } | Dependency::Build { package, .. }
                if *package == selector_name(self.simulator) =>
            {
                None
            }
            Dependency::Component { package, version, policy, .. } => {
                let bound = if *policy == VersionPolicy::Capability { None } else { policy.upper_bound(*version) };
                let name = self.wheel(package);
                Some(bound.map_or_else(|| format!("{name}=={version}"), |bound| format!("{name}>={version},<{bound}")))
            }
            Dependency::Build { package, version, .. } => Some(format!("{}=={version}", self.wheel(package))),
            Dependency::KernelAbi { tag } => Some(format!("{}=={}", self.kernel_abi(), kernel_abi_version(tag))),
            Dependency::Slot { target } => Some(format!("{}=={}", self.slot(), slot_version(*target))),
            Dependency::Vendor { library, versions, .. } => Some(self.vendor(library, versions, package)?),
            Dependency::Package { wheel: Some(InWheels::System), .. } => None,
            Dependency::Package { name, versions, wheel: Some(InWheels::Project(project)), .. } => {
                Some(requirement(project, versions.to_string(), name, package)?)
            }
            // `Requires-Python` says which.
            Dependency::Package { ecosystem: Ecosystem::Conda, name, .. } if name == PYTHON => None,
            Dependency::Package { ecosystem: Ecosystem::Conda, name, versions, .. }
                if self.vendor.by_name(name).is_some() =>
            {
                Some(self.vendor(name, versions, package)?)
            }
            Dependency::Package { ecosystem: Ecosystem::Conda, name, .. } => {
                if !OF_THE_SYSTEM.contains(&name.as_str()) {
                    return Err(Error::recipe(format!("{} needs {name}, a package of conda", package.name()))
                        .detail("no wheel of it is known")
                        .hint(format!(
                            "say in `uses` what wheels have: {{ package = \"conda:{name}\", wheel = \"PROJECT\" }}, or `wheel = false` where systems have it"
                        ))
                        .hint("or leave `wheel` out of --format"));
                }
                None
            }
        })
    }

    /// Where the vendor's wheels that a package depends on have their libraries, below `site-packages`.
    pub fn vendor_directories(&self, package: &Package) -> Vec<String> {
        let libraries = package.manifest.dependencies.iter().filter_map(|dependency| match dependency {
            Dependency::Vendor { library: name, .. } | Dependency::Package { name, .. } => self.vendor.by_name(name),
            _ => None,
        });
        let mut directories: Vec<String> = Vec::new();
        for (_, directory) in libraries.filter_map(|library| library.wheel(self.release(package))) {
            if !directories.contains(&directory) {
                directories.push(directory);
            }
        }
        directories
    }

    /// The wheel in which core and kernels meet.
    pub fn kernel_abi(&self) -> String {
        normalized(&crate::package::kernel_abi_name(self.simulator))
    }

    /// The wheel by which libraries that ship cut exclude each other.
    pub fn slot(&self) -> String {
        normalized(&crate::package::slot_name(self.simulator))
    }

    fn wheel(&self, package: &str) -> String {
        self.wheels.get(package).cloned().unwrap_or_else(|| normalized(package))
    }

    fn release(&self, package: &Package) -> CudaVersion {
        package.manifest.cuda.unwrap_or(self.cuda)
    }

    fn vendor(&self, library: &str, versions: &Versions, package: &Package) -> Result<String> {
        let cuda = self.release(package);
        let known = self.vendor.by_name(library);
        let Some((known, (wheel, _))) = known.and_then(|known| Some((known, known.wheel(cuda)?))) else {
            let what = format!("{} needs {library}, of which the vendor has no wheel", package.name());
            return Err(Error::recipe(what).hint("leave `wheel` out of --format"));
        };
        let versions = versions.to_string();
        let range = if versions.is_empty() { of_release(known, cuda) } else { versions };
        requirement(&wheel, range, library, package)
    }
}

/// A project of Python's package index in a range of versions, for what a package calls `name`.
fn requirement(project: &str, range: String, name: &str, package: &Package) -> Result<String> {
    match is_specifier(&range) {
        true => Ok(format!("{project}{range}")),
        false => Err(Error::recipe(format!("`{name} {range}` is conda's way to name versions"))
            .detail(format!("{} uses it, and wheels have no words for it", package.name()))
            .hint("write a range such as `>=13.0,<14`")),
    }
}

/// Whether a requirement is that of the same project as another, which takes every version.
fn is_narrower(one: &str, any: &str) -> bool {
    one.strip_prefix(any).is_some_and(|rest| rest.starts_with(['=', '!', '<', '>', '~']))
}

/// The versions of a library whose own version is the toolkit's.
fn of_release(library: &VendorLibrary, cuda: CudaVersion) -> String {
    match library.versioned_with_cuda {
        true => format!(">={cuda},<{}", cuda.major + 1),
        false => String::new(),
    }
}

/// Whether a text is a version specifier (PEP 440), part by part.
fn is_specifier(text: &str) -> bool {
    let operators = ["==", "!=", ">=", "<=", "~=", "<", ">"];
    let is_one = |part: &str| {
        let version = operators.iter().find_map(|operator| part.trim().strip_prefix(operator));
        version.is_some_and(|version| version.trim().starts_with(|first: char| first.is_ascii_digit()))
    };
    text.is_empty() || (!text.contains('|') && text.split(',').all(is_one))
}

/// The version of the wheel that stands for the place of a library cut to a target.
pub(in crate::package::wheel) fn slot_version(target: KernelTarget) -> String {
    preference(target).to_string()
}

/// Whether a package has a wheel of its own: extras stand for selectors and what brings several, core for the metapackage.
pub(in crate::package::wheel) fn has_wheel(package: &Package) -> bool {
    use crate::recipe::ComponentKind;
    let is_choice = matches!(package.kind, PackageKind::Selector(_) | PackageKind::AllKernels);
    !is_choice && package.manifest.component != ComponentKind::Meta
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_goes_before_any_version_of_the_same_project() {
        assert!(is_narrower("nvidia-curand>=10,<11", "nvidia-curand"));
        for (one, any) in [("nvidia-curand", "nvidia-curand"), ("nvidia-curand-cu13>=10", "nvidia-curand")] {
            assert!(!is_narrower(one, any), "{one}");
        }
    }

    #[test]
    fn specifiers_of_versions() {
        for text in ["", ">=13.0,<14", "==1.26.*", "!=1.2.*, >=1"] {
            assert!(is_specifier(text), "{text}");
        }
        for text in ["1.2.*", "=1.2", ">=1|<2", ">=x", ","] {
            assert!(!is_specifier(text), "{text}");
        }
    }
}
