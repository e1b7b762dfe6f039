//! Containers of device code: listed, every entry unpacked, and searched for in any bytes.

use simpack::gpu::{Look, device_code_with, fatbins};

pub fn run(bytes: &[u8]) {
    if let Ok(containers) = fatbins(bytes) {
        for entry in containers.iter().flat_map(|container| &container.entries) {
            let _ = entry.unpack();
        }
    }
    let _ = device_code_with(bytes, Look { kernels: true, deep: true });
}
