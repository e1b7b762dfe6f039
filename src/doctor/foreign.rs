//! Binaries that simpack did not make, on this machine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fit::{ForeignFit, Reach};
use crate::machine::Machine;
use crate::manifest::Manifests;

/// Binaries that simpack did not make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Foreign {
    /// On which GPUs they run, and with which drivers.
    pub reach: Reach,
    /// What runs on the GPUs of this machine.
    pub devices: Vec<ForeignFit>,
}

impl Foreign {
    /// The verdict for a machine.
    pub(super) fn new(reach: Reach, machine: &Machine, manifests: &Manifests) -> Self {
        let driver = machine.usable_driver();
        let devices = machine.devices();
        let devices = devices.iter().map(|device| reach.on(device, driver.as_ref(), manifests)).collect();
        Self { reach, devices }
    }

    /// Lines for the page; what is wrong is said by findings.
    pub fn lines(&self) -> Vec<String> {
        let about = self.reach.about().into_iter().map(|(label, words)| format!("{label:<13} {words}"));
        let mut lines: Vec<String> = std::iter::once(self.reach.subject.clone()).chain(about).collect();
        lines.extend(self.devices.iter().map(|device| {
            let runs = if device.runs { "runs" } else { "does not run" };
            format!("GPU {}  {}  -> {runs}: {}", device.index, device.name, device.words)
        }));
        lines
    }
}
