//! Libraries of the machine that builds ask for, as its pkg-config knows them.

use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::process::{Call, Outcome};

/// Where steps find programs: pkg-config is asked as they would.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A library of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemLibrary {
    /// Its name in pkg-config.
    pub module: String,
    /// Its version there.
    pub version: String,
    /// What is linked for it: `hdf5_serial`.
    pub names: Vec<String>,
    /// The file that says all this.
    pub described_in: PathBuf,
}

impl SystemLibrary {
    /// Asks the machine's pkg-config for a module of certain versions, written as recipes write them.
    ///
    /// # Errors
    /// There is no pkg-config, or no such module of such a version.
    pub fn find(module: &str, versions: &str) -> Result<Self> {
        let constraints = versions.split(',').filter(|part| !part.is_empty()).map(|part| {
            let (sign, version) = part.split_at(part.find(|letter: char| letter.is_ascii_digit()).unwrap_or(0));
            let sign = match sign {
                "" | "==" => "=",
                sign => sign,
            };
            format!("{module} {sign} {version}")
        });
        let mut wanted: Vec<String> = constraints.collect();
        if wanted.is_empty() {
            wanted.push(module.to_owned());
        }
        let outcome = ask(&[&["--exists".to_owned(), "--print-errors".to_owned()], wanted.as_slice()].concat())?;
        if !outcome.status.success() {
            let said = outcome.all_text();
            let told = |what: String| said.lines().take(4).fold(Error::toolchain(what), Error::detail);
            if let Some(version) = module.strip_prefix("python-").map(|version| version.trim_end_matches("-embed")) {
                return Err(told(format!("this machine has no headers of Python {version}")).hint(format!(
                    "install them: python{version}-dev on Debian and Ubuntu, python{version}-devel on Fedora"
                )));
            }
            return Err(told(format!("this machine has no {}", wanted.join(", ")))
                .hint(format!(
                    "the recipe takes it from the machine (\"system:{module}\"): install its development package"
                ))
                .hint("`pkg-config --list-all` says what is there"));
        }
        let text = |option: &str| {
            Ok::<_, Error>(ask(&[option.to_owned(), module.to_owned()])?.stdout_text().trim().to_owned())
        };
        let names = text("--libs-only-l")?;
        let names = names.split_whitespace().filter_map(|word| Some(word.strip_prefix("-l")?.to_owned())).collect();
        let dir = PathBuf::from(text("--variable=pcfiledir")?);
        Ok(Self {
            module: module.to_owned(),
            version: text("--modversion")?,
            names,
            described_in: dir.join(format!("{module}.pc")),
        })
    }

    /// Whether a name that the loader looks for is one of its libraries': `libhdf5_serial.so.103`.
    pub fn has(&self, needed: &str) -> bool {
        self.names.iter().any(|name| {
            let rest = needed.strip_prefix("lib").and_then(|rest| rest.strip_prefix(name.as_str()));
            rest.is_some_and(|rest| rest == ".so" || rest.starts_with(".so."))
        })
    }
}

fn ask(args: &[String]) -> Result<Outcome> {
    let call = Call::new("pkg-config").args(args.iter().cloned()).env("PATH", PATH);
    call.run().map_err(|error| {
        Error::toolchain("the recipe takes libraries from the machine, and there is no pkg-config to ask for them")
            .because(error)
            .hint("install pkg-config (pkgconf)")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_known_by_what_is_linked_for_it() {
        let library = SystemLibrary {
            module: "hdf5".into(),
            version: "1.10.8".into(),
            names: vec!["hdf5_serial".into()],
            described_in: PathBuf::new(),
        };
        assert!(library.has("libhdf5_serial.so.103") && library.has("libhdf5_serial.so"));
        assert!(!library.has("libhdf5_serial_hl.so.100") && !library.has("libhdf5.so.103"));
    }
}
