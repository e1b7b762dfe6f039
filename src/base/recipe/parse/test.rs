//! Reads `[test]`.

use std::collections::BTreeMap;

use super::reader::{Reader, Value};
use super::words::{is_obeyed, is_part_name, not_relative, placeholders};
use crate::recipe::model::{PLACES, Test};

/// Seconds that a test may take when the recipe does not say.
const DEFAULT_LIMIT: u32 = 600;

/// Reads `[test.*]`, sorted by name.
pub(super) fn tests(reader: &mut Reader, value: &Value<'_>) -> Vec<Test> {
    let mut found = Vec::new();
    let Some(fields) = reader.fields(value, "[test]") else { return found };
    for (name, value) in fields.entries() {
        if !is_part_name(&name.value) {
            let message = format!("`{}` cannot be the name of a test: lower-case letters, digits and `_`", name.value);
            reader.wrong(name.span, message);
            continue;
        }
        found.extend(test(reader, name.value, value));
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    found
}

fn test(reader: &mut Reader, name: String, value: &Value<'_>) -> Option<Test> {
    let mut fields = reader.fields(value, format!("[test.{name}]"))?;
    let command = fields.required(reader, "command").and_then(|value| {
        let words = reader.list(value, "command", |reader, value| {
            let text = reader.string(value, "an argument")?;
            known_places(reader, &text.value, value);
            Some(text)
        })?;
        let Some(program) = words.first() else {
            reader.wrong(value.span(), "command names no program");
            return None;
        };
        if let Some(why) = not_relative(&program.value) {
            let mistake = reader.mistake(program.span.clone(), format!("program `{}` {why}", program.value));
            let hint =
                "write its path below the prefix, such as \"bin/mysim\", or the name of a program of the machine";
            reader.push(mistake.hint(hint));
        }
        Some(words.into_iter().map(|word| word.value).collect())
    });
    let mut env = BTreeMap::new();
    if let Some(variables) = fields.get("env").and_then(|value| reader.fields(value, "env of a test")) {
        for (key, value) in variables.entries() {
            let Some(text) = reader.string(value, "a variable") else { continue };
            known_places(reader, &text.value, value);
            match is_obeyed(&key.value) || key.value.is_empty() || key.value.contains(['=', '\0']) {
                true => reader.wrong(
                    key.span,
                    format!("variable `{}` cannot be set: packages are tested as users run them", key.value),
                ),
                false => drop(env.insert(key.value, text.value)),
            }
        }
    }
    let prints = fields
        .get("prints")
        .and_then(|value| reader.list(value, "prints", |reader, value| reader.text(value, "a text")));
    let limit = fields.get("limit").and_then(|value| reader.integer(value, "limit", 1..=86_400));
    fields.finish(reader);
    Some(Test {
        name,
        command: command?,
        env,
        prints: prints.unwrap_or_default().into_iter().map(|text| text.value).collect(),
        limit: limit.and_then(|limit| u32::try_from(limit.value).ok()).unwrap_or(DEFAULT_LIMIT),
    })
}

fn known_places(reader: &mut Reader, text: &str, value: &Value<'_>) {
    let known: Vec<String> = PLACES.iter().map(|word| format!("{{{word}}}")).collect();
    for word in placeholders(text).into_iter().filter(|word| !PLACES.contains(word)) {
        let mistake = reader.mistake(value.span(), format!("unknown placeholder `{{{word}}}`"));
        reader.push(mistake.known("known", &known).near(&format!("{{{word}}}"), &known));
    }
}
