//! The whole of a release: nothing forgotten, and everything that packages ask for is there or declared.

use std::collections::BTreeSet;

use super::super::{BundleFacts, PackageFacts};
use crate::arch::{CudaVersion, KernelTarget};
use crate::lint::{Hits, ParameterKind, Parameters, Predicate};
use crate::package::conda::{Record, Wanted};
use crate::package::selector_name;
use crate::recipe::ComponentKind;

pub(super) fn predicates() -> Vec<Predicate<BundleFacts>> {
    vec![
        Predicate {
            id: "dependency-missing",
            parameters: &[("external", ParameterKind::Texts)],
            check: dependency_missing,
        },
        Predicate { id: "release-incomplete", parameters: &[], check: release_incomplete },
    ]
}

fn release_incomplete(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    if facts.rules.partial {
        return;
    }
    for core in facts.packages.iter().filter(|package| package.manifest.component == ComponentKind::Core) {
        let simulator = &core.manifest.simulator;
        let of_release: Vec<&PackageFacts> = facts
            .packages
            .iter()
            .filter(|package| {
                package.manifest.simulator == *simulator && package.manifest.version == core.manifest.version
            })
            .collect();
        let kernels = |with_files: bool| -> BTreeSet<(Option<CudaVersion>, KernelTarget)> {
            let kernels = of_release.iter().filter(|package| {
                package.manifest.component == ComponentKind::Kernels && package.has_files() == with_files
            });
            let of = |package: &&PackageFacts| Some((package.manifest.cuda, package.manifest.target?));
            kernels.filter_map(of).filter(|(_, target)| *target != KernelTarget::Cpu).collect()
        };
        let (packages, selectors) = (kernels(true), kernels(false));
        let selector = selector_name(simulator);
        // The release is said where it tells two packages apart.
        let releases: BTreeSet<Option<CudaVersion>> =
            packages.iter().chain(&selectors).map(|(cuda, _)| *cuda).collect();
        let of = |cuda: &Option<CudaVersion>| match cuda.filter(|_| releases.len() > 1) {
            None => String::new(),
            Some(cuda) => format!(" of CUDA {cuda}"),
        };
        if !selectors.is_empty() {
            // Nothing selects shaders: the metapackage brings some of them.
            for (cuda, target) in packages.difference(&selectors).filter(|(_, target)| !target.is_shader()) {
                let name = target.package(simulator);
                hits.add(&selector, format!("no build of it selects {name}{}", of(cuda)));
            }
            for (cuda, target) in selectors.difference(&packages) {
                let (of, name) = (of(cuda), target.package(simulator));
                let message = format!("selects {target}{of}, and there is no package {name}{of}");
                hits.add(&selector, message);
            }
        }
        if core.manifest.kernel_abi.is_some() && packages.is_empty() {
            hits.add(core.name(), "launches kernels, and no kernel package is here");
        }
        let declared = facts.rules.declared.as_ref().filter(|declared| declared.simulator == *simulator);
        if let Some(declared) = declared {
            let is_there = |cuda: CudaVersion, target: KernelTarget| {
                packages.iter().any(|(of, other)| *other == target && of.is_none_or(|of| of == cuda))
            };
            for (cuda, target) in declared.targets.iter().filter(|(cuda, target)| !is_there(*cuda, *target)) {
                let of = if declared.is_several() { format!(" for CUDA {cuda}") } else { String::new() };
                let subject = if target.is_shader() { core.name() } else { &selector };
                hits.add(subject, format!("the recipe declares {target}{of}, and there is no package for it"));
            }
            let packaged =
                declared.components.iter().filter(|kind| !matches!(kind, ComponentKind::Kernels | ComponentKind::Meta));
            for kind in packaged.filter(|kind| !of_release.iter().any(|package| package.manifest.component == **kind)) {
                hits.add(core.name(), format!("the recipe declares component `{kind}`, and there is no package of it"));
            }
        }
    }
}

/// Each dependency is met by a package here, by the machine, or is declared to come from outside.
fn dependency_missing(facts: &BundleFacts, parameters: &Parameters, hits: &mut Hits) {
    let external = parameters.texts("external");
    let own: BTreeSet<&str> = facts.packages.iter().map(PackageFacts::name).collect();
    let records: Vec<&Record> = facts.indexes.iter().map(|index| &index.record).collect();
    for index in records.iter().filter(|record| own.contains(record.name.as_str())) {
        // Variants of one package were given different things.
        let packages = || facts.packages.iter().filter(|package| package.name() == index.name);
        let is_for_python =
            packages().any(|package| package.manifest.host.as_ref().is_some_and(|it| it.python().is_some()));
        for text in &index.depends {
            let wanted = match Wanted::read(text) {
                Ok(wanted) => wanted,
                Err(error) => {
                    hits.add(&index.name, format!("its dependency `{text}` is no match spec")).evidence(error);
                    continue;
                }
            };
            let name = wanted.name().unwrap_or(text);
            if wanted.is_of_machine() || records.iter().any(|record| wanted.is_met_by(record)) {
                continue;
            }
            let have: Vec<String> = records
                .iter()
                .filter(|other| other.name == name)
                .map(|other| format!("{} {}", other.version, other.build))
                .collect();
            if !have.is_empty() {
                if !facts.rules.partial {
                    hits.add(&index.name, format!("needs {text}; here is {name} {}", have.join(", ")));
                }
                continue;
            }
            let declared = packages().any(|package| package.uses().chain(package.given()).any(|known| known == name))
                || is_for_python && ["python", "python_abi"].contains(&name);
            let vendors = facts.rules.manifests.vendor.libraries().any(|library| library.conda == name);
            if !declared && !vendors && !external.contains(&name) && !facts.rules.partial {
                hits.add(&index.name, format!("needs {text}, which is neither in the release nor declared in `uses`"));
            }
        }
    }
}
