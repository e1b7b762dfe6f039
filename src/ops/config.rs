//! `simpack config`: every setting with its value and where that came from.

use schemars::JsonSchema;
use serde::Serialize;

use crate::config::{Config, ENVIRONMENT, SECRETS, SETTINGS, Setting, current};
use crate::error::{Error, Result};
use crate::near::nearest;
use crate::table::{Column, Table};
use crate::toolchain::IndexSettings;
use crate::ui::Ui;

/// The answer as JSON.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Listing {
    /// Always 1.
    pub schema: u32,
    /// The user's file.
    pub file: Option<String>,
    /// Whether it is there.
    pub file_exists: bool,
    /// Settings, sorted by name.
    pub settings: Vec<Row>,
    /// What simpack takes from elsewhere: variables of others, and pip's configuration. Login data is left out.
    pub environment: Vec<Row>,
}

/// One line.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Row {
    /// Key of the file, or name of the variable.
    pub name: String,
    /// The variable that sets it; none for what is no setting of simpack.
    pub variable: Option<String>,
    /// The value that holds; none when there is none.
    pub value: Option<String>,
    /// `default`, `FILE:LINE`, a variable, `command line`, or `pip's configuration`.
    pub origin: String,
    /// One line.
    pub about: String,
}

/// Lists the settings, or prints the value of `name`; answers the exit code.
///
/// # Errors
/// There is no setting of this name.
pub fn config(name: Option<&str>, ui: &Ui) -> Result<u8> {
    let config = current();
    let known = |name: &str| SETTINGS.iter().find(|setting| setting.name == name);
    if let Some(name) = name {
        let setting = known(name).ok_or_else(|| {
            let error = Error::usage(format!("no setting `{name}`"));
            match nearest(name, SETTINGS.iter().map(|setting| setting.name.to_owned())) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None => error,
            }
            .hint("`simpack config --list` shows all settings")
        })?;
        let pip = (setting.name == "index-url").then(pip).flatten();
        let row = row(setting, config, pip.as_ref())?;
        if !ui.json(&row)? {
            ui.out(&row.value.unwrap_or_default());
        }
        return Ok(0);
    }
    let listing = listing(config)?;
    if !ui.json(&listing)? {
        ui.say(text(&listing));
    }
    Ok(0)
}

/// What pip says; none when it cannot be asked.
fn pip() -> Option<IndexSettings> {
    IndexSettings::discover().ok()
}

fn listing(config: &Config) -> Result<Listing> {
    let pip = pip();
    let settings = SETTINGS.iter().map(|setting| row(setting, config, pip.as_ref()));
    let mut environment: Vec<Row> = ENVIRONMENT
        .iter()
        .map(|(name, about)| {
            let found = config.variable(name);
            Row {
                name: (*name).to_owned(),
                variable: None,
                value: found.map(|(_, value)| match SECRETS.contains(name) {
                    true => "(set)".to_owned(),
                    false => without_secrets(value),
                }),
                origin: found.map_or("not set".to_owned(), |(spelled, _)| spelled.to_owned()),
                about: (*about).to_owned(),
            }
        })
        .collect();
    if let Some(pip) = &pip {
        let list = |items: &[String]| items.iter().map(|item| without_secrets(item)).collect::<Vec<_>>().join(" ");
        let path = |path: &Option<std::path::PathBuf>| path.as_ref().map(|path| path.display().to_string());
        let rows = [
            ("pip cert", path(&pip.cert), "certificates to trust beside the system's"),
            ("pip find-links", Some(list(&pip.find_links)), "directories and pages that are looked in first"),
            ("pip proxy", pip.proxy.as_deref().map(without_secrets), "proxy for all connections"),
            ("pip trusted-host", Some(list(&pip.trusted_hosts)), "hosts whose certificate is not checked"),
        ];
        environment.extend(rows.into_iter().map(|(name, value, about)| {
            let value = value.filter(|value| !value.is_empty());
            let origin = if value.is_some() { "pip's configuration" } else { "not set" };
            Row { name: name.to_owned(), variable: None, value, origin: origin.to_owned(), about: about.to_owned() }
        }));
    }
    Ok(Listing {
        schema: 1,
        file: config.file.as_ref().map(|file| file.display().to_string()),
        file_exists: config.file.as_ref().is_some_and(|file| file.is_file()),
        settings: settings.collect::<Result<_>>()?,
        environment,
    })
}

fn row(setting: &Setting, config: &Config, pip: Option<&IndexSettings>) -> Result<Row> {
    let (value, origin) = match (config.value(setting.name), setting.name) {
        (Some(value), _) => (Some(without_secrets(&value.text)), value.origin.to_string()),
        (None, "index-url") => {
            let indexes =
                pip.map(|pip| pip.indexes.iter().map(|url| without_secrets(url)).collect::<Vec<_>>().join(" "));
            (indexes.filter(|indexes| !indexes.is_empty()), setting.default.to_owned())
        }
        (None, "cache-dir") => (Some(crate::fs::cache_dir()?.display().to_string()), "default".to_owned()),
        (None, "jobs") => {
            (std::thread::available_parallelism().ok().map(|cores| cores.to_string()), "default".to_owned())
        }
        (None, _) => (Some(setting.default.to_owned()), "default".to_owned()),
    };
    Ok(Row {
        name: setting.name.to_owned(),
        variable: Some(setting.variable()),
        value,
        origin,
        about: setting.about.to_owned(),
    })
}

/// An address without login data, and without its query, where tokens stand too; other text as it is.
fn without_secrets(text: &str) -> String {
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), text),
    };
    let (address, query) = rest.split_once('?').map_or((rest, ""), |(address, _)| (address, "?..."));
    let (host, path) =
        address.split_once('/').map_or((address, String::new()), |(host, path)| (host, format!("/{path}")));
    match host.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}{host}{path}{query}"),
        // An `@` elsewhere is no login; without a scheme a query is none either.
        None if scheme.is_empty() => text.to_owned(),
        None => format!("{scheme}{host}{path}{query}"),
    }
}

fn text(listing: &Listing) -> String {
    let row = |row: &Row| [row.name.clone(), row.value.clone().unwrap_or("-".to_owned()), row.origin.clone()];
    let table = |rows: &[Row]| Table::new([Column::words(""); 3]).indented().rows(rows.iter().map(row)).text();
    let mut text = match &listing.file {
        Some(file) if listing.file_exists => format!("{file}\n"),
        Some(file) => format!("{file} (not there)\n"),
        None => "no home directory, so no file of settings\n".to_owned(),
    };
    text.push_str(&table(&listing.settings));
    text.push_str("from elsewhere\n");
    text.push_str(&table(&listing.environment));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_secret_is_shown() {
        for (text, shown) in [
            ("https://user:secret@proxy.example:3128/", "https://proxy.example:3128/"),
            ("user:secret@proxy.example:3128", "proxy.example:3128"),
            ("https://x.example/simple?token=secret", "https://x.example/simple?..."),
            ("http://us@er:sec@ret@x.example", "http://x.example"),
            ("/home/a@b/cache", "/home/a@b/cache"),
            ("https://x.example/a@b", "https://x.example/a@b"),
            ("localhost,.example", "localhost,.example"),
        ] {
            assert_eq!(without_secrets(text), shown);
        }
    }
}
