//! A machine as a value: what a doctor looks at, whether it was probed here, read from a file or made up for a test.
//!
//! A [`Provider`] answers for each part of a machine, or says why it cannot; [`Machine::take`] puts the parts
//! together. A recorded machine is a provider, too.

mod cache;
mod device;
mod driver;
mod installed;
mod process;
mod provider;
mod redact;
mod system;
mod tools;
mod vulkan;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use cache::RuntimeCache;
pub use device::{ComputeMode, Device, DeviceKind, DeviceState};
pub use driver::{
    DeviceNode, Driver, DriverAnswer, DriverFailure, DriverFiles, DriverLibrary, DriverRole, NoResponse,
    compare_versions,
};
pub use installed::{DamagedPackage, InstalledPackage, Loads, Prefix, PrefixKind, VendorFile, VendorLoad};
pub use process::{MappedLibrary, RunningProcess};
pub use provider::{Failing, Provider, Wanted};
pub use redact::Redaction;
pub use system::{CxxLibrary, HostEnvironment, Preload, SearchEntry, System, Variables};
pub use tools::{Compiler, CompilerFamily, Program, Toolkit, Tools};
pub use vulkan::{Vulkan, VulkanCompute, VulkanDevice, VulkanKind};

/// Version of the form in which machines are written.
pub const MACHINE_SCHEMA: u32 = 1;

/// A machine, with what is installed on it as far as it was asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Machine {
    /// Operating system, C and C++ library, processor.
    #[serde(default)]
    pub system: System,
    /// Variables that change which files are found.
    #[serde(default)]
    pub variables: Variables,
    /// Files of the driver, and what the kernel says.
    #[serde(default)]
    pub driver_files: DriverFiles,
    /// What NVML says; none where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nvml: Option<DriverAnswer>,
    /// What the CUDA driver says; none where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cuda: Option<DriverAnswer>,
    /// GPUs of AMD.
    #[serde(default)]
    pub amd: Vec<Device>,
    /// Vulkan devices.
    #[serde(default)]
    pub vulkan: Vulkan,
    /// Toolkits and compilers.
    #[serde(default)]
    pub tools: Tools,
    /// The driver's caches of this user.
    #[serde(default)]
    pub caches: Vec<RuntimeCache>,
    /// Prefixes with packages.
    #[serde(default)]
    pub prefixes: Vec<Prefix>,
    /// The process that was asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<RunningProcess>,
    /// Parts that could not be examined.
    #[serde(default)]
    pub gaps: Vec<Gap>,
}

/// A part of a machine that could not be examined.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Gap {
    /// The part: a field of [`Machine`].
    pub part: Part,
    /// Why.
    pub reason: String,
}

/// Parts of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// [`Machine::system`].
    System,
    /// [`Machine::variables`].
    Variables,
    /// [`Machine::driver_files`].
    DriverFiles,
    /// [`Machine::nvml`].
    Nvml,
    /// [`Machine::cuda`].
    Cuda,
    /// [`Machine::amd`].
    Amd,
    /// [`Machine::vulkan`].
    Vulkan,
    /// [`Machine::tools`].
    Tools,
    /// [`Machine::caches`].
    Caches,
    /// [`Machine::prefixes`].
    Prefixes,
    /// [`Machine::process`].
    Process,
}

impl Part {
    /// All parts.
    pub const ALL: [Self; 11] = [
        Self::System,
        Self::Variables,
        Self::DriverFiles,
        Self::Nvml,
        Self::Cuda,
        Self::Amd,
        Self::Vulkan,
        Self::Tools,
        Self::Caches,
        Self::Prefixes,
        Self::Process,
    ];

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::System => "the system",
            Self::Variables => "the environment",
            Self::DriverFiles => "files of the driver",
            Self::Nvml => "NVML",
            Self::Cuda => "the CUDA driver",
            Self::Amd => "GPUs of AMD",
            Self::Vulkan => "Vulkan",
            Self::Tools => "toolkits and compilers",
            Self::Caches => "caches of the driver",
            Self::Prefixes => "installed packages",
            Self::Process => "the process",
        }
    }
}

impl Machine {
    /// All GPUs: NVML's, else the CUDA driver's, then AMD's.
    pub fn devices(&self) -> Vec<Device> {
        let of = |answer: &Option<DriverAnswer>| answer.as_ref().map(|answer| answer.devices.clone());
        let mut devices = of(&self.nvml).filter(|devices| !devices.is_empty()).or_else(|| of(&self.cuda));
        let mut all = devices.take().unwrap_or_default();
        all.extend(self.amd.iter().cloned());
        all
    }

    /// The GPUs as CUDA programs count them, where the driver was started, and none where it does not start; else all.
    pub fn devices_of_programs(&self) -> Vec<Device> {
        let knows = |cuda: &&DriverAnswer| !cuda.unstarted && (cuda.failure.is_some() || !cuda.devices.is_empty());
        match self.cuda.as_ref().filter(knows) {
            Some(cuda) => cuda.devices.iter().chain(&self.amd).cloned().collect(),
            None => self.devices(),
        }
    }

    /// The driver, unless programs cannot use it: a stub wins, or it does not start.
    pub fn usable_driver(&self) -> Option<Driver> {
        let stub = self.driver_files.winner().is_some_and(|winner| winner.role == DriverRole::Stub);
        let fails = self.cuda.as_ref().is_some_and(|cuda| cuda.failure.is_some());
        self.driver().filter(|_| !stub && !fails)
    }

    /// More about a GPU.
    pub fn state(&self, index: u32) -> Option<&DeviceState> {
        let answers = [&self.nvml, &self.cuda].into_iter().flatten();
        answers.flat_map(|answer| &answer.states).find(|state| state.index == index)
    }

    /// The driver that a program would get: what the CUDA driver says of itself, else NVML.
    pub fn driver(&self) -> Option<Driver> {
        let cuda = [&self.cuda, &self.nvml].into_iter().flatten().find_map(|answer| answer.cuda)?;
        let said = self.nvml.as_ref().and_then(|answer| answer.version.clone());
        let file = || self.driver_files.winner().and_then(|library| library.version.clone());
        Some(Driver { version: said.or_else(file).or_else(|| self.driver_files.kernel_module.clone()), cuda })
    }
}
