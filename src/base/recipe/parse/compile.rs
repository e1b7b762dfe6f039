//! Reads `compile` of a component.

use std::collections::BTreeMap;

use super::reader::{Reader, Value};
use super::words::placeholders;
use crate::recipe::diagnostic::Spanned;
use crate::recipe::model::{Compile, OF_CUDA, is_variable, not_below, not_pattern};

/// Words in arguments and variables that are replaced, in braces: the prefix, a copy of the user's files, their
/// directory's name, the C++ compiler, processes that may run at a time.
const PLACES: [&str; 5] = ["prefix", "model", "name", "cxx", "jobs"];
/// The one of variables that lead programs to what was compiled.
const COMPILED: [&str; 1] = ["compiled"];
/// Seconds that a call may take when the recipe does not say.
const DEFAULT_LIMIT: u32 = 3600;

/// Reads `compile` of a component.
pub(super) fn compile(reader: &mut Reader, value: &Value<'_>) -> Option<Spanned<Compile>> {
    let mut fields = reader.fields(value, "compile of a component")?;
    let all: Vec<&str> = PLACES.into_iter().chain(OF_CUDA).collect();
    let command = fields.required(reader, "command").and_then(|value| {
        let words = arguments(reader, value, "command", &PLACES)?;
        let Some(program) = words.first() else {
            reader.wrong(value.span(), "command names no program");
            return None;
        };
        if let Some(why) = not_below(&program.value) {
            let mistake = reader.mistake(program.span.clone(), format!("program `{}` {why}", program.value));
            reader.push(mistake.hint("write its path below the prefix, such as \"bin/mysim-compile\""));
        }
        Some(words)
    });
    let cuda = fields.get("cuda").and_then(|value| arguments(reader, value, "cuda", &all));
    let mut globs = |reader: &mut Reader, key: &'static str| {
        let value = fields.required(reader, key)?;
        let list = reader.list(value, key, |reader, value| checked(reader, value, "pattern", not_pattern))?;
        if list.is_empty() {
            reader.wrong(value.span(), format!("{key} names no file"));
        }
        Some(list)
    };
    let (inputs, outputs) = (globs(reader, "inputs"), globs(reader, "outputs"));
    let reads = fields
        .get("reads")
        .and_then(|value| reader.list(value, "reads", |reader, value| checked(reader, value, "path", not_below)));
    let env = fields.get("env").map(|value| variables(reader, value, "env", &all)).unwrap_or_default();
    let sets = fields.get("sets").map(|value| variables(reader, value, "sets", &COMPILED)).unwrap_or_default();
    let compiler = fields.required(reader, "compiler").and_then(|value| reader.parsed(value, "compiler"));
    let limit = fields.get("limit").and_then(|value| reader.integer(value, "limit", 1..=86_400));
    fields.finish(reader);
    let command = command?;
    let span = command.first().map_or(value.span(), |program| program.span.clone());
    let compile = Compile {
        command: plain(command),
        cuda: plain(cuda.unwrap_or_default()),
        inputs: plain(inputs?),
        outputs: plain(outputs?),
        reads: plain(reads.unwrap_or_default()),
        env,
        sets,
        compiler: compiler?.value,
        limit: limit.and_then(|limit| u32::try_from(limit.value).ok()).unwrap_or(DEFAULT_LIMIT),
        made_by: Vec::new(),
    };
    Some(Spanned { value: compile, span })
}

fn plain(list: Vec<Spanned<String>>) -> Vec<String> {
    list.into_iter().map(|at| at.value).collect()
}

fn checked(
    reader: &mut Reader,
    value: &Value<'_>,
    what: &str,
    problem: fn(&str) -> Option<&'static str>,
) -> Option<Spanned<String>> {
    let text = reader.text(value, &format!("a {what}"))?;
    let Some(why) = problem(&text.value) else { return Some(text) };
    reader.wrong(text.span, format!("{what} `{}` {why}", text.value));
    None
}

fn arguments(reader: &mut Reader, value: &Value<'_>, key: &str, known: &[&str]) -> Option<Vec<Spanned<String>>> {
    reader.list(value, key, |reader, value| {
        let text = reader.string(value, "an argument")?;
        known_places(reader, &text, known);
        Some(text)
    })
}

fn variables(reader: &mut Reader, value: &Value<'_>, key: &str, known: &[&str]) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let Some(fields) = reader.fields(value, format!("{key} of compile")) else { return found };
    for (name, value) in fields.entries() {
        let Some(text) = reader.string(value, "a variable") else { continue };
        known_places(reader, &text, known);
        match is_variable(&name.value) {
            true => drop(found.insert(name.value, text.value)),
            false => reader.wrong(name.span, format!("variable `{}` cannot be set", name.value)),
        }
    }
    found
}

fn known_places(reader: &mut Reader, text: &Spanned<String>, known: &[&str]) {
    for word in placeholders(&text.value).into_iter().filter(|word| !known.contains(word)) {
        let mistake = reader.mistake(text.span.clone(), format!("unknown placeholder `{{{word}}}`"));
        let known: Vec<String> = known.iter().map(|word| format!("{{{word}}}")).collect();
        reader.push(mistake.known("known here", &known).near(&format!("{{{word}}}"), &known));
    }
}
