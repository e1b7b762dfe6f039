//! manylinux levels: the highest symbol versions that a binary of the level may use.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use toml::Spanned;

use crate::arch::GlibcVersion;
use crate::data::Data;
use crate::error::Result;
use crate::manifest::text::ManifestText;

/// All levels, ascending by glibc.
#[derive(Debug, Clone)]
pub struct GlibcLevels {
    levels: Vec<GlibcLevel>,
    /// Levels that wheels still name, and no recipe.
    retired: Vec<GlibcLevel>,
    /// Libraries that the systems of all levels have.
    libraries: BTreeSet<String>,
    /// Those that systems have from a level on.
    since: BTreeMap<String, GlibcVersion>,
}

/// One level.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct GlibcLevel {
    /// `manylinux_2_28`.
    pub name: String,
    /// An older name: `manylinux2014`.
    pub alias: Option<String>,
    glibc: Spanned<GlibcVersion>,
    /// Highest GLIBCXX_ version of libstdc++.
    pub glibcxx: String,
    /// Highest CXXABI_ version of libstdc++.
    pub cxxabi: String,
    /// Highest GCC_ version of libgcc_s.
    pub gcc: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    edition: u32,
    libraries: BTreeSet<String>,
    since: BTreeMap<String, GlibcVersion>,
    retired: Vec<GlibcLevel>,
    level: Vec<GlibcLevel>,
}

impl GlibcLevel {
    /// Highest GLIBC_ version.
    pub fn glibc(&self) -> GlibcVersion {
        *self.glibc.get_ref()
    }
}

impl GlibcLevels {
    pub(in crate::manifest) fn load(data: &Data) -> Result<Self> {
        let text = ManifestText::read(data, "manifests/glibc.toml")?;
        let file: File = text.parse()?;
        text.edition(file.edition)?;
        let mut levels = file.level;
        levels.sort_by_key(GlibcLevel::glibc);
        for pair in levels.windows(2) {
            if pair[0].glibc() == pair[1].glibc() {
                let message = format!("glibc {} is listed twice", pair[1].glibc());
                return Err(text.wrong(Some(pair[1].glibc.span()), message));
            }
        }
        let mut retired = file.retired;
        retired.sort_by_key(GlibcLevel::glibc);
        Ok(Self { levels, retired, libraries: file.libraries, since: file.since })
    }

    /// The level of exactly this glibc.
    pub fn get(&self, glibc: GlibcVersion) -> Option<&GlibcLevel> {
        self.levels.iter().find(|level| level.glibc() == glibc)
    }

    /// The lowest level that allows a glibc symbol version.
    pub fn lowest_for(&self, glibc: GlibcVersion) -> Option<&GlibcLevel> {
        self.levels.iter().find(|level| level.glibc() >= glibc)
    }

    /// The highest level that is not above a glibc, the retired ones among them.
    pub fn highest_within(&self, glibc: GlibcVersion) -> Option<&GlibcLevel> {
        self.retired.iter().chain(&self.levels).rfind(|level| level.glibc() <= glibc)
    }

    /// Lowest glibc that a wheel's platform tag promises to run with: PEP 600's `manylinux_2_28_x86_64`, and the
    /// older names. Tags of several, joined by dots, promise every one of them. `None` of other tags.
    pub fn promised_by(&self, platform: &str) -> Option<GlibcVersion> {
        let of_one = |tag: &str| {
            let alias = |level: &&GlibcLevel| {
                let rest = level.alias.as_deref().and_then(|alias| tag.strip_prefix(alias));
                rest.is_some_and(|rest| rest.starts_with('_'))
            };
            if let Some(level) = self.retired.iter().chain(&self.levels).find(alias) {
                return Some(level.glibc());
            }
            let mut parts = tag.strip_prefix("manylinux_")?.splitn(3, '_');
            let (major, minor) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
            Some(GlibcVersion::new(major, minor))
        };
        platform.split('.').filter_map(of_one).min()
    }

    /// All levels with the retired ones, ascending.
    pub fn all(&self) -> impl Iterator<Item = &GlibcLevel> {
        self.retired.iter().chain(&self.levels)
    }

    /// Whether every system of a level has a library.
    pub fn allows(&self, level: &GlibcLevel, library: &str) -> bool {
        match self.since.get(library) {
            Some(since) => *since <= level.glibc(),
            None => self.libraries.contains(library),
        }
    }

    /// The levels that compilers aim at, ascending.
    pub fn iter(&self) -> impl Iterator<Item = &GlibcLevel> {
        self.levels.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_found_by_glibc() {
        let levels = GlibcLevels::load(&Data::at("no such directory")).unwrap();
        let level = levels.get(GlibcVersion::new(2, 28)).unwrap();
        assert_eq!((level.name.as_str(), level.glibcxx.as_str()), ("manylinux_2_28", "3.4.24"));
        assert_eq!(levels.lowest_for(GlibcVersion::new(2, 5)).unwrap().alias.as_deref(), Some("manylinux2014"));
        assert!(levels.lowest_for(GlibcVersion::new(2, 99)).is_none());
    }

    #[test]
    fn tags_promise_their_lowest_glibc() {
        let levels = GlibcLevels::load(&Data::at("no such directory")).unwrap();
        for (tag, glibc) in [
            ("manylinux_2_28_x86_64", Some((2, 28))),
            ("manylinux_2_27_x86_64.manylinux_2_28_x86_64", Some((2, 27))),
            ("manylinux_2_17_x86_64.manylinux2014_x86_64", Some((2, 17))),
            ("manylinux1_x86_64", Some((2, 5))),
            ("manylinux2010_x86_64", Some((2, 12))),
            ("linux_x86_64", None),
            ("musllinux_1_2_x86_64", None),
            ("any", None),
            ("manylinux_x_y_z", None),
        ] {
            assert_eq!(levels.promised_by(tag), glibc.map(|(major, minor)| GlibcVersion::new(major, minor)), "{tag}");
        }
        let within = |minor| levels.highest_within(GlibcVersion::new(2, minor)).map(|level| level.name.as_str());
        assert_eq!((within(5), within(33), within(4)), (Some("manylinux_2_5"), Some("manylinux_2_31"), None));
    }
}
