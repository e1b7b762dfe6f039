//! Static archives of objects with device code, and whatever else a file may be.
#![no_main]

#[path = "../allocation.rs"]
mod allocation;

use libfuzzer_sys::fuzz_target;
use simpack::gpu::{Look, device_code_with, may_hold_code};

fuzz_target!(|bytes: &[u8]| {
    allocation::bounded(bytes, || {
        let found = device_code_with(bytes, Look { kernels: true, deep: false });
        // Files are judged by their first bytes: none with device code may be passed over.
        if found.is_ok_and(|code| !code.images.is_empty()) {
            assert!(may_hold_code(&bytes[..bytes.len().min(64)]));
        }
    });
});
