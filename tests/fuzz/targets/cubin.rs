//! Machine code: kernels, their layouts, resources and names.
#![no_main]

use libfuzzer_sys::fuzz_target;
use simpack::elf::demangled;
use simpack::gpu::cubin;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(cubin) = cubin(bytes) {
        for kernel in &cubin.kernels {
            demangled(&kernel.signature.name);
        }
    }
});
