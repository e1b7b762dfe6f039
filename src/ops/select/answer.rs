//! What was selected: the value that `--json` prints.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::variants::{VariantChoice, specs};
use crate::arch::Capability;
use crate::error::Result;
use crate::fit::{self, Distribution, Fit, ShaderFit};
use crate::machine::{Device, Driver, VulkanDevice};
use crate::manifest::Manifests;
use crate::offers::{Source, Wheels};
use crate::package::conda::exactly;

/// Version of the form.
pub const SELECT_SCHEMA: u32 = 1;

/// What to install for a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Selection {
    /// Always 1.
    pub schema: u32,
    /// The machine that was selected for.
    pub machine: Machine,
    /// Variables by which conda, mamba and pixi take another machine, such as a login node, for it.
    #[serde(default)]
    pub conda_overrides: BTreeMap<String, String>,
    /// One entry a simulator.
    pub simulators: Vec<Selected>,
}

/// The machine that packages are selected for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Machine {
    /// Its GPUs.
    pub devices: Vec<Device>,
    /// Its Vulkan devices; those of this machine are asked for only where there are shaders to select.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vulkan: Vec<VulkanDevice>,
    /// Its driver; none without one.
    pub driver: Option<Driver>,
    /// Whether it was described on the command line.
    pub described: bool,
}

/// What to install of one simulator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Selected {
    /// The verdicts, with the reasons.
    pub fit: Fit,
    /// What its Vulkan devices run, of a simulator with shaders.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shaders: Vec<ShaderFit>,
    /// Packages of kernels and shaders to install, sorted; none leaves the CPU.
    pub packages: Vec<String>,
    /// conda match specs: the simulator and exactly these kernel packages.
    pub conda: Vec<String>,
    /// Directory of the channel, where the packages came from one.
    pub channel: Option<String>,
    /// What pip and uv are asked for: the simulator with extras; empty where there are no wheels.
    pub pip: Vec<String>,
    /// Lines of a requirements file that brings it from where the wheels lie.
    #[serde(default)]
    pub requirements: Vec<String>,
    /// The same as words of a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wheels: Option<FromWheels>,
    /// An expression for the directory of the overlay that `simpack generate nix` writes: the attribute and the
    /// capabilities that nixpkgs' configuration takes.
    pub nix: String,
}

/// How pip and uv are called for a simulator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct FromWheels {
    /// Options of `pip install` and `uv pip install`.
    pub options: Vec<String>,
    /// What they are asked for: `volley[sm90]==1.0.0`.
    pub requirement: String,
}

impl Selected {
    /// Whether every GPU gets device code once these packages are installed. Of a simulator whose device code is shaders
    /// alone that is said of Vulkan's devices: no GPU of another kind is in its verdicts.
    pub(super) fn serves_all(&self) -> bool {
        let by_cuda = self.fit.devices.iter().all(|device| device.trace.iter().any(|step| step.place.is_some()));
        by_cuda && (!self.fit.devices.is_empty() || self.shaders.iter().all(|fit| fit.best().is_some()))
    }

    /// Judges a simulator and names what to install.
    ///
    /// # Errors
    /// There is no such host variant.
    pub(super) fn of(
        source: &Source,
        machine: &Machine,
        (smallest, variants): (bool, &[VariantChoice]),
        manifests: &Manifests,
    ) -> Result<Self> {
        let fit = fit::fit(&machine.devices, machine.driver.as_ref(), &source.distribution, manifests);
        let (shaders, packages) = packages(&fit, machine, &source.distribution, smallest, manifests);
        // Of several CUDA releases' packages of one name the newest that runs here, as every device has it.
        let steps = || fit.devices.iter().flat_map(|device| &device.trace).filter(|step| step.place.is_some());
        let release = |package: &String| steps().filter(|step| step.package == *package).map(|step| step.cuda).max();
        let known = |package: &String| source.kernels.get(&(package.clone(), release(package)?)).cloned();
        let of_shaders = |package: &String| source.distribution.shaders.iter().find(|it| it.package == *package);
        let spec = |package: &String| match of_shaders(package) {
            Some(shaders) => exactly(package, shaders.version),
            None => known(package).unwrap_or_else(|| package.clone()),
        };
        // The whole cannot be installed where nothing of its device code runs: what is left is core.
        let left = source.distribution.core.as_ref().filter(|_| fit.needs_gpu && packages.is_empty());
        let whole = left.map_or_else(|| source.simulator.clone(), |core| exactly(&core.package, core.version));
        let simulator = std::iter::once(whole).chain(specs(source, variants)?);
        let conda = simulator.chain(packages.iter().map(spec)).collect();
        let wheels = source.wheels.as_ref().map(|wheels| FromWheels::of(wheels, machine, smallest, manifests));
        Ok(Self {
            pip: wheels.iter().map(|wheels| wheels.requirement.clone()).collect(),
            requirements: wheels.iter().flat_map(FromWheels::lines).collect(),
            wheels,
            nix: nix(&fit, source),
            channel: source.channel.as_ref().map(|path| path.display().to_string()),
            conda,
            packages,
            shaders,
            fit,
        })
    }
}

/// What Vulkan's devices run, and the packages for all devices, sorted. The fewest have no shaders: the simulator brings
/// those of the lowest environment itself.
fn packages(
    fit: &Fit,
    machine: &Machine,
    distribution: &Distribution,
    smallest: bool,
    manifests: &Manifests,
) -> (Vec<ShaderFit>, Vec<String>) {
    let shaders = fit::shader_fits(&machine.vulkan, distribution, &manifests.spirv);
    let packages = match smallest {
        true => fit.smallest.clone(),
        false => {
            let all: BTreeSet<&String> =
                fit.best.iter().chain(shaders.iter().filter_map(ShaderFit::beside_core)).collect();
            all.into_iter().cloned().collect()
        }
    };
    (shaders, packages)
}

impl FromWheels {
    fn of(wheels: &Wheels, machine: &Machine, smallest: bool, manifests: &Manifests) -> Self {
        let fit = fit::fit(&machine.devices, machine.driver.as_ref(), &wheels.distribution, manifests);
        let (_, mut packages) = packages(&fit, machine, &wheels.distribution, smallest, manifests);
        if packages.is_empty() {
            packages.extend(wheels.for_the_cpu());
        }
        let mut options = vec!["--find-links".to_owned(), wheels.directory.display().to_string()];
        if !wheels.needs_others {
            options.insert(0, "--no-index".to_owned());
        }
        Self { options, requirement: wheels.requirement(&packages) }
    }

    /// Lines of a requirements file.
    fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for option in &self.options {
            match lines.last_mut() {
                Some(last) if !option.starts_with("--") => last.push_str(&format!(" {option}")),
                _ => lines.push(option.clone()),
            }
        }
        lines.push(self.requirement.clone());
        lines
    }
}

/// nixpkgs builds packages for the capabilities of its configuration, so this is what is selected there.
fn nix(fit: &Fit, source: &Source) -> String {
    let mut capabilities: Vec<Capability> = fit.devices.iter().filter_map(|device| device.capability).collect();
    capabilities.sort();
    capabilities.dedup();
    let name = &source.distribution.simulator;
    // The package comes with the overlay that `simpack generate nix` writes: nixpkgs itself has none of its name.
    let overlays = "overlays = [ (import ./overlay.nix) ];";
    // CUDA's own compiler builds device code, and nixpkgs evaluates nothing of its licence that nobody allowed.
    let unfree = "allowUnfree = true;";
    if capabilities.is_empty() || fit.best.is_empty() {
        return format!("(import <nixpkgs> {{ config = {{ {unfree} }}; {overlays} }}).{name}");
    }
    let list: Vec<String> = capabilities.iter().map(|capability| format!("\"{capability}\"")).collect();
    let config = format!("{unfree} cudaSupport = true; cudaCapabilities = [ {} ];", list.join(" "));
    format!("(import <nixpkgs> {{ config = {{ {config} }}; {overlays} }}).{name}")
}
