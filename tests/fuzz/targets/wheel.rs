//! Wheels as `slice` takes them apart and puts them together: what cannot be read is refused, and what is made reads
//! back as it says of itself.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use simpack::error::Result;
use simpack::slice::Wheel;

use crate::scratch::scratch;

pub fn run(bytes: &[u8]) {
    scratch(|dir| cut(bytes, dir));
}

/// Puts other content in the place of every file that could hold device code.
fn cut(bytes: &[u8], dir: &Path) -> Result<()> {
    let (path, place) = (dir.join("a-1-py3-none-any.whl"), dir.join("cut"));
    fs::write(&path, bytes)?;
    fs::write(&place, b"\x7fELF without what was cut")?;
    let wheel = Wheel::open(&path)?;
    let members = wheel.members(dir)?;
    let sliced: BTreeMap<String, PathBuf> = members.into_iter().map(|member| (member.name, place.clone())).collect();
    wheel.write(&sliced, "0sm90", &dir.join("a-1-0sm90-py3-none-any.whl"))
}
