//! SPIR-V modules: what spirq gets must be what it can bear.
#![no_main]

#[path = "../allocation.rs"]
mod allocation;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    allocation::bounded(bytes, || {
        let _ = simpack::gpu::spirv(bytes);
    });
});
