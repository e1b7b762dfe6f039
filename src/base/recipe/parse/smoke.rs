//! Reads `[smoke]`.

use std::collections::BTreeMap;

use super::reader::{Reader, Value};
use super::words::{not_relative, placeholders};
use crate::recipe::diagnostic::Spanned;
use crate::recipe::model::Smoke;

/// Words in arguments that are replaced, in braces, by the key that takes them: the driver's index of the device, the
/// target of the device code, and of shaders their variant.
const PLACEHOLDERS: [(&str, &[&str]); 2] =
    [("cuda", &["device", "target"]), ("vulkan", &["device", "target", "variant"])];
/// Seconds that one run may take when the recipe does not say.
const DEFAULT_LIMIT: u32 = 60;

pub(super) fn smoke(reader: &mut Reader, value: &Value<'_>) -> Option<Smoke> {
    let mut fields = reader.fields(value, "[smoke]")?;
    let command = fields.required(reader, "command").and_then(|value| {
        let words = arguments(reader, value, "command")?;
        let Some(program) = words.first() else {
            reader.wrong(value.span(), "command names no program");
            return None;
        };
        if let Some(why) = not_relative(&program.value) {
            reader.wrong(program.span.clone(), format!("program `{}` {why}: it lies in the prefix", program.value));
        }
        Some(plain(words))
    });
    let mut words = |reader: &mut Reader, key: &'static str| {
        fields.get(key).and_then(|value| arguments(reader, value, key)).map(plain).unwrap_or_default()
    };
    let (cpu, cuda, vulkan) = (words(reader, "cpu"), words(reader, "cuda"), words(reader, "vulkan"));
    let equal = fields.get("equal").and_then(|value| reader.list(value, "equal", pointer)).map(plain);
    let near = fields.get("near").map(|value| near(reader, value));
    let code = fields.get("code").and_then(|value| pointer(reader, value));
    let seconds = fields.get("seconds").and_then(|value| pointer(reader, value));
    let limit = fields.get("limit").and_then(|value| reader.integer(value, "limit", 1..=3600));
    let (equal, near) = (equal.unwrap_or_default(), near.unwrap_or_default());
    if equal.is_empty() && near.is_empty() {
        let mistake = reader.mistake(fields.span.clone(), "[smoke] compares nothing");
        reader.push(mistake.hint("say what must agree: equal = [\"/digest\"], or near = { \"/rate\" = 6 }"));
    }
    fields.finish(reader);
    Some(Smoke {
        command: command?,
        cpu,
        cuda,
        vulkan,
        equal,
        near,
        code: code.map(|code| code.value),
        seconds: seconds.map(|seconds| seconds.value),
        limit: limit.and_then(|limit| u32::try_from(limit.value).ok()).unwrap_or(DEFAULT_LIMIT),
    })
}

fn plain(list: Vec<Spanned<String>>) -> Vec<String> {
    list.into_iter().map(|at| at.value).collect()
}

fn arguments(reader: &mut Reader, value: &Value<'_>, key: &str) -> Option<Vec<Spanned<String>>> {
    let list = reader.list(value, key, |reader, value| reader.text(value, "an argument"))?;
    let known = PLACEHOLDERS.iter().find(|(taking, _)| *taking == key).map_or(&[] as &[&str], |(_, words)| words);
    for text in &list {
        for word in placeholders(&text.value).into_iter().filter(|word| !known.contains(word)) {
            let mistake = reader.mistake(text.span.clone(), format!("unknown placeholder `{{{word}}}` in {key}"));
            let (taking, words) = PLACEHOLDERS.iter().find(|(taking, _)| *taking == key).unwrap_or(&PLACEHOLDERS[0]);
            let words: Vec<String> = words.iter().map(|word| format!("{{{word}}}")).collect();
            reader.push(mistake.known(&format!("known in {taking}"), &words));
        }
    }
    Some(list)
}

fn pointer(reader: &mut Reader, value: &Value<'_>) -> Option<Spanned<String>> {
    let text = reader.text(value, "a JSON pointer")?;
    if is_pointer(&text.value) {
        return Some(text);
    }
    let mistake = reader.mistake(text.span, format!("`{}` is not a JSON pointer", text.value));
    reader.push(mistake.hint("it begins with a slash: /digest, /populations/0/rate"));
    None
}

fn is_pointer(text: &str) -> bool {
    text.starts_with('/')
}

fn near(reader: &mut Reader, value: &Value<'_>) -> BTreeMap<String, u32> {
    let mut found = BTreeMap::new();
    let Some(fields) = reader.fields(value, "near of [smoke]") else { return found };
    for (key, value) in fields.entries() {
        if !is_pointer(&key.value) {
            reader.wrong(key.span, format!("`{}` is not a JSON pointer", key.value));
        } else if let Some(digits) = reader.integer(value, "the number of digits", 1..=17) {
            found.insert(key.value, u32::try_from(digits.value).unwrap_or(17));
        }
    }
    found
}
