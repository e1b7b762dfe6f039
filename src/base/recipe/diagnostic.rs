//! A mistake in a file that people write: what, where, what would be right, and how it is shown.

use std::ops::Range;
use std::sync::Arc;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use schemars::JsonSchema;
use serde::Serialize;

use crate::amount::count;
use crate::error::Error;
use crate::report::Place;
use crate::wrap::{width, wrap};

/// A file's name as it is shown, and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Name, `/`-joined.
    pub path: Arc<str>,
    /// Text.
    pub text: Arc<str>,
    /// Bytes at which its lines end: a recipe of thousands of kernels has as many places.
    line_ends: Arc<[usize]>,
}

impl Document {
    /// A document from its name and text.
    pub fn new(path: &str, text: &str) -> Self {
        let line_ends = text.match_indices('\n').map(|(at, _)| at).collect();
        Self { path: path.into(), text: text.into(), line_ends }
    }

    /// The line that holds a byte.
    pub(super) fn place(&self, at: usize) -> Place {
        Place { path: self.path.to_string(), line: self.line_ends.partition_point(|end| *end < at) + 1 }
    }
}

/// A value and where it stands, in bytes of its document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Bytes from start to end.
    pub span: Range<usize>,
}

impl<T> Spanned<T> {
    /// The same place with another value.
    pub fn with<U>(&self, value: U) -> Spanned<U> {
        Spanned { value, span: self.span.clone() }
    }
}

/// One mistake. Without a place it is about what was asked on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// What is wrong, as a lowercase fragment.
    pub message: String,
    place: Option<(Document, Range<usize>)>,
    notes: Vec<String>,
    hints: Vec<String>,
    is_warning: bool,
}

/// A mistake as JSON: lines and columns count from one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DiagnosticRecord {
    /// What is wrong.
    pub message: String,
    /// File.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Column, in characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// What would be right.
    pub notes: Vec<String>,
    /// What to do.
    pub hints: Vec<String>,
}

/// Columns before notes and hints.
const MARGIN: usize = 8;

impl Diagnostic {
    /// A mistake at a place of a document.
    pub fn at(document: &Document, span: Range<usize>, message: impl Into<String>) -> Self {
        Self { place: Some((document.clone(), first_line(&document.text, span))), ..Self::asked(message) }
    }

    /// A mistake in what was asked on the command line.
    pub fn asked(message: impl Into<String>) -> Self {
        Self { message: message.into(), place: None, notes: Vec::new(), hints: Vec::new(), is_warning: false }
    }

    /// Makes it one that stops nothing.
    #[must_use]
    pub fn warning(mut self) -> Self {
        self.is_warning = true;
        self
    }

    /// Adds what would be right.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Adds a list of what would be right.
    #[must_use]
    pub fn known(self, what: &str, choices: impl IntoIterator<Item = impl ToString>) -> Self {
        let choices: Vec<_> = choices.into_iter().map(|choice| choice.to_string()).collect();
        if choices.is_empty() { self } else { self.note(format!("{what}: {}", choices.join(" "))) }
    }

    /// Adds what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds "did you mean" when one of the choices is near.
    #[must_use]
    pub fn near(self, text: &str, choices: impl IntoIterator<Item = impl ToString>) -> Self {
        match crate::near::nearest(text, choices.into_iter().map(|choice| choice.to_string())) {
            Some(choice) => self.hint(format!("did you mean `{choice}`?")),
            None => self,
        }
    }

    /// Line and column, from one.
    fn position(&self) -> Option<(usize, usize)> {
        let (document, span) = self.place.as_ref()?;
        let before = document.text.get(..span.start)?;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Some((before.matches('\n').count() + 1, column))
    }

    /// The mistake as plain data.
    pub fn record(&self) -> DiagnosticRecord {
        let position = self.position();
        DiagnosticRecord {
            message: self.message.clone(),
            path: self.place.as_ref().map(|(document, _)| document.path.to_string()),
            line: position.map(|(line, _)| line),
            column: position.map(|(_, column)| column),
            notes: self.notes.clone(),
            hints: self.hints.clone(),
        }
    }

    /// The mistake in words, with the line and carets.
    pub fn render(&self) -> String {
        let level = if self.is_warning { Level::WARNING } else { Level::ERROR };
        let mut group =
            level.primary_title(self.message.as_str()).elements(self.place.iter().map(|(document, span)| {
                Snippet::source(&*document.text)
                    .path(&*document.path)
                    .annotation(AnnotationKind::Primary.span(span.clone()))
            }));
        for note in &self.notes {
            group = group.element(Level::NOTE.no_name().message(wrap("", 2, note, width() - MARGIN).join("\n")));
        }
        for hint in &self.hints {
            group =
                group.element(Level::HELP.with_name("hint").message(wrap("", 2, hint, width() - MARGIN).join("\n")));
        }
        Renderer::plain().render(&[group])
    }

    fn order(&self) -> (Option<&str>, usize, &str) {
        let place = self.place.as_ref();
        (place.map(|(document, _)| &*document.path), place.map_or(0, |(_, span)| span.start), &self.message)
    }
}

/// Mistakes in the order of the files: what was asked first, then the recipe, then its tables. One that several CUDA
/// releases have is told once, with what would be right for the first.
pub(super) fn sort(mistakes: &mut Vec<Diagnostic>, recipe: &Document) {
    let other = |mistake: &Diagnostic| mistake.place.as_ref().is_some_and(|(document, _)| document.path != recipe.path);
    mistakes.sort_by(|a, b| (other(a), a.order()).cmp(&(other(b), b.order())));
    mistakes.dedup_by(|later, first| (&later.message, &later.place) == (&first.message, &first.place));
}

/// All mistakes as one text.
pub fn render_all(mistakes: &[Diagnostic]) -> String {
    mistakes.iter().map(|mistake| mistake.render() + "\n").collect()
}

/// The mistakes as an error, for callers that only need a resolved recipe.
pub fn as_error(mistakes: &[Diagnostic]) -> Error {
    Error::recipe(format!("{} in the recipe, nothing built", count(mistakes.len(), "mistake")))
        .detail(render_all(mistakes).trim_end().to_owned())
}

/// The part of a span on its first line, inside the text and on character boundaries; an empty one becomes one
/// character wide where there is one.
fn first_line(text: &str, span: Range<usize>) -> Range<usize> {
    let mut start = span.start.min(text.len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    let line_end = text[start..].find(['\n', '\r']).map_or(text.len(), |length| start + length);
    let mut end = span.end.clamp(start, line_end);
    while !text.is_char_boundary(end) {
        end += 1;
    }
    if end == start {
        end += text[start..line_end].chars().next().map_or(0, char::len_utf8);
    }
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_shows_file_line_caret_choices_and_hint() {
        let text = "edition = 1\ncapabilities = [\"8.0\", \"9.2\"]\n";
        let start = text.find("\"9.2\"").unwrap();
        let mistake =
            Diagnostic::at(&Document::new("simpack.toml", text), start..start + 5, "unknown capability `9.2`")
                .known("known for CUDA 13.0", ["7.5", "8.0", "9.0"])
                .near("9.2", ["7.5", "8.0", "9.0"]);
        insta::assert_snapshot!(mistake.render());
        let record = mistake.record();
        assert_eq!((record.line, record.column), (Some(2), Some(24)));
    }

    #[test]
    fn spans_outside_the_text_are_cut() {
        for (text, span) in [("", 0..0), ("", 5..9), ("\u{fc}b", 1..1), ("a\r\nb", 0..4), ("a\n", 2..2)] {
            Diagnostic::at(&Document::new("x", text), span, "wrong").render();
        }
    }
}
