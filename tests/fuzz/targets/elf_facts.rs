//! The facts of an ELF file: hostile files give errors.
#![no_main]

#[path = "../allocation.rs"]
mod allocation;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    allocation::bounded(bytes, || {
        let _ = simpack::elf::facts(bytes);
    });
});
