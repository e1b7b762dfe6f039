//! Where a recipe and its kernel tables say what packages are judged by, for findings about these.

use std::collections::BTreeMap;

use super::component::ComponentKind;
use crate::recipe::diagnostic::Document;
use crate::recipe::file::RecipeFile;
use crate::recipe::parse::table::DeclaredKernel;
use crate::report::Place;

/// Lines of a recipe and its kernel tables.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Places {
    components: BTreeMap<ComponentKind, Place>,
    globs: BTreeMap<(ComponentKind, String), Place>,
    kernels: BTreeMap<String, KernelPlace>,
}

/// Where a kernel is declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelPlace {
    /// Its name.
    pub name: Place,
    /// Names of its parameters, in order, each with its place.
    pub params: Vec<(String, Place)>,
}

impl Places {
    /// Where a component's table begins.
    pub fn component(&self, kind: ComponentKind) -> Option<&Place> {
        self.components.get(&kind)
    }

    /// Where a glob over installed files stands.
    pub fn glob(&self, kind: ComponentKind, glob: &str) -> Option<&Place> {
        self.globs.get(&(kind, glob.to_owned()))
    }

    /// Where the glob stands by which a component claims an installed file.
    pub fn claiming(&self, kind: ComponentKind, path: &str) -> Option<&Place> {
        let claims = |glob: &str| {
            let glob = globset::GlobBuilder::new(glob).literal_separator(true).build();
            glob.is_ok_and(|glob| glob.compile_matcher().is_match(path))
        };
        self.globs.iter().find(|((of, glob), _)| *of == kind && claims(glob)).map(|(_, place)| place)
    }

    /// Where a kernel is declared.
    pub fn kernel(&self, name: &str) -> Option<&KernelPlace> {
        self.kernels.get(name)
    }

    /// Adds the lines of the recipe itself.
    pub(in crate::recipe) fn add_recipe(&mut self, file: &RecipeFile) {
        for (kind, table) in &file.components {
            self.components.insert(*kind, file.document.place(table.span.start));
            for glob in table.files.iter().flatten() {
                self.globs.insert((*kind, glob.value.clone()), file.document.place(glob.span.start));
            }
        }
    }

    /// Adds the lines of a kernel table.
    pub(in crate::recipe) fn add_table(&mut self, document: &Document, kernels: &[DeclaredKernel]) {
        for kernel in kernels {
            let params = kernel.params.iter().map(|name| (name.value.clone(), document.place(name.span.start)));
            let place = KernelPlace { name: document.place(kernel.name.span.start), params: params.collect() };
            self.kernels.insert(kernel.name.value.clone(), place);
        }
    }
}
