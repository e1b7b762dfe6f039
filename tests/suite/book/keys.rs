//! A file that people write, table by table, from its JSON schema: what each key says, its type, default and example.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::{Map, Value};

/// Names that stand for those that people choose.
const CHOSEN: [(&str, &str); 4] =
    [("release", "\"RELEASE\""), ("kernels", "NAME"), ("variants", "AXIS.CHOICE"), ("when", "\"RANGE\"")];

/// The tables of a schema as sections of a page, the outermost first.
pub fn sections(schema: &Value) -> String {
    let mut page = Page { schema, text: String::new(), shown: BTreeMap::new(), written: BTreeSet::new() };
    page.table("", schema);
    page.text
}

struct Page<'a> {
    schema: &'a Value,
    text: String,
    /// Names of definitions and where each is shown.
    shown: BTreeMap<&'a str, String>,
    /// Those that have been written.
    written: BTreeSet<&'a str>,
}

/// A table inside of another.
struct Inner<'a> {
    path: String,
    name: &'a str,
}

impl<'a> Page<'a> {
    fn table(&mut self, path: &str, table: &'a Value) {
        let properties = table["properties"].as_object().expect("a table has keys");
        let required: BTreeSet<&str> = texts(&table["required"]).collect();
        let inner = self.inner(path, properties);
        if path.is_empty() {
            self.text.push_str("## The file\n\n");
        } else {
            _ = write!(self.text, "## {path}\n\n{}\n\n", sentence(table));
        }
        self.text.push_str("| key | type | default | example | says |\n|---|---|---|---|---|\n");
        for (key, value) in properties {
            let of = self.type_of(value, inner.get(key.as_str()));
            let default = match value.get("default") {
                Some(default) => code(&toml_of(default)),
                None if required.contains(key.as_str()) => "required".to_owned(),
                None => String::new(),
            };
            let example = value.get("examples").and_then(|all| all.get(0)).map(|one| code(&toml_of(one)));
            let says = cell(&description(value));
            _ = writeln!(self.text, "| `{key}` | {of} | {default} | {} | {says} |", example.unwrap_or_default());
        }
        self.text.push('\n');
        for (key, value) in properties {
            self.words(key, value);
        }
        for inner in inner.into_values() {
            if self.written.insert(inner.name) {
                self.table(&inner.path, &self.schema["$defs"][inner.name]);
            }
        }
    }

    /// The tables that the keys of a table hold; each definition is shown at the first place.
    fn inner(&mut self, path: &str, properties: &'a Map<String, Value>) -> BTreeMap<&'a str, Inner<'a>> {
        let mut found = BTreeMap::new();
        let below = path.trim_matches(['[', ']']);
        let dot = if below.is_empty() { "" } else { "." };
        for (key, value) in properties {
            let Some(name) = self.table_of(value) else { continue };
            let alike = properties.values().filter(|other| self.table_of(other) == Some(name)).count();
            let chosen = CHOSEN.iter().find(|(of, _)| of == key && value.get("additionalProperties").is_some());
            let step = match chosen {
                Some((_, chosen)) => format!("{key}.{chosen}"),
                None if alike > 1 => "NAME".to_owned(),
                None => key.clone(),
            };
            let (open, close) = if value.get("items").is_some() { ("[[", "]]") } else { ("[", "]") };
            let path = self.shown.entry(name).or_insert_with(|| format!("{open}{below}{dot}{step}{close}")).clone();
            found.insert(key.as_str(), Inner { path, name });
        }
        found
    }

    /// Name of the definition of the table that a value is, or holds by name or in a list.
    fn table_of(&self, value: &'a Value) -> Option<&'a str> {
        let inner = value.get("additionalProperties").or(value.get("items"));
        if let Some(inner) = inner.filter(|inner| inner.is_object()) {
            return self.table_of(inner);
        }
        let name = name_of(value)?;
        let of = &self.schema["$defs"][name];
        match of.get("anyOf") {
            Some(ways) => ways.as_array()?.iter().find_map(|way| self.table_of(way)),
            None => of.get("properties").map(|_| name),
        }
    }

    fn type_of(&self, value: &Value, inner: Option<&Inner<'_>>) -> String {
        if let Some(Inner { path, .. }) = inner {
            let text =
                if value.get("additionalProperties").is_some() || path.starts_with("[[") { "tables" } else { "table" };
            let link = format!("{text} [`{path}`](#{})", super::links::anchor(path));
            let names = name_of(value).and_then(|name| self.schema["$defs"][name]["anyOf"].as_array());
            let names = names.into_iter().flatten().map(|way| self.type_of(way, None)).filter(|of| of != "table");
            return names.chain([link]).collect::<Vec<_>>().join(", or ");
        }
        if let Some(items) = value.get("items") {
            return format!("list of {}", self.type_of(items, None));
        }
        if let Some(name) = name_of(value) {
            let of = &self.schema["$defs"][name];
            return match (constants(of).as_slice(), of["type"].as_str()) {
                ([], Some("string")) => "text".to_owned(),
                ([], _) => "table".to_owned(),
                (words, _) => words.iter().map(|(word, _)| code(word)).collect::<Vec<_>>().join(", "),
            };
        }
        match value["type"].as_str() {
            Some("integer") => "whole number".to_owned(),
            Some("boolean") => "switch".to_owned(),
            Some("object") => "table of values".to_owned(),
            _ => "text".to_owned(),
        }
    }

    /// What the words mean that a key may have.
    fn words(&mut self, key: &str, value: &Value) {
        let value = value.get("items").unwrap_or(value);
        let Some(name) = name_of(value) else { return };
        let words = constants(&self.schema["$defs"][name]);
        if words.len() < 2 {
            return;
        }
        _ = writeln!(self.text, "`{key}` is one of:\n");
        for (word, says) in words {
            _ = writeln!(self.text, "- `{word}`: {says}");
        }
        self.text.push('\n');
    }
}

/// Name of the definition that a value refers to.
pub fn name_of(value: &Value) -> Option<&str> {
    value.get("$ref")?.as_str()?.strip_prefix("#/$defs/")
}

/// Words of an enumeration with what each says.
fn constants(of: &Value) -> Vec<(String, String)> {
    let constant = |way: &Value| Some((way.get("const")?.as_str()?.to_owned(), description(way)));
    let described = of["oneOf"].as_array().into_iter().flatten().filter_map(constant);
    let plain = texts(&of["enum"]).map(|word| (word.to_owned(), String::new()));
    described.chain(plain).collect()
}

fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// A description on one line.
pub fn description(value: &Value) -> String {
    value["description"].as_str().unwrap_or_default().replace('\n', " ")
}

fn sentence(value: &Value) -> String {
    description(value)
}

/// Text that may stand in a cell of a table.
pub fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}

fn code(text: &str) -> String {
    format!("`{}`", text.replace('|', "\\|"))
}

fn toml_of(value: &Value) -> String {
    toml::Value::try_from(value).expect("examples are TOML").to_string()
}
