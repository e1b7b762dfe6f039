//! Vulkan devices and their limits.

use crate::doctor::Facts;
use crate::lint::{Hits, Parameters};
use crate::machine::VulkanKind;

pub(super) fn limits(facts: &Facts, parameters: &Parameters, hits: &mut Hits) {
    // The processor's own driver is no device that somebody bought for simulations.
    for device in facts.machine.vulkan.devices.iter().filter(|device| device.kind != VulkanKind::Cpu) {
        let count = device.work_group_count.iter().min().copied().unwrap_or(0);
        let mut low = Vec::new();
        let mut compare = |name: &str, has: u64, wanted: u64| {
            if has < wanted {
                low.push(format!("{name} is {has}, simulators meet {wanted}"));
            }
        };
        let wanted = |name| parameters.number(name);
        compare("maxStorageBufferRange", device.storage_buffer_range, wanted("storage-buffer-range"));
        compare("maxComputeWorkGroupCount", count.into(), wanted("work-group-count"));
        compare(
            "maxComputeWorkGroupInvocations",
            device.work_group_invocations.into(),
            wanted("work-group-invocations"),
        );
        if !low.is_empty() {
            hits.add("Vulkan", format!("{} has limits that larger networks meet", device.name)).evidence_lines(low);
        }
    }
}

pub(super) fn software(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    let devices = &facts.machine.vulkan.devices;
    let only = !devices.is_empty() && devices.iter().all(|device| device.kind == VulkanKind::Cpu);
    if only && !facts.machine.devices().is_empty() {
        hits.add("Vulkan", "there is a GPU, but Vulkan knows the processor only")
            .evidence_lines(devices.iter().map(|device| device.name.as_str()));
    }
}

pub(super) fn failed(facts: &Facts, _: &Parameters, hits: &mut Hits) {
    let vulkan = &facts.machine.vulkan;
    if let Some(failure) = &vulkan.failure {
        hits.add("Vulkan", format!("the Vulkan loader does not start: {failure}"))
            .evidence_lines(vulkan.loader.as_deref());
    }
}
