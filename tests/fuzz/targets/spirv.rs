//! SPIR-V modules: what spirq gets must be what it can bear.

pub fn run(bytes: &[u8]) {
    let _ = simpack::gpu::spirv(bytes);
}
