//! The tables whose names people choose or that repeat: components and kernel groups.

use std::collections::BTreeMap;

use super::compile::compile;
use super::host_structures::host_structures;
use super::reader::{Fields, Reader, Value};
use super::words::{Use, is_part_name, is_project_name, not_relative, placeholders};
use crate::arch::VersionPolicy;
use crate::build_system::BuildDriver;
use crate::recipe::diagnostic::Spanned;
use crate::recipe::file::{Additions, BuildTable, ComponentTable, GroupTable, OptionValue, VariantTable};
use crate::recipe::model::{
    ComponentKind, DeviceCompiler, Generator, InWheels, KernelForm, NO_CONTRACTION, Need, PYTHON, Soname,
};

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
const PLACEHOLDERS: [&str; 17] = [
    "kernel-abi",
    "version",
    "prefix",
    "dependencies",
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

pub(in crate::recipe) fn groups(reader: &mut Reader, value: &Value<'_>) -> BTreeMap<String, GroupTable> {
    let mut found = BTreeMap::new();
    let Some(fields) = reader.fields(value, "[kernels]") else { return found };
    for (key, value) in fields.entries() {
        let what = format!("[kernels.{}]", key.value);
        if !is_part_name(&key.value) {
            reader.wrong(key.span.clone(), name_message("a kernel group", &key.value));
        }
        if let Some(fields) = reader.fields(value, what) {
            let table = group(reader, fields, &key);
            found.insert(key.value, table);
        }
    }
    found
}

fn name_message(what: &str, name: &str) -> String {
    format!("`{name}` cannot be the name of {what}: lower-case letters, digits and `_`")
}

fn group(reader: &mut Reader, mut fields: Fields<'_, '_>, key: &Spanned<String>) -> GroupTable {
    let form = fields.get("form").and_then(|value| reader.choice(value, "form", &KernelForm::NAMES));
    let kind = form.as_ref().map_or(KernelForm::Cubin, |form| form.value);
    let takes = |key: &str| kind.keys().contains(&key);
    for other in ["sources", "table", "flags", "variants", "exact", "when", "generator", "cpu", "structures", "embed"]
        .into_iter()
        .filter(|key| !takes(key))
    {
        if let Some(value) = fields.get(other) {
            let message = format!("`{other}` cannot be combined with form = \"{}\"", kind.name());
            let mistake = reader.mistake(value.span(), message);
            reader.push(mistake.hint(match kind.compiler() {
                _ if other == "cpu" => {
                    "core is there without a GPU, too, and device code of this form is apart from it"
                }
                _ if other == "structures" => "the buffers of shaders alone have structures",
                _ if other == "embed" => "shaders alone are handed to the build of core",
                DeviceCompiler::Steps if other == "exact" => "what nvcc may join is a flag of its own: --fmad=false",
                DeviceCompiler::Steps => "shaders are compiled for versions of Vulkan, not for capabilities",
                DeviceCompiler::KernelsBuild => "the build of component `kernels` compiles the device code",
                _ => "the build of a component compiles the device code; `files` says which to cut",
            }));
        }
    }
    let mut table = GroupTable { span: key.span.clone(), form, ..GroupTable::default() };
    if takes("sources") {
        table.sources = fields.required(reader, "sources").and_then(|value| {
            let list = reader.list(value, "sources", relative)?;
            if list.is_empty() && value.get_ref().as_array().is_some_and(|array| array.is_empty()) {
                reader.wrong(value.span(), format!("[kernels.{}] has no sources", key.value));
            }
            Some(Spanned { value: reader.unique("sources", list), span: value.span() })
        });
    }
    if takes("table") {
        table.table = fields.required(reader, "table").and_then(|value| relative(reader, value));
    }
    if takes("files") {
        let files = fields.required(reader, "files").and_then(|value| reader.list(value, "files", pattern));
        table.files = files.unwrap_or_default();
    }
    if takes("cpu") {
        table.cpu = fields.get("cpu").and_then(|value| reader.switch(value, "cpu"));
    }
    if takes("variants") {
        table.variants = fields.get("variants").map(|value| variants(reader, value, kind)).unwrap_or_default();
    }
    if takes("exact") {
        let names = fields.get("exact").and_then(|value| {
            let list = reader.list(value, "exact", |reader, value| reader.text(value, "a variant"))?;
            Some(reader.unique("exact", list))
        });
        table.exact = names.unwrap_or_default();
    }
    if takes("flags") {
        table.flags = fields.get("flags").and_then(|value| flags(reader, value, kind)).unwrap_or_default();
    }
    if takes("when") {
        table.when = fields.get("when").map(|value| when(reader, value, kind)).unwrap_or_default();
    }
    if takes("generator") {
        table.generator = fields.get("generator").and_then(|value| generator(reader, value));
    }
    if takes("structures") {
        table.structures = fields.get("structures").and_then(|value| host_structures(reader, value));
    }
    if takes("embed") {
        table.embed = fields.get("embed").and_then(|value| reader.switch(value, "embed"));
    }
    fields.finish(reader);
    table
}

fn generator(reader: &mut Reader, value: &Value<'_>) -> Option<Generator> {
    let mut fields = reader.fields(value, "generator")?;
    let command = fields.required(reader, "command").and_then(|value| command(reader, value, "a generator needs"));
    let inputs = fields.required(reader, "inputs").and_then(|value| reader.list(value, "inputs", pattern));
    fields.finish(reader);
    Some(Generator { command: command?, inputs: inputs?.into_iter().map(|item| item.value).collect() })
}

/// Program and arguments: a program of the machine by its name, or a file of the source by its path. `who` needs one.
pub(super) fn command(reader: &mut Reader, value: &Value<'_>, who: &str) -> Option<Vec<String>> {
    let words = reader.list(value, "command", |reader, value| reader.text(value, "a word of the command"))?;
    match words.first() {
        None => {
            reader.wrong(value.span(), format!("{who} a program to run"));
            return None;
        }
        Some(program) if program.value.contains('/') => {
            if let Some(why) = not_relative(&program.value) {
                reader.wrong(program.span.clone(), format!("program `{}` {why}", program.value));
                return None;
            }
        }
        Some(_) => {}
    }
    Some(words.into_iter().map(|word| word.value).collect())
}

fn variants(reader: &mut Reader, value: &Value<'_>, form: KernelForm) -> BTreeMap<String, BTreeMap<String, Additions>> {
    let mut axes = BTreeMap::new();
    let Some(fields) = reader.fields(value, "variants") else { return axes };
    for (axis, value) in fields.entries() {
        if !is_part_name(&axis.value) {
            reader.wrong(axis.span.clone(), name_message("a variant axis", &axis.value));
        }
        let Some(fields) = reader.fields(value, format!("variant axis `{}`", axis.value)) else { continue };
        let mut choices = BTreeMap::new();
        for (choice, value) in fields.entries() {
            if !is_part_name(&choice.value) {
                reader.wrong(choice.span, name_message("a variant", &choice.value));
            } else if let Some(added) = additions(reader, value, &format!("variant `{}`", choice.value), form) {
                if form.compiler() != DeviceCompiler::Steps && added != Additions::default() {
                    let message = format!("variant `{}` of form `{}` can add nothing", choice.value, form.name());
                    let mistake = reader.mistake(value.span(), message);
                    reader.push(mistake.hint("the build of a component compiles it: its options take `{variant}`"));
                }
                choices.insert(choice.value, added);
            }
        }
        if fields.entries().is_empty() {
            reader.wrong(axis.span.clone(), format!("variant axis `{}` has no choices", axis.value));
        }
        axes.insert(axis.value, choices);
    }
    axes
}

fn when(
    reader: &mut Reader,
    value: &Value<'_>,
    form: KernelForm,
) -> Vec<(Spanned<super::words::CapabilityRange>, Additions)> {
    let Some(fields) = reader.fields(value, "when") else { return Vec::new() };
    let mut found = Vec::new();
    for (key, value) in fields.entries() {
        let range = match key.value.parse() {
            Ok(range) => Some(key.with(range)),
            Err(message) => {
                reader.wrong(key.span.clone(), message);
                None
            }
        };
        let added = additions(reader, value, &format!("when \"{}\"", key.value), form);
        found.extend(range.zip(added));
    }
    found.sort_by_key(|(range, _)| range.span.start);
    found
}

fn additions(reader: &mut Reader, value: &Value<'_>, what: &str, form: KernelForm) -> Option<Additions> {
    let mut fields = reader.fields(value, what)?;
    let define = fields.get("define").and_then(|value| reader.list(value, "define", define));
    let flags = fields.get("flags").and_then(|value| flags(reader, value, form));
    fields.finish(reader);
    let plain = |list: Option<Vec<Spanned<String>>>| list.unwrap_or_default().into_iter().map(|at| at.value).collect();
    Some(Additions { define: plain(define), flags: plain(flags) })
}

fn define(reader: &mut Reader, value: &Value<'_>) -> Option<Spanned<String>> {
    let text = reader.text(value, "a definition")?;
    let name = text.value.split('=').next().unwrap_or_default();
    if super::words::is_symbol(name) && !name.contains('$') {
        return Some(text);
    }
    let mut mistake = reader.mistake(text.span, format!("`{name}` cannot be the name of a macro"));
    if let Some(rest) = text.value.strip_prefix("-D") {
        mistake = mistake.hint(format!("write \"{rest}\", without -D"));
    }
    reader.push(mistake);
    None
}

fn flags(reader: &mut Reader, value: &Value<'_>, form: KernelForm) -> Option<Vec<Spanned<String>>> {
    reader.list(value, "flags", if form.is_cuda() { flag } else { shader_flag })
}

/// A flag that every compiler of shaders takes, and that leaves target and output alone.
fn shader_flag(reader: &mut Reader, value: &Value<'_>) -> Option<Spanned<String>> {
    let flag = reader.text(value, "a flag")?;
    match flag.value.strip_prefix("-I") {
        Some(dir) if !dir.is_empty() => match not_relative(dir) {
            None => return Some(flag),
            Some(why) => reader.wrong(flag.span, format!("directory `{dir}` {why}")),
        },
        _ if ["-g", "-Os", NO_CONTRACTION].contains(&flag.value.as_str()) => return Some(flag),
        _ => {
            let mistake =
                reader.mistake(flag.span, format!("flag `{}` cannot be combined with form = \"spirv\"", flag.value));
            reader.push(mistake.note(format!(
                "known: -g, -Os, and -IDIRECTORY with a directory of the source; for WGSL {NO_CONTRACTION}"
            )));
        }
    }
    None
}

/// A compiler flag; those that choose the target or the output are simpack's own.
fn flag(reader: &mut Reader, value: &Value<'_>) -> Option<Spanned<String>> {
    let flag = reader.text(value, "a flag")?;
    let names = |names: &[&str]| {
        let name = flag.value.split('=').next().unwrap_or_default();
        names.contains(&name)
    };
    let target = ["-arch", "--gpu-architecture", "-code", "--gpu-code", "-gencode", "--generate-code"];
    let output = ["-o", "--output-file", "-cubin", "--cubin", "-ptx", "--ptx", "-fatbin", "--fatbin", "-c"];
    if names(&target) {
        let mistake = reader.mistake(flag.span, format!("flag `{}` chooses a target", flag.value));
        reader.push(mistake.hint("targets come from `capabilities` and `ptx` in [matrix]"));
        return None;
    }
    if names(&output) {
        reader.wrong(flag.span, format!("flag `{}` chooses the output, which the form decides", flag.value));
        return None;
    }
    Some(flag)
}

/// A path below a directory.
pub(super) fn relative(reader: &mut Reader, value: &Value<'_>) -> Option<Spanned<String>> {
    below(reader, value, "path")
}

fn below(reader: &mut Reader, value: &Value<'_>, what: &str) -> Option<Spanned<String>> {
    let path = reader.text(value, &format!("a {what}"))?;
    if let Some(why) = not_relative(&path.value) {
        reader.wrong(path.span, format!("{what} `{}` {why}", path.value));
        return None;
    }
    Some(path)
}

/// A glob below a directory.
pub(super) fn pattern(reader: &mut Reader, value: &Value<'_>) -> Option<Spanned<String>> {
    below(reader, value, "glob").filter(|path| is_glob(reader, path))
}

pub(in crate::recipe) fn is_glob(reader: &mut Reader, pattern: &Spanned<String>) -> bool {
    match globset::Glob::new(&pattern.value) {
        Ok(_) => true,
        Err(error) => {
            reader.wrong(pattern.span.clone(), format!("`{}` is not a glob: {}", pattern.value, error.kind()));
            false
        }
    }
}
