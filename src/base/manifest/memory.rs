//! How much memory steps are expected to take, and how tools say that it was not enough.

use serde::Deserialize;

use super::text::ManifestText;
use crate::data::Data;
use crate::error::Result;

/// Expectations for steps that were never measured.
#[derive(Debug, Clone, Default)]
pub struct MemoryModel {
    tools: Vec<ToolMemory>,
    out_of_memory: Vec<OutOfMemory>,
}

/// One tool.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct ToolMemory {
    name: String,
    /// Bytes for the smallest source.
    base: u64,
    /// Bytes more for each byte of source.
    per_source_byte: u64,
}

/// Words of a tool that ran out of memory.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct OutOfMemory {
    says: String,
    #[serde(rename = "by")]
    _by: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct File {
    edition: u32,
    tool: Vec<ToolMemory>,
    out_of_memory: Vec<OutOfMemory>,
}

impl MemoryModel {
    /// Reads it from `data`.
    ///
    /// # Errors
    /// The file is wrong.
    pub fn load(data: &Data) -> Result<Self> {
        let text = ManifestText::read(data, "manifests/memory.toml")?;
        let file: File = text.parse()?;
        text.edition(file.edition)?;
        Ok(Self { tools: file.tool, out_of_memory: file.out_of_memory })
    }

    /// Bytes that one process of `tool` is expected to take for `source` bytes of source; 0 for a tool
    /// that the model does not know.
    pub fn expected(&self, tool: &str, source: u64) -> u64 {
        let found = self.tools.iter().find(|known| known.name == tool);
        found.map_or(0, |known| known.base.saturating_add(known.per_source_byte.saturating_mul(source)))
    }

    /// The line of `text` that says that memory was not enough.
    pub fn complaint<'a>(&self, text: &'a str) -> Option<&'a str> {
        text.lines().find(|line| self.out_of_memory.iter().any(|known| line.contains(&known.says)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_read_and_grows_with_the_source() {
        let model = MemoryModel::load(&Data::at("/nowhere")).unwrap();
        for tool in ["nvcc", "host"] {
            assert!(model.expected(tool, 0) > 50 << 20);
            assert!(model.expected(tool, 1 << 20) > model.expected(tool, 0));
        }
        assert_eq!(model.expected("abacus", 1000), 0);
        assert_eq!(model.expected("nvcc", u64::MAX), u64::MAX);
        let said = "a.cu\nnvcc error   : 'cicc' died due to signal 9 (Kill signal)\n";
        assert_eq!(model.complaint(said), said.lines().nth(1));
        assert_eq!(model.complaint("error: no memory of that name"), None);
    }
}
