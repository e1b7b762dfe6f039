//! GPUs that are there and cannot be used.

use crate::doctor::Facts;
use crate::lint::{Hits, Parameters};
use crate::machine::{ComputeMode, Device};

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

/// GPUs by NVML: by the CUDA driver they would be hidden already.
fn by_nvml(facts: &Facts) -> &[Device] {
    facts.machine.nvml.as_ref().map(|nvml| nvml.devices.as_slice()).unwrap_or_default()
}

/// What a user or a batch system chose of the GPUs.
struct Chosen<'a> {
    value: &'a str,
    /// How many entries count: the driver reads up to the first that names no GPU (CUDA C++ Programming Guide,
    /// environment variables).
    good: usize,
    /// That first one.
    bad: Option<&'a str>,
}

/// None without the variable, or where NVML lists nothing that it could choose of.
fn choice(facts: &Facts) -> Option<Chosen<'_>> {
    let value = facts.machine.variables.values.get("CUDA_VISIBLE_DEVICES")?;
    let devices = by_nvml(facts);
    let names_one = |entry: &&str| match entry.trim().parse::<u32>() {
        Ok(index) => devices.iter().any(|device| device.index == index),
        Err(_) => ["GPU-", "MIG-"].iter().any(|prefix| entry.trim().starts_with(prefix)),
    };
    let good = value.split(',').take_while(names_one).count();
    (!devices.is_empty()).then(|| Chosen { value, good, bad: value.split(',').nth(good) })
}

pub(super) fn hidden(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    let Some(Chosen { value, good, bad }) = choice(facts) else { return };
    if good == 0 {
        hits.add("CUDA_VISIBLE_DEVICES", format!("its value `{value}` hides every GPU from CUDA programs"));
    } else if let Some(bad) = bad {
        hits.add("CUDA_VISIBLE_DEVICES", format!("`{bad}` names no GPU: it and all after it are hidden"));
    }
}

pub(super) fn chosen(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    let Some(Chosen { value, good, bad: None }) = choice(facts) else { return };
    let all = by_nvml(facts).len();
    if good < all {
        hits.add("CUDA_VISIBLE_DEVICES", format!("CUDA programs see {good} of {all} GPUs: its value is `{value}`"));
    }
}

pub(super) fn fewer(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    let Some(cuda) = facts.machine.cuda.as_ref().filter(|cuda| !cuda.unstarted && cuda.failure.is_none()) else {
        return;
    };
    let listed = by_nvml(facts);
    let (all, seen) = (listed.len(), cuda.devices.len());
    let expected = choice(facts).map_or(all, |chosen| chosen.good.min(all));
    // A driver that gives out none does not start; that is told as such.
    if seen == 0 || seen >= expected {
        return;
    }
    let nodes = &facts.machine.driver_files.nodes;
    let closed = listed.iter().map(|device| format!("/dev/nvidia{}", device.index));
    let closed = closed.filter(|path| !nodes.iter().any(|node| node.usable && node.path == *path));
    let mut why: Vec<String> = closed.map(|path| format!("{path} is not there, or may not be opened")).collect();
    for state in facts.machine.nvml.iter().flat_map(|nvml| &nvml.states) {
        if let Some(count) = state.mig_instances {
            let instances = if count == 1 { "1 instance".to_owned() } else { format!("{count} instances") };
            why.push(format!("GPU {} is split (MIG, {instances}): a program gets one instance", state.index));
        }
    }
    if why.is_empty() {
        why.push(
            "their device files are there, so it is this process that may not use them, or an error of theirs"
                .to_owned(),
        );
    }
    let split = facts.machine.nvml.iter().flat_map(|nvml| &nvml.states).any(|state| state.mig_instances.is_some());
    let message = format!("CUDA programs see {seen} of {all} GPUs that NVML lists");
    let hit = hits.add("GPUs", message).evidence_lines(why);
    if split {
        hit.fix("name an instance for each process, as `nvidia-smi -L` lists them: CUDA_VISIBLE_DEVICES=MIG-...");
    }
}
