//! GPUs of AMD, as the kernel shows them.

use super::driver_files::pci_devices;
use crate::fs::Root;
use crate::machine::{Device, DeviceKind};

/// The vendor's number on the PCI bus.
const AMD: &str = "0x1002";
/// One directory a node: processors and GPUs (Linux, `drivers/gpu/drm/amd/amdkfd/kfd_topology.c`).
const NODES: &str = "/sys/class/kfd/kfd/topology/nodes";

/// By the compute driver's topology; without that driver, by the bus.
pub(super) fn devices(root: &Root) -> Vec<Device> {
    let mut found = Vec::new();
    for node in root.names(NODES) {
        let directory = format!("{NODES}/{node}");
        let Some(text) = root.text(&format!("{directory}/properties"), 1 << 16) else { continue };
        let Some(version) = property(&text, "gfx_target_version").filter(|version| *version > 0) else { continue };
        let index = u32::try_from(found.len()).unwrap_or(0);
        let gfx = gfx(version);
        let memory = memory(root, &directory);
        let name = format!("AMD GPU {gfx}");
        found.push(Device { index, name, kind: DeviceKind::Amd { gfx: Some(gfx) }, memory });
    }
    if found.is_empty() {
        let count = pci_devices(root, AMD);
        let device =
            |index| Device { index, name: "AMD GPU".to_owned(), kind: DeviceKind::Amd { gfx: None }, memory: None };
        found.extend((0..count).map(device));
    }
    found
}

fn property(text: &str, name: &str) -> Option<u64> {
    let mut values = text.lines().filter_map(|line| line.trim().split_once(' '));
    values.find(|(key, _)| *key == name)?.1.trim().parse().ok()
}

/// 90402 is gfx942, 90010 is gfx90a: major, minor and stepping, the last two in hexadecimal.
fn gfx(version: u64) -> String {
    format!("gfx{}{:x}{:x}", version / 10_000, version / 100 % 100, version % 100)
}

/// Memory of the GPU itself: heaps 1 and 2, which the processor can and cannot reach.
fn memory(root: &Root, directory: &str) -> Option<u64> {
    let banks = format!("{directory}/mem_banks");
    let sizes = root.names(&banks).into_iter().filter_map(|bank| {
        let text = root.text(&format!("{banks}/{bank}/properties"), 4096)?;
        matches!(property(&text, "heap_type"), Some(1 | 2)).then(|| property(&text, "size_in_bytes")).flatten()
    });
    Some(sizes.sum()).filter(|size| *size > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_of_the_topology_are_gpus_when_they_have_an_instruction_set() {
        let dir = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = dir.path().join(format!("{NODES}/{path}").trim_start_matches('/'));
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(path, text).unwrap();
        };
        put("0/properties", "cpu_cores_count 64\ngfx_target_version 0\n");
        put("1/properties", "simd_count 1216\ngfx_target_version 90402\n");
        put("1/mem_banks/0/properties", "heap_type 1\nsize_in_bytes 206141652992\n");
        let found = devices(&Root::at(dir.path()).unwrap());
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].kind, DeviceKind::Amd { gfx: Some("gfx942".to_owned()) });
        assert_eq!(found[0].memory, Some(206_141_652_992));
        assert_eq!(gfx(90010), "gfx90a");
        assert_eq!(gfx(110_000), "gfx1100");
    }
}
