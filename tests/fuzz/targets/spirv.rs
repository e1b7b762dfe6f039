//! SPIR-V modules: what spirq gets must be what it can bear.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = simpack::gpu::spirv(bytes);
});
