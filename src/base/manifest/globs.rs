//! Globs of manifests: checked when they are read, compiled when something is compared with them. Most
//! runs compare nothing, and compiling takes longer than reading all manifests.

use std::sync::OnceLock;

use globset::{Glob, GlobSet, GlobSetBuilder};
use serde::Deserialize;
use toml::Spanned;

use super::text::ManifestText;
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

/// Globs, each with the index of what it belongs to: one search finds whose a name is.
#[derive(Debug, Clone, Default)]
pub(super) struct IndexedGlobs {
    globs: Vec<(Glob, usize)>,
    set: OnceLock<GlobSet>,
}

impl IndexedGlobs {
    /// Adds a glob; a wrong one is named at its place.
    pub(super) fn add(&mut self, text: &ManifestText, pattern: &Spanned<Pattern>, index: usize) -> Result<()> {
        self.globs.push((glob(text, pattern)?, index));
        Ok(())
    }

    /// The lowest index whose glob matches.
    pub(super) fn find(&self, path: &str) -> Option<usize> {
        let set = self.set.get_or_init(|| compiled(self.globs.iter().map(|(glob, _)| glob)));
        set.matches(path).into_iter().map(|at| self.globs[at].1).min()
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
        let globs = patterns.into_iter().map(|pattern| glob(text, pattern)).collect::<Result<_>>()?;
        Ok(Self { globs, set: OnceLock::new() })
    }

    /// Whether one of them matches.
    pub(super) fn is_match(&self, path: &str) -> bool {
        let set = self.set.get_or_init(|| compiled(&self.globs));
        set.is_match(path)
    }
}

fn glob(text: &ManifestText, pattern: &Spanned<Pattern>) -> Result<Glob> {
    let word = pattern.get_ref().text();
    if word.len() > LONGEST {
        return Err(text.wrong(Some(pattern.span()), format!("a glob of more than {LONGEST} characters")));
    }
    Glob::new(word).map_err(|error| text.wrong(Some(pattern.span()), error))
}

fn compiled<'a>(globs: impl IntoIterator<Item = &'a Glob>) -> GlobSet {
    let mut builder = GlobSetBuilder::new();
    for glob in globs {
        builder.add(glob.clone());
    }
    builder.build().expect("each glob was read, and none is longer than the compiler's limit")
}
