//! The facts of an ELF file: hostile files give errors.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = simpack::elf::facts(bytes);
});
