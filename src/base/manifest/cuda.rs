//! CUDA releases: the PTX ISA they write, the drivers they need, the host compilers they accept.

use std::str::FromStr;

use serde::Deserialize;
use toml::Spanned;

use super::text::ManifestText;
use crate::arch::CudaVersion;
use crate::data::Data;
use crate::error::Result;

/// A PTX ISA version (major, minor): `.version 9.0`.
pub type PtxIsa = (u32, u32);

/// All known releases, ascending.
#[derive(Debug, Clone)]
pub struct CudaReleases {
    majors: Vec<CudaMajor>,
    releases: Vec<CudaRelease>,
}

/// Minor-version compatibility of one major.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CudaMajor {
    /// The major.
    pub major: u32,
    /// Lowest driver that runs machine code of any of its releases.
    pub min_driver: String,
    /// The CUDA version that this driver reports.
    pub min_driver_cuda: CudaVersion,
}

/// Host compilers, by major version, both inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CompilerRange {
    /// Lowest.
    pub min: u32,
    /// Highest.
    pub max: u32,
}

/// One release.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CudaRelease {
    version: Spanned<CudaVersion>,
    ptx_isa: PtxIsaText,
    /// Whether simpack builds with it; false for the never released and the too old.
    #[serde(default = "yes")]
    pub toolkit: bool,
    /// First driver of the branch that supports it.
    pub driver: Option<String>,
    /// g++ versions that its nvcc accepts.
    pub gcc: Option<CompilerRange>,
    /// clang versions that its nvcc accepts.
    pub clang: Option<CompilerRange>,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
struct PtxIsaText(PtxIsa);

impl FromStr for PtxIsaText {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let version: CudaVersion =
            text.parse().map_err(|_| format!("`{text}` is not a PTX ISA version such as 9.0"))?;
        Ok(Self((version.major, version.minor)))
    }
}

impl TryFrom<String> for PtxIsaText {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    edition: u32,
    major: Vec<CudaMajor>,
    release: Vec<CudaRelease>,
}

impl CudaRelease {
    /// The release.
    pub fn version(&self) -> CudaVersion {
        *self.version.get_ref()
    }

    /// The PTX ISA that it writes.
    pub fn ptx_isa(&self) -> PtxIsa {
        self.ptx_isa.0
    }
}

/// The branch of a driver: the number before the first dot. All parts must be numbers.
fn branch(driver: &str) -> Option<u32> {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = driver.split('.');
    let first = parts.next().filter(|part| is_number(part))?;
    parts.all(is_number).then(|| first.parse().ok()).flatten()
}

fn branch_of(release: &CudaRelease) -> Option<u32> {
    branch(release.driver.as_deref()?)
}

impl CudaReleases {
    pub(super) fn load(data: &Data) -> Result<Self> {
        let text = ManifestText::read(data, "manifests/cuda.toml")?;
        let file: File = text.parse()?;
        text.edition(file.edition)?;
        let (mut majors, mut releases) = (file.major, file.release);
        majors.sort_by_key(|major| major.major);
        releases.sort_by_key(CudaRelease::version);
        for (index, release) in releases.iter().enumerate() {
            let version = release.version();
            let wrong = |message: String| Err(text.wrong(Some(release.version.span()), message));
            if !majors.iter().any(|major| major.major == version.major) {
                return wrong(format!("release {version} has no [[major]] {}", version.major));
            }
            if index > 0 && releases[index - 1].version() == version {
                return wrong(format!("release {version} is listed twice"));
            }
            if index > 0 && releases[index - 1].ptx_isa() > release.ptx_isa() {
                return wrong(format!("release {version} has a lower ptx-isa than the release before it"));
            }
            if let Some(driver) = release.driver.as_ref().filter(|driver| branch(driver).is_none()) {
                return wrong(format!("release {version} has driver `{driver}`, which is no number such as 580.65.06"));
            }
            if [release.gcc, release.clang].into_iter().flatten().any(|range| range.min > range.max) {
                return wrong(format!("release {version} has a compiler range with min above max"));
            }
        }
        Ok(Self { majors, releases })
    }

    /// One release.
    pub fn get(&self, version: CudaVersion) -> Option<&CudaRelease> {
        self.releases.iter().find(|release| release.version() == version)
    }

    /// All releases, ascending, also those that are no toolkit.
    pub fn iter(&self) -> impl Iterator<Item = &CudaRelease> {
        self.releases.iter()
    }

    /// The releases that simpack builds with, ascending.
    pub fn toolkits(&self) -> Vec<CudaVersion> {
        self.releases.iter().filter(|release| release.toolkit).map(CudaRelease::version).collect()
    }

    /// The lowest CUDA version whose drivers compile PTX of an ISA version; none when the ISA is
    /// newer than every known release.
    pub fn cuda_for_ptx(&self, isa: PtxIsa) -> Option<CudaVersion> {
        self.releases.iter().find(|release| release.ptx_isa() >= isa).map(CudaRelease::version)
    }

    /// The CUDA version that a driver supports, by its number: `580.159` or `580.159.04` is 13.0. A driver belongs to
    /// the branch of its first number; one of a branch that no release names counts for the release before, so the
    /// answer is never too high. None when it is older than every known release, or no driver's number.
    pub fn cuda_of_driver(&self, driver: &str) -> Option<CudaVersion> {
        let branch = branch(driver)?;
        let known = self.releases.iter().filter_map(|release| Some((branch_of(release)?, release.version())));
        known.filter(|(first, _)| *first <= branch).map(|(_, version)| version).max()
    }

    /// Minor-version compatibility of a major.
    pub fn major(&self, major: u32) -> Option<&CudaMajor> {
        self.majors.iter().find(|entry| entry.major == major)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ptx_needs_the_driver_of_its_isa() {
        let cuda = CudaReleases::load(&Data::at("no such directory")).unwrap();
        let needs = |isa| cuda.cuda_for_ptx(isa).map(|version| version.to_string());
        assert_eq!(needs((7, 4)).as_deref(), Some("11.4"));
        assert_eq!(needs((8, 5)).as_deref(), Some("12.5"));
        assert_eq!(needs((8, 6)).as_deref(), Some("12.7"));
        assert_eq!(needs((9, 0)).as_deref(), Some("13.0"));
        assert_eq!(needs((10, 0)), None);
        assert_eq!(cuda.major(13).unwrap().min_driver, "580.65.06");
        assert!(!cuda.toolkits().contains(&CudaVersion::new(12, 7)));
    }

    #[test]
    fn drivers_support_the_release_of_their_branch() {
        let cuda = CudaReleases::load(&Data::at("no such directory")).unwrap();
        let supports = |driver: &str| cuda.cuda_of_driver(driver).map(|version| version.to_string());
        assert_eq!(supports("580.159.04").as_deref(), Some("13.0"));
        assert_eq!(supports("580.159").as_deref(), Some("13.0"));
        // Earlier than the driver of 12.4's notes, but of its branch.
        assert_eq!(supports("550.40.07").as_deref(), Some("12.4"));
        assert_eq!(supports("565.57.01").as_deref(), Some("12.7"));
        assert_eq!(supports("535.288.01").as_deref(), Some("12.2"));
        // Of no release's branch: what the one before supports.
        assert_eq!(supports("585.1").as_deref(), Some("13.0"));
        assert_eq!(supports("440.33"), None);
        assert_eq!((supports("580."), supports("x"), supports("")), (None, None, None));
    }
}
