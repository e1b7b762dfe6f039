//! What resolving needs all along: the recipe as written, the manifests, and the mistakes found so far.

use crate::arch::{Capability, CudaVersion};
use crate::manifest::Manifests;
use crate::recipe::diagnostic::{Diagnostic, Spanned};
use crate::recipe::file::RecipeFile;
use crate::recipe::files::RecipeFiles;
use crate::recipe::model::{Component, ComponentKind, HostKind, Places, Source};

/// What the command line asks for in the place of the recipe's own choice.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    /// CUDA release.
    pub cuda: Option<CudaVersion>,
    /// Capabilities of machine code.
    pub capabilities: Option<Vec<Capability>>,
    /// Capabilities of PTX; empty for no PTX.
    pub ptx: Option<Vec<Capability>>,
    /// Environments of shaders.
    pub environments: Option<Vec<String>>,
    /// Host compiler. The recipe's settings for it hold, too.
    pub host: Option<HostKind>,
    /// Structures that the host says need not be in the kernel tables: they are about to be written.
    pub writes_structures: bool,
}

/// What resolving needs all along.
pub(in crate::recipe) struct Resolver<'a> {
    pub file: &'a RecipeFile,
    pub files: &'a dyn RecipeFiles,
    pub manifests: &'a Manifests,
    pub selection: &'a Selection,
    /// The release of the matrix that it is for; without, the recipe's own choice is found out.
    pub release: Option<CudaVersion>,
    pub mistakes: Vec<Diagnostic>,
    pub places: Places,
}

impl Resolver<'_> {
    /// A mistake in the recipe's file.
    pub fn mistake<T>(&self, at: &Spanned<T>, message: impl Into<String>) -> Diagnostic {
        Diagnostic::at(&self.file.document, at.span.clone(), message)
    }

    pub fn wrong<T>(&mut self, at: &Spanned<T>, message: impl Into<String>) {
        let mistake = self.mistake(at, message);
        self.mistakes.push(mistake);
    }

    /// Whether the source is not in the recipe's directory and has to be fetched.
    pub fn is_source_elsewhere(&self) -> bool {
        self.file.source.as_ref().is_some_and(|source| !matches!(source.value, Source::Path(_)))
    }

    /// Notes a path of the source that leads nowhere. A source that is elsewhere and not fetched is not
    /// looked into.
    pub fn must_be_in_source(&mut self, at: &Spanned<String>) {
        match self.file.source.as_ref().map(|source| &source.value) {
            None => self.must_be_in(self.files, at, &at.value),
            Some(Source::Path(source)) => {
                let path = format!("{}/{}", source.trim_end_matches('/'), at.value);
                self.must_be_in(self.files, at, &path)
            }
            Some(_) => match self.files.fetched() {
                Some(files) => self.must_be_in(files, at, &at.value),
                None => true,
            },
        };
    }

    /// Text of a file of the source, where it is here.
    pub fn source_text(&self, path: &str) -> Option<String> {
        let text = match self.file.source.as_ref().map(|source| &source.value) {
            None => self.files.text(path),
            Some(Source::Path(source)) => self.files.text(&format!("{}/{path}", source.trim_end_matches('/'))),
            Some(_) => self.files.fetched()?.text(path),
        };
        text.ok()
    }

    /// Notes a path of the recipe that leads nowhere.
    pub fn must_exist(&mut self, at: &Spanned<String>, path: &str) -> bool {
        self.must_be_in(self.files, at, path)
    }

    pub(super) fn must_be_in(&mut self, files: &dyn RecipeFiles, at: &Spanned<String>, path: &str) -> bool {
        if files.exists(path) {
            return true;
        }
        let dir = at.value.rsplit_once('/').map_or(String::new(), |(dir, _)| format!("{dir}/"));
        let siblings = files.siblings(path).into_iter().map(|name| dir.clone() + &name);
        let mistake = self.mistake(at, format!("no such file `{}`", at.value)).near(&at.value, siblings);
        self.mistakes.push(mistake);
        false
    }
}

/// The component of a kind among resolved ones.
pub(in crate::recipe) fn has(components: &[Component], kind: ComponentKind) -> bool {
    components.iter().any(|component| component.kind == kind)
}
