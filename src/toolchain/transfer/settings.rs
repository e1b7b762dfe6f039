//! Where this machine's pip looks for packages: its configuration, read as values.
//!
//! The packages come from wherever the user's pip would take them, mirrors and proxies included, so
//! no index is named in simpack itself: when pip's configuration names none, its help text says which
//! one it uses. `SIMPACK_INDEX_URL` comes before all of it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::config::environment;
use crate::error::{Error, Result};
use crate::process::Call;

/// Where to look for packages and how to connect.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IndexSettings {
    /// Indexes (PEP 503, PEP 691), in order: URLs or `file://` directories.
    pub indexes: Vec<String>,
    /// Directories, `file://` URLs or pages that are looked in first.
    pub find_links: Vec<String>,
    /// File of certificates (PEM) to trust beside the system's.
    pub cert: Option<PathBuf>,
    /// File of the client's certificate and key (PEM).
    pub client_cert: Option<PathBuf>,
    /// Proxy for all connections; without it the usual environment variables count.
    pub proxy: Option<String>,
    /// Hosts, with or without port, whose certificate is not checked.
    pub trusted_hosts: Vec<String>,
    /// Limit for connecting and for each wait for data.
    pub timeout: Option<Duration>,
    /// How often a failed transfer is tried again, when the user chose a number.
    pub retries: Option<u32>,
    /// Login data per host.
    pub netrc: Option<PathBuf>,
    /// Why there is no index, when there is none: lines for the user.
    pub no_index: Vec<String>,
}

/// How to start the user's Python.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Python(PathBuf);

impl Python {
    /// `SIMPACK_PYTHON`, else `python3`, else `python` on `PATH`.
    pub fn find() -> Option<Self> {
        let chosen = crate::config::current().path("python");
        let found = match chosen {
            Some(chosen) => which::which(chosen).ok(),
            None => which::which("python3").or_else(|_| which::which("python")).ok(),
        };
        found.map(Self)
    }

    fn pip(&self, args: &[&str]) -> Call {
        let mut call = Call::new(&self.0)
            .args(["-m", "pip"])
            .args(args.iter().copied())
            // A version manager's shim or a virtual environment decides which Python this is.
            .pass(["HOME", "USER", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "VIRTUAL_ENV", "CONDA_PREFIX"])
            .pass(["LD_LIBRARY_PATH", "PYENV_ROOT", "PYENV_VERSION", "PYENV_DIR", "ASDF_DATA_DIR"])
            .pass(["PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "PYTHONNOUSERSITE"])
            .env("PIP_DISABLE_PIP_VERSION_CHECK", "1");
        for (name, value) in environment().into_iter().filter(|(name, _)| name.starts_with("PIP_")) {
            call = call.env(name, value);
        }
        // Help is wrapped to the terminal's width, which would cut the URL in it.
        call.env("COLUMNS", "4000")
    }
}

impl IndexSettings {
    /// Reads the configuration of the machine's pip and the environment.
    ///
    /// # Errors
    /// Neither pip nor the environment names a place to look in.
    pub fn discover() -> Result<Self> {
        let mut environment = environment();
        if let Some(url) = crate::config::current().text("index-url") {
            environment.insert("SIMPACK_INDEX_URL".to_owned(), url.to_owned());
        }
        let python = Python::find();
        let asked = python.as_ref().map(|python| {
            let list = python.pip(&["config", "list"]).read()?;
            let mut options = options_of_list(&list);
            if !options.contains_key("index-url") {
                let help = python.pip(&["download", "--help"]).read()?;
                if let Some(url) = default_index_of_help(&help) {
                    options.insert("index-url".to_owned(), url);
                }
            }
            Ok(options)
        });
        let (options, failure) = match asked {
            Some(Ok(options)) => (options, None),
            Some(Err(error)) => (options_of_environment(&environment), Some(error)),
            None => (options_of_environment(&environment), None),
        };
        let mut settings = Self::new(&options, &environment);
        if !settings.indexes.is_empty() {
            return Ok(settings);
        }
        let error = no_place(python.is_some(), failure);
        if settings.find_links.is_empty() {
            return Err(error);
        }
        settings.no_index = std::iter::once(error.to_string()).chain(error.details().iter().cloned()).collect();
        Ok(settings)
    }

    /// From pip's options (long names without dashes) and the environment.
    pub fn new(options: &BTreeMap<String, String>, environment: &BTreeMap<String, String>) -> Self {
        let one = |name: &str| options.get(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let many = |name: &str| -> Vec<String> {
            options.get(name).map(|value| value.split_whitespace().map(str::to_owned).collect()).unwrap_or_default()
        };
        let own = environment.get("SIMPACK_INDEX_URL").filter(|value| !value.trim().is_empty());
        let indexes = match own {
            Some(url) => vec![url.trim().to_owned()],
            None if one("no-index").is_some_and(|value| is_true(&value)) => Vec::new(),
            None => one("index-url").into_iter().chain(many("extra-index-url")).collect(),
        };
        let home = environment.get("HOME").map(PathBuf::from);
        let at_home = |path: String| match (path.strip_prefix("~/"), environment.get("HOME")) {
            (Some(below), Some(home)) => format!("{home}/{below}"),
            _ => path,
        };
        let netrc = environment.get("NETRC").map(PathBuf::from).or_else(|| home.map(|home| home.join(".netrc")));
        Self {
            indexes,
            find_links: many("find-links").into_iter().map(at_home).collect(),
            cert: one("cert").map(at_home).map(PathBuf::from),
            client_cert: one("client-cert").map(at_home).map(PathBuf::from),
            proxy: one("proxy"),
            trusted_hosts: many("trusted-host"),
            timeout: one("timeout")
                .and_then(|value| value.parse::<f64>().ok())
                .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
                .filter(|timeout| !timeout.is_zero()),
            retries: one("retries").and_then(|value| value.parse().ok()),
            netrc,
            no_index: Vec::new(),
        }
    }
}

fn no_place(python: bool, failure: Option<Error>) -> Error {
    let own = "or set SIMPACK_INDEX_URL to a package index (an address that ends in /simple, or a file:// directory)";
    match failure {
        Some(failure) => {
            let mut error = Error::toolchain("cannot ask pip, whose configuration says where to fetch from");
            error = error.detail(failure.to_string());
            for detail in failure.details() {
                error = error.detail(detail);
            }
            error.hint("install pip for this Python (python3 -m ensurepip)").hint(own)
        }
        None if python => Error::toolchain("pip's configuration forbids every index (no-index)")
            .hint("allow an index (pip config unset global.no-index)")
            .hint(own),
        None => Error::toolchain("no python3 on PATH, whose pip says where to fetch from")
            .hint("install Python 3 with pip, or set SIMPACK_PYTHON to the interpreter")
            .hint(own),
    }
}

/// Options in the output of `pip config list`: lines such as `global.index-url='https://...'`.
///
/// What stands for all commands gives way to what stands for one, and that to the environment, as in
/// pip. Of the commands those count that fetch packages.
pub fn options_of_list(text: &str) -> BTreeMap<String, String> {
    let sections = ["global", "install", "download", ":env:"];
    let mut found: BTreeMap<(usize, String), String> = BTreeMap::new();
    for line in text.lines() {
        let Some((key, value)) = line.split_once('=') else { continue };
        let Some((section, name)) = key.trim().split_once('.') else { continue };
        let Some(rank) = sections.iter().position(|known| *known == section) else { continue };
        let Some(value) = python_string(value.trim()) else { continue };
        if !value.trim().is_empty() {
            found.insert((rank, long_name(name)), value);
        }
    }
    found.into_iter().map(|((_, name), value)| (name, value)).collect()
}

/// Options in `PIP_*` variables, for a machine whose pip cannot be asked.
pub fn options_of_environment(environment: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let option = |(name, value): (&String, &String)| {
        let name = name.strip_prefix("PIP_")?;
        (!value.trim().is_empty()).then(|| (long_name(name), value.clone()))
    };
    environment.iter().filter_map(option).collect()
}

/// The index that pip uses unless told otherwise, from the text of `pip download --help`.
pub fn default_index_of_help(text: &str) -> Option<String> {
    let (_, after) = text.split_once("--index-url <url>")?;
    let (_, after) = after.split_once("(default")?;
    let url: String = after.split(')').next()?.split_whitespace().collect();
    (url.starts_with("http://") || url.starts_with("https://") || url.starts_with("file:")).then_some(url)
}

/// `Default_Timeout` and `default-timeout` are both `timeout` to pip.
fn long_name(name: &str) -> String {
    let name = name.to_ascii_lowercase().replace('_', "-");
    match name.strip_prefix("default-timeout") {
        Some("") => "timeout".to_owned(),
        _ => name,
    }
}

fn is_true(value: &str) -> bool {
    ["1", "y", "yes", "t", "true", "on"].contains(&value.to_ascii_lowercase().as_str())
}

/// The string that a Python literal (`repr`) stands for.
fn python_string(literal: &str) -> Option<String> {
    let quote = literal.chars().next().filter(|c| *c == '\'' || *c == '"')?;
    let inside = literal.strip_prefix(quote)?.strip_suffix(quote)?;
    let mut text = String::with_capacity(inside.len());
    let mut chars = inside.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        let digits = match chars.next()? {
            'n' => {
                text.push('\n');
                continue;
            }
            't' => {
                text.push('\t');
                continue;
            }
            'r' => {
                text.push('\r');
                continue;
            }
            'x' => 2,
            'u' => 4,
            'U' => 8,
            other => {
                text.push(other);
                continue;
            }
        };
        let code: String = chars.by_ref().take(digits).collect();
        if code.len() != digits {
            return None;
        }
        text.push(char::from_u32(u32::from_str_radix(&code, 16).ok()?)?);
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn reads_pips_list() {
        let options = options_of_list(concat!(
            ":env:.cert='/etc/ca.crt'\n",
            ":env:.default-timeout='180'\n",
            "global.cert='/etc/other.crt'\n",
            "global.index-url='https://global.example/simple'\n",
            "download.index-url='https://download.example/simple'\n",
            "global.extra-index-url='\\nhttps://one.example/simple\\nhttps://two.example/simple'\n",
            "global.find-links=\"/wheels/it's ~/more\"\n",
            "global.trusted-host='one.example two.example:8443'\n",
            "wheel.index-url='https://elsewhere.example'\n",
            "WARNING: something else\n",
            "global.proxy=''\n",
        ));
        let settings = IndexSettings::new(&options, &env(&[("HOME", "/home/user")]));
        assert_eq!(
            settings.indexes,
            ["https://download.example/simple", "https://one.example/simple", "https://two.example/simple"]
        );
        assert_eq!(settings.cert, Some(PathBuf::from("/etc/ca.crt")));
        assert_eq!(settings.find_links, ["/wheels/it's", "/home/user/more"]);
        assert_eq!(settings.trusted_hosts, ["one.example", "two.example:8443"]);
        assert_eq!(settings.timeout, Some(Duration::from_secs(180)));
        assert_eq!(settings.proxy, None);
        assert_eq!(settings.netrc, Some(PathBuf::from("/home/user/.netrc")));
    }

    #[test]
    fn own_variable_comes_first_and_no_index_counts() {
        let options = options_of_list("global.index-url='https://a.example'\nglobal.no-index='true'\n");
        assert!(IndexSettings::new(&options, &env(&[])).indexes.is_empty());
        let own = env(&[("SIMPACK_INDEX_URL", "https://own.example/simple")]);
        assert_eq!(IndexSettings::new(&options, &own).indexes, ["https://own.example/simple"]);
    }

    #[test]
    fn environment_counts_without_pip() {
        let environment = env(&[("PIP_INDEX_URL", "https://a.example"), ("PIP_FIND_LINKS", "/w"), ("PIP_PROXY", " ")]);
        let settings = IndexSettings::new(&options_of_environment(&environment), &environment);
        assert_eq!(settings.indexes, ["https://a.example"]);
        assert_eq!(settings.find_links, ["/w"]);
        assert_eq!(settings.proxy, None);
    }

    #[test]
    fn finds_the_default_in_the_help() {
        let help = "Package Index Options:\n  -i, --index-url <url>       Base URL of the Python Package Index (default \
                    https://index.example/simple). This should point to a repository (the simple API).\n";
        assert_eq!(default_index_of_help(help).as_deref(), Some("https://index.example/simple"));
        let wrapped = "--index-url <url>  Base URL of the Index (default\n      https://index.example/simple).";
        assert_eq!(default_index_of_help(wrapped).as_deref(), Some("https://index.example/simple"));
        assert_eq!(default_index_of_help("--index-url <url> (default None)"), None);
        assert_eq!(default_index_of_help(""), None);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(text in "(global\\.|:env:\\.|index-url|=|'|\"|\\\\|x|u|U|n|[0-9]|\\n|\\PC){0,60}") {
            IndexSettings::new(&options_of_list(&text), &BTreeMap::new());
            default_index_of_help(&format!("--index-url <url>{text}"));
        }
    }

    #[test]
    fn python_literals() {
        assert_eq!(python_string(r"'a\\b\'c\n\x41\u00e9'").as_deref(), Some("a\\b'c\nA\u{e9}"));
        assert_eq!(python_string("\"it's\"").as_deref(), Some("it's"));
        for wrong in ["", "a", "'a", "'", r"'\x4'", r"'\ud800'"] {
            assert_eq!(python_string(wrong), None, "{wrong}");
        }
    }
}
