//! Which code a package may hold: device code out of core, host code out of kernels.

use super::super::{BundleFacts, FileFacts, PackageFacts};
use crate::elf;
use crate::lint::{Hits, ParameterKind, Parameters, Predicate};
use crate::recipe::ComponentKind;
use crate::target::KernelTarget;

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
        Predicate { id: "kernel-capability", parameters: &[], check: kernel_capability },
        Predicate { id: "noarch-host-code", parameters: &[], check: noarch_host_code },
        Predicate { id: "slim-lto", parameters: &[("section-prefixes", ParameterKind::Texts)], check: slim_lto },
    ]
}

/// Contract 1 of the design: core is compiled by the ordinary host compiler.
fn core_device_code(facts: &BundleFacts, parameters: &Parameters, hits: &mut Hits) {
    let core = facts.packages.iter().filter(|package| package.manifest.component == ComponentKind::Core);
    for package in core {
        for file in &package.files {
            if let Some(first) = file.device.first() {
                let what = device_list(file);
                hits.add(package.subject(&file.path), format!("core holds device code: {}", first.what))
                    .evidence_lines((file.device.len() > 1).then_some(what));
            }
        }
        for (subject, file, elf) in package.objects() {
            if elf.sections.is_empty() {
                hits.incomplete(&subject, "has no section headers: device code in it cannot be seen");
            }
            let sections = parameters.texts("sections");
            let section =
                elf.sections.iter().find(|section| section.size > 0 && sections.contains(&section.name.as_str()));
            if let Some(section) = section.filter(|_| file.device.is_empty()) {
                hits.add(&subject, format!("core holds a section for device code, {}", section.name))
                    .evidence(format!("{} bytes", section.size));
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

/// Whether a NEEDED entry names a library: `libcuda` is `libcuda.so.1`, not `libcudart.so.13`.
fn is_library(needed: &str, stem: &str) -> bool {
    let name = needed.rsplit('/').next().unwrap_or(needed);
    name.strip_prefix(stem).is_some_and(|rest| rest.starts_with(".so"))
}

fn device_list(file: &FileFacts) -> String {
    let mut all: Vec<String> = Vec::new();
    for image in &file.device {
        if !all.contains(&image.what) {
            all.push(image.what.clone());
        }
    }
    all.join(", ")
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
        for file in &package.files {
            for image in &file.device {
                if image.target == Some(target) {
                    right += 1;
                    continue;
                }
                let place = if image.place.is_empty() { String::new() } else { format!(" in {}", image.place) };
                hits.add(
                    package.subject(&file.path),
                    format!("holds {}{place}; the package is for {target}", image.what),
                );
            }
        }
        if right == 0 && !package.files.iter().any(|file| file.device_unread) {
            hits.add(package.name(), format!("holds no device code for {target}"))
                .fix(format!("compile the kernel groups for {target}, or take it out of the matrix"));
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

/// Objects of gcc's `-flto` without `-ffat-lto-objects` hold only the compiler's own intermediate code.
fn slim_lto(facts: &BundleFacts, parameters: &Parameters, hits: &mut Hits) {
    for package in &facts.packages {
        for (subject, _, elf) in package.objects() {
            let is_lto = |section: &elf::SectionFact| {
                parameters.texts("section-prefixes").iter().any(|prefix| section.name.starts_with(prefix))
            };
            let machine_code = elf.sections.iter().any(|section| section.name.starts_with(".text") && section.size > 0);
            if elf.kind == elf::FileKind::Object && elf.sections.iter().any(is_lto) && !machine_code {
                hits.incomplete(
                    subject,
                    "holds link-time intermediate code only: what it needs and gives is not known",
                );
            }
        }
    }
}
