//! What follows from a recipe about who its packages are for, and what they and their builds are given.

use std::collections::BTreeSet;

use super::model::{Component, ComponentKind, Recipe, Used};

/// Where modules for every Python lie in a package.
pub const SITE_PACKAGES: &str = "site-packages/";

impl Recipe {
    /// Whether what ships cut is for GPUs alone: there is no package of it for machines without one.
    pub fn needs_gpu(&self) -> bool {
        self.groups.iter().any(|group| group.gpu_only)
    }

    /// Products of the CUDA toolkit that what compiles device code is given, by their names among the vendor's.
    pub fn toolkit_libraries(&self) -> BTreeSet<&str> {
        let compiles = |component: &&Component| {
            let runs = component.build.as_ref().is_some_and(|build| !build.driver.system().tools().is_empty());
            self.is_cuda() && (runs || component.kind == ComponentKind::Kernels)
        };
        let used = self.components.iter().filter(compiles).flat_map(|component| &component.uses);
        used.filter_map(|used| used.library.as_deref()).collect()
    }
}

impl Component {
    /// Whether it is modules that every Python takes, and data: the same on every platform. They lie in `site-packages`, where conda
    /// looks for what it puts into the Python of an environment.
    pub fn is_for_every_python(&self) -> bool {
        let (modules, others): (Vec<_>, Vec<_>) = self.files.iter().partition(|glob| glob.starts_with(SITE_PACKAGES));
        !modules.is_empty() && others.iter().all(|glob| glob.starts_with("share/"))
    }

    /// What its packages need of others; a build may use more.
    pub fn used_by_packages(&self) -> impl Iterator<Item = &Used> {
        self.uses.iter().filter(|used| !used.headers_only)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Selection;
    use super::super::tests::{VOLLEY, load_with};
    use super::*;

    /// What ships cut may be for GPUs alone. All of it is, or none.
    #[test]
    fn a_slice_may_be_for_gpus_alone() {
        let group = VOLLEY.find("[kernels.network]").unwrap();
        let driver = group + VOLLEY[group..].find("[driver]").unwrap();
        let slice =
            |name: &str, cpu: &str| format!("[kernels.{name}]\nform = \"slice\"\nfiles = [\"bin/{name}\"]\n{cpu}");
        let cut = |groups: &str| format!("{}{groups}\n{}", &VOLLEY[..group], &VOLLEY[driver..]);
        let recipe = load_with(&cut(&slice("one", "cpu = false")), &Selection::default()).unwrap();
        assert!(recipe.needs_gpu());
        assert!(!load_with(&cut(&slice("one", "cpu = true")), &Selection::default()).unwrap().needs_gpu());
        let fallback = "[package.conda]\nfallback = \"cpu\"";
        let both = format!("{}\n{}", slice("one", "cpu = false"), slice("two", ""));
        for (text, mistake) in [
            (cut(&slice("one", "cpu = 1")), "true or false"),
            (cut(&both), "another kernel group has a package for machines without a GPU"),
            (cut(&slice("one", "cpu = false")).replace("[package.conda]", fallback), "there is no package for the CPU"),
            (
                VOLLEY.replace("form = \"cubin\"", "form = \"cubin\"\ncpu = false"),
                "`cpu` cannot be combined with form = \"cubin\"",
            ),
        ] {
            let mistakes = load_with(&text, &Selection::default()).unwrap_err();
            assert!(mistakes.contains(mistake) && mistakes.contains("--> "), "{mistakes}");
        }
    }

    /// A core of modules for every Python, and of data, is for every platform.
    #[test]
    fn modules_for_every_python_lie_in_site_packages() {
        let core = |files: &str| {
            let own = r#"["lib/libvolley.so.*", "bin/volley", "share/volley/examples/**", "share/licenses/volley/**"]"#;
            assert!(VOLLEY.contains(own));
            let recipe = load_with(&VOLLEY.replacen(own, files, 1), &Selection::default());
            recipe.unwrap().component(ComponentKind::Core).unwrap().is_for_every_python()
        };
        assert!(core("[\"site-packages/**\", \"share/volley/**\"]"));
        assert!(!core("[\"site-packages/**\", \"bin/volley\"]"));
        assert!(!core("[\"share/volley/**\"]"));
    }
}
