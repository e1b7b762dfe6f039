//! The checks: lints over a machine.

mod devices;
mod driver;
mod environment;
mod foreign;
mod packages;
mod process;
mod smoke;
mod tools;
mod vulkan;

use super::Facts;
use crate::data::Data;
use crate::error::Result;
use crate::lint::{ParameterKind, Predicate, Registry, Settings};
use crate::report::{Incomplete, Report};

/// Every lint over machines, joined with its words.
///
/// # Errors
/// A data file is wrong.
pub fn registry(data: &Data) -> Result<Registry<Facts>> {
    Registry::new(predicates(), |id| data.text(&format!("manifests/lints/{id}.toml")))
}

/// Runs all of them. A part of the machine that could not be examined is incomplete, never a pass.
pub fn examine(registry: &Registry<Facts>, facts: &Facts, settings: &Settings) -> Report {
    let gaps = facts.machine.gaps.iter().map(|gap| Incomplete {
        subject: gap.part.words().into(),
        topic: "machine".to_owned(),
        reason: gap.reason.clone(),
    });
    let damaged = facts.machine.prefixes.iter().flat_map(|prefix| &prefix.damaged).map(|package| Incomplete {
        subject: (&package.path).into(),
        topic: "manifest".to_owned(),
        reason: package.reason.clone(),
    });
    let files = facts.foreign.iter().flat_map(|foreign| {
        foreign.reach.unexamined.iter().map(|reason| Incomplete {
            subject: (&foreign.reach.subject).into(),
            topic: "file".to_owned(),
            reason: reason.clone(),
        })
    });
    registry.run(facts, settings, examined(facts), gaps.chain(damaged).chain(files).collect())
}

fn examined(facts: &Facts) -> Vec<String> {
    let machine = &facts.machine;
    let mut names = vec!["machine".to_owned()];
    names.extend(machine.devices().iter().map(|device| format!("GPU {}", device.index)));
    let packages = machine.prefixes.iter().flat_map(|prefix| &prefix.packages);
    names.extend(packages.map(|package| package.manifest.package.clone()));
    names.extend(facts.foreign.iter().map(|foreign| foreign.reach.subject.clone()));
    names.extend(machine.process.as_ref().map(|process| format!("process {}", process.pid)));
    names
}

fn predicates() -> Vec<Predicate<Facts>> {
    let check = |id, check| Predicate { id, parameters: &[], check };
    vec![
        check("driver-absent", driver::absent),
        check("driver-stub-wins", driver::stub_wins),
        check("driver-compat-older", driver::compat_older),
        Predicate {
            id: "driver-compat-device",
            parameters: &[("names", ParameterKind::Texts)],
            check: driver::compat_device,
        },
        check("driver-mismatch", driver::mismatch),
        check("driver-copies", driver::copies),
        check("driver-unreached", driver::unreached),
        check("driver-module-absent", driver::module_absent),
        check("driver-nodes", driver::nodes),
        check("driver-hangs", driver::hangs),
        check("driver-crashes", driver::crashes),
        Predicate { id: "driver-failed", parameters: &[("codes", ParameterKind::Texts)], check: driver::failed },
        check("nvml-absent", driver::nvml_absent),
        check("nvml-failed", driver::nvml_failed),
        check("device-prohibited", devices::prohibited),
        check("device-exclusive", devices::exclusive),
        check("device-split-empty", devices::split_empty),
        check("devices-hidden", devices::hidden),
        check("devices-chosen", devices::chosen),
        check("devices-fewer", devices::fewer),
        check("cache-stale", environment::cache_stale),
        check("environment-stubs", environment::stubs),
        check("environment-relative", environment::relative),
        check("environment-preload", environment::preload),
        check("cxx-older", environment::cxx_older),
        check("compiler-pair", tools::compiler_pair),
        check("binutils-mixed", tools::binutils_mixed),
        check("toolkit-newer", tools::toolkit_newer),
        Predicate {
            id: "vulkan-limits",
            parameters: &[
                ("storage-buffer-range", ParameterKind::Number),
                ("work-group-count", ParameterKind::Number),
                ("work-group-invocations", ParameterKind::Number),
            ],
            check: vulkan::limits,
        },
        check("vulkan-software", vulkan::software),
        check("vulkan-failed", vulkan::failed),
        check("package-files", packages::files),
        check("package-kernel-abi", packages::kernel_abi),
        check("package-rtc", packages::rtc),
        check("package-load-failed", packages::loads),
        check("package-driver", packages::driver),
        check("device-unserved", packages::unserved),
        check("vendor-twice", packages::vendor_twice),
        check("runtime-twice", packages::runtime_twice),
        check("vendor-shadowed", packages::vendor_shadowed),
        check("foreign-unserved", foreign::unserved),
        check("foreign-problem", foreign::problem),
        check("smoke-failed", smoke::failed),
        check("process-copies", process::copied),
        check("process-twice", process::twice),
        check("process-driver", process::driver),
        check("process-replaced", process::replaced),
    ]
}
