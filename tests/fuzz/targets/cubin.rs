//! Machine code: kernels, their layouts, resources and names.

use simpack::elf::demangled;
use simpack::gpu::cubin;

pub fn run(bytes: &[u8]) {
    if let Ok(cubin) = cubin(bytes) {
        for kernel in &cubin.kernels {
            demangled(&kernel.signature.name);
        }
    }
}
