//! Files that simpack did not make, by the GPUs that the user asks about: native, PTX, none.

use schemars::JsonSchema;
use serde::Serialize;

use super::Foreign;
use crate::arch::Capability;
use crate::fit::How;
use crate::manifest::Manifests;

/// What runs of files on some GPUs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct ByDevice {
    /// The GPUs that were asked about, in that order.
    pub devices: Vec<Capability>,
    /// Files with code for CUDA, or that compile some, in the order of the subjects.
    pub files: Vec<FileByDevice>,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct FileByDevice {
    /// Project, package or file that it belongs to.
    pub subject: String,
    /// The file.
    pub file: String,
    /// How it runs on each of the devices, with a driver that is new enough.
    pub runs: Vec<How>,
}

impl ByDevice {
    /// The table for these devices.
    pub fn new(devices: &[Capability], foreign: &[Foreign], manifests: &Manifests) -> Self {
        let mut files: Vec<FileByDevice> = Vec::new();
        for reach in foreign.iter().map(|foreign| &foreign.reach) {
            let columns: Vec<_> = devices.iter().map(|device| reach.files_on(*device, manifests)).collect();
            let names = columns.first().into_iter().flatten().map(|(name, _)| (*name).to_owned());
            files.extend(names.enumerate().map(|(row, file)| FileByDevice {
                subject: reach.subject.clone(),
                file,
                runs: columns.iter().map(|column| column[row].1).collect(),
            }));
        }
        Self { devices: devices.to_vec(), files }
    }

    /// The table in lines: what does not run comes first.
    pub fn lines(&self) -> Vec<String> {
        let cell = |text: &str| format!("{text:<8}");
        let head: String = self.devices.iter().map(|device| cell(&device.to_string())).collect();
        let mut files: Vec<&FileByDevice> = self.files.iter().collect();
        files.sort_by_key(|file| std::cmp::Reverse(file.runs.iter().max().copied()));
        let line = |file: &FileByDevice| {
            let cells: String = file.runs.iter().map(|how| cell(word(*how))).collect();
            // A project's name stands in front: where its files lie in the environment is known.
            let below = file.file.split_once("/site-packages/").map_or(file.file.as_str(), |(_, below)| below);
            let name = if file.file == file.subject { below.to_owned() } else { format!("{}: {below}", file.subject) };
            format!("{cells}{name}")
        };
        if files.is_empty() {
            return vec!["no file holds code for CUDA".to_owned()];
        }
        std::iter::once(format!("{head}file")).chain(files.into_iter().map(line)).collect()
    }
}

fn word(how: How) -> &'static str {
    match how {
        How::Native => "native",
        How::Compiled => "NVRTC",
        How::Ptx => "PTX",
        How::Nothing => "none",
    }
}
