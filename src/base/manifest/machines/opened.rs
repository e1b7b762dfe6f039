//! Which libraries a file opens at run time, as far as its constants and the manifests say.

use crate::elf::{Dynamic, Image, SymbolTable, is_elf, library_names};
use crate::manifest::{Loaders, Vendor};

/// Known names among the constants of a file, sorted; `own` is its SONAME or file name, by which the
/// manifest may say what it opens besides the names that all programs do. Empty when the file cannot be read.
pub fn opened(bytes: &[u8], own: &str, loaders: &Loaders, vendor: &Vendor) -> Vec<String> {
    let Some(image) = is_elf(bytes).then(|| Image::parse(bytes).ok()).flatten() else { return Vec::new() };
    let Ok(Some(dynamic)) = Dynamic::parse(&image) else { return Vec::new() };
    opened_by(&image, &dynamic, own, loaders, vendor)
}

/// As [`opened`], of a file whose tables were read. A file that calls no `dlopen` opens nothing, whatever it says.
pub fn opened_by(
    image: &Image<'_>,
    dynamic: &Dynamic<'_>,
    own: &str,
    loaders: &Loaders,
    vendor: &Vendor,
) -> Vec<String> {
    let opens = SymbolTable::dynamic(image, dynamic).is_ok_and(|symbols| {
        symbols.iter().any(|(_, symbol)| symbol.section == 0 && matches!(&*symbol.name, "dlopen" | "dlmopen"))
    });
    if !opens {
        return Vec::new();
    }
    let library = vendor.library(own);
    let known = |name: &str| {
        loaders.is_opened(name) || vendor.driver(name).is_some() || library.is_some_and(|library| library.opens(name))
    };
    let mut found: Vec<String> = library_names(image, dynamic)
        .into_iter()
        .filter(|name| *name != own && known(name))
        .map(str::to_owned)
        .collect();
    found.sort();
    found.dedup();
    found
}
