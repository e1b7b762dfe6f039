//! What follows from a recipe about who its packages are for.

use crate::recipe::tests::{VOLLEY, load_with};
use crate::recipe::{ComponentKind, Selection};

/// What ships cut may be for GPUs alone. All of it is, or none.
#[test]
fn a_slice_may_be_for_gpus_alone() {
    let group = VOLLEY.find("[kernels.network]").unwrap();
    let driver = group + VOLLEY[group..].find("[driver]").unwrap();
    let slice = |name: &str, cpu: &str| format!("[kernels.{name}]\nform = \"slice\"\nfiles = [\"bin/{name}\"]\n{cpu}");
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
