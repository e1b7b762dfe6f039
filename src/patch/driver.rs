//! Which files look for the driver: they link a library of it, open one by name, or take its symbols
//! from whoever loaded it.

use std::fmt;

use object::elf;
use serde::Serialize;

use crate::elf::edit::Source;
use crate::elf::{Dynamic, ElfError, Image, SymbolTable};
use crate::manifest::Vendor;

/// How a file comes to the driver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase", tag = "how", content = "name")]
pub enum DriverUse {
    /// `DT_NEEDED` names a library of the driver.
    Links(String),
    /// It holds the name of a library of the driver, as `dlopen` takes it.
    Opens(String),
    /// It imports a function of the driver without linking it.
    Imports(String),
}

impl fmt::Display for DriverUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Links(name) => write!(f, "links {name}"),
            Self::Opens(name) => write!(f, "opens {name}"),
            Self::Imports(name) => write!(f, "imports {name}"),
        }
    }
}

/// How names of driver libraries begin; the whole name is then judged by the manifest.
const STEMS: [&str; 4] = ["libcuda.so", "libnvidia-", "libnvcuvid.so", "libnvoptix.so"];

/// Functions by which programs start with the driver (CUDA Driver API, NVML API). Other functions are
/// called only after one of these.
const ENTRY_POINTS: [&str; 8] = [
    "cuInit",
    "cuDriverGetVersion",
    "cuGetProcAddress",
    "cuGetProcAddress_v2",
    "cuDeviceGetCount",
    "cuCtxGetCurrent",
    "nvmlInit",
    "nvmlInit_v2",
];

/// Section with device code: hundreds of megabytes without a name of a host library.
const DEVICE_CODE: &str = ".nv_fatbin";

/// How the file comes to the driver; nothing if it does not, or is the driver.
///
/// # Errors
/// Its symbols cannot be read.
pub fn driver_use(source: &Source<'_>, vendor: &Vendor) -> Result<Option<DriverUse>, ElfError> {
    let (image, Some(dynamic)) = (&source.image, &source.dynamic) else { return Ok(None) };
    let of_driver = |name: &String| vendor.driver(name).is_some();
    if dynamic.text(elf::DT_SONAME).as_ref().is_some_and(of_driver) {
        return Ok(None);
    }
    if let Some(name) = dynamic.texts(elf::DT_NEEDED).into_iter().find(of_driver) {
        return Ok(Some(DriverUse::Links(name)));
    }
    let symbols = SymbolTable::dynamic(image, dynamic)?;
    let entry = symbols.iter().find(|(_, symbol)| symbol.section == 0 && ENTRY_POINTS.contains(&symbol.name.as_str()));
    if let Some((_, symbol)) = entry {
        return Ok(Some(DriverUse::Imports(symbol.name)));
    }
    for data in constants(image, dynamic) {
        if let Some(name) = STEMS.iter().find_map(|stem| opened(data, stem, vendor)) {
            return Ok(Some(DriverUse::Opens(name)));
        }
    }
    Ok(None)
}

/// Bytes in which string constants may lie: loaded data by sections, or all loaded bytes without them.
fn constants<'a>(image: &Image<'a>, dynamic: &Dynamic<'a>) -> Vec<&'a [u8]> {
    let file = image.bytes();
    let part = |at: u64, size: u64| {
        let start = usize::try_from(at).ok()?;
        file.get(start..start.checked_add(usize::try_from(size).ok()?)?)
    };
    if image.sections.is_empty() {
        return image.loads().filter_map(|segment| part(segment.offset, segment.file_size)).collect();
    }
    let sections = image.sections.iter().filter(|section| {
        section.kind == elf::SHT_PROGBITS
            && section.flags.0 & elf::SHF_ALLOC.0 != 0
            && section.flags.0 & elf::SHF_EXECINSTR.0 == 0
            && section.offset != dynamic.strings_at
            && section.name != DEVICE_CODE
    });
    sections.filter_map(|section| part(section.offset, section.size)).collect()
}

/// The first whole string constant that begins with `stem`, behind slashes or not, and names a
/// library of the driver.
fn opened(data: &[u8], stem: &str, vendor: &Vendor) -> Option<String> {
    let mut from = 0;
    while let Some(found) = find(data.get(from..)?, stem.as_bytes()) {
        let at = from + found;
        from = at + stem.len();
        if at > 0 && data[at - 1] != 0 && data[at - 1] != b'/' {
            continue;
        }
        // No library's name is longer than a file name may be.
        let text = data[at..].iter().take(256).take_while(|byte| byte.is_ascii_graphic()).count();
        let Ok(name) = std::str::from_utf8(&data[at..at + text]) else { continue };
        if data.get(at + text) == Some(&0) && vendor.driver(name).is_some() {
            return Some(name.to_owned());
        }
    }
    None
}

/// Position of `word` in `data`, by Horspool's skips: most bytes are never looked at.
fn find(data: &[u8], word: &[u8]) -> Option<usize> {
    let last = word.len().checked_sub(1)?;
    let mut skips = [word.len(); 256];
    for (index, byte) in word[..last].iter().enumerate() {
        skips[usize::from(*byte)] = last - index;
    }
    let mut at = 0;
    while let Some(window) = data.get(at..at + word.len()) {
        if window == word {
            return Some(at);
        }
        at += skips[usize::from(window[last])];
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Data;
    use crate::elf::fixture;
    use crate::manifest::Manifests;

    #[test]
    fn words_are_found_wherever_they_stand() {
        for (data, at) in [("libcuda.so", Some(0)), ("liblibcuda.so", Some(3)), ("libcuda.s", None), ("", None)] {
            assert_eq!(find(data.as_bytes(), b"libcuda.so"), at, "{data}");
        }
    }

    #[test]
    fn users_of_the_driver_are_told_from_look_alikes() {
        let vendor = Manifests::load(&Data::at("no such directory")).unwrap().vendor;
        let dir = fixture::dir();
        let build = |name: &str, source: &str, flags: &[&str]| {
            let flags = [&["-shared", "-fPIC", "-nostdlib"], flags].concat();
            std::fs::read(fixture::compile(dir.path(), name, source, &flags)).unwrap()
        };
        let what =
            |bytes: &[u8]| driver_use(&Source::read(bytes).unwrap(), &vendor).unwrap().map(|found| found.to_string());
        let driver = build("libcuda.so.1", "int cuInit(int f) { return f; }", &["-Wl,-soname,libcuda.so.1"]);
        assert_eq!(what(&driver), None, "the driver itself");
        let driver = dir.path().join("libcuda.so.1");
        let call = "int cuInit(int); int go(void) { return cuInit(0); }";
        let links = build("links.so", call, &[driver.to_str().unwrap()]);
        assert_eq!(what(&links).as_deref(), Some("links libcuda.so.1"));
        assert_eq!(what(&build("imports.so", call, &[])).as_deref(), Some("imports cuInit"));
        let opens = build("opens.so", "const char *name(void) { return \"libnvidia-ml.so.1\"; }", &[]);
        assert_eq!(what(&opens).as_deref(), Some("opens libnvidia-ml.so.1"));
        let path = build("path.so", "const char *name(void) { return \"/usr/lib/libcuda.so\"; }", &[]);
        assert_eq!(what(&path).as_deref(), Some("opens libcuda.so"));
        for text in ["libcudart.so.13", "cannot open libcuda.so.1", "libcuda.so.1 is missing", "mylibcuda.so.1"] {
            let source = format!("const char *name(void) {{ return \"{text}\"; }}");
            assert_eq!(what(&build("other.so", &source, &[])), None, "{text}");
        }
    }
}
