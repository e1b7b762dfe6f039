//! How long steps are expected to take that were never measured.

use serde::Deserialize;

use super::text::ManifestText;
use crate::data::Data;
use crate::error::Result;

/// Expectations for steps that were never measured.
#[derive(Debug, Clone, Default)]
pub struct TimeModel {
    tools: Vec<ToolTime>,
}

/// One tool.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct ToolTime {
    name: String,
    /// Microseconds for the smallest source.
    base_microseconds: u64,
    /// Nanoseconds more for each byte of source.
    nanoseconds_per_source_byte: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct File {
    edition: u32,
    tool: Vec<ToolTime>,
}

impl TimeModel {
    /// Reads it from `data`.
    ///
    /// # Errors
    /// The file is wrong.
    pub fn load(data: &Data) -> Result<Self> {
        let text = ManifestText::read(data, "manifests/time.toml")?;
        let file: File = text.parse()?;
        text.edition(file.edition)?;
        Ok(Self { tools: file.tool })
    }

    /// Microseconds that `tool` is expected to take for `source` bytes of source; 0 for a tool that the model does not
    /// know.
    pub fn expected(&self, tool: &str, source: u64) -> u64 {
        let found = self.tools.iter().find(|known| known.name == tool);
        found.map_or(0, |known| {
            known.base_microseconds.saturating_add(known.nanoseconds_per_source_byte.saturating_mul(source) / 1000)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_read_and_grows_with_the_source() {
        let model = TimeModel::load(&Data::at("/nowhere")).unwrap();
        for tool in ["nvcc", "host"] {
            assert!(model.expected(tool, 0) >= 100_000);
            assert!(model.expected(tool, 1 << 20) > model.expected(tool, 0));
        }
        assert_eq!(model.expected("abacus", 1000), 0);
    }
}
