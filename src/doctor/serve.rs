//! Which installed package serves which GPU.

use schemars::JsonSchema;
use serde::Serialize;

use crate::fit::{Distribution, Fit, fit};
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
            let offered = offers.iter().filter(is_its);
            let offered: Vec<_> = offered.flat_map(|offer| offer.kernels.iter().cloned()).collect();
            let distribution = distribution.with_offers(offered);
            let fit = fit(&devices, driver.as_ref(), &distribution, manifests);
            found.push(PrefixFit { prefix: prefix.path.clone(), fit });
        }
    }
    found
}
