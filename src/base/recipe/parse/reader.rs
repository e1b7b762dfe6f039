//! Reads a TOML document field by field and collects every mistake instead of stopping at the first.

use std::ops::Range;
use std::str::FromStr;

use toml::de::{DeTable, DeValue};

use crate::recipe::diagnostic::{Diagnostic, Document, Spanned};

/// A value of the document.
pub(in crate::recipe) type Value<'a> = toml::Spanned<DeValue<'a>>;

/// The document that is read and the mistakes found so far.
pub(in crate::recipe) struct Reader {
    pub document: Document,
    pub mistakes: Vec<Diagnostic>,
}

impl Reader {
    pub fn new(document: Document) -> Self {
        Self { document, mistakes: Vec::new() }
    }

    /// Notes a mistake.
    pub fn wrong(&mut self, span: Range<usize>, message: impl Into<String>) {
        self.push(Diagnostic::at(&self.document, span, message));
    }

    pub fn push(&mut self, mistake: Diagnostic) {
        self.mistakes.push(mistake);
    }

    /// A mistake at a place, to be completed and pushed.
    pub fn mistake(&self, span: Range<usize>, message: impl Into<String>) -> Diagnostic {
        Diagnostic::at(&self.document, span, message)
    }

    fn wrong_type(&mut self, value: &Value<'_>, what: &str, expected: &str) {
        let found = match value.get_ref() {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) => "an integer",
            DeValue::Float(_) => "a number",
            DeValue::Boolean(_) => "a boolean",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        let mut mistake = self.mistake(value.span(), format!("{what} must be {expected}, not {found}"));
        if let (true, DeValue::Float(number)) = (expected.starts_with("a string"), value.get_ref()) {
            mistake = mistake.hint(format!("write it in quotes: \"{}\"", number.as_str()));
        }
        self.push(mistake);
    }

    pub fn string(&mut self, value: &Value<'_>, what: &str) -> Option<Spanned<String>> {
        match value.get_ref() {
            DeValue::String(text) => Some(Spanned { value: text.to_string(), span: value.span() }),
            _ => {
                self.wrong_type(value, what, "a string");
                None
            }
        }
    }

    /// A string that is not empty and holds no control characters.
    pub fn text(&mut self, value: &Value<'_>, what: &str) -> Option<Spanned<String>> {
        let text = self.string(value, what)?;
        if text.value.trim().is_empty() {
            self.wrong(text.span, format!("{what} is empty"));
            return None;
        }
        if text.value.chars().any(char::is_control) {
            self.wrong(text.span, format!("{what} holds a control character"));
            return None;
        }
        Some(text)
    }

    /// A string that parses; the type says what is wrong.
    pub fn parsed<T: FromStr<Err = String>>(&mut self, value: &Value<'_>, what: &str) -> Option<Spanned<T>> {
        let text = self.string(value, what)?;
        match text.value.parse() {
            Ok(parsed) => Some(text.with(parsed)),
            Err(message) => {
                self.wrong(text.span, message);
                None
            }
        }
    }

    /// One of some words.
    pub fn choice<T: Copy>(&mut self, value: &Value<'_>, what: &str, choices: &[(&str, T)]) -> Option<Spanned<T>> {
        let text = self.string(value, what)?;
        if let Some((_, found)) = choices.iter().find(|(name, _)| *name == text.value) {
            return Some(text.with(*found));
        }
        let names = || choices.iter().map(|(name, _)| *name);
        let mistake = self
            .mistake(text.span, format!("unknown {what} `{}`", text.value))
            .known("known", names())
            .near(&text.value, names());
        self.push(mistake);
        None
    }

    /// `true` or `false`.
    pub fn boolean(&mut self, value: &Value<'_>, what: &str) -> Option<Spanned<bool>> {
        match value.get_ref() {
            DeValue::Boolean(switch) => Some(Spanned { value: *switch, span: value.span() }),
            _ => {
                self.wrong_type(value, what, "true or false");
                None
            }
        }
    }

    /// An integer in a range.
    pub fn integer(
        &mut self,
        value: &Value<'_>,
        what: &str,
        range: std::ops::RangeInclusive<u64>,
    ) -> Option<Spanned<u64>> {
        let DeValue::Integer(number) = value.get_ref() else {
            self.wrong_type(value, what, "an integer");
            return None;
        };
        let parsed = u64::from_str_radix(number.as_str(), number.radix()).ok().filter(|number| range.contains(number));
        if parsed.is_none() {
            let (low, high) = (range.start(), range.end());
            self.wrong(value.span(), format!("{what} must be from {low} to {high}"));
        }
        parsed.map(|parsed| Spanned { value: parsed, span: value.span() })
    }

    /// A list; wrong items are left out.
    pub fn list<T>(
        &mut self,
        value: &Value<'_>,
        what: &str,
        mut item: impl FnMut(&mut Self, &Value<'_>) -> Option<T>,
    ) -> Option<Vec<T>> {
        let DeValue::Array(items) = value.get_ref() else {
            self.wrong_type(value, what, "a list");
            return None;
        };
        Some(items.iter().filter_map(|value| item(self, value)).collect())
    }

    /// Notes values of a list that stand in it twice, and leaves the first.
    pub fn unique<T: PartialEq + std::fmt::Display>(&mut self, what: &str, list: Vec<Spanned<T>>) -> Vec<Spanned<T>> {
        let mut kept: Vec<Spanned<T>> = Vec::new();
        for item in list {
            if kept.iter().any(|other| other.value == item.value) {
                self.wrong(item.span, format!("{what} lists `{}` twice", item.value));
            } else {
                kept.push(item);
            }
        }
        kept
    }

    /// A table's fields. `what` is how it is named in messages: `[matrix]`.
    pub fn fields<'v, 'a>(&mut self, value: &'v Value<'a>, what: impl Into<String>) -> Option<Fields<'v, 'a>> {
        let what = what.into();
        match value.get_ref() {
            DeValue::Table(table) => Some(Fields::new(table, value.span(), what)),
            _ => {
                self.wrong_type(value, &what, "a table");
                None
            }
        }
    }
}

/// The fields of one table; what is asked for is what is known.
pub(in crate::recipe) struct Fields<'v, 'a> {
    table: &'v DeTable<'a>,
    /// Where the table stands.
    pub span: Range<usize>,
    /// Its name in messages.
    pub what: String,
    known: Vec<&'static str>,
}

impl<'v, 'a> Fields<'v, 'a> {
    pub fn new(table: &'v DeTable<'a>, span: Range<usize>, what: String) -> Self {
        Self { table, span, what, known: Vec::new() }
    }

    /// The value of a key.
    pub fn get(&mut self, key: &'static str) -> Option<&'v Value<'a>> {
        self.known.push(key);
        self.table.iter().find(|(name, _)| name.get_ref() == key).map(|(_, value)| value)
    }

    /// The value of a key that must be there.
    pub fn required(&mut self, reader: &mut Reader, key: &'static str) -> Option<&'v Value<'a>> {
        let found = self.get(key);
        if found.is_none() {
            reader.wrong(self.span.clone(), format!("{} lacks `{key}`", self.what));
        }
        found
    }

    /// All keys and values: for tables whose keys people choose.
    pub fn entries(&self) -> Vec<(Spanned<String>, &'v Value<'a>)> {
        let at = |key: &toml::Spanned<toml::de::DeString<'_>>| Spanned {
            value: key.get_ref().to_string(),
            span: key.span(),
        };
        self.table.iter().map(|(key, value)| (at(key), value)).collect()
    }

    /// Notes the keys that nobody asked for.
    pub fn finish(self, reader: &mut Reader) {
        for (key, _) in self.entries() {
            if !self.known.contains(&key.value.as_str()) {
                let mistake = reader
                    .mistake(key.span, format!("unknown key `{}` in {}", key.value, self.what))
                    .known("known here", &self.known)
                    .near(&key.value, &self.known);
                reader.push(mistake);
            }
        }
    }
}

/// Reads a document's top table; syntax errors are mistakes, all of them.
pub(in crate::recipe) fn read<T>(
    document: Document,
    what: &str,
    work: impl FnOnce(&mut Reader, Fields<'_, '_>) -> Option<T>,
) -> (Option<T>, Vec<Diagnostic>) {
    let text = document.text.clone();
    let mut reader = Reader::new(document);
    let (table, errors) = DeTable::parse_recoverable(&text);
    if !errors.is_empty() {
        for error in errors {
            let message = error.message().trim_end_matches('\n').replace('\n', ", ");
            reader.wrong(error.span().unwrap_or(0..0), message);
        }
        return (None, reader.mistakes);
    }
    let fields = Fields::new(table.get_ref(), 0..0, what.to_owned());
    let found = work(&mut reader, fields);
    (found, reader.mistakes)
}

/// `edition = 1` must be there.
pub(in crate::recipe) fn edition(reader: &mut Reader, fields: &mut Fields<'_, '_>) {
    let Some(value) = fields.get("edition") else {
        let mistake = reader
            .mistake(fields.span.clone(), format!("{} lacks `edition`", fields.what))
            .hint("the first line must be `edition = 1`");
        return reader.push(mistake);
    };
    if let Some(edition) = reader.integer(value, "edition", 0..=u64::MAX)
        && edition.value != 1
    {
        let mistake = reader
            .mistake(edition.span, format!("unknown edition {}", edition.value))
            .known("known", [1])
            .hint("a newer edition needs a newer simpack");
        reader.push(mistake);
    }
}
