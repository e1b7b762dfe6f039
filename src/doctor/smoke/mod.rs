//! The smoke test of an installed simulator: on the CPU, and on every GPU by the device code that it takes and by PTX,
//! each compared with the CPU.
//!
//! What is run and what must agree, the simulator itself declares (`[smoke]` of its recipe, carried by core's
//! `simpack.json`). What should run is the chain's answer: a simulator that runs something else has failed.

mod compare;
mod judge;
mod report;

use std::path::Path;

pub use judge::Environment;
pub use report::{Backend, Result as Ended, SmokeReport, SmokeRun};

use crate::bundle::{BundleManifest, installed};
use crate::error::Result;
use crate::fit::{self, Distribution, shader_fits};
use crate::machine::{Device, Driver, VulkanDevice};
use crate::manifest::Manifests;

/// What a run gets of this process's environment: where libraries are, which devices are seen.
pub fn environment() -> Environment {
    let value = |name: &str| Some((name.to_owned(), std::env::var(name).ok()?));
    // What is tested is what is installed, not what was compiled on this machine.
    let nothing_of_here = ("SIMPACK_COMPILED_DIR".to_owned(), String::new());
    judge::PASSED.into_iter().filter_map(value).chain([nothing_of_here]).collect()
}

/// Runs the smoke tests of all simulators in a prefix; the report of a simulator that declares none says so. The
/// programs get `env` and nothing else of this process's environment: [`environment`], or a test's own.
///
/// # Errors
/// A manifest cannot be read, or a program cannot be started.
pub fn prefix(
    root: &Path,
    (devices, vulkan): (&[Device], &[VulkanDevice]),
    driver: Option<&Driver>,
    env: &Environment,
    manifests: &Manifests,
) -> Result<Vec<SmokeReport>> {
    let bundles = installed(root)?;
    let mut reports = Vec::new();
    for distribution in Distribution::of(&bundles, true) {
        let is_core = |bundle: &&BundleManifest| bundle.simulator == distribution.simulator && bundle.smoke.is_some();
        let declared = bundles.iter().find(is_core).and_then(|bundle| bundle.smoke.as_ref());
        let fit = fit::fit(devices, driver, &distribution, manifests);
        let shaders = shader_fits(vulkan, &distribution, &manifests.spirv);
        reports.push(judge::run(root, declared, (&fit, &shaders), env)?);
    }
    Ok(reports)
}
