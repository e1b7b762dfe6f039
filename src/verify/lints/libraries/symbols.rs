//! Kernels by name in host libraries: visible to the loader, given by two, or with two layouts.

use std::collections::{BTreeMap, BTreeSet};

use crate::arch::KernelTarget;
use crate::elf;
use crate::gpu::{Kernel, Param};
use crate::lint::{Hits, ParameterKind, Parameters, Predicate};
use crate::verify::{BundleFacts, Contents, FileFacts};

pub(in crate::verify::lints) fn predicates() -> Vec<Predicate<BundleFacts>> {
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
                .evidence_lines(visible.iter().take(most).map(|name| format!("`{}`", facts.rules.shown(name))))
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
                [name] => format!("kernel `{}`", facts.rules.shown(name)),
                _ => format!("{} kernels, `{}` among them,", names.len(), facts.rules.shown(names[0])),
            };
            hits.add(contents.subject(files[0]), format!("{what} is also exported by {}", files[1..].join(", ")));
        }
    }
}

/// One kernel, two parameter layouts in the code for two targets: a launch fits only one.
fn kernel_layout(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    for contents in facts.contents() {
        for file in &contents.files {
            layouts_of(facts, contents, file, hits);
        }
    }
}

/// Parameters, and where they begin in their constant bank: PTX has none.
type Layout<'a> = (&'a [Param], u32);

/// A kernel in the code for one target.
struct Compiled<'a> {
    member: &'a str,
    kernel: &'a Kernel,
    target: KernelTarget,
}

impl<'a> Compiled<'a> {
    fn name(&self) -> (&'a str, &'a str) {
        (self.member, &self.kernel.signature.name)
    }

    fn layout(&self) -> Layout<'a> {
        let begin = self.kernel.resources.and_then(|uses| uses.parameters_at).unwrap_or(0);
        (&self.kernel.signature.params, begin)
    }
}

fn layouts_of(facts: &BundleFacts, contents: &Contents, file: &FileFacts, hits: &mut Hits) {
    let mut all: Vec<Compiled<'_>> = Vec::new();
    for image in &file.device.images {
        let Some(target) = image.target() else { continue };
        // Two members of an archive may hold two kernels of one name, each for itself.
        let member = image.place.member();
        all.extend(image.kernels.iter().map(|kernel| Compiled { member, kernel, target }));
    }
    // Files with hundreds of thousands of kernels: only what differs is looked at closely.
    all.sort_unstable_by_key(Compiled::name);
    for same in all.chunk_by(|one, other| one.name() == other.name()) {
        let name = &same[0].kernel.signature.name;
        if same.iter().all(|it| it.layout() == same[0].layout()) {
            continue;
        }
        let mut layouts: BTreeMap<Layout<'_>, BTreeSet<String>> = BTreeMap::new();
        for compiled in same {
            layouts.entry(compiled.layout()).or_default().insert(compiled.target.to_string());
        }
        if follow_from_one(&layouts) {
            continue;
        }
        // The same target with two layouts is two kernels of one name in two modules.
        let mut seen = BTreeSet::new();
        if !layouts.values().flatten().all(|target| seen.insert(target)) {
            continue;
        }
        let mut by_params: BTreeMap<&[Param], Vec<&str>> = BTreeMap::new();
        for ((params, _), targets) in &layouts {
            by_params.entry(params).or_default().extend(targets.iter().map(String::as_str));
        }
        let lines = by_params.iter().map(|(params, targets)| {
            let params: Vec<String> = params.iter().map(|param| format!("{}+{}", param.offset, param.size)).collect();
            format!("{}: {} (offset+bytes)", targets.join(" "), params.join(" "))
        });
        hits.add(
            contents.subject(&file.path),
            format!("kernel `{}` has {} parameter layouts", facts.rules.shown(name), by_params.len()),
        )
        .evidence_lines(lines);
    }
}

/// The largest alignment that CUDA gives a type, as a power of two, with room to spare.
const MOST_ALIGNED: u32 = 12;

/// Whether the layouts follow from one declaration. Compilers align a parameter's place in the constant bank, where
/// parameters begin elsewhere on each capability: one with an alignment of 64 has offset 32 behind 0x160 and 48 behind
/// 0x210.
fn follow_from_one(layouts: &BTreeMap<Layout<'_>, BTreeSet<String>>) -> bool {
    let mut all = layouts.keys();
    let Some((first, _)) = all.next() else { return true };
    if all.clone().all(|(params, _)| params == first) {
        return true;
    }
    let has_sizes_of_first =
        |params: &[Param]| params.iter().map(|param| param.size).eq(first.iter().map(|it| it.size));
    let stands_aligned = |index: usize, align: u32| {
        layouts.keys().all(|(params, begin)| {
            let end =
                index.checked_sub(1).map_or(0, |before| params[before].offset.saturating_add(params[before].size));
            let place = begin.saturating_add(end).checked_next_multiple_of(1 << align);
            place.and_then(|place| place.checked_sub(*begin)) == Some(params[index].offset)
        })
    };
    all.all(|(params, _)| has_sizes_of_first(params))
        && (0..first.len()).all(|index| (0..=MOST_ALIGNED).any(|align| stands_aligned(index, align)))
}
