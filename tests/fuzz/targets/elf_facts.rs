//! The facts of an ELF file: hostile files give errors.

pub fn run(bytes: &[u8]) {
    let _ = simpack::elf::facts(bytes);
}
