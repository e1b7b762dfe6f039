//! Which files look for the driver: they link a library of it, open one by name, or take its symbols
//! from whoever loaded it.

use std::fmt;

use object::elf;
use serde::Serialize;

use crate::elf::edit::Source;
use crate::elf::{ElfError, SymbolTable};
use crate::manifest::{Loaders, Vendor, opened_by};

/// How a file comes to the driver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase", tag = "how", content = "name")]
pub enum DriverUse {
    /// `DT_NEEDED` names a library of the driver.
    Links(String),
    /// It opens a library of the driver by its name, as `simpack resolve` finds it.
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

/// How the file comes to the driver; nothing if it does not, or is the driver.
///
/// # Errors
/// Its symbols cannot be read.
pub fn driver_use(source: &Source<'_>, loaders: &Loaders, vendor: &Vendor) -> Result<Option<DriverUse>, ElfError> {
    let (image, Some(dynamic)) = (&source.image, &source.dynamic) else { return Ok(None) };
    let of_driver = |name: &String| vendor.driver(name).is_some();
    if dynamic.text(elf::DT_SONAME).as_ref().is_some_and(of_driver) {
        return Ok(None);
    }
    if let Some(name) = dynamic.texts(elf::DT_NEEDED).into_iter().find(of_driver) {
        return Ok(Some(DriverUse::Links(name)));
    }
    let symbols = SymbolTable::dynamic(image, dynamic)?;
    let entry = symbols.iter().find(|(_, symbol)| symbol.section == 0 && ENTRY_POINTS.contains(&&*symbol.name));
    if let Some((_, symbol)) = entry {
        return Ok(Some(DriverUse::Imports(symbol.name.into_owned())));
    }
    image.spent()?;
    let own = dynamic.text(elf::DT_SONAME).unwrap_or_default();
    let names = opened_by(image, dynamic, &own, loaders, vendor);
    Ok(names.into_iter().find(of_driver).map(DriverUse::Opens))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Data;
    use crate::elf_fixture as fixture;
    use crate::manifest::Manifests;

    #[test]
    fn users_of_the_driver_are_told_from_look_alikes() {
        let Manifests { vendor, loaders, .. } = Manifests::load(&Data::at("no such directory")).unwrap();
        let dir = fixture::dir();
        let build = |name: &str, source: &str, flags: &[&str]| {
            let flags = [&["-shared", "-fPIC", "-nostdlib"], flags].concat();
            std::fs::read(fixture::compile(dir.path(), name, source, &flags)).unwrap()
        };
        let what = |bytes: &[u8]| {
            driver_use(&Source::read(bytes).unwrap(), &loaders, &vendor).unwrap().map(|found| found.to_string())
        };
        let driver = build("libcuda.so.1", "int cuInit(int f) { return f; }", &["-Wl,-soname,libcuda.so.1"]);
        assert_eq!(what(&driver), None, "the driver itself");
        let driver = dir.path().join("libcuda.so.1");
        let call = "int cuInit(int); int go(void) { return cuInit(0); }";
        let links = build("links.so", call, &[driver.to_str().unwrap()]);
        assert_eq!(what(&links).as_deref(), Some("links libcuda.so.1"));
        assert_eq!(what(&build("imports.so", call, &[])).as_deref(), Some("imports cuInit"));
        let source =
            |text: &str| format!("void *dlopen(const char *, int); void *go(void) {{ return dlopen(\"{text}\", 2); }}");
        let opens = build("opens.so", &source("libnvidia-ml.so.1"), &[]);
        assert_eq!(what(&opens).as_deref(), Some("opens libnvidia-ml.so.1"));
        assert_eq!(what(&build("dev.so", &source("libcuda.so"), &[])).as_deref(), Some("opens libcuda.so"));
        // No search path leads to what is opened by a path, and who only says the name opens nothing.
        assert_eq!(what(&build("path.so", &source("/usr/lib/libcuda.so"), &[])), None);
        let says = build("says.so", "const char *name(void) { return \"libcuda.so.1\"; }", &[]);
        assert_eq!(what(&says), None);
        for text in ["libcudart.so.13", "cannot open libcuda.so.1", "libcuda.so.1 is missing", "mylibcuda.so.1"] {
            assert_eq!(what(&build("other.so", &source(text), &[])), None, "{text}");
        }
    }
}
