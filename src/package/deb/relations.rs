//! Names, versions and relations in Debian's words.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{FormatContext, Package, kernel_abi_name, selector_name, slot_name};
use crate::arch::{CudaVersion, KernelTarget, Version};
use crate::bundle::{Condition, Dependency, Ecosystem, Versions};
use crate::error::{Error, Result};
use crate::manifest::DebianPackage;
use crate::recipe::ComponentKind;

/// How the packages of one distribution are called.
pub(super) struct Names<'a> {
    context: &'a FormatContext<'a>,
    /// Packages that several CUDA releases have.
    several: BTreeSet<String>,
}

/// What a package asks for and offers, each list sorted.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Relations {
    pub depends: BTreeSet<String>,
    pub recommends: BTreeSet<String>,
    pub provides: BTreeSet<String>,
    pub conflicts: BTreeSet<String>,
}

impl<'a> Names<'a> {
    pub fn of(packages: &[Package], context: &'a FormatContext<'a>) -> Self {
        let mut releases: BTreeMap<&str, BTreeSet<Option<CudaVersion>>> = BTreeMap::new();
        for package in packages.iter().filter(|package| package.root.is_some()) {
            releases.entry(package.name()).or_default().insert(package.manifest.cuda);
        }
        let several = releases.iter().filter(|(_, releases)| releases.len() > 1).map(|(name, _)| (*name).to_owned());
        Self { context, several: several.collect() }
    }

    /// A package's name: lower case, and no `_`; with the CUDA release where packages of several releases have it.
    pub fn package(&self, package: &Package) -> String {
        let name = plain(package.name());
        match package.manifest.cuda.filter(|_| self.several.contains(package.name())) {
            Some(cuda) => format!("{name}-cuda{cuda}"),
            None => name,
        }
    }

    /// The revision: one more than the recipe's build number, so that none is the first.
    pub fn version(&self, version: Version) -> String {
        format!("{}-{}", spelled(version), self.context.recipe.package.build_number + 1)
    }

    pub fn relations(&self, package: &Package) -> Result<Relations> {
        let manifest = &package.manifest;
        let mut found = Relations::default();
        for dependency in &manifest.dependencies {
            match dependency {
                Dependency::KernelAbi { tag } => {
                    let tie = format!("{}-{tag}", plain(&kernel_abi_name(&manifest.simulator)));
                    let list = if manifest.component == ComponentKind::Core {
                        &mut found.provides
                    } else {
                        &mut found.depends
                    };
                    list.insert(tie);
                }
                Dependency::Slot { .. } => {
                    let slot = plain(&slot_name(&manifest.simulator));
                    found.provides.insert(slot.clone());
                    found.conflicts.insert(slot);
                }
                Dependency::Component { package: other, version, policy, .. } => {
                    let name = plain(other);
                    let is_selector = *other == selector_name(&manifest.simulator);
                    match policy.upper_bound(*version) {
                        // Without a GPU the CPU does: who installs the whole need not have kernels.
                        None if is_selector && manifest.component == ComponentKind::Meta => {
                            found.recommends.insert(format!("{name} (= {})", self.version(*version)));
                        }
                        None => drop(found.depends.insert(format!("{name} (= {})", self.version(*version)))),
                        Some(bound) => {
                            found.depends.insert(format!("{name} (>= {})", spelled(*version)));
                            // A pre-release of the bound sorts below it.
                            found.depends.insert(format!("{name} (<< {}~)", spelled(bound)));
                        }
                    }
                }
                Dependency::Build { package: other, version, .. } => {
                    found.depends.insert(format!("{} (= {})", plain(other), self.version(*version)));
                }
                Dependency::Vendor { library: name, versions, .. }
                | Dependency::Package { ecosystem: Ecosystem::Conda, name, versions, .. } => {
                    found.depends.extend(self.outside(package, name, versions)?);
                }
            }
        }
        if manifest.component == ComponentKind::Kernels && !manifest.target.is_some_and(KernelTarget::is_shader) {
            let selector = plain(&selector_name(&manifest.simulator));
            found.provides.insert(format!("{selector} (= {})", self.version(package.version)));
        }
        if manifest.cuda.is_some() && self.several.contains(package.name()) {
            // Packages of two releases have files in common. By the name that they share one of them is installed at a
            // time, and others find whichever it is.
            let name = plain(package.name());
            found.provides.insert(format!("{name} (= {})", self.version(package.version)));
            found.conflicts.insert(name);
        }
        let glibc = manifest.conditions.iter().filter_map(|condition| match condition {
            Condition::Glibc { from } => Some(format!("libc6 (>= {from})")),
            Condition::Driver { .. } | Condition::Device { .. } => None,
        });
        found.depends.extend(glibc);
        Ok(found)
    }

    /// What others make.
    fn outside(&self, package: &Package, name: &str, versions: &Versions) -> Result<Vec<String>> {
        let known = &self.context.manifests.debian;
        let deb = known.of(name).ok_or_else(|| {
            Error::recipe(format!("package {}: nobody knows how Debian calls {name}", package.name()))
                .hint("add it to manifests/debian.toml of a directory and name that: --data DIR")
                .hint("or build without it: --format conda,tar")
        })?;
        let range = match versions {
            Versions::Range(range) => range.clone(),
            Versions::Written(text) if !deb.range => {
                let what =
                    format!("package {}: `{name} {text}` is no range that Debian's names can say", package.name());
                return Err(Error::recipe(what).hint("write it as >=X.Y,<Z"));
            }
            Versions::Written(_) => Default::default(),
        };
        if !deb.range {
            return Ok(vec![self.toolkits(deb, package, &range)]);
        }
        let plain = deb.named(CudaVersion::new(0, 0));
        let from = range.from.map(|from| format!("{plain} (>= {})", spelled(from)));
        let below = range.below.map(|below| format!("{plain} (<< {}~)", spelled(below)));
        let bounds: Vec<String> = from.into_iter().chain(below).collect();
        Ok(if bounds.is_empty() { vec![plain] } else { bounds })
    }

    /// Alternatives: the package of each toolkit of the range, the newest first; of the package's own major where
    /// nothing is said.
    fn toolkits(&self, deb: &DebianPackage, package: &Package, range: &crate::arch::VersionRange) -> String {
        let own = package.manifest.cuda.unwrap_or(self.context.recipe.cuda);
        let fits = |cuda: &CudaVersion| {
            let version = Version::new(cuda.major.into(), cuda.minor.into(), 0);
            let within =
                range.from.is_none_or(|from| version >= from) && range.below.is_none_or(|below| version < below);
            within && (range.from.is_some() || cuda.major == own.major)
        };
        let mut toolkits: Vec<CudaVersion> = self.context.manifests.cuda.toolkits().into_iter().filter(fits).collect();
        toolkits.sort_unstable_by(|a, b| b.cmp(a));
        let mut names: Vec<String> = toolkits.into_iter().map(|cuda| deb.named(cuda)).collect();
        if names.is_empty() {
            names.push(deb.named(own));
        }
        names.dedup();
        names.join(" | ")
    }
}

/// A name as Debian allows it: lower-case letters, digits, `+`, `-`, `.`.
pub(super) fn plain(name: &str) -> String {
    name.to_lowercase().replace('_', "-")
}

/// A version as Debian sorts it: what comes before a release has a `~`, what comes after it a `+`.
pub(super) fn spelled(version: Version) -> String {
    let text = version.to_string();
    let (epoch, text) = match text.split_once('!') {
        Some((epoch, rest)) => (format!("{epoch}:"), rest.to_owned()),
        None => (String::new(), text),
    };
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let (numbers, rest) = text.split_at(end);
    let (numbers, dot) = match numbers.strip_suffix('.') {
        Some(numbers) => (numbers, "."),
        None => (numbers, ""),
    };
    let rest = format!("{dot}{rest}").replace(".post", "+post").replace(".dev", "~dev");
    let mark = if rest.starts_with(|letter: char| letter.is_ascii_alphabetic()) { "~" } else { "" };
    format!("{epoch}{numbers}{mark}{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_sort_as_debian_sorts_them() {
        for (ours, theirs) in [
            ("1.2.3", "1.2.3"),
            ("1.0b1", "1.0~b1"),
            ("8.2.2.post1", "8.2.2+post1"),
            ("1.0.dev3", "1.0~dev3"),
            ("1.0rc1.dev2", "1.0~rc1~dev2"),
            ("2!1.0", "2:1.0"),
        ] {
            assert_eq!(spelled(ours.parse().unwrap()), theirs);
        }
        assert_eq!(plain("volley-kernels-sm_90a"), "volley-kernels-sm-90a");
    }
}
