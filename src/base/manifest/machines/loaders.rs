//! Loader profiles, and names that programs open at run time.

use serde::Deserialize;
use toml::Spanned;

use crate::data::Data;
use crate::elf::resolve::{Libc, Loader};
use crate::error::Result;
use crate::manifest::globs::{Globs, Pattern};
use crate::manifest::text::ManifestText;

/// All of `manifests/loaders.toml`, in the order of the file.
#[derive(Debug, Clone)]
pub struct Loaders {
    profiles: Vec<LoaderProfile>,
    /// Libraries that a driver profile assumes to be there.
    pub assumed: Vec<String>,
    /// Names that programs open.
    pub opened: Vec<OpenedLibrary>,
}

/// What a kind of machine would do.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LoaderProfile {
    name: Spanned<String>,
    /// One line.
    pub summary: String,
    libc: LibcName,
    /// Where the loader lies.
    pub interpreter: String,
    directories: Vec<String>,
    lib: String,
    cache: Option<String>,
    #[serde(default)]
    configured: Vec<String>,
    /// `LD_LIBRARY_PATH` that the environment sets.
    #[serde(default)]
    pub library_path: Vec<String>,
    /// Driver profile whose directories are assumed to be filled.
    pub driver: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum LibcName {
    Glibc,
    Musl,
}

/// A name that programs open.
#[derive(Debug, Clone)]
pub struct OpenedLibrary {
    /// How it begins.
    pub stem: String,
    file: Globs,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    edition: u32,
    profile: Vec<LoaderProfile>,
    assumed: Assumed,
    opened: Vec<OpenedEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Assumed {
    libraries: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OpenedEntry {
    stem: String,
    file: Spanned<Pattern>,
}

impl OpenedLibrary {
    /// Whether a whole name is one of this library.
    pub fn is(&self, name: &str) -> bool {
        name.starts_with(&self.stem) && self.file.is_match(name)
    }
}

impl LoaderProfile {
    /// Its name.
    pub fn name(&self) -> &str {
        self.name.get_ref()
    }

    /// The loader as far as the profile knows it, for files of `machine` (`e_machine`).
    pub fn loader(&self, machine: u16) -> Loader {
        let directories: Vec<&str> = self.directories.iter().map(String::as_str).collect();
        Loader {
            libc: match self.libc {
                LibcName::Glibc => Libc::Glibc,
                LibcName::Musl => Libc::Musl,
            },
            path: self.interpreter.clone(),
            lib: self.lib.clone(),
            cache_path: self.cache.clone(),
            configured: self.configured.clone(),
            ..Loader::glibc(machine, &directories)
        }
    }
}

impl Loaders {
    /// Reads the manifest.
    ///
    /// # Errors
    /// It is wrong: the message says where.
    pub fn load(data: &Data) -> Result<Self> {
        let text = ManifestText::read(data, "manifests/loaders.toml")?;
        let file: File = text.parse()?;
        text.edition(file.edition)?;
        for (index, profile) in file.profile.iter().enumerate() {
            let wrong = |message: String| Err(text.wrong(Some(profile.name.span()), message));
            if file.profile[..index].iter().any(|other| other.name() == profile.name()) {
                return wrong(format!("profile `{}` is listed twice", profile.name()));
            }
            let paths = profile.directories.iter().chain(&profile.configured).chain(&profile.library_path);
            if let Some(path) = paths.chain([&profile.interpreter]).find(|path| !path.starts_with('/')) {
                return wrong(format!("`{path}` is not absolute"));
            }
        }
        let mut opened = Vec::new();
        for entry in file.opened {
            opened.push(OpenedLibrary { stem: entry.stem, file: Globs::read(&text, [&entry.file])? });
        }
        Ok(Self { profiles: file.profile, assumed: file.assumed.libraries, opened })
    }

    /// A profile by name.
    pub fn get(&self, name: &str) -> Option<&LoaderProfile> {
        self.profiles.iter().find(|profile| profile.name() == name)
    }

    /// Whether programs open a library of this name.
    pub fn is_opened(&self, name: &str) -> bool {
        self.opened.iter().any(|library| library.is(name))
    }

    /// All profiles.
    pub fn profiles(&self) -> impl Iterator<Item = &LoaderProfile> {
        self.profiles.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_name_driver_profiles_that_exist_and_globs_fit_their_stems() {
        let data = Data::at("no such directory");
        let loaders = Loaders::load(&data).unwrap();
        let drivers = crate::manifest::Drivers::load(&data).unwrap();
        for profile in loaders.profiles() {
            assert!(profile.driver.as_ref().is_none_or(|name| drivers.get(name).is_some()), "{}", profile.name());
        }
        for name in ["libcuda.so.1", "libnvrtc-builtins.so.13.0", "libcudnn_ops.so.9", "libcublasLt.so.12"] {
            assert!(loaders.is_opened(name), "{name}");
        }
        for name in ["libcuda.so", "libcudart.so.13", "libnvrtc.so", "libcuda.so.1.old"] {
            assert!(!loaders.is_opened(name), "{name}");
        }
    }
}
