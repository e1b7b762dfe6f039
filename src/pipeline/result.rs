//! How a build ends.

use serde_json::Value;

use super::summary::{Built, LastWords};
use crate::report::Report;

/// How a build ended.
pub(crate) enum BuildResult {
    /// Nothing that it depends on has changed since the last one, and `dist/` is as that one left it.
    Unchanged {
        /// What the last one said.
        words: LastWords,
        /// The same as JSON, if that is asked for.
        summary: Option<Value>,
    },
    /// Findings are denied, or something could not be examined: nothing is packed, and `dist/` is as it was.
    Stopped(Report),
    /// The packages are in `dist/`.
    Built(Box<Built>),
}
