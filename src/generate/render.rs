//! Templates: data on disk or in the binary, filled by values that are escaped or refused.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, ValueKind};
use minijinja::{Environment, Error as TemplateError, ErrorKind, UndefinedBehavior, Value};
use serde::Serialize;

use super::Target;
use super::escape;
use super::files::MARK;
use crate::build_system::BuildDriver;
use crate::data::Data;
use crate::error::{Error, Result};

/// Where templates lie among the data.
const DIRECTORY: &str = "templates/generate";

/// The templates of all targets, by name: `conda/recipe.yaml`. Those without a directory are of all targets.
const NAMES: [&str; 16] = [
    "conda/recipe.yaml",
    "conda/variants.yaml",
    "conda/conda-forge.yml",
    "host.sh",
    "kernels.sh",
    "shaders.sh",
    "nix/flake.nix",
    "nix/overlay.nix",
    "nix/package.nix",
    "cmake/Config.cmake",
    "cmake/ConfigVersion.cmake",
    "pkgconfig/component.pc",
    "github/workflow.yml",
    "spack/package.py",
    "easybuild/simulator.eb",
    "docs/kernels.md",
];

/// Escaping filters: the name in templates, and the function.
type Escape = (&'static str, fn(&str) -> Option<String>);

const FILTERS: [Escape; 17] = [
    ("yaml", escape::yaml_recipe),
    ("github", escape::github_text),
    ("sh", escape::shell),
    ("filled", escape::shell_filled),
    ("nix", escape::nix_string),
    ("cmake", escape::cmake),
    ("pc", escape::pkg_config),
    ("python", escape::python),
    ("eb", escape::easyconfig),
    ("ebsh", escape::easyconfig_shell),
    ("md", escape::markdown),
    ("word", word),
    ("spec", spec),
    ("pattern", pattern),
    ("indented", indented),
    ("inside", inside),
    ("smoke", smoke),
];

/// A text that needs no escaping anywhere: letters, digits and a few signs.
fn word(text: &str) -> Option<String> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_./+-".contains(letter);
    (!text.is_empty() && text.chars().all(plain)).then(|| text.to_owned())
}

/// A match spec of conda as a part of a YAML scalar without quotes.
fn spec(text: &str) -> Option<String> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_.+- <>=,!*".contains(letter);
    let starts = text.starts_with(|first: char| first.is_ascii_alphabetic());
    (starts && text.chars().all(plain)).then(|| text.to_owned())
}

/// One word of a shell inside an indented string of nix.
fn indented(text: &str) -> Option<String> {
    let quoted = escape::shell(text)?;
    (!quoted.contains('\n')).then(|| quoted.replace("''", "'''").replace("${", "''${"))
}

/// A part of a string of nix, whose quotes stand in the template.
fn inside(text: &str) -> Option<String> {
    Some(escape::nix_string(text)?.strip_prefix('"')?.strip_suffix('"')?.to_owned())
}

/// A word of a smoke test inside an indented string of nix: the first GPU, and the target of a loop around it.
fn smoke(text: &str) -> Option<String> {
    let text = text.replace("{device}", "0");
    let parts = text.split("{target}").map(|part| if part.is_empty() { Some(String::new()) } else { indented(part) });
    let word = parts.collect::<Option<Vec<_>>>()?.join("\"$target\"");
    if word.is_empty() { indented("") } else { Some(word) }
}

/// A pattern of bash that [`extended`](super::extended) made: it is escaped already.
fn pattern(text: &str) -> Option<String> {
    (!text.contains(['\n', '\0'])).then(|| text.to_owned())
}

/// Templates, ready to be filled.
pub struct Templates(Environment<'static>);

impl Templates {
    /// Reads the templates of a target: files on disk first, then those in the binary.
    ///
    /// # Errors
    /// One cannot be read, or is none.
    pub fn load(data: &Data, target: Target) -> Result<Self> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        // Doubled braces are expressions of conda recipes and of workflows: templates have signs of their own.
        let syntax = SyntaxConfig::builder()
            .variable_delimiters("<{", "}>")
            .block_delimiters("<%", "%>")
            .comment_delimiters("<#", "#>")
            .trim_blocks(true)
            .lstrip_blocks(true)
            .keep_trailing_newline(true)
            .build();
        environment.set_syntax(syntax.map_err(|error| Error::bug("the signs of templates").because(error))?);
        // A text that comes to the output without having gone through a filter would be trusted unseen.
        environment.set_formatter(|out, _, value| match value.kind() {
            ValueKind::String if !value.is_safe() => {
                let message = format!("`{value}` is printed without an escaping filter");
                Err(TemplateError::new(ErrorKind::InvalidOperation, message))
            }
            ValueKind::String | ValueKind::Number => Ok(out.write_str(&value.to_string())?),
            kind => Err(TemplateError::new(ErrorKind::InvalidOperation, format!("a value of kind {kind} is printed"))),
        });
        for (name, filter) in FILTERS {
            environment.add_filter(name, move |value: Value| escaped(name, filter, &value));
        }
        let directory = target.to_string();
        let own = |name: &&str| name.split_once('/').is_none_or(|(below, _)| below == directory);
        let own = NAMES.iter().copied().filter(own).map(str::to_owned);
        // `copy` calls nothing. What `host.sh` has of each other build system is a file.
        let systems = BuildDriver::NAMES.iter().filter(|(_, driver)| *driver != BuildDriver::Copy);
        for name in own.chain(systems.map(|(name, _)| format!("host/{name}.sh"))) {
            let path = format!("{DIRECTORY}/{name}.j2");
            let text = data.text(&path)?;
            environment.add_template_owned(name, text).map_err(|error| wrong(&path, &error))?;
        }
        Ok(Self(environment))
    }

    /// Fills a template.
    ///
    /// # Errors
    /// A value cannot be written in the target, or the template names what is not there.
    pub fn fill(&self, name: &str, values: &impl Serialize) -> Result<String> {
        let path = format!("{DIRECTORY}/{name}.j2");
        let template = self.0.get_template(name).map_err(|error| wrong(&path, &error))?;
        let text = template.render(Value::from(Serde(values))).map_err(|error| wrong(&path, &error))?;
        match text.contains(MARK) {
            true => Ok(text),
            false => Err(Error::recipe(format!("{path} does not say what wrote the text"))
                .hint(format!("begin it with a comment that holds: {MARK}"))),
        }
    }
}

fn escaped(name: &str, filter: fn(&str) -> Option<String>, value: &Value) -> Result<Value, TemplateError> {
    let text = match value.kind() {
        ValueKind::String | ValueKind::Number => value.to_string(),
        kind => {
            return Err(TemplateError::new(ErrorKind::InvalidOperation, format!("`{name}` of a value of kind {kind}")));
        }
    };
    match filter(&text) {
        Some(text) => Ok(Value::from_safe_string(text)),
        None => Err(TemplateError::new(
            ErrorKind::InvalidOperation,
            format!("`{}` cannot be written here (filter `{name}`)", text.escape_debug()),
        )),
    }
}

fn wrong(path: &str, error: &TemplateError) -> Error {
    let place = error.line().map_or(path.to_owned(), |line| format!("{path}:{line}"));
    let what = error.detail().map_or_else(|| error.kind().to_string(), ToOwned::to_owned);
    let error = Error::recipe(format!("{place}: {what}"));
    error.hint("change the value in the recipe, or the template")
}
