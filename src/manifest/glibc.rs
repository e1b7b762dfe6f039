//! manylinux levels: the highest symbol versions that a binary of the level may use.

use serde::Deserialize;
use toml::Spanned;

use super::load::ManifestText;
use crate::data::Data;
use crate::error::Result;
use crate::target::GlibcVersion;

/// All levels, ascending by glibc.
#[derive(Debug, Clone)]
pub struct GlibcLevels {
    levels: Vec<GlibcLevel>,
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
    level: Vec<GlibcLevel>,
}

impl GlibcLevel {
    /// Highest GLIBC_ version.
    pub fn glibc(&self) -> GlibcVersion {
        *self.glibc.get_ref()
    }
}

impl GlibcLevels {
    pub(super) fn load(data: &Data) -> Result<Self> {
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
        Ok(Self { levels })
    }

    /// The level of exactly this glibc.
    pub fn get(&self, glibc: GlibcVersion) -> Option<&GlibcLevel> {
        self.levels.iter().find(|level| level.glibc() == glibc)
    }

    /// The lowest level that allows a glibc symbol version.
    pub fn lowest_for(&self, glibc: GlibcVersion) -> Option<&GlibcLevel> {
        self.levels.iter().find(|level| level.glibc() >= glibc)
    }

    /// All levels, ascending.
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
}
