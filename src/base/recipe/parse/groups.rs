//! Kernel groups.

use std::collections::BTreeMap;

use super::host_structures::host_structures;
use super::reader::{Fields, Reader, Value};
use super::values::{command, name_message, pattern, relative};
use super::words::{CapabilityRange, is_part_name, is_symbol, not_relative};
use crate::recipe::diagnostic::Spanned;
use crate::recipe::file::{Additions, GroupTable};
use crate::recipe::model::{DeviceCompiler, Generator, KernelForm, NO_CONTRACTION};

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

fn when(reader: &mut Reader, value: &Value<'_>, form: KernelForm) -> Vec<(Spanned<CapabilityRange>, Additions)> {
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
    if is_symbol(name) && !name.contains('$') {
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
