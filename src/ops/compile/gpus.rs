//! The GPUs that are compiled for.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::request::CompileRequest;
use crate::arch::Capability;
use crate::doctor::Recorded;
use crate::error::Result;
use crate::fs;
use crate::machine::{Machine, Provider};
use crate::manifest::Manifests;
use crate::probe::{Probe, Snapshot};

/// Capabilities that are asked for, of a recorded machine, or of this one, each once.
///
/// # Errors
/// A record cannot be read. A driver that does not answer has no GPUs.
pub(super) fn capabilities(request: &CompileRequest, manifests: &Manifests) -> Result<BTreeSet<Capability>> {
    if !request.capabilities.is_empty() {
        return Ok(request.capabilities.iter().copied().collect());
    }
    let machine = match &request.machine {
        Some(file) => Recorded::parse(file, &fs::read_to_string(file)?)?.machine,
        None => here(manifests, request.program.clone()),
    };
    Ok(machine.devices_of_programs().iter().filter_map(|device| device.kind.capability()).collect())
}

/// This machine, as far as its driver says.
fn here(manifests: &Manifests, program: Option<PathBuf>) -> Machine {
    let probe = Probe::here(manifests, Snapshot::here(&manifests.environment)).asking_by(program);
    let driver_files = probe.driver_files().unwrap_or_default();
    let nvml = probe.nvml(&driver_files).ok().flatten();
    let cuda = probe.cuda(&driver_files, nvml.as_ref()).ok().flatten();
    Machine { driver_files, nvml, cuda, ..Machine::default() }
}
