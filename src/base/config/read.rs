//! The user's file and the environment become values that remember where they came from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use toml::de::{DeTable, DeValue};

use super::table::{FORMER, Kind, SETTINGS, Setting};
use crate::error::{Error, Result};
use crate::near::nearest;

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A line of the user's file.
    File(PathBuf, usize),
    /// A variable.
    Environment(String),
    /// An option of this call.
    CommandLine,
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(path, line) => write!(f, "{}:{line}", path.display()),
            Self::Environment(name) => f.write_str(name),
            Self::CommandLine => f.write_str("command line"),
        }
    }
}

/// A value that somebody chose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    /// Its text, checked: a switch is `true` or `false`, a path has its home directory.
    pub text: String,
    /// Who said it.
    pub origin: Origin,
}

/// The settings of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Config {
    /// The user's file, whether it is there or not; none without a home directory.
    pub file: Option<PathBuf>,
    values: BTreeMap<&'static str, Value>,
    environment: BTreeMap<String, String>,
}

static CURRENT: OnceLock<Config> = OnceLock::new();

/// Reads the user's file and this process's environment, once, before anything else is done. `options` are settings that the
/// command line gives; they outweigh both.
///
/// # Errors
/// The file cannot be read, holds an unknown key or a wrong value; a variable holds a wrong value.
pub fn start(options: &[(&'static str, String)]) -> Result<&'static Config> {
    if let Some(config) = CURRENT.get() {
        return Ok(config);
    }
    let mut config = Config::of_this_process()?;
    for (name, text) in options {
        config.values.insert(name, Value { text: text.clone(), origin: Origin::CommandLine });
    }
    Ok(CURRENT.get_or_init(|| config))
}

/// The settings of this process; those of its environment alone where [`start`] was not called or failed.
pub fn current() -> &'static Config {
    CURRENT.get_or_init(|| Config::new(None, "", environment()).unwrap_or_default())
}

/// The environment of this process, without what is not text.
pub fn environment() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

impl Config {
    fn of_this_process() -> Result<Self> {
        use etcetera::BaseStrategy;
        let environment = environment();
        let named = environment.get("SIMPACK_CONFIG").filter(|path| !path.is_empty()).map(PathBuf::from);
        let own = || Some(etcetera::choose_base_strategy().ok()?.config_dir().join("simpack/config.toml"));
        let file = named.clone().or_else(own);
        let text = match &file {
            Some(path) => match std::fs::read_to_string(path) {
                Ok(text) => text,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound && named.is_none() => String::new(),
                // A home that is not this user's to look into has no settings for it.
                Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied && named.is_none() => String::new(),
                Err(error) => {
                    return Err(Error::file(path, "the file of settings cannot be read")
                        .because(error)
                        .hint("SIMPACK_CONFIG names it"));
                }
            },
            None => String::new(),
        };
        Self::new(file, &text, environment)
    }

    /// The settings of a file's text and an environment; variables outweigh the file.
    ///
    /// # Errors
    /// An unknown key, or a value that is none.
    pub fn new(file: Option<PathBuf>, text: &str, environment: BTreeMap<String, String>) -> Result<Self> {
        let mut config = Self { values: BTreeMap::new(), environment, file };
        config.read_file(text)?;
        for setting in &SETTINGS {
            // An empty variable is an unset one, as in make and git.
            let set = |name: String| {
                let text = config.environment.get(&name)?.trim();
                (!text.is_empty()).then_some((name, text))
            };
            let Some((name, text)) = setting.variables().find_map(set) else { continue };
            let text = config
                .checked(setting, text)
                .map_err(|why| Error::usage(format!("{name} is `{text}`: {why}")).hint("unset it or correct it"))?;
            config.values.insert(setting.name, Value { text, origin: Origin::Environment(name) });
        }
        Ok(config)
    }

    fn read_file(&mut self, text: &str) -> Result<()> {
        let path = self.file.clone().unwrap_or_default();
        let wrong = |line: usize, message: String| Error::usage(format!("{}:{line}: {message}", path.display()));
        let line_of = |at: usize| text.get(..at).unwrap_or(text).matches('\n').count() + 1;
        let table = DeTable::parse(text).map_err(|error| {
            let line = error.span().map_or(1, |span| line_of(span.start));
            wrong(line, format!("not valid TOML: {}", error.message()))
        })?;
        for (key, value) in table.get_ref().iter() {
            let line = line_of(key.span().start);
            let name: &str = key.get_ref();
            if name == "edition" {
                match value.get_ref() {
                    DeValue::Integer(number) if number.as_str() == "1" => continue,
                    _ => return Err(wrong(line, "edition is unknown (known: 1)".to_owned())),
                }
            }
            let now = FORMER.iter().find(|(former, _)| *former == name).map_or(name, |(_, now)| now);
            let Some(setting) = SETTINGS.iter().find(|setting| setting.name == now) else {
                let names = SETTINGS.iter().map(|setting| setting.name.to_owned());
                let mut error = wrong(line, format!("unknown setting `{name}`"));
                if let Some(near) = nearest(name, names) {
                    error = error.hint(format!("did you mean `{near}`?"));
                }
                return Err(error.hint("`simpack config --list` shows all settings"));
            };
            let text = match (value.get_ref(), setting.kind) {
                (DeValue::String(text), Kind::Path | Kind::Text | Kind::Word(_)) => text.to_string(),
                (DeValue::Boolean(value), Kind::Switch) => value.to_string(),
                (DeValue::Integer(number), Kind::Count) => number.as_str().to_owned(),
                (_, kind) => return Err(wrong(line, format!("{name} must be {}", expected(kind)))),
            };
            let text = self.checked(setting, text.trim()).map_err(|why| wrong(line, format!("{name}: {why}")))?;
            self.values.insert(setting.name, Value { text, origin: Origin::File(path.clone(), line) });
        }
        Ok(())
    }

    /// The text of a value as it is kept, or why it is none.
    fn checked(&self, setting: &Setting, text: &str) -> Result<String, String> {
        let wrong = || Err(format!("it must be {}", expected(setting.kind)));
        match setting.kind {
            Kind::Path => Ok(match (text.strip_prefix("~/"), self.environment.get("HOME")) {
                (Some(below), Some(home)) => format!("{home}/{below}"),
                _ => text.to_owned(),
            }),
            Kind::Text => Ok(text.to_owned()),
            Kind::Count => match text.parse::<u16>() {
                Ok(number) if number > 0 => Ok(number.to_string()),
                _ => wrong(),
            },
            Kind::Switch => match text.to_ascii_lowercase().as_str() {
                "true" | "1" | "yes" | "on" => Ok("true".to_owned()),
                "false" | "0" | "no" | "off" => Ok("false".to_owned()),
                _ => wrong(),
            },
            Kind::Word(words) if words.contains(&text) => Ok(text.to_owned()),
            Kind::Word(_) => wrong(),
        }
    }

    /// What somebody chose for a setting.
    pub fn value(&self, name: &str) -> Option<&Value> {
        debug_assert!(SETTINGS.iter().any(|setting| setting.name == name), "no setting {name}");
        self.values.get(name)
    }

    /// The text of a setting.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.value(name).map(|value| value.text.as_str())
    }

    /// A path.
    pub fn path(&self, name: &str) -> Option<&Path> {
        self.text(name).map(Path::new)
    }

    /// Whether a switch is on.
    pub fn is_on(&self, name: &str) -> bool {
        self.text(name) == Some("true")
    }

    /// A number.
    pub fn count(&self, name: &str) -> Option<usize> {
        self.text(name)?.parse().ok()
    }

    /// A variable of the environment that is set to something; proxies are also known by lower case.
    pub fn variable(&self, name: &str) -> Option<(&str, &str)> {
        let lower = name.to_ascii_lowercase();
        let spellings = if name.ends_with("_PROXY") { vec![lower.as_str(), name] } else { vec![name] };
        let mut found = spellings.into_iter().filter_map(|name| self.environment.get_key_value(name));
        found.find(|(_, value)| !value.is_empty()).map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Whether words are coloured on a stream that is a terminal or not.
    pub fn is_coloured(&self, terminal: bool) -> bool {
        match self.text("color") {
            Some("always") => true,
            Some("never") => false,
            _ if self.variable("NO_COLOR").is_some() => false,
            _ if self.variable("CLICOLOR_FORCE").is_some_and(|(_, value)| value != "0") => true,
            _ => terminal && self.variable("TERM").is_none_or(|(_, value)| value != "dumb"),
        }
    }

    /// Whose log groups are printed: `github`, `gitlab`, or nobody's.
    pub fn log_groups(&self) -> Option<&'static str> {
        let is_true = |name: &str| self.variable(name).is_some_and(|(_, value)| value == "true");
        match self.text("log-groups") {
            Some("github") => Some("github"),
            Some("gitlab") => Some("gitlab"),
            Some("none") => None,
            _ if is_true("GITHUB_ACTIONS") => Some("github"),
            _ if is_true("GITLAB_CI") => Some("gitlab"),
            _ => None,
        }
    }
}

fn expected(kind: Kind) -> String {
    match kind {
        Kind::Path => "a path in quotes".to_owned(),
        Kind::Text => "text in quotes".to_owned(),
        Kind::Count => "a whole number from 1 to 65535".to_owned(),
        Kind::Switch => "true or false".to_owned(),
        Kind::Word(words) => format!("one of {}", words.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str, variables: &[(&str, &str)]) -> Result<Config> {
        let environment = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Config::new(Some(PathBuf::from("/etc/c.toml")), text, environment)
    }

    #[test]
    fn variables_outweigh_the_file_and_both_are_remembered() {
        let text = "edition = 1\n# more\njobs = 3\ncache-dir = \"~/c\"\noffline = true\n";
        let found = config(text, &[("SIMPACK_JOBS", "5"), ("HOME", "/h"), ("SIMPACK_OFFLINE", "no")]).unwrap();
        assert_eq!(found.count("jobs"), Some(5));
        assert_eq!(found.value("jobs").unwrap().origin.to_string(), "SIMPACK_JOBS");
        assert_eq!(found.path("cache-dir"), Some(Path::new("/h/c")));
        assert_eq!(found.value("cache-dir").unwrap().origin.to_string(), "/etc/c.toml:4");
        assert!(!found.is_on("offline") && !found.is_on("quiet"));
        assert_eq!(found.value("python"), None);
    }

    #[test]
    fn mistakes_name_line_and_near_words() {
        let said = |text: &str| {
            let error = config(text, &[]).unwrap_err();
            format!("{error} {}", error.hints().join(" "))
        };
        assert!(said("\njob = 3").starts_with("/etc/c.toml:2: unknown setting `job` did you mean `jobs`?"));
        assert!(said("jobs = 0").contains(":1: jobs: it must be a whole number"));
        assert!(said("jobs = \"3\"").contains(":1: jobs must be a whole number"));
        assert!(said("a = 1\nb = [").contains("/etc/c.toml:2: not valid TOML"));
        assert!(said("edition = 2").contains("edition is unknown"));
        assert!(said("color = \"red\"").contains("one of auto, always, never"));
        for (name, value) in [("SIMPACK_JOBS", "many"), ("SIMPACK_OFFLINE", "2"), ("SIMPACK_LOG_GROUPS", "x")] {
            let error = config("", &[(name, value)]).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{name} is `{value}`")), "{error}");
        }
        assert_eq!(config("", &[("SIMPACK_JOBS", "")]).unwrap().value("jobs"), None);
    }

    #[test]
    fn colours_follow_the_conventions() {
        let coloured = |variables: &[(&str, &str)], terminal| config("", variables).unwrap().is_coloured(terminal);
        assert!(coloured(&[], true) && !coloured(&[], false));
        assert!(!coloured(&[("NO_COLOR", "1")], true) && coloured(&[("NO_COLOR", "")], true));
        assert!(coloured(&[("CLICOLOR_FORCE", "1")], false) && !coloured(&[("CLICOLOR_FORCE", "0")], false));
        assert!(!coloured(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], true));
        assert!(coloured(&[("SIMPACK_COLOR", "always"), ("NO_COLOR", "1")], false));
        assert!(!coloured(&[("TERM", "dumb")], true));
    }

    #[test]
    fn the_table_is_sorted_and_kebab() {
        assert!(SETTINGS.is_sorted_by_key(|setting| setting.name));
        let kebab = |name: &str| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        assert!(SETTINGS.iter().all(|setting| kebab(setting.name)));
        assert_eq!(SETTINGS[0].variable(), "SIMPACK_BUILD_TREES_SIZE");
    }
}
