//! Versions of symbols that the systems of a level have.

use crate::manifest::GlibcLevel;

/// The highest version of each family.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Limits(Vec<(&'static str, Vec<u32>)>);

impl Limits {
    pub(super) fn of(level: &GlibcLevel) -> Self {
        let of = [("GLIBCXX", &level.glibcxx), ("CXXABI", &level.cxxabi), ("GCC", &level.gcc)];
        Self(of.map(|(family, highest)| (family, numbers(highest))).to_vec())
    }

    /// Whether those systems have a version. Versions without a number (`CXXABI_FLOAT128`), and those of other families, have
    /// no limit.
    pub(super) fn allow(&self, version: &str) -> bool {
        let of =
            self.0.iter().find_map(|(family, most)| Some((version.strip_prefix(family)?.strip_prefix('_')?, most)));
        of.is_none_or(|(number, most)| !number.starts_with(|c: char| c.is_ascii_digit()) || numbers(number) <= *most)
    }

    /// `GLIBCXX_3.4.24 CXXABI_1.3.11 GCC_7.0.0`.
    pub(super) fn words(&self) -> String {
        let dotted = |most: &[u32]| most.iter().map(u32::to_string).collect::<Vec<_>>().join(".");
        self.0.iter().map(|(family, most)| format!("{family}_{}", dotted(most))).collect::<Vec<_>>().join(" ")
    }
}

/// The numbers in a version, in their order: `GLIBCXX_3.4.9` comes before `GLIBCXX_3.4.21`.
pub(super) fn numbers(version: &str) -> Vec<u32> {
    version.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::GlibcVersion;
    use crate::data::Data;
    use crate::manifest::Manifests;

    #[test]
    fn versions_without_a_number_have_no_limit() {
        let manifests = Manifests::load(&Data::at("no such directory")).unwrap();
        let limits = Limits::of(manifests.glibc.get(GlibcVersion::new(2, 28)).unwrap());
        assert_eq!(limits.words(), "GLIBCXX_3.4.24 CXXABI_1.3.11 GCC_7.0.0");
        for version in
            ["GLIBCXX_3.4", "GLIBCXX_3.4.9", "GLIBCXX_3.4.24", "CXXABI_1.3.11", "CXXABI_FLOAT128", "GOMP_5.0"]
        {
            assert!(limits.allow(version), "{version}");
        }
        for version in ["GLIBCXX_3.4.25", "GLIBCXX_3.5", "CXXABI_1.3.12", "GCC_12.0.0"] {
            assert!(!limits.allow(version), "{version}");
        }
    }
}
