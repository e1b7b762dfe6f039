//! Components, each with its build, its variants and what it needs.

use std::collections::BTreeMap;

use super::compile::compile;
use super::reader::{Fields, Reader, Value};
use super::values::{below, name_message, pattern, relative};
use super::words::{Use, is_part_name, is_project_name, placeholders};
use crate::arch::VersionPolicy;
use crate::build_system::BuildDriver;
use crate::recipe::diagnostic::Spanned;
use crate::recipe::file::{BuildTable, ComponentTable, OptionValue, VariantTable};
use crate::recipe::model::{ComponentKind, InWheels, Need, PYTHON, Soname};

const KINDS: [(&str, ComponentKind); 8] = [
    ("core", ComponentKind::Core),
    ("rtc", ComponentKind::Rtc),
    ("kernels", ComponentKind::Kernels),
    ("dev", ComponentKind::Dev),
    ("static", ComponentKind::Static),
    ("python", ComponentKind::Python),
    ("source", ComponentKind::Source),
    ("meta", ComponentKind::Meta),
];

const POLICIES: [(&str, VersionPolicy); 3] = [
    ("major", VersionPolicy::Major),
    ("major.minor", VersionPolicy::MajorMinor),
    ("capability", VersionPolicy::Capability),
];

/// What a build option may hold in braces.
const PLACEHOLDERS: [&str; 18] = [
    "kernel-abi",
    "version",
    "prefix",
    "dependencies",
    "against",
    "jobs",
    "cuda",
    "cuda-architectures",
    "cuda-gencode",
    "target",
    "variant",
    "source",
    "work",
    "shaders",
    "cxx",
    "cuda-root",
    "nvcc",
    "nvcc-ccbin",
];

pub(in crate::recipe) fn components(reader: &mut Reader, value: &Value<'_>) -> BTreeMap<ComponentKind, ComponentTable> {
    let mut found = BTreeMap::new();
    let Some(fields) = reader.fields(value, "[component]") else { return found };
    for (key, value) in fields.entries() {
        let Some((_, kind)) = KINDS.iter().find(|(name, _)| *name == key.value) else {
            let names = || KINDS.iter().map(|(name, _)| *name);
            let mistake = reader.mistake(key.span, format!("unknown component `{}`", key.value));
            reader.push(mistake.known("known", names()).near(&key.value, names()));
            continue;
        };
        if let Some(fields) = reader.fields(value, format!("[component.{kind}]")) {
            found.insert(*kind, component(reader, fields, *kind, &key));
        }
    }
    found
}

fn component(
    reader: &mut Reader,
    mut fields: Fields<'_, '_>,
    kind: ComponentKind,
    key: &Spanned<String>,
) -> ComponentTable {
    let policy = fields.get("policy").and_then(|value| reader.choice(value, "version policy", &POLICIES));
    // Kernels are placed from their groups, and meta holds nothing.
    let (mut build_table, mut files, mut axes) = (None, None, Vec::new());
    if matches!(kind, ComponentKind::Core | ComponentKind::Python) {
        axes = fields.get("variants").map(|value| host_variants(reader, value)).unwrap_or_default();
    }
    if kind != ComponentKind::Meta {
        let axes: Vec<&str> = axes.iter().map(|(axis, _)| axis.value.as_str()).collect();
        build_table = fields.get("build").and_then(|value| build(reader, value, kind, &axes));
    }
    if !matches!(kind, ComponentKind::Kernels | ComponentKind::Meta) {
        files = fields.get("files").and_then(|value| reader.list(value, "files", pattern));
    }
    let uses = fields.get("uses").and_then(|value| {
        let list = reader.list(value, "uses", used)?;
        Some(reader.unique("uses", list))
    });
    let opens = fields.get("opens").and_then(|value| opens(reader, value));
    let mut names = Vec::new();
    if matches!(kind, ComponentKind::Core | ComponentKind::Rtc) {
        names = fields.get("soname").map(|value| sonames(reader, value)).unwrap_or_default();
    }
    let mut compiles = None;
    if matches!(kind, ComponentKind::Rtc | ComponentKind::Source) {
        compiles = fields.get("compile").and_then(|value| compile(reader, value));
    }
    fields.finish(reader);
    ComponentTable {
        span: key.span.clone(),
        policy,
        build: build_table,
        variants: axes,
        files,
        uses: uses.unwrap_or_default(),
        opens: opens.unwrap_or_default(),
        sonames: names,
        compile: compiles,
    }
}

fn opens(reader: &mut Reader, value: &Value<'_>) -> Option<Vec<Spanned<String>>> {
    let list = reader.list(value, "opens", library)?;
    Some(reader.unique("opens", list))
}

/// What components open where one CUDA release is meant, by component: of those alone that are built for each.
pub(in crate::recipe) fn opens_of_release(
    reader: &mut Reader,
    value: &Value<'_>,
) -> BTreeMap<ComponentKind, Vec<Spanned<String>>> {
    let mut found = BTreeMap::new();
    let Some(mut fields) = reader.fields(value, "opens of a release") else { return found };
    for (name, kind) in [("rtc", ComponentKind::Rtc), ("kernels", ComponentKind::Kernels)] {
        let names = fields.get(name).and_then(|value| opens(reader, value));
        found.extend(names.map(|names| (kind, names)));
    }
    fields.finish(reader);
    found
}

/// A dependency: its text, or a table that says which libraries it brings.
fn used(reader: &mut Reader, value: &Value<'_>) -> Option<Spanned<Use>> {
    if !value.get_ref().is_table() {
        return reader.parsed(value, "a dependency");
    }
    let mut fields = reader.fields(value, "a dependency")?;
    let package = fields.required(reader, "package").and_then(|value| reader.parsed::<Use>(value, "package"));
    let (provides, wheel) = (fields.get("provides"), fields.get("wheel"));
    let list = provides.and_then(|value| reader.list(value, "provides", library));
    let in_wheels = wheel.and_then(|value| in_wheels(reader, value));
    fields.finish(reader);
    let mut package = package?;
    for (value, key, what) in [(provides, "provides", "brings"), (wheel, "wheel", "is among wheels")] {
        let Some(value) = value.filter(|_| !package.value.verbatim) else { continue };
        let message = format!("what `{}` {what} is known from the vendor table", package.value.name);
        let mistake = reader.mistake(value.span(), message);
        reader.push(mistake.hint(format!("`{key}` is for packages after `conda:`")));
    }
    package.value.wheel = in_wheels;
    let list = reader.unique("provides", list.unwrap_or_default());
    package.value.provides = list.into_iter().map(|library| library.value).collect();
    Some(package)
}

/// What stands for a package where packages are wheels: the name of a project, or `false` where systems have it.
fn in_wheels(reader: &mut Reader, value: &Value<'_>) -> Option<InWheels> {
    if value.get_ref().as_bool() == Some(false) {
        return Some(InWheels::System);
    }
    let name = reader.text(value, "wheel")?;
    if is_project_name(&name.value) {
        return Some(InWheels::Project(name.value));
    }
    let mistake = reader.mistake(value.span(), format!("`{}` is no name of a project of Python", name.value));
    reader.push(
        mistake
            .hint("the range of `package` holds for it, too: write its name alone, or `false` where systems have it"),
    );
    None
}

/// A name as `dlopen` takes it, which the loader searches for.
fn library(reader: &mut Reader, value: &Value<'_>) -> Option<Spanned<String>> {
    let name = reader.text(value, "a library")?;
    if name.value.contains('/') || !name.value.contains(".so") || name.value.contains(char::is_whitespace) {
        reader.wrong(name.span, format!("`{}` is not a library's name such as \"libnvrtc.so.13\"", name.value));
        return None;
    }
    Some(name)
}

fn build(reader: &mut Reader, value: &Value<'_>, kind: ComponentKind, axes: &[&str]) -> Option<BuildTable> {
    let mut fields = reader.fields(value, format!("build of [component.{kind}]"))?;
    let table = BuildTable {
        span: value.span(),
        driver: fields.get("driver").and_then(|value| reader.choice(value, "build driver", &BuildDriver::NAMES)),
        source: fields.get("source").and_then(|value| relative(reader, value)),
        options: fields.get("options").map(|value| options(reader, value, axes)).unwrap_or_default(),
        inputs: fields.get("inputs").and_then(|value| reader.list(value, "inputs", pattern)),
        targets: fields
            .get("targets")
            .and_then(|value| reader.list(value, "targets", |reader, value| reader.text(value, "a target")))
            .unwrap_or_default(),
        install: fields.get("install").and_then(|value| reader.list(value, "install", install)).unwrap_or_default(),
        needs: fields.get("needs").map(|value| needs(reader, value)).unwrap_or_default(),
        against: fields.get("against").map(|value| against(reader, value)).unwrap_or_default(),
    };
    fields.finish(reader);
    Some(table)
}

/// What is installed, and where.
fn install(reader: &mut Reader, value: &Value<'_>) -> Option<(Spanned<String>, Spanned<String>)> {
    let mut fields = reader.fields(value, "an item of install")?;
    let from = fields.required(reader, "from").and_then(|value| pattern(reader, value));
    let to = fields.required(reader, "to").and_then(|value| below(reader, value, "path"));
    fields.finish(reader);
    from.zip(to)
}

/// A SONAME, or a list of them.
fn sonames(reader: &mut Reader, value: &Value<'_>) -> Vec<Spanned<Soname>> {
    if value.get_ref().is_str() {
        return reader.parsed(value, "a SONAME").into_iter().collect();
    }
    let list = reader.list(value, "soname", |reader, value| reader.parsed(value, "a SONAME"));
    reader.unique("soname", list.unwrap_or_default())
}

fn needs(reader: &mut Reader, value: &Value<'_>) -> Vec<Spanned<Need>> {
    let list = reader.list(value, "needs", |reader, value| reader.parsed(value, "a dependency"));
    list.map(|list| reader.unique("needs", list)).unwrap_or_default()
}

/// Components by their names.
fn against(reader: &mut Reader, value: &Value<'_>) -> Vec<Spanned<ComponentKind>> {
    let list = reader.list(value, "against", |reader, value| reader.choice(value, "component", &KINDS));
    list.map(|list| reader.unique("against", list)).unwrap_or_default()
}

/// `[component.core.variants]`: axes, each a list of values or a table of what they add, in the order of the file.
fn host_variants(reader: &mut Reader, value: &Value<'_>) -> Vec<(Spanned<String>, Vec<VariantTable>)> {
    let mut found = Vec::new();
    let Some(fields) = reader.fields(value, "variants") else { return found };
    let mut entries = fields.entries();
    entries.sort_by_key(|(axis, _)| axis.span.start);
    let axes: Vec<String> = entries.iter().map(|(axis, _)| axis.value.clone()).collect();
    let axes: Vec<&str> = axes.iter().map(String::as_str).collect();
    for (axis, value) in entries {
        if !is_part_name(&axis.value) || PLACEHOLDERS.contains(&axis.value.as_str()) {
            reader.wrong(axis.span.clone(), name_message("a variant axis", &axis.value));
        }
        let mut values: Vec<VariantTable> = if value.get_ref().is_array() {
            let list = reader.list(value, &axis.value, |reader, value| reader.text(value, "a variant"));
            let list = reader.unique(&axis.value, list.unwrap_or_default());
            list.into_iter().map(|name| VariantTable { name, options: BTreeMap::new(), needs: Vec::new() }).collect()
        } else {
            let Some(fields) = reader.fields(value, format!("variant axis `{}`", axis.value)) else { continue };
            fields.entries().into_iter().filter_map(|(name, value)| host_variant(reader, name, value, &axes)).collect()
        };
        if values.is_empty() {
            reader.wrong(axis.span.clone(), format!("variant axis `{}` has no choices", axis.value));
        }
        values.retain(|variant| match (axis.value == PYTHON, is_python(&variant.name.value)) {
            (true, false) => {
                let message = format!("`{}` is not a version of Python such as \"3.12\"", variant.name.value);
                reader.wrong(variant.name.span.clone(), message);
                false
            }
            (false, _) if !is_part_name(&variant.name.value) => {
                reader.wrong(variant.name.span.clone(), name_message("a variant", &variant.name.value));
                false
            }
            _ => true,
        });
        values.sort_by_key(|variant| variant.name.span.start);
        found.push((axis, values));
    }
    found
}

fn host_variant(reader: &mut Reader, name: Spanned<String>, value: &Value<'_>, axes: &[&str]) -> Option<VariantTable> {
    let mut fields = reader.fields(value, format!("variant `{}`", name.value))?;
    let options = fields.get("options").map(|value| options(reader, value, axes)).unwrap_or_default();
    let needs = fields.get("needs").map(|value| needs(reader, value)).unwrap_or_default();
    fields.finish(reader);
    Some(VariantTable { name, options, needs })
}

/// Two numbers: packages of Python modules are made for all patch releases of one.
fn is_python(text: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.len() < 4 && part.bytes().all(|byte| byte.is_ascii_digit());
    text.split_once('.').is_some_and(|(major, minor)| is_number(major) && is_number(minor))
}

/// `axes` are placeholders, too: of the chosen values.
fn options(reader: &mut Reader, value: &Value<'_>, axes: &[&str]) -> BTreeMap<String, Spanned<OptionValue>> {
    let mut found = BTreeMap::new();
    let Some(fields) = reader.fields(value, "options") else { return found };
    for (key, value) in fields.entries() {
        let option = match value.get_ref() {
            toml::de::DeValue::Boolean(switch) => OptionValue::Switch(*switch),
            toml::de::DeValue::Integer(number) => OptionValue::Text(number.to_string()),
            _ => match reader.string(value, &format!("option `{}`", key.value)) {
                Some(text) => OptionValue::Text(text.value),
                None => continue,
            },
        };
        if let OptionValue::Text(text) = &option {
            for word in placeholders(text) {
                if !PLACEHOLDERS.contains(&word) && !axes.contains(&word) {
                    let mistake = reader.mistake(value.span(), format!("unknown placeholder `{{{word}}}`"));
                    let known: Vec<String> =
                        PLACEHOLDERS.iter().chain(axes).map(|word| format!("{{{word}}}")).collect();
                    reader.push(mistake.known("known", &known).near(&format!("{{{word}}}"), &known));
                }
            }
        }
        if key.value.is_empty() || key.value.contains(['=', '\0', '\n', ' ']) {
            reader.wrong(key.span, format!("`{}` cannot be the name of an option", key.value));
            continue;
        }
        found.insert(key.value, Spanned { value: option, span: value.span() });
    }
    found
}
