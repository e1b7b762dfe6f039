//! Wheels as `slice` takes them apart and puts them together: what cannot be read is refused, and what is made reads
//! back as it says of itself.
#![no_main]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use libfuzzer_sys::fuzz_target;
use simpack::error::{ErrorKind, Result};
use simpack::slice::Wheel;

fuzz_target!(|bytes: &[u8]| {
    let dir = std::env::temp_dir().join(format!("simpack-fuzz-{}", std::process::id()));
    let _ = fs::remove_dir_all(&dir);
    let made = cut(bytes, &dir);
    let _ = fs::remove_dir_all(&dir);
    // A wheel that does not read back as planned is simpack's own mistake.
    if let Err(error) = made {
        assert!(error.kind() != ErrorKind::Bug, "{error}");
    }
});

/// Puts other content in the place of every file that could hold device code.
fn cut(bytes: &[u8], dir: &Path) -> Result<()> {
    fs::create_dir_all(dir)?;
    let (path, place) = (dir.join("a-1-py3-none-any.whl"), dir.join("cut"));
    fs::write(&path, bytes)?;
    fs::write(&place, b"\x7fELF without what was cut")?;
    let wheel = Wheel::open(&path)?;
    let members = wheel.members(dir)?;
    let sliced: BTreeMap<String, PathBuf> = members.into_iter().map(|member| (member.name, place.clone())).collect();
    wheel.write(&sliced, "0sm90", &dir.join("a-1-0sm90-py3-none-any.whl"))
}
