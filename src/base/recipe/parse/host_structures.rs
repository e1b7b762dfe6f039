//! `[kernels.NAME.structures]`: where the structures of a kernel table come from.

use super::reader::{Reader, Value};
use super::values::{command, pattern, relative};
use super::words::not_relative;
use crate::recipe::diagnostic::Spanned;
use crate::recipe::file::{LayoutTable, StructuresTable};
use crate::recipe::model::{HeaderLanguage, HostType};

/// How flags begin that choose what is made of the headers, which is for simpack to say.
const OUTPUTS: [&str; 12] = ["-o", "-c", "-E", "-S", "-x", "-g", "-M", "-l", "-L", "-W", "-i", "-B"];

pub(super) fn host_structures(reader: &mut Reader, value: &Value<'_>) -> Option<StructuresTable> {
    let mut fields = reader.fields(value, "structures")?;
    let types = fields.required(reader, "types").and_then(|value| types(reader, value));
    let (headers, command_key) = (fields.get("headers"), fields.get("command"));
    let (language, flags) = (fields.get("language"), fields.get("flags"));
    let inputs = match command_key {
        Some(_) => fields.required(reader, "inputs"),
        None => fields.get("inputs"),
    };
    let inputs = inputs.map(|value| reader.list(value, "inputs", pattern));
    let source = match (headers, command_key) {
        (Some(value), None) => {
            let list = reader.list(value, "headers", relative);
            if value.get_ref().as_array().is_some_and(|list| list.is_empty()) {
                reader.wrong(value.span(), "`headers` names no header");
            }
            let language = language.map(|value| reader.choice(value, "language", &HeaderLanguage::NAMES));
            let flags = flags.map(|value| reader.list(value, "flags", flag));
            let headers = list.map(|list| reader.unique("headers", list));
            let language = language.map_or(Some(HeaderLanguage::default()), |it| Some(it?.value));
            let flags = flags.unwrap_or_else(|| Some(Vec::new()));
            headers.zip(language).zip(flags).map(|((headers, language), flags)| LayoutTable::Headers {
                headers,
                language,
                flags: flags.into_iter().map(|flag| flag.value).collect(),
            })
        }
        (None, Some(value)) => {
            for (key, value) in [("language", language), ("flags", flags)] {
                if let Some(value) = value {
                    reader.wrong(value.span(), format!("`{key}` goes with `headers` only"));
                }
            }
            command(reader, value, "structures need").map(LayoutTable::Command)
        }
        (Some(_), Some(value)) => {
            reader.wrong(
                value.span(),
                "`command` cannot be combined with `headers`: one of them says how structures lie",
            );
            None
        }
        (None, None) => {
            let mistake = reader.mistake(fields.span.clone(), "structures lacks `headers`, or `command`");
            reader.push(
                mistake.hint("`headers` names those of C or C++; `command` prints the structures of other languages"),
            );
            None
        }
    };
    fields.finish(reader);
    let inputs = match inputs {
        None => None,
        Some(inputs) => Some(inputs?),
    };
    Some(StructuresTable { types: types?, source: source?, inputs })
}

fn types(reader: &mut Reader, value: &Value<'_>) -> Option<Vec<Spanned<HostType>>> {
    let list = reader.list(value, "types", |reader, value| {
        let text = reader.text(value, "a type")?;
        let found = HostType::named(&text.value);
        if found.is_none() {
            let mistake = reader.mistake(text.span.clone(), format!("`{}` is not the name of a structure", text.value));
            reader.push(
                mistake.hint("a name such as \"Neuron\" or \"strata::Neuron\"; give what a template makes an alias"),
            );
        }
        Some(text.with(found?))
    })?;
    if value.get_ref().as_array().is_some_and(|list| list.is_empty()) {
        reader.wrong(value.span(), "`types` names no structure");
    }
    let mut kept: Vec<Spanned<HostType>> = Vec::new();
    for one in list {
        match kept.iter().find(|other| other.value.name == one.value.name) {
            Some(other) if other.value.host == one.value.host => {
                reader.wrong(one.span, format!("types lists `{}` twice", one.value.host));
            }
            Some(other) => {
                let message = format!(
                    "`{}` and `{}` are both `{}` in the kernel table",
                    other.value.host, one.value.host, one.value.name
                );
                let mistake = reader.mistake(one.span, message);
                reader.push(mistake.hint("give one of them an alias in the headers: using OtherName = ..."));
            }
            None => kept.push(one),
        }
    }
    Some(kept)
}

/// A flag of the host compiler that changes how headers are read.
fn flag(reader: &mut Reader, value: &Value<'_>) -> Option<Spanned<String>> {
    let flag = reader.text(value, "a flag")?;
    if let Some(dir) = flag.value.strip_prefix("-I") {
        match not_relative(dir) {
            None if !dir.is_empty() => return Some(flag),
            None => reader.wrong(flag.span, "`-I` names no directory; write both as one flag"),
            Some(why) => reader.wrong(flag.span, format!("directory `{dir}` {why}")),
        }
        return None;
    }
    if flag.value.starts_with('-') && !OUTPUTS.iter().any(|start| flag.value.starts_with(start)) {
        return Some(flag);
    }
    let mistake = reader.mistake(flag.span, format!("flag `{}` does not say how headers are read", flag.value));
    reader
        .push(mistake.note("such as -IDIRECTORY with a directory of the source, -DNAME, -std=c++20 and -fshort-enums"));
    None
}
