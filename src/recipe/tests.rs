//! The recipe as a whole: volley's resolves, broken ones show everything at once, nothing panics.

use std::path::Path;

use super::*;
use crate::data::Data;
use crate::manifest::Manifests;

const VOLLEY: &str = include_str!("../../recipes/volley/simpack.toml");

const TABLE: &str = r#"
edition = 1
[[kernel]]
name = "neuron_update"
source = "neuron.cu"
params = [{ name = "v", type = "ptr" }, { name = "count", type = "u32" }]
[[kernel]]
name = "synapse_deliver"
source = "synapse.cu"
params = [{ name = "ring", type = "ptr" }]
"#;

fn manifests() -> Manifests {
    Manifests::load(&Data::at("no such directory")).unwrap()
}

fn files(table: &str) -> RecipeMemory {
    let files = [("kernels/neuron.cu", ""), ("kernels/synapse.cu", ""), ("kernels/table.toml", table)];
    RecipeMemory::new(files.map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec())))
}

fn load_with(text: &str, selection: &Selection) -> Result<Recipe, String> {
    let dir = Path::new("recipes/volley");
    load(text, "recipes/volley/simpack.toml", dir, &files(TABLE), &manifests(), selection)
        .map_err(|mistakes| render_all(&mistakes))
}

fn joined(items: impl IntoIterator<Item = impl ToString>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(" ")
}

#[test]
fn volley_resolves() {
    let recipe = load_with(VOLLEY, &Selection::default()).unwrap();
    assert_eq!(joined(&recipe.targets), "sm_75 sm_80 sm_86 sm_89 sm_90 sm_100 sm_120 compute_75 compute_120");
    assert_eq!(joined(recipe.components.iter().map(|component| component.kind)), "core rtc kernels dev source meta");
    assert_eq!(recipe.component(ComponentKind::Rtc).unwrap().uses, ["cuda-nvrtc >=13.0,<14"]);
    let group = &recipe.groups[0];
    assert_eq!(joined(group.variants.iter().map(|variant| &variant.name)), "fixed float none");
    assert!(group.when[0].applies("7.5".parse().unwrap()) && !group.when[0].applies("8.0".parse().unwrap()));
    assert_eq!(
        recipe.driver.directories,
        [
            "/usr/local/nvidia/lib64",
            "/usr/local/nvidia/lib",
            "/.singularity.d/libs",
            "/usr/lib/wsl/lib",
            "/run/opengl-driver/lib"
        ]
    );
    assert_eq!(joined(recipe.kernels().iter().map(|kernel| &kernel.name)), "neuron_update synapse_deliver");
}
