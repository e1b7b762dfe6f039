//! The keys that the schema shows are those that the reader knows, and what it shows as examples can be read.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{KernelTableKeys, RecipeKeys, toml_schema};
use crate::recipe::parse::{parse_all, table::kernel_table};
use crate::recipe::{Diagnostic, KernelForm};

const ODD: &str = "no-such-key";
/// Mistakes that tell of other keys than the one that is read.
const OTHERWISE: [&str; 6] = [
    "lacks",
    "does not say where",
    "compares nothing",
    "cannot be combined with form",
    "goes with type",
    "cannot be a directory",
];

fn schema<T: schemars::JsonSchema>() -> Value {
    toml_schema::<T>(&mut schemars::SchemaGenerator::default()).to_value()
}

/// Tables of a schema by name, with their keys. The whole has no name.
fn tables(schema: &Value) -> BTreeMap<String, &Map<String, Value>> {
    let named = schema["$defs"].as_object().unwrap().iter();
    let named = named.filter_map(|(name, of)| Some((name.clone(), of.get("properties")?.as_object()?)));
    named.chain([(String::new(), schema["properties"].as_object().unwrap())]).collect()
}

/// A value as it stands in a recipe.
fn toml_of(value: &Value) -> String {
    toml::Value::try_from(value).unwrap().to_string()
}

/// Reads every table with a key that nobody knows, then with each example; `places` are the beginnings of texts in
/// which the keys of a table stand.
fn agree(schema: &Value, places: &[(&str, &str)], read: impl Fn(&str) -> Vec<Diagnostic>) {
    let tables = tables(schema);
    let mut known: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (name, place) in places {
        let complaint = read(&format!("{place}\n{ODD} = 1\n"));
        let complaint = complaint.iter().map(Diagnostic::record).find(|record| record.message.contains(ODD));
        let listed = complaint.unwrap_or_else(|| panic!("{place} takes any key")).notes.remove(0);
        let keys: BTreeSet<_> = listed.split_once(": ").unwrap().1.split(' ').map(str::to_owned).collect();
        for key in &keys {
            let shown = tables[*name].get(key).unwrap_or_else(|| panic!("the schema of {place} lacks `{key}`"));
            let stands = place.lines().any(|line| line.starts_with(&format!("{key} =")));
            for example in shown.get("examples").and_then(Value::as_array).filter(|_| !stands).into_iter().flatten() {
                let text = format!("{place}\n{key} = {}\n", toml_of(example));
                let mut wrong: Vec<String> = read(&text).into_iter().map(|mistake| mistake.message).collect();
                wrong.retain(|why| !OTHERWISE.iter().any(|not| why.contains(not)));
                assert!(wrong.is_empty(), "{text}{wrong:?}");
            }
        }
        known.entry(name).or_default().extend(keys);
    }
    let shown: BTreeMap<&str, BTreeSet<String>> =
        tables.iter().map(|(name, keys)| (name.as_str(), keys.keys().cloned().collect())).collect();
    assert_eq!(shown, known);
}

#[test]
fn the_schema_of_the_recipe_shows_what_is_read() {
    let groups = KernelForm::NAMES.map(|(name, _)| format!("[kernels.main]\nform = \"{name}\""));
    let mut places = vec![
        ("", "edition = 1"),
        ("Simulator", "[simulator]"),
        ("Source", "[source]"),
        ("Source", "[sources.other]"),
        ("Matrix", "[matrix]"),
        ("Release", "[matrix.release.\"13.0\"]"),
        ("ReleaseOpens", "[matrix.release.\"13.0\".opens]"),
        ("Toolchain", "[toolchain]"),
        ("Host", "[toolchain.host]"),
        ("ToolchainCuda", "[toolchain.cuda]"),
        ("Dependencies", "[dependencies]"),
        ("Components", "[component]"),
        ("Component", "[component.core]"),
        ("Component", "[component.rtc]"),
        ("CompileKeys", "[component.rtc.compile]"),
        ("UsedPackage", "[[component.core.uses]]"),
        ("Build", "[component.core.build]"),
        ("Installed", "[[component.core.build.install]]"),
        ("HostVariant", "[component.core.variants.mpi.openmpi]"),
        ("Additions", "[kernels.main.variants.axis.choice]"),
        ("Additions", "[kernels.main.when.\"<8.0\"]"),
        ("Generator", "[kernels.main.generator]"),
        ("Structures", "[kernels.main]\nform = \"spirv\"\n[kernels.main.structures]"),
        ("Driver", "[driver]"),
        ("Lint", "[lint]"),
        ("WaiverKeys", "[[lint.waivers]]"),
        ("Package", "[package]"),
        ("Conda", "[package.conda]"),
        ("WheelKeys", "[package.wheel]"),
        ("NixKeys", "[package.nix]"),
        ("SmokeTest", "[smoke]"),
        ("UpstreamTest", "[test.own]"),
    ];
    places.extend(groups.iter().map(|group| ("KernelGroup", group.as_str())));
    agree(&schema::<RecipeKeys>(), &places, |text| parse_all(&headed(text), "simpack.toml").1);
}

#[test]
fn the_schema_of_the_kernel_table_shows_what_is_read() {
    let places = [
        ("", "edition = 1"),
        ("KernelKeys", "[[struct]]\nname = \"Step\"\nfields = [{ name = \"v\", type = \"f32\" }]\n[[kernel]]"),
        ("Parameter", "[[kernel]]\n[[kernel.params]]\ntype = \"struct\""),
        ("Parameter", "[[kernel]]\n[[kernel.params]]\nsize = 4\nalign = 4"),
        (
            "Binding",
            "[[struct]]\nname = \"Cell\"\nfields = [{ name = \"v\", type = \"f32\" }]\n[[kernel]]\n[[kernel.bindings]]",
        ),
        ("Constant", "[[kernel]]\n[[kernel.constants]]"),
        ("StructKeys", "[[struct]]"),
        (
            "FieldKeys",
            "[[struct]]\nname = \"Inhib\"\nfields = [{ name = \"v\", type = \"f32\" }]\n[[struct]]\n[[struct.fields]]\ntype = \"struct\"",
        ),
    ];
    agree(&schema::<KernelTableKeys>(), &places, |text| {
        kernel_table(&headed(text), "table.toml", &BTreeSet::new()).mistakes
    });
}

fn headed(text: &str) -> String {
    if text.starts_with("edition") { text.to_owned() } else { format!("edition = 1\n{text}") }
}
