//! What a smoke test showed: the value that `--json` prints, and its words.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arch::{KernelTarget, Version};
use crate::doctor::FailedRun;
use crate::gpu::Place;

/// The smoke test of one simulator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct SmokeReport {
    /// Simulator's name.
    pub simulator: String,
    /// Its version.
    pub version: Version,
    /// Command of every run, without what is added for a backend; empty when the simulator declares no smoke test.
    pub command: String,
    /// The runs: the CPU, then the devices.
    pub runs: Vec<SmokeRun>,
}

/// One run, or why there is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct SmokeRun {
    /// What ran.
    pub backend: Backend,
    /// How it ended.
    pub result: Result,
    /// Wall time in seconds, starting the program included; none when nothing ran.
    pub seconds: Option<f64>,
    /// Seconds that the simulator itself measured.
    pub own_seconds: Option<f64>,
    /// The device code that the simulator says it ran.
    pub code: Option<String>,
}

/// Where a run happens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Backend {
    /// The CPU.
    Cpu,
    /// A CUDA device.
    Cuda {
        /// The driver's index of it.
        device: u32,
        /// Product name.
        name: String,
        /// The device code that is asked for; none when nothing that is installed runs.
        target: Option<KernelTarget>,
        /// Its place in the chain.
        place: Option<Place>,
    },
    /// A Vulkan device.
    Vulkan {
        /// The loader's index of it.
        device: u32,
        /// Its name.
        name: String,
        /// The shaders that are asked for; none when none that are installed run.
        target: Option<KernelTarget>,
        /// Their variant.
        variant: Option<String>,
    },
}

impl Backend {
    /// The device code that is asked for.
    pub fn target(&self) -> Option<KernelTarget> {
        match self {
            Self::Cpu => None,
            Self::Cuda { target, .. } | Self::Vulkan { target, .. } => *target,
        }
    }
}

impl std::fmt::Display for Backend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Cpu => f.write_str("the CPU"),
            Self::Cuda { device, target: None, .. } => write!(f, "GPU {device}"),
            Self::Cuda { device, target: Some(target), .. } => write!(f, "GPU {device} by {target}"),
            Self::Vulkan { device, target: Some(target), variant: Some(variant), .. } => {
                write!(f, "Vulkan {device} by {target} ({variant})")
            }
            Self::Vulkan { device, .. } => write!(f, "Vulkan {device}"),
        }
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Result {
    /// It ran and, on a device, agrees with the CPU.
    Passed {
        /// What agrees; empty for the CPU itself.
        agrees: Vec<String>,
    },
    /// It ran, and something is not what the CPU has, or not what was asked for.
    Differs {
        /// In words.
        what: Vec<String>,
    },
    /// It did not come to its end, or printed nothing that can be compared.
    Failed {
        /// In words, the program's own last lines among them.
        why: String,
    },
    /// Nothing was run.
    NotRun {
        /// Why.
        why: String,
    },
}

impl Result {
    /// Whether nothing is wrong with the simulator: what was not run shows nothing.
    pub fn is_well(&self) -> bool {
        matches!(self, Self::Passed { .. } | Self::NotRun { .. })
    }
}

impl SmokeReport {
    /// Whether everything that ran agrees.
    pub fn is_well(&self) -> bool {
        self.runs.iter().all(|run| run.result.is_well())
    }

    /// What went wrong, for the doctor's checks.
    pub fn failed_runs(&self) -> Vec<FailedRun> {
        let failed = self.runs.iter().filter_map(|run| {
            let why = match &run.result {
                Result::Failed { why } => why.clone(),
                Result::Differs { what } => format!("differs from the CPU: {}", what.join("; ")),
                Result::Passed { .. } | Result::NotRun { .. } => return None,
            };
            let simulator = format!("{} {}", self.simulator, self.version);
            Some(FailedRun { simulator, place: run.backend.to_string(), why })
        });
        failed.collect()
    }

    /// A line a run, and what went wrong below it.
    pub fn page(&self) -> String {
        let mut text = match self.command.is_empty() {
            true => format!(
                "smoke     {} {} declares no smoke test\n          [smoke] of its recipe declares one: a short run that prints JSON\n",
                self.simulator, self.version
            ),
            false => format!("smoke     {} {}  {}\n", self.simulator, self.version, self.command),
        };
        for run in &self.runs {
            let _ = writeln!(text, "{}", run.line());
        }
        text
    }
}

impl SmokeRun {
    fn line(&self) -> String {
        let what = match &self.backend {
            Backend::Cpu => "cpu".to_owned(),
            Backend::Cuda { device, target: None, .. } => format!("GPU {device}"),
            Backend::Cuda { device, target: Some(target), place, .. } => match place {
                Some(Place::Ptx) => format!("GPU {device}  {target} (PTX)"),
                Some(Place::Exact) => format!("GPU {device}  {target} (exact)"),
                _ => format!("GPU {device}  {target}"),
            },
            Backend::Vulkan { device, target: Some(target), variant, .. } => {
                let variant = variant.as_ref().map(|variant| format!(" ({variant})")).unwrap_or_default();
                format!("Vulkan {device}  {target}{variant}")
            }
            Backend::Vulkan { device, target: None, .. } => format!("Vulkan {device}"),
        };
        let time = match (self.seconds, self.own_seconds) {
            (Some(all), Some(own)) => format!("{all:.2} s, {own:.2} s of it the run"),
            (Some(all), None) => format!("{all:.2} s"),
            (None, _) => String::new(),
        };
        let (word, rest) = match &self.result {
            Result::Passed { agrees } if agrees.is_empty() => ("ok", time),
            Result::Passed { agrees } => ("ok", format!("{time}; as on the CPU: {}", agrees.join(", "))),
            Result::Differs { what } => ("differs", what.join("; ")),
            Result::Failed { why } => ("failed", why.clone()),
            Result::NotRun { why } => ("not run", why.clone()),
        };
        format!("          {what:<26} {word:<8} {rest}")
    }
}
