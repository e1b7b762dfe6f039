//! Kernels by name in host libraries: visible to the loader, given by two, or with two layouts.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{BundleFacts, Contents, FileFacts};
use crate::elf;
use crate::gpu::Param;
use crate::lint::{Hits, ParameterKind, Parameters, Predicate};

pub(super) fn predicates() -> Vec<Predicate<BundleFacts>> {
    vec![
        Predicate {
            id: "device-stub-visible",
            parameters: &[("marks", ParameterKind::Texts), ("most-names", ParameterKind::Number)],
            check: device_stub_visible,
        },
        Predicate { id: "kernel-layout", parameters: &[], check: kernel_layout },
        Predicate { id: "kernel-twice", parameters: &[], check: kernel_twice },
    ]
}

fn kernels(file: &FileFacts) -> BTreeSet<&str> {
    let kernels = file.device.images.iter().flat_map(|image| &image.kernels);
    kernels.map(|kernel| kernel.signature.name.as_str()).collect()
}

/// The host's half of each kernel that other libraries can see: the stub has the kernel's own name.
fn exported<'a>(file: &'a FileFacts, elf: &'a elf::Facts) -> BTreeSet<&'a str> {
    let kernels = kernels(file);
    let exports = elf.exports.iter().map(|export| export.name.as_str());
    exports.filter(|name| kernels.contains(name)).collect()
}

fn device_stub_visible(facts: &BundleFacts, parameters: &Parameters, hits: &mut Hits) {
    let marks = parameters.texts("marks");
    let most = usize::try_from(parameters.number("most-names")).unwrap_or(usize::MAX);
    for contents in facts.contents() {
        for (subject, file, elf) in contents.loaded().filter(|(_, file, _)| !file.device.images.is_empty()) {
            let mut visible = exported(file, elf);
            let exports = elf.exports.iter().map(|export| export.name.as_str());
            visible.extend(exports.filter(|name| marks.iter().any(|mark| name.contains(mark))));
            if visible.is_empty() {
                continue;
            }
            let more = visible.len().saturating_sub(most);
            hits.add(subject, format!("exports the host's half of its kernels: {} symbols", visible.len()))
                .evidence_lines(visible.iter().take(most).map(|name| format!("`{name}`")))
                .evidence_lines((more > 0).then(|| format!("and {more} more")));
        }
    }
}

/// Two libraries of one package give the same stub: the loader takes the first for both.
fn kernel_twice(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    for contents in facts.contents() {
        let mut givers: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (_, file, elf) in contents.loaded() {
            for name in exported(file, elf) {
                givers.entry(name).or_default().push(&file.path);
            }
        }
        let mut by_givers: BTreeMap<Vec<&str>, Vec<&str>> = BTreeMap::new();
        for (name, files) in givers.into_iter().filter(|(_, files)| files.len() > 1) {
            by_givers.entry(files).or_default().push(name);
        }
        for (files, names) in by_givers {
            let what = match names.as_slice() {
                [name] => format!("kernel `{name}`"),
                _ => format!("{} kernels, `{}` among them,", names.len(), names[0]),
            };
            hits.add(contents.subject(files[0]), format!("{what} is also exported by {}", files[1..].join(", ")));
        }
    }
}

/// One kernel, two parameter layouts in the code for two targets: a launch fits only one.
fn kernel_layout(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    for contents in facts.contents() {
        for file in &contents.files {
            layouts_of(contents, file, hits);
        }
    }
}

fn layouts_of(contents: &Contents, file: &FileFacts, hits: &mut Hits) {
    type Layouts<'a> = BTreeMap<&'a [Param], BTreeSet<String>>;
    let mut of_kernel: BTreeMap<(&str, &str), Layouts<'_>> = BTreeMap::new();
    for image in &file.device.images {
        let Some(target) = image.target() else { continue };
        // Two members of an archive may hold two kernels of one name, each for itself.
        let member = image.place.split_once(": ").map_or("", |(member, _)| member);
        for kernel in &image.kernels {
            let layouts = of_kernel.entry((member, &kernel.signature.name)).or_default();
            layouts.entry(&kernel.signature.params).or_default().insert(target.to_string());
        }
    }
    for ((_, name), layouts) in of_kernel.into_iter().filter(|(_, layouts)| layouts.len() > 1) {
        // The same target with two layouts is two kernels of one name in two modules.
        let mut seen = BTreeSet::new();
        if !layouts.values().flatten().all(|target| seen.insert(target)) {
            continue;
        }
        let lines = layouts.iter().map(|(params, targets)| {
            let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
            let params: Vec<String> = params.iter().map(|param| format!("{}+{}", param.offset, param.size)).collect();
            format!("{}: {} (offset+bytes)", targets.join(" "), params.join(" "))
        });
        hits.add(contents.subject(&file.path), format!("kernel `{name}` has {} parameter layouts", layouts.len()))
            .evidence_lines(lines);
    }
}
