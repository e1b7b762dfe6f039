//! Static archives of objects with device code, and whatever else a file may be.

use simpack::gpu::{Look, device_code_with, may_hold_code};

pub fn run(bytes: &[u8]) {
    let found = device_code_with(bytes, Look { kernels: true, deep: false });
    // Files are judged by their first bytes: none with device code may be passed over.
    if found.is_ok_and(|code| !code.images.is_empty()) {
        assert!(may_hold_code(&bytes[..bytes.len().min(64)]));
    }
}
