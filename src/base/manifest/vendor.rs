//! The vendor's libraries: the driver's, which are never shipped, and the toolkit's, which are
//! dependencies and never bundled.

use serde::Deserialize;
use toml::Spanned;

use super::globs::{Globs, IndexedGlobs, Pattern};
use super::text::ManifestText;
use crate::arch::CudaVersion;
use crate::data::Data;
use crate::error::Result;

/// All libraries of the vendor, in the order of the file.
#[derive(Debug, Clone)]
pub struct Vendor {
    drivers: Vec<DriverLibrary>,
    libraries: Vec<VendorLibrary>,
    /// Compilers with a runtime of their own, as their vendors call them.
    compilers: Vec<String>,
    driver_files: IndexedGlobs,
    library_files: IndexedGlobs,
    runtime_files: IndexedGlobs,
}

/// A library that belongs to the driver.
#[derive(Debug, Clone)]
pub struct DriverLibrary {
    /// Why it is never shipped.
    pub reason: String,
}

/// A library that is a dependency.
#[derive(Debug, Clone)]
pub struct VendorLibrary {
    /// What recipes write in `uses`.
    pub name: String,
    /// Conda package that provides it.
    pub conda: String,
    /// Conda package with its headers and link names; `conda` itself where it has them.
    pub conda_dev: String,
    /// The vendor's wheels of it, if there are any.
    wheel: Option<WheelEntry>,
    /// Its attribute of nixpkgs' `cudaPackages`.
    pub nix: String,
    /// What its SONAME carries.
    pub soname: SonameVersion,
    /// Globs over libraries that it opens with `dlopen`: NEEDED does not show them.
    pub opens: Vec<String>,
    opened: Globs,
    /// What their SONAMEs carry.
    pub opens_soname: Option<SonameVersion>,
    /// Its version is the toolkit's.
    pub versioned_with_cuda: bool,
    /// It is headers alone: what is built with it needs nothing of it where it runs.
    pub headers_only: bool,
}

/// How the wheels of a library are called, and where their files lie.
#[derive(Debug, Clone)]
struct WheelEntry {
    name: String,
    directory: String,
    is_suffixed: bool,
}

/// The first CUDA major whose wheels have one directory and names without the major.
const SHARED_DIRECTORY: u32 = 13;

impl VendorLibrary {
    /// The vendor's wheel for a CUDA release: its name, and the directory of its libraries below `site-packages`.
    pub fn wheel(&self, cuda: CudaVersion) -> Option<(String, String)> {
        let WheelEntry { name, directory, is_suffixed } = self.wheel.as_ref()?;
        let major = cuda.major;
        Some(match (*is_suffixed, major < SHARED_DIRECTORY) {
            (false, false) => (name.clone(), format!("nvidia/cu{major}/lib")),
            _ => (format!("{name}-cu{major}"), format!("nvidia/{directory}/lib")),
        })
    }
}

/// How much of the version a SONAME carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum SonameVersion {
    /// `libnvrtc.so.13`.
    #[serde(rename = "major")]
    Major,
    /// `libnvrtc-builtins.so.13.0`.
    #[serde(rename = "major.minor")]
    MajorMinor,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    edition: u32,
    driver: Vec<DriverEntry>,
    library: Vec<LibraryEntry>,
    runtime: Vec<RuntimeEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuntimeEntry {
    compiler: String,
    files: Vec<Spanned<Pattern>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct DriverEntry {
    file: Spanned<Pattern>,
    reason: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct LibraryEntry {
    name: Spanned<String>,
    conda: String,
    conda_dev: Option<String>,
    wheel: Option<String>,
    wheel_directory: Option<String>,
    #[serde(default)]
    wheel_suffixed: bool,
    nix: String,
    files: Vec<Spanned<Pattern>>,
    soname: SonameVersion,
    #[serde(default)]
    opens: Vec<Spanned<Pattern>>,
    opens_soname: Option<SonameVersion>,
    #[serde(default)]
    versioned_with_cuda: bool,
    #[serde(default)]
    headers_only: bool,
}

impl Vendor {
    /// Reads the manifest.
    ///
    /// # Errors
    /// It is wrong: the message says where.
    pub fn load(data: &Data) -> Result<Self> {
        let text = ManifestText::read(data, "manifests/vendor.toml")?;
        let file: File = text.parse()?;
        text.edition(file.edition)?;
        let (mut drivers, mut driver_files) = (Vec::new(), IndexedGlobs::default());
        for entry in file.driver {
            driver_files.add(&text, &entry.file, drivers.len())?;
            drivers.push(DriverLibrary { reason: entry.reason });
        }
        let mut library_files = IndexedGlobs::default();
        let mut libraries: Vec<VendorLibrary> = Vec::new();
        for entry in file.library {
            let name = entry.name.get_ref().clone();
            if libraries.iter().any(|library| library.name == name) {
                return Err(text.wrong(Some(entry.name.span()), format!("library `{name}` is listed twice")));
            }
            for pattern in &entry.files {
                library_files.add(&text, pattern, libraries.len())?;
            }
            let wheel = entry.wheel.zip(entry.wheel_directory);
            let is_suffixed = entry.wheel_suffixed;
            libraries.push(VendorLibrary {
                name,
                wheel: wheel.map(|(name, directory)| WheelEntry { name, directory, is_suffixed }),
                conda_dev: entry.conda_dev.unwrap_or_else(|| entry.conda.clone()),
                conda: entry.conda,
                nix: entry.nix,
                soname: entry.soname,
                opened: Globs::read(&text, &entry.opens)?,
                opens: entry.opens.into_iter().map(|pattern| pattern.get_ref().text().to_owned()).collect(),
                opens_soname: entry.opens_soname,
                versioned_with_cuda: entry.versioned_with_cuda,
                headers_only: entry.headers_only,
            });
        }
        let (mut compilers, mut runtime_files) = (Vec::new(), IndexedGlobs::default());
        for entry in file.runtime {
            for pattern in &entry.files {
                runtime_files.add(&text, pattern, compilers.len())?;
            }
            compilers.push(entry.compiler);
        }
        Ok(Self { drivers, libraries, compilers, driver_files, library_files, runtime_files })
    }

    /// The driver library that a file name belongs to: `libcuda.so.1`.
    pub fn driver(&self, file: &str) -> Option<&DriverLibrary> {
        self.drivers.get(self.driver_files.find(file)?)
    }

    /// The vendor library that a file name or SONAME belongs to: `libnvrtc.so.13`.
    pub fn library(&self, file: &str) -> Option<&VendorLibrary> {
        self.libraries.get(self.library_files.find(file)?)
    }

    /// The vendor library that a file is a copy of, under its plain name or under one with a hash in it, and the plain
    /// name: `libcudart.so.13` of `libcudart-9335f6a2.so.13`.
    pub fn original(&self, file: &str) -> Option<(String, &VendorLibrary)> {
        let plain = self.library(file).map(|library| (file.to_owned(), library));
        plain.or_else(|| {
            let name = unmangled(file)?;
            let library = self.library(&name)?;
            Some((name, library))
        })
    }

    /// The compiler of whose runtime a file is a renamed copy, as `libacchost-c31344de.so` is of `libacchost.so`. Under its
    /// plain name it may lie beside what was compiled with it.
    pub fn renamed_runtime(&self, file: &str) -> Option<&str> {
        let found = self.runtime_files.find(&unmangled(file)?)?;
        self.compilers.get(found).map(String::as_str)
    }

    /// The vendor library of a name in `uses`: `nvrtc`, or its conda package.
    pub fn by_name(&self, name: &str) -> Option<&VendorLibrary> {
        self.libraries.iter().find(|library| library.name == name || library.conda == name)
    }

    /// All vendor libraries.
    pub fn libraries(&self) -> impl Iterator<Item = &VendorLibrary> {
        self.libraries.iter()
    }
}

impl VendorLibrary {
    /// Whether it opens a library of this name.
    pub fn opens(&self, name: &str) -> bool {
        !self.opens.is_empty() && self.opened.is_match(name)
    }
}

/// `libcudart.so.13` of `libcudart-9335f6a2.so.13`: wheels' repair tools put a hash into the name so
/// that the copy cannot clash.
pub fn unmangled(name: &str) -> Option<String> {
    let end = name.find(".so")?;
    let (stem, hash) = name[..end].rsplit_once('-')?;
    let is_hash = (6..=64).contains(&hash.len()) && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then(|| format!("{stem}{}", &name[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renamed_runtimes_of_compilers_are_known() {
        let vendor = Vendor::load(&Data::at("no such directory")).unwrap();
        assert_eq!(vendor.renamed_runtime("libnvcpumath-avx2-91375214.so"), Some("NVIDIA HPC SDK"));
        assert_eq!(vendor.renamed_runtime("libacchost.so"), None, "its own name is no finding");
        assert_eq!(vendor.renamed_runtime("libnrniv-b13f8654.so"), None);
    }

    #[test]
    fn hashes_in_names_are_seen() {
        assert_eq!(unmangled("libcudart-9335f6a2.so.13").as_deref(), Some("libcudart.so.13"));
        assert_eq!(unmangled("libnvrtc-builtins.so.13.0"), None);
        assert_eq!(unmangled("libcudart.so.13"), None);
        assert_eq!(unmangled("libx-12.so"), None);
    }

    #[test]
    fn files_belong_to_the_driver_or_to_a_library_or_to_nobody() {
        let vendor = Vendor::load(&Data::at("no such directory")).unwrap();
        for file in ["libcuda.so", "libcuda.so.1", "libnvidia-ml.so.1", "libnvidia-ptxjitcompiler.so.580.95"] {
            assert!(vendor.driver(file).is_some() && vendor.library(file).is_none(), "{file}");
        }
        for (file, conda) in [
            ("libcudart.so.13", "cuda-cudart"),
            ("libnvrtc-builtins.so.13.0", "cuda-nvrtc"),
            ("libcublasLt.so.12", "libcublas"),
            ("libnppig.so.12", "libnpp"),
        ] {
            assert_eq!(vendor.library(file).map(|library| library.conda.as_str()), Some(conda));
            assert!(vendor.driver(file).is_none(), "{file}");
        }
        for file in ["libcudart_static.a", "libcudacxx.so", "libvolley.so.1", "libnvrtcx.so", "xlibcuda.so.1"] {
            assert!(vendor.driver(file).is_none() && vendor.library(file).is_none(), "{file}");
        }
        let nvrtc = vendor.by_name("nvrtc").unwrap();
        assert_eq!(nvrtc.opens_soname, Some(SonameVersion::MajorMinor));
        assert_eq!(vendor.by_name("cuda-nvrtc").unwrap().name, "nvrtc");
    }
}
