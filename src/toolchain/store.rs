//! Where everything that is fetched lies: a directory in the user's cache.

use std::path::{Path, PathBuf};

use super::pins::Pins;
use crate::config;
use crate::data::Data;
use crate::error::Result;
use crate::toolchain::transfer::fetch::RetryPolicy;
use crate::toolchain::transfer::settings::IndexSettings;

/// The setting that names a directory to take from.
const SETTING: &str = "vendor-dir";

/// The cache of toolchains below one directory.
pub struct Store {
    pub(super) dir: PathBuf,
    pins: Pins,
    pub(super) settings: Option<IndexSettings>,
    pub(super) pace: RetryPolicy,
    /// Directory that files are taken from before any network.
    pub(super) vendored: Option<PathBuf>,
}

impl Store {
    /// The cache below `cache` (see [`crate::fs::cache_dir`]) with the embedded pins. Touches nothing.
    ///
    /// # Errors
    /// The embedded manifest is wrong.
    pub fn open(cache: impl Into<PathBuf>) -> Result<Self> {
        let pins = Pins::parse(&Data::here().text("manifests/toolchains.toml")?)?;
        let vendored = config::current().path(SETTING).map(Path::to_owned);
        Ok(Self { dir: cache.into(), pins, settings: None, pace: RetryPolicy::default(), vendored })
    }

    /// The same with other pins.
    #[must_use]
    pub fn pins_from(self, pins: Pins) -> Self {
        Self { pins, ..self }
    }

    /// Uses these places instead of asking the machine's pip.
    #[must_use]
    pub fn places_from(self, settings: IndexSettings) -> Self {
        Self { settings: Some(settings), ..self }
    }

    #[cfg(test)]
    pub(crate) fn vendored_in(self, vendored: Option<PathBuf>) -> Self {
        Self { vendored, ..self }
    }

    #[cfg(test)]
    pub(crate) fn pace(self, pace: RetryPolicy) -> Self {
        Self { pace, ..self }
    }

    /// What can be had.
    pub fn pins(&self) -> &Pins {
        &self.pins
    }
}

/// Trees of runs that were killed; nobody else works on them while the lock is held.
pub(super) fn remove_leftovers(toolchains: &Path, prefix: &str) {
    let entries = fs_err::read_dir(toolchains).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix)) {
        let _ = fs_err::remove_dir_all(entry.path());
    }
}
