//! The globs by which components claim installed files.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::error::{Error, Result};
use crate::recipe::{Component, ComponentKind};

/// The globs of all components that hold installed files.
pub struct Claims(Vec<(ComponentKind, Vec<(String, GlobSet)>)>);

impl Claims {
    /// Those of a recipe's components.
    ///
    /// # Errors
    /// One is no glob.
    pub fn new(components: &[Component]) -> Result<Self> {
        let mut claims = Vec::new();
        for component in components {
            let mut globs = Vec::new();
            for glob in &component.files {
                let wrong = |error| {
                    Error::recipe(format!("`{glob}` of component `{}` is not a glob", component.kind)).because(error)
                };
                // `*` stays within one directory; `**` crosses.
                let one = GlobBuilder::new(glob).literal_separator(true).build().map_err(wrong)?;
                let set = GlobSetBuilder::new().add(one).build().map_err(wrong)?;
                globs.push((glob.clone(), set));
            }
            claims.push((component.kind, globs));
        }
        Ok(Self(claims))
    }

    /// The components that claim an installed file.
    pub fn of(&self, path: &str) -> Vec<ComponentKind> {
        let claiming = self.0.iter().filter(|(_, globs)| globs.iter().any(|(_, glob)| glob.is_match(path)));
        claiming.map(|(kind, _)| *kind).collect()
    }

    pub(super) fn empty<'p>(&self, installed: impl Iterator<Item = &'p String>) -> Vec<(ComponentKind, String)> {
        let installed: Vec<&String> = installed.collect();
        let all = self.0.iter().flat_map(|(kind, globs)| globs.iter().map(move |(text, glob)| (*kind, text, glob)));
        all.filter(|(_, _, glob)| !installed.iter().any(|path| glob.is_match(path)))
            .map(|(kind, text, _)| (kind, text.clone()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::arch::VersionPolicy;

    fn claims(components: &[(ComponentKind, &[&str])]) -> Claims {
        let component = |(kind, files): &(ComponentKind, &[&str])| Component {
            kind: *kind,
            policy: VersionPolicy::Major,
            build: None,
            files: files.iter().map(ToString::to_string).collect(),
            variants: Vec::new(),
            uses: Vec::new(),
            opens: Vec::new(),
            sonames: Vec::new(),
            compile: None,
        };
        Claims::new(&components.iter().map(component).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn a_file_has_the_components_whose_globs_match_it() {
        let claims = claims(&[
            (ComponentKind::Core, &["lib/libsim.so.*", "bin/sim"]),
            (ComponentKind::Dev, &["lib/lib*.so", "include/**"]),
            (ComponentKind::Static, &["lib/*.a", "include/sim/static.h"]),
        ]);
        assert_eq!(claims.of("lib/libsim.so.1"), [ComponentKind::Core]);
        assert_eq!(claims.of("lib/libsim.so"), [ComponentKind::Dev]);
        assert_eq!(claims.of("include/sim/deep/a.h"), [ComponentKind::Dev]);
        assert_eq!(claims.of("include/sim/static.h"), [ComponentKind::Dev, ComponentKind::Static]);
        // `*` stays within one directory, and a name is matched whole.
        assert_eq!(claims.of("lib/plugins/libsim.so.1"), []);
        assert_eq!(claims.of("bin/sim-tool"), []);
    }

    #[test]
    fn globs_that_match_nothing_are_told() {
        let claims = claims(&[
            (ComponentKind::Core, &["lib/libsim.so.*", "lib/libold.so.*"]),
            (ComponentKind::Kernels, &["share/never/**"]),
        ]);
        let installed = BTreeMap::from([("lib/libsim.so.1".to_owned(), ())]);
        let expected = [(ComponentKind::Core, "lib/libold.so.*"), (ComponentKind::Kernels, "share/never/**")];
        assert_eq!(claims.empty(installed.keys()), expected.map(|(kind, glob)| (kind, glob.to_owned())));
        assert!(Claims::new(&[]).unwrap().empty(installed.keys()).is_empty());
    }
}
