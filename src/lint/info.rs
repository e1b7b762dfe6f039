//! What a lint says about itself: the content of `manifests/lints/<id>.toml`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::report::{Level, Rule, wrapped};

/// Version of the data files.
const EDITION: u32 = 1;

/// Metadata of one lint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LintInfo {
    /// Always 1.
    pub edition: u32,
    /// Id, the same as the file's name.
    pub id: String,
    /// Ids that it had in earlier versions: recipes, waivers and command lines may still use them.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// What it looks at.
    pub over: Over,
    /// Level unless the recipe or the command line says otherwise.
    pub level: Level,
    /// One line.
    pub title: String,
    /// Why it matters, in plain words.
    pub text: String,
    /// What to do when it fires; a finding may say something more exact.
    pub fix: String,
    /// Documents and sections that the rule comes from.
    #[serde(default)]
    pub link: Vec<String>,
    /// What it needs of files.
    #[serde(default)]
    pub reads: Reads,
    /// How it speaks to those who maintain what simpack did not make.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign: Option<ForeignWords>,
    /// Values the predicate reads.
    #[serde(default)]
    pub parameters: Parameters,
}

/// What a lint says of packages that simpack did not make, where that is something else: in place of the recipe's words
/// those of auditwheel, CMake and nvcc.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ForeignWords {
    /// Level unless the command line says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    /// What to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// Which facts a lint is a predicate over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Over {
    /// Bundles and packages.
    Bundles,
    /// A user's machine.
    Machine,
    /// The process that a loader would build.
    Process,
}

/// What a lint needs of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reads {
    /// Names, rights, ELF tables, manifests: a few pages of a library.
    #[default]
    Tables,
    /// Other bytes: device code, digests, text anywhere in a file.
    Bytes,
}

impl LintInfo {
    /// Reads the data file of the lint `id`.
    ///
    /// # Errors
    /// The text is no valid lint, or it is another lint's.
    pub fn parse(id: &str, text: &str) -> Result<Self> {
        let wrong = |what: String| Error::recipe(format!("manifests/lints/{id}.toml: {what}"));
        let info: Self = toml::from_str(text).map_err(|error| wrong(error.to_string().trim_end().to_owned()))?;
        if info.edition != EDITION {
            return Err(wrong(format!("edition {} is not known", info.edition)).hint("this simpack reads edition 1"));
        }
        if info.id != id {
            return Err(wrong(format!("the id is `{}`, the file's name says `{id}`", info.id)));
        }
        Ok(info)
    }

    /// The lint as a report shows it.
    pub fn rule(&self) -> Rule {
        Rule {
            id: self.id.clone(),
            aliases: self.aliases.clone(),
            level: self.level,
            title: self.title.clone(),
            text: self.text.trim().to_owned(),
            fix: self.fix.trim().to_owned(),
            link: self.link.clone(),
        }
    }

    /// A page about the lint, as `--explain` prints it.
    pub fn page(&self) -> String {
        let mut page = format!("{}: {}\nlevel: {}\n\n", self.id, self.title, self.level);
        page.push_str(&wrapped(self.text.trim(), 0));
        page.push_str(&format!("\n\nfix:\n{}\n", wrapped(self.fix.trim(), 2)));
        if let Some(foreign) = &self.foreign {
            let level = foreign.level.unwrap_or(self.level);
            page.push_str(&format!("\nin packages of others: {level}\n"));
            if let Some(fix) = &foreign.fix {
                page.push_str(&format!("{}\n", wrapped(fix.trim(), 2)));
            }
        }
        if !self.parameters.0.is_empty() {
            page.push_str(&format!("\nparameters (a copy of manifests/lints/{}.toml changes them):\n", self.id));
            for (name, value) in &self.parameters.0 {
                page.push_str(&format!("{}\n", wrapped(&format!("{name} = {value}"), 2)));
            }
        }
        page.push_str("\nsee:\n");
        for link in &self.link {
            page.push_str(&format!("{}\n", wrapped(link, 2)));
        }
        page.trim_end().to_owned()
    }
}

/// Parameters of a lint, by name.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Parameters(BTreeMap<String, toml::Value>);

/// What a parameter holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterKind {
    /// A list of texts.
    Texts,
    /// A whole number that is not negative.
    Number,
}

impl Parameters {
    /// Texts of a list parameter. The registry has checked that it is there.
    pub fn texts(&self, name: &str) -> Vec<&str> {
        let list = self.0.get(name).and_then(toml::Value::as_array);
        list.into_iter().flatten().filter_map(toml::Value::as_str).collect()
    }

    /// A number parameter. The registry has checked that it is there.
    pub fn number(&self, name: &str) -> u64 {
        self.0.get(name).and_then(toml::Value::as_integer).and_then(|number| u64::try_from(number).ok()).unwrap_or(0)
    }

    /// Whether these are exactly the parameters that a predicate reads; answers what is wrong.
    pub(super) fn mismatch(&self, wanted: &[(&str, ParameterKind)]) -> Option<String> {
        for (name, kind) in wanted {
            let Some(value) = self.0.get(*name) else {
                return Some(format!("parameter `{name}` is missing"));
            };
            let fits = match kind {
                ParameterKind::Texts => value.as_array().is_some_and(|list| list.iter().all(toml::Value::is_str)),
                ParameterKind::Number => value.as_integer().is_some_and(|number| number >= 0),
            };
            if !fits {
                let wanted = match kind {
                    ParameterKind::Texts => "a list of texts",
                    ParameterKind::Number => "a whole number, not negative",
                };
                return Some(format!("parameter `{name}` must be {wanted}"));
            }
        }
        let unknown = self.0.keys().find(|name| !wanted.iter().any(|(known, _)| known == name));
        unknown.map(|name| format!("unknown parameter `{name}`"))
    }
}
