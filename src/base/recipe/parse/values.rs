//! Values that several tables have: paths, globs and commands.

use super::reader::{Reader, Value};
use super::words::not_relative;
use crate::recipe::diagnostic::Spanned;

/// A path below a directory.
pub(super) fn relative(reader: &mut Reader, value: &Value<'_>) -> Option<Spanned<String>> {
    below(reader, value, "path")
}

pub(super) fn below(reader: &mut Reader, value: &Value<'_>, what: &str) -> Option<Spanned<String>> {
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

/// What is wrong with a name that people choose.
pub(super) fn name_message(what: &str, name: &str) -> String {
    format!("`{name}` cannot be the name of {what}: lower-case letters, digits and `_`")
}
