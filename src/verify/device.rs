//! Device code of one file, as the lints see it.

use super::DeviceImage;
use crate::elf;

/// Sections that hold containers with device code.
const SECTIONS: [&str; 2] = [".nv_fatbin", "__nv_relfatbin"];
/// First bytes of a container, little-endian 0xBA55ED50.
const CONTAINER: [u8; 4] = [0x50, 0xed, 0x55, 0xba];

/// Device code of a file, and what of it could not be read.
///
/// # Errors
/// None of it could be read; the text says why.
pub(super) fn images(path: &str, bytes: &[u8]) -> Result<(Vec<DeviceImage>, Vec<String>), String> {
    let in_elf = elf::is_elf(bytes)
        && elf::facts(bytes).is_ok_and(|facts| {
            facts.machine == elf::Machine::Cuda
                || facts.sections.iter().any(|section| SECTIONS.contains(&section.name.as_str()))
        });
    if in_elf || bytes.starts_with(&CONTAINER) || path.ends_with(".ptx") {
        return Err("holds device code that could not be examined".to_owned());
    }
    Ok((Vec::new(), Vec::new()))
}
