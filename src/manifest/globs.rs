//! Globs of manifests: checked when they are read, compiled when something is compared with them. Most
//! runs compare nothing, and compiling takes longer than reading all manifests.

use std::sync::OnceLock;

use globset::{Glob, GlobSet, GlobSetBuilder};
use serde::Deserialize;
use toml::Spanned;

use super::load::ManifestText;
use crate::error::Result;

/// Characters of a glob. A compiled one of this length is far below the compiler's limit.
const LONGEST: usize = 1000;

/// A glob as text, checked when it is read.
#[derive(Debug, Clone, Deserialize)]
#[serde(transparent)]
pub(super) struct Pattern(String);

impl Pattern {
    pub(super) fn text(&self) -> &str {
        &self.0
    }
}

/// Globs of which one must match.
#[derive(Debug, Clone)]
pub(super) struct Globs {
    globs: Vec<Glob>,
    set: OnceLock<GlobSet>,
}

impl Globs {
    /// Reads globs; a wrong one is named at its place.
    pub(super) fn read<'a>(
        text: &ManifestText,
        patterns: impl IntoIterator<Item = &'a Spanned<Pattern>>,
    ) -> Result<Self> {
        let mut globs = Vec::new();
        for pattern in patterns {
            let word = pattern.get_ref().text();
            if word.len() > LONGEST {
                return Err(text.wrong(Some(pattern.span()), format!("a glob of more than {LONGEST} characters")));
            }
            globs.push(Glob::new(word).map_err(|error| text.wrong(Some(pattern.span()), error))?);
        }
        Ok(Self { globs, set: OnceLock::new() })
    }

    /// Whether one of them matches.
    pub(super) fn is_match(&self, path: &str) -> bool {
        let set = self.set.get_or_init(|| {
            let mut builder = GlobSetBuilder::new();
            for glob in &self.globs {
                builder.add(glob.clone());
            }
            builder.build().expect("each glob was read, and none is longer than the compiler's limit")
        });
        set.is_match(path)
    }
}
