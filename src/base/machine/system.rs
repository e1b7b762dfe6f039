//! Operating system, C and C++ library, processor, and what surrounds a process.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arch::GlibcVersion;

/// The machine without its GPUs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct System {
    /// `PRETTY_NAME` of os-release: `Ubuntu 24.04.1 LTS`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub os: Option<String>,
    /// Release of the kernel: `6.8.0-45-generic`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Version of glibc, as its loader says; none with another C library.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub glibc: Option<GlibcVersion>,
    /// The `libstdc++.so.6` that a program gets, and the one of the system.
    #[serde(default)]
    pub libstdcxx: Vec<CxxLibrary>,
    /// Level of the x86-64 processor, 1 to 4; 0 for another processor.
    #[serde(default)]
    pub cpu_level: u32,
    /// What surrounds a process, sorted.
    #[serde(default)]
    pub surroundings: Vec<HostEnvironment>,
}

/// A C++ library.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct CxxLibrary {
    /// Its path.
    pub path: String,
    /// Highest `GLIBCXX_` version: `3.4.33`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub glibcxx: Option<String>,
    /// Highest `CXXABI_` version: `1.3.15`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cxxabi: Option<String>,
    /// What leads there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The loader takes this one.
    #[serde(default)]
    pub wins: bool,
}

/// What surrounds a process and changes where things are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HostEnvironment {
    /// Docker, Podman, Kubernetes.
    Container,
    /// Apptainer or Singularity.
    Apptainer,
    /// The EESSI software stack is mounted.
    Eessi,
    /// A batch system has started this process.
    BatchJob,
    /// Environment modules or Lmod.
    Modules,
    /// NixOS.
    Nixos,
    /// Windows Subsystem for Linux.
    Wsl,
}

impl HostEnvironment {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Container => "container",
            Self::Apptainer => "Apptainer container",
            Self::Eessi => "EESSI",
            Self::BatchJob => "batch job",
            Self::Modules => "environment modules",
            Self::Nixos => "NixOS",
            Self::Wsl => "WSL",
        }
    }

    /// Whether files of the driver come from outside of what this process sees.
    pub fn is_container(self) -> bool {
        matches!(self, Self::Container | Self::Apptainer)
    }
}

/// Variables that change which files are found, and the entries of those that are lists of directories.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Variables {
    /// Values by name; only names of `manifests/environment.toml` are ever taken.
    #[serde(default)]
    pub values: BTreeMap<String, String>,
    /// Entries of lists, in order.
    #[serde(default)]
    pub entries: Vec<SearchEntry>,
    /// What `LD_PRELOAD` names.
    #[serde(default)]
    pub preload: Vec<Preload>,
}

/// An entry of a list of directories.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct SearchEntry {
    /// The variable: `LD_LIBRARY_PATH`.
    pub variable: String,
    /// As written; empty for the current directory.
    pub entry: String,
    /// A directory is there.
    pub exists: bool,
    /// It holds link-time stubs of the driver.
    #[serde(default)]
    pub stubs: bool,
    /// It holds the forward compatibility driver.
    #[serde(default)]
    pub compat: bool,
    /// Libraries of the vendor and of the compiler in it, by SONAME.
    #[serde(default)]
    pub libraries: Vec<String>,
}

/// A library that every program is made to load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Preload {
    /// As written.
    pub entry: String,
    /// The loader finds it.
    pub found: bool,
}
