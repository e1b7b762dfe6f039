//! Shaders in WGSL: what a package may hold is read or refused, and what simpack itself makes of a source is read as a whole.

use simpack::gpu::{CodeKind, device_code, is_wgsl, wgsl_for_webgpu};

const MARK: &[u8] = b"// WGSL for WebGPU, packaged by simpack.\n";

pub fn run(bytes: &[u8]) {
    let packaged = [MARK, bytes].concat();
    assert!(is_wgsl(&packaged));
    let _ = device_code(&packaged);
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(made) = wgsl_for_webgpu(("fuzzed.wgsl", text), &[("FIXED".to_owned(), 1.0)]) {
        let code = device_code(&made).expect("what was made is read");
        assert_eq!(code.unexamined, [""; 0]);
        assert!(code.images.iter().all(|image| image.kind == CodeKind::Wgsl && image.spirv.is_some()));
    }
}
