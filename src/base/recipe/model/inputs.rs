//! Which files of a source tree a build reads.

use globset::{Glob, GlobSet, GlobSetBuilder};

use crate::error::{Error, Result};

/// The files that a build reads.
#[derive(Debug, Clone)]
pub struct Inputs {
    dir: String,
    named: Option<GlobSet>,
    /// How each pattern begins, before anything that stands for several names.
    beginnings: Vec<String>,
}

impl Inputs {
    /// The files below a directory of the source, or those that globs below it name.
    ///
    /// # Errors
    /// They are not globs.
    pub(super) fn below(dir: &str, patterns: Option<&[String]>) -> Result<Self> {
        let named = patterns.map(globs).transpose()?;
        let beginnings = patterns.iter().copied().flatten().map(|glob| {
            let literal = &glob[..glob.find(['*', '?', '[', '{', '\\']).unwrap_or(glob.len())];
            if dir.is_empty() { literal.to_owned() } else { format!("{dir}/{literal}") }
        });
        Ok(Self { dir: dir.to_owned(), named, beginnings: beginnings.collect() })
    }

    /// Whether the build reads a file of the source, by its path below the root; one that is `left_out` has to be named.
    pub fn contain(&self, path: &str, left_out: bool) -> bool {
        let below = match self.dir.as_str() {
            "" => Some(path),
            dir => path.strip_prefix(dir).and_then(|rest| rest.strip_prefix('/')),
        };
        below.is_some_and(|below| self.named.as_ref().map_or(!left_out, |globs| globs.is_match(below)))
    }

    /// Whether they name a file.
    pub fn name(&self, path: &str) -> bool {
        self.contain(path, true)
    }

    /// Whether they may name a file below a directory.
    pub fn may_name_below(&self, dir: &str) -> bool {
        let dir = format!("{dir}/");
        self.beginnings.iter().any(|beginning| beginning.starts_with(&dir) || dir.starts_with(beginning.as_str()))
    }
}

fn globs(patterns: &[String]) -> Result<GlobSet> {
    let mut globs = GlobSetBuilder::new();
    for glob in patterns {
        globs.add(Glob::new(glob).map_err(|error| Error::recipe(format!("`{glob}` is not a glob")).because(error))?);
    }
    globs.build().map_err(|error| Error::recipe("the inputs of a build are not globs").because(error))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::build_system::BuildDriver;
    use crate::recipe::BuildSpec;

    fn reads(source: &str, inputs: Option<&[&str]>) -> Inputs {
        let inputs = inputs.map(|globs| globs.iter().map(|glob| (*glob).to_owned()).collect());
        let (driver, source) = (BuildDriver::Cmake, source.to_owned());
        let (options, targets, install) = (BTreeMap::new(), Vec::new(), Vec::new());
        let (needs, against) = (Vec::new(), Vec::new());
        BuildSpec { driver, source, options, inputs, targets, install, needs, against }.reads().unwrap()
    }

    #[test]
    fn what_is_left_out_counts_where_it_is_named() {
        let all = reads(".", None);
        assert!(all.contain("src/a.cc", false) && !all.contain(".hidden", true));
        let named = reads("./host/", Some(&["src/**", ".version"]));
        assert!(named.contain("host/src/a.cc", false) && named.contain("host/.version", true));
        assert!(!named.contain("src/a.cc", false) && !named.contain("host/other", false));
        assert!(!reads("host", None).contain("hosts/a.cc", false));
    }

    #[test]
    fn a_directory_is_looked_into_where_a_name_may_lead_below_it() {
        let named = reads("host", Some(&["src/*.cc", ".deep/er/x"]));
        for (dir, may) in [("host", true), ("host/src", true), ("host/.deep", true), ("host/.deep/er", true)] {
            assert_eq!(named.may_name_below(dir), may, "{dir}");
        }
        assert!(!named.may_name_below("host/.venv") && !named.may_name_below("src"));
        assert!(reads(".", Some(&["**/*.h"])).may_name_below(".venv"));
        assert!(!reads(".", None).may_name_below(".venv"));
    }
}
