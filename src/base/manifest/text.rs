//! The text of a manifest, which says where it is wrong.

use std::ops::Range;

use serde::de::DeserializeOwned;

use crate::data::Data;
use crate::error::{Error, Result};

/// The text of one manifest and where it came from.
pub(super) struct ManifestText {
    path: &'static str,
    text: String,
}

impl ManifestText {
    pub(super) fn read(data: &Data, path: &'static str) -> Result<Self> {
        Ok(Self { path, text: data.text(path)? })
    }

    pub(super) fn parse<T: DeserializeOwned>(&self) -> Result<T> {
        toml::from_str(&self.text).map_err(|error| self.wrong(error.span(), error.message()))
    }

    /// An error at a place of the file.
    pub(super) fn wrong(&self, span: Option<Range<usize>>, message: impl std::fmt::Display) -> Error {
        let before = span.and_then(|span| self.text.get(..span.start));
        let place = match before {
            Some(before) => {
                let line = before.matches('\n').count() + 1;
                let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
                format!("{}:{line}:{column}", self.path)
            }
            None => self.path.to_owned(),
        };
        Error::recipe(format!("{place}: {message}"))
            .hint(format!("correct {}, or remove it to use the one inside simpack", self.path))
    }

    pub(super) fn edition(&self, edition: u32) -> Result<()> {
        match edition {
            1 => Ok(()),
            other => Err(self.wrong(None, format!("edition {other} is not known; this simpack reads edition 1"))),
        }
    }
}
