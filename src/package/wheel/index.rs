//! The pages of an index over a directory of wheels (simple repository API), so that it can be served as it lies.

use std::collections::BTreeMap;
use std::path::Path;

use super::super::BuiltPackage;
use super::names::escaped;
use super::planned::Planned;
use super::variants::{Variant, described};
use crate::error::Result;

/// Directory of the pages, below that of the wheels.
const SIMPLE: &str = "simple";

/// Writes the pages over wheels that lie in `dir`; `variants` is a wheel's name and the file that describes its variants.
///
/// # Errors
/// The directory cannot be written.
pub(super) fn write(dir: &Path, wheels: &[BuiltPackage], variants: Option<(String, String)>) -> Result<()> {
    let mut by_name: BTreeMap<&str, Vec<&BuiltPackage>> = BTreeMap::new();
    for wheel in wheels {
        by_name.entry(&wheel.named.package).or_default().push(wheel);
    }
    let names = by_name.keys().map(|name| link(&format!("{name}/"), name));
    page(&dir.join(SIMPLE), &names.collect::<Vec<_>>())?;
    for (name, mut wheels) in by_name {
        wheels.sort_by(|a, b| a.file_name.cmp(&b.file_name));
        let links = wheels.iter().map(|wheel| {
            // `!` of an epoch and `+` have meanings in addresses.
            let file = wheel.file_name.replace('!', "%21").replace('+', "%2B");
            link(&format!("../../{file}#sha256={}", wheel.sha256), &wheel.file_name)
        });
        let beside = variants.iter().filter(|(of, _)| of == name).map(|(_, file)| link(&format!("../../{file}"), file));
        page(&dir.join(SIMPLE).join(name), &links.chain(beside).collect::<Vec<_>>())?;
    }
    Ok(())
}

/// Writes what the index says of all variants; answers the wheel's name and that of the file.
///
/// # Errors
/// The directory cannot be written.
pub(super) fn variants(planned: &[Planned<'_>], dir: &Path) -> Result<Option<(String, String)>> {
    let all: Vec<Variant> = planned.iter().filter_map(|wheel| wheel.variant.clone()).collect();
    let Some(wheel) = planned.iter().find(|wheel| wheel.variant.is_some()) else { return Ok(None) };
    let name = format!("{}-{}-variants.json", escaped(&wheel.name), wheel.version);
    crate::fs::write_atomic(&dir.join(&name), &described(&all.iter().collect::<Vec<_>>(), &all)?)?;
    Ok(Some((wheel.name.clone(), name)))
}

fn link(to: &str, text: &str) -> String {
    format!("    <a href=\"{to}\">{text}</a><br>\n")
}

fn page(dir: &Path, links: &[String]) -> Result<()> {
    fs_err::create_dir_all(dir)?;
    let head = "<meta name=\"pypi:repository-version\" content=\"1.0\">";
    let text =
        format!("<!DOCTYPE html>\n<html>\n  <head>{head}</head>\n  <body>\n{}  </body>\n</html>\n", links.concat());
    crate::fs::write_atomic(&dir.join("index.html"), text.as_bytes())
}
