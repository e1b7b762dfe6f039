//! Which installed package serves which GPU.

use schemars::JsonSchema;
use serde::Serialize;

use crate::fit::{Distribution, Fit, ShaderFit, fit, shader_fits};
use crate::machine::Machine;
use crate::manifest::Manifests;

/// How a simulator of a prefix fits the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct PrefixFit {
    /// The prefix.
    pub prefix: String,
    /// What runs on each GPU, and why.
    pub fit: Fit,
    /// What runs on each Vulkan device, of a simulator with shaders.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub shaders: Vec<ShaderFit>,
}

/// The verdict for every simulator that is installed, `offers` being what there is to install besides.
pub(super) fn serve(machine: &Machine, offers: &[Distribution], manifests: &Manifests) -> Vec<PrefixFit> {
    let (devices, driver) = (machine.devices(), machine.usable_driver());
    let mut found = Vec::new();
    for prefix in &machine.prefixes {
        for mut distribution in Distribution::of(prefix.packages.iter().map(|package| &package.manifest), true) {
            for package in &prefix.packages {
                match (package.missing.is_empty(), package.changed.is_empty()) {
                    (false, _) => distribution.spoil(&package.manifest.package, "files of it are missing"),
                    (_, false) => distribution.spoil(&package.manifest.package, "files of it are damaged"),
                    _ => {}
                }
            }
            let is_its = |offer: &&Distribution| {
                (&offer.simulator, offer.as_wheels) == (&distribution.simulator, distribution.as_wheels)
            };
            let offered = || offers.iter().filter(is_its);
            let kernels: Vec<_> = offered().flat_map(|offer| offer.kernels.iter().cloned()).collect();
            let shaders: Vec<_> = offered().flat_map(|offer| offer.shaders.iter().cloned()).collect();
            let distribution = distribution.with_offers(kernels).with_shaders(shaders);
            let fit = fit(&devices, driver.as_ref(), &distribution, manifests);
            let shaders = shader_fits(&machine.vulkan.devices, &distribution, &manifests.spirv);
            found.push(PrefixFit { prefix: prefix.path.clone(), fit, shaders });
        }
    }
    found
}
