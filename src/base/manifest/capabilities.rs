//! Compute capabilities: which CUDA releases compile for them, and which of them share code.

use serde::Deserialize;
use toml::Spanned;

use super::text::ManifestText;
use crate::arch::{Capability, CudaVersion, Suffix};
use crate::data::Data;
use crate::error::Result;

/// All known capabilities, ascending.
#[derive(Debug, Clone)]
pub struct Capabilities {
    entries: Vec<CapabilityInfo>,
}

/// What is known about one capability (without suffix).
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CapabilityInfo {
    name: Spanned<Capability>,
    /// Name of the architecture.
    pub architecture: String,
    /// A system on a chip: it shares no machine code with desktop parts of the same major.
    #[serde(default)]
    pub tegra: bool,
    /// First release that compiles for it.
    pub min_cuda: CudaVersion,
    /// Last release that does; none while it is current.
    pub max_cuda: Option<CudaVersion>,
    /// First release with its `a` variant.
    pub a_since: Option<CudaVersion>,
    /// First release with its `f` variant.
    pub f_since: Option<CudaVersion>,
    /// Devices that run its `f` code.
    #[serde(default)]
    pub family: Vec<Capability>,
    /// Its name in later releases.
    pub renamed: Option<Renamed>,
}

/// The same hardware under another name.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Renamed {
    /// New name.
    pub to: Capability,
    /// First release with the new name.
    pub since: CudaVersion,
}

/// Why a release does not compile for a capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsupported {
    /// No such capability.
    Unknown,
    /// It has no variant with this suffix in any release.
    NoVariant,
    /// Only from this release on.
    Since(CudaVersion),
    /// Only up to this release.
    Until(CudaVersion),
    /// It has another name from a release on.
    Renamed(Capability, CudaVersion),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    edition: u32,
    capability: Vec<CapabilityInfo>,
}

impl CapabilityInfo {
    /// The capability, without suffix.
    pub fn capability(&self) -> Capability {
        *self.name.get_ref()
    }

    /// Its variants that a release compiles for: plain, `f`, `a`.
    fn variants(&self, cuda: CudaVersion) -> impl Iterator<Item = Capability> {
        let plain = self.capability();
        let has = |since: Option<CudaVersion>| since.is_some_and(|since| cuda >= since);
        let in_range = cuda >= self.min_cuda && self.max_cuda.is_none_or(|max| cuda <= max);
        [(Suffix::Plain, true), (Suffix::Family, has(self.f_since)), (Suffix::Exact, has(self.a_since))]
            .into_iter()
            .filter(move |&(_, there)| in_range && there)
            .map(move |(suffix, _)| Capability { suffix, ..plain })
    }
}

impl Capabilities {
    pub(super) fn load(data: &Data) -> Result<Self> {
        let text = ManifestText::read(data, "manifests/capabilities.toml")?;
        let file: File = text.parse()?;
        text.edition(file.edition)?;
        let mut entries = file.capability;
        entries.sort_by_key(CapabilityInfo::capability);
        for (index, entry) in entries.iter().enumerate() {
            let name = entry.capability();
            let wrong = |message: String| Err(text.wrong(Some(entry.name.span()), message));
            if name.suffix != Suffix::Plain {
                return wrong(format!("`{name}` has a suffix; `a-since` and `f-since` say which variants exist"));
            }
            if entries[..index].iter().any(|other| other.capability() == name) {
                return wrong(format!("`{name}` is listed twice"));
            }
            if let Some(max) = entry.max_cuda.filter(|&max| max < entry.min_cuda) {
                return wrong(format!("`{name}` has max-cuda {max} below min-cuda {}", entry.min_cuda));
            }
            if entry.f_since.is_some() != entry.family.contains(&name) {
                return wrong(format!("`{name}` needs both `f-since` and a `family` that lists itself, or neither"));
            }
            let others = entry.family.iter().copied().chain(entry.renamed.map(|renamed| renamed.to));
            for other in others {
                if !entries.iter().any(|entry| entry.capability() == other) {
                    return wrong(format!("`{name}` refers to `{other}`, which is not listed"));
                }
            }
        }
        Ok(Self { entries })
    }

    /// A capability that nobody knows yet: the next major.
    pub fn to_come(&self) -> Capability {
        let highest = self.iter().map(|entry| entry.capability().major).max().unwrap_or(0);
        Capability::new(highest.saturating_add(1), 0)
    }

    /// All entries, ascending.
    pub fn iter(&self) -> impl Iterator<Item = &CapabilityInfo> {
        self.entries.iter()
    }

    /// What is known about a capability; its suffix does not matter.
    pub fn get(&self, capability: Capability) -> Option<&CapabilityInfo> {
        self.entries.iter().find(|entry| entry.capability() == capability.plain())
    }

    /// Everything that a release compiles for, with suffixes, ascending.
    pub fn targets(&self, cuda: CudaVersion) -> Vec<Capability> {
        self.entries.iter().flat_map(|entry| entry.variants(cuda)).collect()
    }

    /// Whether a release compiles for a capability.
    ///
    /// # Errors
    /// Why it does not.
    pub fn check(&self, capability: Capability, cuda: CudaVersion) -> Result<(), Unsupported> {
        let entry = self.get(capability).ok_or(Unsupported::Unknown)?;
        let since = match capability.suffix {
            Suffix::Plain => Some(entry.min_cuda),
            Suffix::Exact => entry.a_since,
            Suffix::Family => entry.f_since,
        };
        let since = since.ok_or(Unsupported::NoVariant)?;
        if let Some(renamed) = entry.renamed.filter(|renamed| cuda >= renamed.since) {
            return Err(Unsupported::Renamed(Capability { suffix: capability.suffix, ..renamed.to }, renamed.since));
        }
        match entry.max_cuda {
            _ if cuda < since => Err(Unsupported::Since(since)),
            Some(max) if cuda > max => Err(Unsupported::Until(max)),
            _ => Ok(()),
        }
    }

    /// Whether a capability is a system on a chip; unknown ones are taken for desktop parts.
    pub fn is_tegra(&self, capability: Capability) -> bool {
        self.get(capability).is_some_and(|entry| entry.tegra)
    }

    /// Whether a device runs the `f` code of `code`.
    pub fn in_family(&self, code: Capability, device: Capability) -> bool {
        self.get(code).is_some_and(|entry| entry.family.contains(&device.plain()))
    }
}

impl std::fmt::Display for Unsupported {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unknown => f.write_str("no such capability"),
            Self::NoVariant => f.write_str("no release has this variant"),
            Self::Since(first) => write!(f, "supported from CUDA {first} on"),
            Self::Until(last) => write!(f, "supported up to CUDA {last}"),
            Self::Renamed(to, since) => write!(f, "named {to} from CUDA {since} on"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Capabilities {
        Capabilities::load(&Data::at("no such directory")).unwrap()
    }

    fn names(cuda: (u32, u32)) -> String {
        let targets = known().targets(CudaVersion::new(cuda.0, cuda.1));
        targets.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn releases_compile_for_what_their_compilers_list() {
        // `nvcc --list-gpu-code` of 11.8, and the target list of `ptxas --help` of 13.0.
        assert_eq!(names((11, 8)), "5.0 5.2 5.3 6.0 6.1 6.2 7.0 7.2 7.5 8.0 8.6 8.7 8.9 9.0");
        assert_eq!(
            names((13, 0)),
            "7.5 8.0 8.6 8.7 8.8 8.9 9.0 9.0a 10.0 10.0f 10.0a 10.3 10.3f 10.3a 11.0 11.0f 11.0a 12.0 12.0f 12.0a \
             12.1 12.1f 12.1a"
        );
    }

    #[test]
    fn a_pair_that_does_not_fit_says_why() {
        let check = |capability: &str, major, minor| {
            known().check(capability.parse().unwrap(), CudaVersion::new(major, minor)).map_err(|why| why.to_string())
        };
        assert_eq!(check("9.0a", 12, 0), Ok(()));
        assert_eq!(check("9.0a", 11, 8), Err("supported from CUDA 12.0 on".to_owned()));
        assert_eq!(check("7.0", 13, 0), Err("supported up to CUDA 12.9".to_owned()));
        assert_eq!(check("9.2", 13, 0), Err("no such capability".to_owned()));
        assert_eq!(check("8.0a", 13, 0), Err("no release has this variant".to_owned()));
        assert_eq!(check("10.1a", 13, 0), Err("named 11.0a from CUDA 13.0 on".to_owned()));
        assert_eq!(check("10.1a", 12, 9), Ok(()));
    }

    /// Oracle: the compiler itself. Runs where `SIMPACK_TEST_CUDA` names a CUDA directory.
    #[test]
    fn the_compiler_agrees() {
        let Some(cuda) = crate::skip::set_up("SIMPACK_TEST_CUDA") else { return };
        let help = std::process::Command::new(cuda.join("bin/ptxas")).arg("--help").output().unwrap();
        let help = String::from_utf8(help.stdout).unwrap();
        let version = std::process::Command::new(cuda.join("bin/ptxas")).arg("--version").output().unwrap();
        let version = String::from_utf8(version.stdout).unwrap();
        let release = version.split("release ").nth(1).and_then(|rest| rest.split(',').next()).unwrap();
        let mut listed: Vec<Capability> =
            help.split('\'').filter(|word| word.starts_with("sm_")).filter_map(Capability::from_arch).collect();
        listed.sort();
        listed.dedup();
        assert_eq!(listed, known().targets(release.parse().unwrap()));
    }
}
