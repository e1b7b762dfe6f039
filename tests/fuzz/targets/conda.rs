//! `.conda` packages as `slice` takes them apart and lays them out anew: what cannot be read is refused, and nothing
//! lands outside of the directories that it was given.

use std::fs;
use std::path::Path;

use simpack::error::Result;
use simpack::package::Effort;
use simpack::slice::{Conda, CondaLabel};

use crate::scratch::scratch;

pub fn run(bytes: &[u8]) {
    scratch(|dir| cut(bytes, dir));
}

/// Puts other content in the place of every file that could hold device code.
fn cut(bytes: &[u8], dir: &Path) -> Result<()> {
    let (path, root, place) = (dir.join("a-1-0.conda"), dir.join("root"), dir.join("cut"));
    fs::write(&path, bytes)?;
    fs::write(&place, b"\x7fELF without what was cut")?;
    let conda = Conda::unpack(&path, &root)?;
    let sliced = conda.members()?.into_iter().map(|member| (member.name, place.clone())).collect();
    let label = CondaLabel { word: "sm90".into(), conditions: Vec::new(), preference: 1, effort: Effort::Store };
    conda.name(&label)?;
    conda.lay_out(&sliced, &label, &dir.join("layout"))?;
    let mut entries: Vec<String> =
        fs::read_dir(dir)?.flatten().map(|it| it.file_name().display().to_string()).collect();
    entries.sort();
    assert_eq!(entries, ["a-1-0.conda", "cut", "layout", "root"]);
    Ok(())
}
