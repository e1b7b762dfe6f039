//! A process that runs: the libraries in it and what brought them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct RunningProcess {
    /// Its number.
    pub pid: u32,
    /// Its program.
    pub program: String,
    /// Libraries of the driver, of the vendor and of the compiler that are mapped into it, those of which two hurt, and
    /// copies of any other, sorted by path.
    #[serde(default)]
    pub libraries: Vec<MappedLibrary>,
    /// How many libraries are mapped in all.
    #[serde(default)]
    pub mapped: usize,
}

/// A library that is mapped into a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct MappedLibrary {
    /// Its path, as the kernel names it.
    pub path: String,
    /// Its SONAME.
    pub soname: String,
    /// What brought it: `RUNPATH $ORIGIN/../lib of libvolley.so.1`, `LD_LIBRARY_PATH /opt/lib`, `ld.so.cache`.
    pub by: String,
    /// Mapped libraries that need it, sorted.
    #[serde(default)]
    pub needed_by: Vec<String>,
    /// The file was removed or replaced since.
    #[serde(default)]
    pub deleted: bool,
    /// It belongs to the driver.
    #[serde(default)]
    pub driver: Option<super::DriverRole>,
}
