//! `control`: what dpkg is told of a package.

use std::collections::BTreeSet;

use super::super::{Metadata, Package};
use super::relations::{Names, Relations};
use crate::bundle::ArtifactKind;
use crate::error::{Error, Result};
use crate::recipe::ComponentKind;

/// The fields of a package.
#[derive(Debug)]
pub(super) struct Fields {
    pub name: String,
    pub version: String,
    pub architecture: &'static str,
    pub maintainer: String,
    relations: Relations,
    summary: String,
    homepage: Option<String>,
    section: &'static str,
    /// Names of libraries that other programs link, each as its name and its version.
    pub libraries: Vec<(String, String)>,
}

/// What dpkg is told of a package.
///
/// # Errors
/// It depends on something that Debian has no name for.
pub(super) fn fields(package: &Package, names: &Names<'_>) -> Result<Fields> {
    let manifest = &package.manifest;
    let section = match manifest.component {
        ComponentKind::Dev | ComponentKind::Static => "libdevel",
        ComponentKind::Rtc => "libs",
        _ => "science",
    };
    let line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    if package.summary.trim().is_empty() {
        return Err(
            Error::recipe(format!("package {} has no summary", package.name())).hint("write one into [simulator]")
        );
    }
    Ok(Fields {
        name: names.package(package),
        version: names.version(package.version),
        architecture: if manifest.platform.is_some() { "amd64" } else { "all" },
        // Recipes name accounts of a forge and no addresses; a domain of this kind is nobody's (RFC 2606).
        maintainer: format!("Packagers of {0} <{0}@packages.invalid>", manifest.simulator),
        relations: names.relations(package)?,
        summary: line(&package.summary),
        homepage: package.homepage.as_deref().map(line),
        section,
        libraries: libraries(package),
    })
}

/// Libraries below `lib` that others link: `libvolley.so.1` is `libvolley` and `1`.
fn libraries(package: &Package) -> Vec<(String, String)> {
    if package.manifest.platform.is_none() {
        return Vec::new();
    }
    let of = |path: &str| {
        let name = path.strip_prefix("lib/")?;
        let (stem, version) = name.split_once(".so.")?;
        (!name.contains('/')).then(|| (stem.to_owned(), version.to_owned()))
    };
    let links = package.manifest.artifacts.iter().filter(|artifact| matches!(artifact.kind, ArtifactKind::Link { .. }));
    let found: BTreeSet<_> = links.filter_map(|artifact| of(&artifact.path)).collect();
    found.into_iter().collect()
}

impl Fields {
    /// The text of `control`; `installed` are kibibytes.
    pub fn text(&self, component: &str, installed: u64) -> String {
        let mut text = format!(
            "Package: {}\nVersion: {}\nArchitecture: {}\nMaintainer: {}\nInstalled-Size: {installed}\n",
            self.name, self.version, self.architecture, self.maintainer
        );
        let Relations { depends, recommends, provides, conflicts } = &self.relations;
        for (field, list) in
            [("Depends", depends), ("Recommends", recommends), ("Conflicts", conflicts), ("Provides", provides)]
        {
            if !list.is_empty() {
                text.push_str(&format!("{field}: {}\n", list.iter().cloned().collect::<Vec<_>>().join(", ")));
            }
        }
        text.push_str(&format!("Section: {}\nPriority: optional\n", self.section));
        text.extend(self.homepage.iter().map(|homepage| format!("Homepage: {homepage}\n")));
        text + &format!(
            "Description: {}\n Component {component} of a GPU simulator. Machine code for GPUs lies in\n packages of \
             its own, one for each kind of GPU.\n",
            self.summary
        )
    }

    /// The text of `shlibs`: what packages that link a library depend on.
    pub fn shlibs(&self) -> String {
        let line = |(name, version): &(String, String)| {
            let floor = self.version.rsplit_once('-').map_or(self.version.as_str(), |(upstream, _)| upstream);
            format!("{name} {version} {} (>= {floor})\n", self.name)
        };
        self.libraries.iter().map(line).collect()
    }
}

/// What a `control` says; none without a name or a version.
pub(in super::super) fn metadata(text: &str) -> Option<Metadata> {
    let (mut name, mut version, mut depends) = (None, None, Vec::new());
    for line in text.lines() {
        match line.split_once(": ") {
            Some(("Package", value)) => name = Some(value.trim().to_owned()),
            Some(("Version", value)) => version = Some(value.trim().to_owned()),
            Some(("Depends" | "Pre-Depends", value)) => {
                depends.extend(value.split(',').map(|one| one.trim().to_owned()).filter(|one| !one.is_empty()));
            }
            _ => {}
        }
    }
    Some(Metadata { name: name?, version: version?, depends })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_file_says_what_it_is() {
        let text = "Package: a\nVersion: 1-1\nDepends: b (>= 2), c | d\nDescription: x\n Depends: no\n";
        let read = metadata(text).unwrap();
        assert_eq!((read.name.as_str(), read.version.as_str()), ("a", "1-1"));
        assert_eq!(read.depends, ["b (>= 2)", "c | d"]);
        assert_eq!(metadata("Package: a\n"), None);
    }
}
