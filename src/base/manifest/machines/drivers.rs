//! Driver profiles: directories in which libcuda.so.1 may live, stub directories, compat directories.

use serde::Deserialize;
use toml::Spanned;

use crate::data::Data;
use crate::error::Result;
use crate::manifest::globs::{Globs, Pattern};
use crate::manifest::text::ManifestText;

/// All driver profiles, in the order of the file.
#[derive(Debug, Clone)]
pub struct Drivers {
    profiles: Vec<DriverProfile>,
    stubs: Globs,
    compat: Globs,
}

/// One profile.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DriverProfile {
    name: Spanned<String>,
    /// One line.
    pub summary: String,
    /// Where libcuda.so.1 may live, in order.
    pub directories: Vec<DriverDirectory>,
}

/// One directory.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DriverDirectory {
    /// Absolute path.
    pub path: String,
    /// The loader searches it by itself: it never enters a RUNPATH.
    #[serde(default)]
    pub loader_default: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    edition: u32,
    profile: Vec<DriverProfile>,
    stubs: Directories,
    compat: Directories,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Directories {
    directories: Vec<Spanned<Pattern>>,
}

impl DriverProfile {
    /// Its name.
    pub fn name(&self) -> &str {
        self.name.get_ref()
    }
}

impl Drivers {
    /// Reads the manifest.
    ///
    /// # Errors
    /// It is wrong: the message says where.
    pub fn load(data: &Data) -> Result<Self> {
        let text = ManifestText::read(data, "manifests/drivers.toml")?;
        let file: File = text.parse()?;
        text.edition(file.edition)?;
        for (index, profile) in file.profile.iter().enumerate() {
            let wrong = |message: String| Err(text.wrong(Some(profile.name.span()), message));
            if file.profile[..index].iter().any(|other| other.name() == profile.name()) {
                return wrong(format!("profile `{}` is listed twice", profile.name()));
            }
            if let Some(directory) = profile.directories.iter().find(|directory| !directory.path.starts_with('/')) {
                return wrong(format!("directory `{}` is not absolute", directory.path));
            }
        }
        let stubs = Globs::read(&text, &file.stubs.directories)?;
        let compat = Globs::read(&text, &file.compat.directories)?;
        Ok(Self { profiles: file.profile, stubs, compat })
    }

    /// A profile by name.
    pub fn get(&self, name: &str) -> Option<&DriverProfile> {
        self.profiles.iter().find(|profile| profile.name() == name)
    }

    /// All profiles.
    pub fn iter(&self) -> impl Iterator<Item = &DriverProfile> {
        self.profiles.iter()
    }

    /// Directories of profiles that may enter a RUNPATH, in order, without duplicates.
    pub fn runpath<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for directory in names.into_iter().filter_map(|name| self.get(name)).flat_map(|profile| &profile.directories) {
            if !directory.loader_default && !found.contains(&directory.path) {
                found.push(directory.path.clone());
            }
        }
        found
    }

    /// Whether the loader searches a directory by itself.
    pub fn is_loader_default(&self, directory: &str) -> bool {
        let directory = directory.trim_end_matches('/');
        let all = self.profiles.iter().flat_map(|profile| &profile.directories);
        all.filter(|known| known.loader_default).any(|known| known.path == directory)
    }

    /// Whether the driver lives in a directory on some kind of machine.
    pub fn is_driver_directory(&self, directory: &str) -> bool {
        let directory = directory.trim_end_matches('/');
        self.profiles.iter().flat_map(|profile| &profile.directories).any(|known| known.path == directory)
    }

    /// Whether a directory holds link-time stubs of the driver.
    pub fn is_stubs(&self, directory: &str) -> bool {
        self.stubs.is_match(directory.trim_end_matches('/'))
    }

    /// Whether a directory belongs to the forward compatibility package.
    pub fn is_compat(&self, directory: &str) -> bool {
        self.compat.is_match(directory.trim_end_matches('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loader_directories_never_enter_a_runpath() {
        let drivers = Drivers::load(&Data::at("no such directory")).unwrap();
        assert!(drivers.runpath(["conventional"]).is_empty());
        assert_eq!(
            drivers.runpath(["conventional", "wsl", "nixos", "wsl"]),
            ["/usr/lib/wsl/lib", "/run/opengl-driver/lib"]
        );
        assert!(drivers.is_loader_default("/usr/lib64/") && !drivers.is_loader_default("/opt/lib"));
    }

    #[test]
    fn stubs_and_compat_are_recognised_and_look_alikes_are_not() {
        let drivers = Drivers::load(&Data::at("no such directory")).unwrap();
        assert!(drivers.is_stubs("/usr/local/cuda-13.0/targets/x86_64-linux/lib/stubs/"));
        assert!(!drivers.is_stubs("/opt/stubs-of-pencils/lib"));
        assert!(drivers.is_compat("/usr/local/cuda-13.0/compat"));
        assert!(!drivers.is_compat("/usr/lib/compat"));
    }
}
