//! PTX text, recognised and read.
#![no_main]

#[path = "../allocation.rs"]
mod allocation;

use libfuzzer_sys::fuzz_target;
use simpack::gpu::{is_ptx, ptx};

fuzz_target!(|bytes: &[u8]| {
    allocation::bounded(bytes, || {
        is_ptx(bytes);
        let _ = ptx(bytes);
    });
});
