//! GPUs that are there and cannot be used.

use super::Facts;
use crate::lint::{Hits, Parameters};
use crate::machine::ComputeMode;

pub(super) fn prohibited(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    mode(facts, hits, ComputeMode::Prohibited, "its compute mode lets no process compute");
}

pub(super) fn exclusive(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    mode(facts, hits, ComputeMode::Exclusive, "its compute mode lets one process at a time compute");
}

fn mode(facts: &Facts, hits: &mut Hits, mode: ComputeMode, message: &str) {
    for device in facts.machine.devices() {
        if facts.machine.state(device.index).is_some_and(|state| state.compute_mode == mode) {
            hits.add(format!("GPU {}", device.index), message)
                .fix(format!("as root: nvidia-smi -i {} -c DEFAULT", device.index));
        }
    }
}

pub(super) fn split_empty(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    for device in facts.machine.devices() {
        if facts.machine.state(device.index).is_some_and(|state| state.mig_instances == Some(0)) {
            hits.add(
                format!("GPU {}", device.index),
                "it is to be split (MIG), but has no instance: programs see no GPU",
            )
            .fix(format!(
                "as root: `nvidia-smi mig -i {0} -cgi 0 -C` makes one of the whole GPU, `nvidia-smi -i {0} -mig 0` \
                     ends the splitting",
                device.index
            ));
        }
    }
}

pub(super) fn hidden(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    let Some(value) = facts.machine.variables.values.get("CUDA_VISIBLE_DEVICES") else { return };
    // By the CUDA driver they would be hidden already; NVML does not care.
    let by_nvml = facts.machine.nvml.as_ref().map(|nvml| nvml.devices.as_slice()).unwrap_or_default();
    if by_nvml.is_empty() {
        return;
    }
    // The driver reads up to the first entry that names no GPU (CUDA C++ Programming Guide, environment variables).
    let names_one = |entry: &str| match entry.trim().parse::<u32>() {
        Ok(index) => by_nvml.iter().any(|device| device.index == index),
        Err(_) => ["GPU-", "MIG-"].iter().any(|prefix| entry.trim().starts_with(prefix)),
    };
    let good = value.split(',').take_while(|entry| names_one(entry)).count();
    if good == 0 {
        hits.add("CUDA_VISIBLE_DEVICES", format!("its value `{value}` hides every GPU from CUDA programs"));
    } else if good < value.split(',').count() {
        let bad = value.split(',').nth(good).unwrap_or_default();
        hits.add("CUDA_VISIBLE_DEVICES", format!("`{bad}` names no GPU: it and all after it are hidden"));
    }
}
