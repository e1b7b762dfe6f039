//! Which code a package may hold: device code out of core, host code out of kernels.

use std::collections::{BTreeMap, BTreeSet};

use crate::arch::KernelTarget;
use crate::gpu::CodeImage;
use crate::lint::{Hits, ParameterKind, Parameters, Predicate};
use crate::recipe::{ComponentKind, KernelForm};
use crate::report::Subject;
use crate::verify::{BundleFacts, FileFacts, PackageFacts};

pub(super) fn predicates() -> Vec<Predicate<BundleFacts>> {
    vec![
        Predicate {
            id: "core-device-code",
            parameters: &[
                ("sections", ParameterKind::Texts),
                ("import-prefixes", ParameterKind::Texts),
                ("libraries", ParameterKind::Texts),
            ],
            check: core_device_code,
        },
        Predicate { id: "device-debug", parameters: &[], check: device_debug },
        Predicate { id: "kernel-capability", parameters: &[], check: kernel_capability },
        Predicate { id: "kernel-relocatable", parameters: &[], check: kernel_relocatable },
        Predicate { id: "monolithic", parameters: &[], check: monolithic },
        Predicate { id: "noarch-host-code", parameters: &[], check: noarch_host_code },
    ]
}

/// Contract 1 of the design: core is compiled by the ordinary host compiler.
fn core_device_code(facts: &BundleFacts, parameters: &Parameters, hits: &mut Hits) {
    let core = facts.packages.iter().filter(|package| package.manifest.component == ComponentKind::Core);
    for package in core {
        for file in package.files() {
            if !file.device.images.is_empty() {
                hits.add(package.subject(&file.path), format!("core holds device code: {}", device_list(file)));
            }
        }
        for (subject, file, elf) in package.objects() {
            if elf.sections.is_empty() {
                hits.incomplete(&subject, "has no section headers: device code in it cannot be seen");
            }
            let sections = parameters.texts("sections");
            let section =
                elf.sections.iter().find(|section| section.size > 0 && sections.contains(&section.name.as_str()));
            if let Some(section) = section.filter(|_| file.device.images.is_empty()) {
                hits.add(&subject, format!("core holds a section for device code, {}", section.name))
                    .evidence(format!("{} bytes", section.size));
            }
            // With libraries that ship cut it cannot be kept; that is said once, by name.
            if is_monolithic(facts, package) {
                continue;
            }
            let registers = elf.imports.iter().find(|import| {
                parameters.texts("import-prefixes").iter().any(|prefix| import.name.starts_with(prefix))
            });
            if let Some(import) = registers {
                hits.add(&subject, format!("core registers device code at start: it imports `{}`", import.name));
            }
            for needed in &elf.needed {
                if parameters.texts("libraries").iter().any(|stem| is_library(needed, stem)) {
                    hits.add(&subject, format!("core is linked with {needed}"))
                        .fix(format!("open {needed} with dlopen when a GPU is wanted, or move the code to rtc"));
                }
            }
        }
    }
}

/// Whether libraries of the same simulator ship whole, host code and device code in one.
fn is_monolithic(facts: &BundleFacts, package: &PackageFacts) -> bool {
    facts
        .packages
        .iter()
        .any(|other| other.manifest.is_slice() && other.manifest.simulator == package.manifest.simulator)
}

/// Contract 1 is not kept by a simulator whose libraries ship cut: each such library by its path, once a release.
fn monolithic(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    let mut libraries: BTreeMap<(String, &str), BTreeSet<String>> = BTreeMap::new();
    for package in facts.packages.iter().filter(|package| package.manifest.is_slice()) {
        for (_, file, _) in package.objects().filter(|(_, file, _)| !file.device.images.is_empty()) {
            let release = format!("{}-kernels", package.manifest.simulator);
            let targets = libraries.entry((release, &file.path)).or_default();
            targets.extend(package.manifest.target.map(|target| target.to_string()));
        }
    }
    for ((release, path), targets) in libraries {
        let targets = targets.into_iter().collect::<Vec<_>>().join(" ");
        hits.add(Subject::file(release, path), "holds host code and device code in one: contract 1 is not kept")
            .evidence(format!("there is one for each of {targets}; an environment has exactly one of them"));
    }
}

/// Whether a NEEDED entry names a library: `libcuda` is `libcuda.so.1`, not `libcudart.so.13`.
fn is_library(needed: &str, stem: &str) -> bool {
    let name = needed.rsplit('/').next().unwrap_or(needed);
    name.strip_prefix(stem).is_some_and(|rest| rest.starts_with(".so"))
}

fn device_list(file: &FileFacts) -> String {
    let all: BTreeSet<String> = file.device.images.iter().map(CodeImage::describe).collect();
    all.into_iter().collect::<Vec<_>>().join(", ")
}

fn is_kernels_for_gpu(package: &PackageFacts) -> Option<KernelTarget> {
    let target = package.manifest.target.filter(|target| target.capability().is_some());
    target.filter(|_| package.manifest.component == ComponentKind::Kernels && package.has_files())
}

/// Contract 2: exactly the package's target, and no host code in a `noarch` package.
fn kernel_capability(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    for package in &facts.packages {
        let Some(target) = is_kernels_for_gpu(package) else { continue };
        let mut right = 0;
        for file in package.files() {
            // What the driver links with relocatable PTX may be machine code for every device.
            let is_linked_later = |image: &CodeImage| {
                image.relocatable && matches!(target, KernelTarget::Ptx(_)) && package.manifest.is_slice()
            };
            for image in &file.device.images {
                let is_right = image.target() == Some(target);
                right += usize::from(is_right);
                let is_known = image.capability.is_some() || file.device.unexamined.is_empty();
                if !is_right && !is_linked_later(image) && is_known {
                    let place = if image.place.is_file() { String::new() } else { format!(" in {}", image.place) };
                    hits.add(
                        package.subject(&file.path),
                        format!("holds {}{place}; the package is for {target}", image.describe()),
                    );
                }
            }
        }
        if right == 0 && package.files().iter().all(|file| file.device.unexamined.is_empty()) {
            hits.add(package.label(), format!("holds no device code for {target}"))
                .fix(format!("compile the kernel groups for {target}, or take it out of the matrix"));
        }
    }
}

/// The driver's loader takes linked cubins only.
fn kernel_relocatable(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    kernel_files(facts, |package, file| {
        // Linkers leave in a library what its kernels were linked from.
        if package.manifest.form().is_some_and(KernelForm::is_loaded_by_driver)
            && file.device.images.iter().any(|image| image.relocatable)
        {
            hits.add(package.subject(&file.path), "holds relocatable device code, which no driver loads");
        }
    });
}

fn device_debug(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    for contents in facts.contents() {
        for file in &contents.files {
            let debug: Vec<_> = file.device.images.iter().filter(|image| image.debug).collect();
            if !debug.is_empty() {
                let places = debug.iter().map(|image| &image.place).filter(|place| !place.is_file());
                let places: BTreeSet<String> = places.map(ToString::to_string).collect();
                hits.add(contents.subject(&file.path), "was compiled for the device debugger: it is not optimised")
                    .evidence_lines(places);
            }
        }
    }
}

fn kernel_files<'a>(facts: &'a BundleFacts, mut visit: impl FnMut(&'a PackageFacts, &'a FileFacts)) {
    for package in facts.packages.iter().filter(|package| package.manifest.component == ComponentKind::Kernels) {
        for file in package.files() {
            visit(package, file);
        }
    }
}

/// A package without platform is installed on every platform.
fn noarch_host_code(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    for package in facts.packages.iter().filter(|package| package.manifest.platform.is_none()) {
        for (subject, _, elf) in package.objects() {
            hits.add(subject, format!("is host code ({}) in a package for every platform", elf.machine));
        }
    }
}
