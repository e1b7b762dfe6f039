//! The platform tag of a wheel with host code: the lowest manylinux level that allows all that its files ask for
//! (PEP 600), as auditwheel judges it.

use std::collections::BTreeSet;

use crate::arch::GlibcVersion;
use crate::elf::Facts;
use crate::manifest::{GlibcLevel, GlibcLevels};

/// The first glibc whose loader knows packed relative relocations.
const PACKED_RELOCATIONS: GlibcVersion = GlibcVersion::new(2, 36);

/// What the files of a wheel ask of a system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Level {
    /// `manylinux_2_28`; none where no level allows it: then the wheel is for machines like this one.
    pub name: Option<String>,
    /// Why no level does, in words.
    pub objections: BTreeSet<String>,
}

impl Level {
    /// The tag in the name of a wheel for a processor: `manylinux_2_28_x86_64`, `linux_x86_64`.
    pub fn tag(&self, processor: &str) -> String {
        format!("{}_{processor}", self.name.as_deref().unwrap_or("linux"))
    }
}

/// The level of host files; `is_beside` says of a library whether the wheel or one that it depends on brings it.
pub fn level<'a>(
    files: impl IntoIterator<Item = &'a Facts>,
    is_beside: &dyn Fn(&str) -> bool,
    levels: &GlibcLevels,
) -> Level {
    let files: Vec<&Facts> = files.into_iter().filter(|facts| facts.dynamic).collect();
    let mut objections = BTreeSet::new();
    for level in levels.all() {
        let of_level: BTreeSet<String> =
            files.iter().flat_map(|facts| objections_of(facts, level, is_beside, levels)).collect();
        if of_level.is_empty() {
            return Level { name: Some(level.name.clone()), objections: of_level };
        }
        // Those of the highest level are what stands in the way of all.
        objections = of_level;
    }
    Level { name: None, objections }
}

fn objections_of(
    facts: &Facts,
    level: &GlibcLevel,
    is_beside: &dyn Fn(&str) -> bool,
    levels: &GlibcLevels,
) -> Vec<String> {
    let mut found = Vec::new();
    let glibc = [Some(level.glibc().major), Some(level.glibc().minor)];
    let glibc: Vec<u32> = glibc.into_iter().flatten().collect();
    for (family, highest) in [
        ("GLIBC", glibc),
        ("GLIBCXX", numbers(&level.glibcxx)),
        ("CXXABI", numbers(&level.cxxabi)),
        ("GCC", numbers(&level.gcc)),
    ] {
        let asked = facts.highest(family).filter(|asked| *asked > highest);
        found.extend(
            asked.map(|asked| format!("{family}_{}", asked.iter().map(u32::to_string).collect::<Vec<_>>().join("."))),
        );
    }
    let special = |name: &str| facts.version_needs.values().flatten().any(|version| version == name);
    if special("GLIBC_PRIVATE") {
        found.push("GLIBC_PRIVATE".to_owned());
    }
    if special("GLIBC_ABI_DT_RELR") && level.glibc() < PACKED_RELOCATIONS {
        found.push("packed relative relocations".to_owned());
    }
    let outside = |name: &&String| !is_beside(name) && !levels.allows(level, name);
    found.extend(facts.needed.iter().filter(outside).cloned());
    found
}

fn numbers(text: &str) -> Vec<u32> {
    text.split('.').filter_map(|part| part.parse().ok()).collect()
}
