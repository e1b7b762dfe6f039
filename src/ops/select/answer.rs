//! What was selected: the value that `--json` prints.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arch::Capability;
use crate::fit::{self, Fit};
use crate::machine::{Device, Driver};
use crate::manifest::Manifests;
use crate::offers::Source;

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
    /// One entry a simulator.
    pub simulators: Vec<Selected>,
}

/// The machine that packages are selected for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Machine {
    /// Its GPUs.
    pub devices: Vec<Device>,
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
    /// Kernel packages to install, sorted; none leaves the CPU.
    pub packages: Vec<String>,
    /// conda match specs: the simulator and exactly these kernel packages.
    pub conda: Vec<String>,
    /// Directory of the channel, where the packages came from one.
    pub channel: Option<String>,
    /// Names of wheels; empty when the distribution does not have all of this release that it takes.
    pub pip: Vec<String>,
    /// Lines of a requirements file that brings exactly these wheels from where they lie.
    #[serde(default)]
    pub requirements: Vec<String>,
    /// An expression for the directory of the overlay that `simpack generate nix` writes: the attribute and the
    /// capabilities that nixpkgs' configuration takes.
    pub nix: String,
}

impl Selected {
    /// Whether every GPU gets device code once these packages are installed.
    pub(super) fn serves_all(&self) -> bool {
        self.fit.devices.iter().all(|device| device.trace.iter().any(|step| step.place.is_some()))
    }

    /// Judges a simulator and names what to install.
    pub(super) fn of(source: &Source, machine: &Machine, smallest: bool, manifests: &Manifests) -> Self {
        let fit = fit::fit(&machine.devices, machine.driver.as_ref(), &source.distribution, manifests);
        let packages = if smallest { fit.smallest.clone() } else { fit.best.clone() };
        // Of several CUDA releases' packages of one name the newest that runs here, as every device has it.
        let steps = || fit.devices.iter().flat_map(|device| &device.trace).filter(|step| step.place.is_some());
        let release = |package: &String| steps().filter(|step| step.package == *package).map(|step| step.cuda).max();
        let known = |package: &String| source.kernels.get(&(package.clone(), release(package)?)).cloned();
        let spec = |package: &String| known(package).unwrap_or_else(|| package.clone());
        let conda = std::iter::once(source.simulator.clone()).chain(packages.iter().map(spec)).collect();
        let is_of = |wheel: &&PathBuf| {
            let name = part(wheel, 0).replace('_', "-").to_lowercase();
            name == source.distribution.simulator || packages.iter().any(|package| name == package.replace('_', "-"))
        };
        let is_release = |wheel: &&PathBuf| part(wheel, 1) == source.distribution.version.to_string();
        let mut wheels: Vec<&PathBuf> = source.wheels.iter().filter(is_of).filter(is_release).collect();
        // Some of them would install a simulator without its kernels, or kernels without a simulator.
        let named: BTreeSet<String> = wheels.iter().map(|wheel| part(wheel, 0).to_lowercase()).collect();
        if named.len() != packages.len() + 1 {
            wheels.clear();
        }
        Self {
            pip: wheels.iter().filter_map(|wheel| Some(wheel.file_name()?.to_string_lossy().into_owned())).collect(),
            requirements: requirements(&wheels),
            nix: nix(&fit, source),
            channel: source.channel.as_ref().map(|path| path.display().to_string()),
            conda,
            packages,
            fit,
        }
    }
}

/// A part of a wheel's name: 0 is the package's, 1 its version (binary distribution format, file name convention).
fn part(wheel: &Path, index: usize) -> String {
    let name = wheel.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    name.split('-').nth(index).unwrap_or_default().to_owned()
}

/// Where the wheels lie, then each by name and version.
fn requirements(wheels: &[&PathBuf]) -> Vec<String> {
    let place = |wheel: &&PathBuf| {
        let directory = std::path::absolute(wheel.parent()?).ok()?;
        Some(format!("--find-links {}", directory.display()))
    };
    let mut lines: Vec<String> = wheels.iter().filter_map(place).collect();
    lines.sort();
    lines.dedup();
    lines.extend(wheels.iter().map(|wheel| format!("{}=={}", part(wheel, 0).replace('_', "-"), part(wheel, 1))));
    lines
}

/// nixpkgs builds packages for the capabilities of its configuration, so this is what is selected there.
fn nix(fit: &Fit, source: &Source) -> String {
    let mut capabilities: Vec<Capability> = fit.devices.iter().filter_map(|device| device.capability).collect();
    capabilities.sort();
    capabilities.dedup();
    let name = &source.distribution.simulator;
    // The package comes with the overlay that `simpack generate nix` writes: nixpkgs itself has none of its name.
    let overlays = "overlays = [ (import ./overlay.nix) ];";
    if capabilities.is_empty() || fit.best.is_empty() {
        return format!("(import <nixpkgs> {{ {overlays} }}).{name}");
    }
    let list: Vec<String> = capabilities.iter().map(|capability| format!("\"{capability}\"")).collect();
    let config = format!("cudaSupport = true; cudaCapabilities = [ {} ];", list.join(" "));
    format!("(import <nixpkgs> {{ config = {{ {config} }}; {overlays} }}).{name}")
}
