//! Names that an object passes to `dlopen`: whole texts among its constants that the manifests know.

use object::elf;

use crate::elf::{Image, is_elf};
use crate::manifest::{Loaders, Vendor};

/// The known names among the constants of a file, sorted. Empty when it cannot be read.
///
/// Only sections of read-only data are looked at: device code and code hold no names.
pub fn opened(bytes: &[u8], own: &str, loaders: &Loaders, vendor: &Vendor) -> Vec<String> {
    let Some(image) = is_elf(bytes).then(|| Image::parse(bytes).ok()).flatten() else { return Vec::new() };
    // What the manifest declares of this library counts besides the names that all libraries open.
    let declared = vendor.library(own).map(|library| library.opens.as_slice()).unwrap_or_default();
    let declared: Vec<_> = declared.iter().filter_map(|glob| globset::Glob::new(glob).ok()).collect();
    let declared: Vec<_> = declared.iter().map(globset::Glob::compile_matcher).collect();
    let mut found = Vec::new();
    let constants = image.sections.iter().filter(|section| {
        section.kind == elf::SHT_PROGBITS
            && section.flags.0 & elf::SHF_ALLOC.0 != 0
            && section.flags.0 & (elf::SHF_EXECINSTR.0 | elf::SHF_WRITE.0) == 0
            && section.name.starts_with(".rodata")
    });
    for data in constants.filter_map(|section| image.section_bytes(section)) {
        for text in names(data) {
            let known = loaders.opened.iter().any(|library| text.starts_with(&library.stem) && library.is(text));
            if known || declared.iter().any(|glob| glob.is_match(text)) {
                found.push(text.to_owned());
            }
        }
    }
    found.sort();
    found.dedup();
    found.retain(|name| name != own);
    found
}

/// Whole texts that begin with `lib` and hold `.so`.
fn names(data: &[u8]) -> impl Iterator<Item = &str> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let rest = data.get(from..)?;
            let at = from + find(rest, b".so")?;
            from = at + 3;
            // No library's name is longer than a file name may be.
            let start = data[..at].iter().rev().take(256).position(|byte| *byte == 0);
            let start = start.map_or(at.saturating_sub(256), |back| at - back);
            let end = at + data[at..].iter().take(256).position(|byte| *byte == 0)?;
            let text = data.get(start..end).and_then(|text| std::str::from_utf8(text).ok());
            if let Some(text) =
                text.filter(|text| text.starts_with("lib") && text.bytes().all(|b| b.is_ascii_graphic()))
            {
                return Some(text);
            }
        }
    })
}

/// Where a word begins: by its dot, which is rare.
fn find(data: &[u8], word: &[u8; 3]) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + data.get(from..)?.iter().position(|byte| *byte == word[0])?;
        if data.get(at..at + 3)? == word {
            return Some(at);
        }
        from = at + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_texts_only() {
        let data = b"x\0libcuda.so.1\0cannot open libcuda.so.1\0libz.so\0/usr/lib/libq.so\0lib cuda.so\0libend.so.2";
        assert_eq!(names(data).collect::<Vec<_>>(), ["libcuda.so.1", "libz.so"]);
    }
}
