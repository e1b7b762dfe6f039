//! Machine code: kernels, their layouts, resources and names.
#![no_main]

#[path = "../allocation.rs"]
mod allocation;

use libfuzzer_sys::fuzz_target;
use simpack::elf::demangled;
use simpack::gpu::cubin;

fuzz_target!(|bytes: &[u8]| {
    allocation::bounded(bytes, || {
        if let Ok(cubin) = cubin(bytes) {
            for kernel in &cubin.kernels {
                demangled(&kernel.signature.name);
            }
        }
    });
});
