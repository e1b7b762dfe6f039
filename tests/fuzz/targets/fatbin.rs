//! Containers of device code: listed, every entry unpacked, and searched for in any bytes.
#![no_main]

#[path = "../allocation.rs"]
mod allocation;

use libfuzzer_sys::fuzz_target;
use simpack::gpu::{Look, device_code_with, fatbins};

fuzz_target!(|bytes: &[u8]| {
    allocation::bounded(bytes, || {
        if let Ok(containers) = fatbins(bytes) {
            for entry in containers.iter().flat_map(|container| &container.entries) {
                let _ = entry.unpack();
            }
        }
        let _ = device_code_with(bytes, Look { kernels: true, deep: true });
    });
});
