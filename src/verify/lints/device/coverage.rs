//! Which devices the device code reaches: newer ones, those of `a` code, and kernel by kernel.
//!
//! What runs where is the answer of [`choose`](crate::gpu::choose) alone, the same as a loader gets.

use std::collections::{BTreeMap, BTreeSet};

use crate::arch::{Capability, KernelTarget, Suffix};
use crate::elf::Machine;
use crate::gpu::{CodeImage, loadable, runs_on};
use crate::lint::{Hits, ParameterKind, Parameters, Predicate};
use crate::manifest::Manifests;
use crate::recipe::ComponentKind;
use crate::report::{Level, Subject};
use crate::verify::{BundleFacts, FileFacts, PackageFacts};

pub(super) fn predicates() -> Vec<Predicate<BundleFacts>> {
    vec![
        Predicate { id: "device-coverage", parameters: &[], check: device_coverage },
        Predicate { id: "exact-only", parameters: &[], check: exact_only },
        Predicate { id: "kernel-hole", parameters: &[("most-kernels", ParameterKind::Number)], check: kernel_hole },
        Predicate { id: "ptx-below-sass", parameters: &[], check: ptx_below_sass },
    ]
}

/// Device code that stands or falls together: a release's kernel packages, one library, one archive.
struct Unit<'a> {
    subject: Subject,
    /// The package of others that it is in.
    package: Option<&'a str>,
    /// It holds host code for x86-64, beside which there is no system on a chip.
    is_x86: bool,
    images: Vec<&'a CodeImage>,
    targets: BTreeSet<KernelTarget>,
}

impl<'a> Unit<'a> {
    fn new(subject: Subject, images: Vec<&'a CodeImage>) -> Self {
        // Shaders are for no capability, whatever stands beside them.
        let targets = images.iter().filter_map(|image| image.target()).filter(|target| !target.is_shader()).collect();
        Self { subject, package: None, is_x86: false, images, targets }
    }

    fn sass(&self) -> impl Iterator<Item = Capability> {
        self.targets.iter().filter_map(|target| match target {
            KernelTarget::Sass(capability) => Some(*capability),
            _ => None,
        })
    }

    fn ptx(&self) -> impl Iterator<Item = Capability> {
        self.targets.iter().filter_map(|target| match target {
            KernelTarget::Ptx(capability) => Some(*capability),
            _ => None,
        })
    }

    /// Below which devices nothing is expected to run: the lowest machine code, else the lowest PTX.
    fn bottom(&self) -> Option<Capability> {
        let sass = self.sass().map(Capability::plain).min();
        sass.or_else(|| self.ptx().map(Capability::plain).min())
    }

    /// The capability that a device is newer than: the highest machine code that is not above it.
    fn below(&self, device: Capability) -> Option<Capability> {
        self.sass().map(Capability::plain).filter(|capability| *capability <= device).max().or_else(|| self.bottom())
    }
}

/// All units whose code could be read as a whole; of the rest the report says what is missing.
fn units(facts: &BundleFacts) -> Vec<Unit<'_>> {
    units_of(facts, releases(facts, |_| ()))
}

fn units_of<'a>(facts: &'a BundleFacts, mut units: Vec<Unit<'a>>) -> Vec<Unit<'a>> {
    for contents in &facts.foreign {
        let mut loose = Vec::new();
        for file in contents.files.iter().filter(|file| file.device.unexamined.is_empty()) {
            match embedded(file, &facts.rules.manifests) {
                images if !images.is_empty() => {
                    let is_x86 = file.objects.iter().any(|object| object.elf.machine == Machine::X86_64);
                    let package = Some(&*contents.name);
                    units.push(Unit { package, is_x86, ..Unit::new(contents.subject(&file.path), images) });
                }
                _ => loose.extend(file.device.images.iter().filter(|image| image.place.is_file() && !image.empty)),
            }
        }
        units.push(Unit { package: Some(&contents.name), ..Unit::new(contents.name.as_str().into(), loose) });
    }
    units.retain(|unit| !unit.targets.is_empty());
    units
}

/// The kernel packages of a whole release are one unit, named after the selector; what `by` tells apart are several.
fn releases<K: Ord>(facts: &BundleFacts, by: impl Fn(&PackageFacts) -> K) -> Vec<Unit<'_>> {
    if facts.rules.partial {
        return Vec::new();
    }
    let mut units = Vec::new();
    for core in facts.packages.iter().filter(|package| package.manifest.component == ComponentKind::Core) {
        let mut images: BTreeMap<K, Vec<&CodeImage>> = BTreeMap::new();
        let of_release = facts.packages.iter().filter(|package| {
            package.manifest.component == ComponentKind::Kernels
                && package.manifest.simulator == core.manifest.simulator
                && package.manifest.version == core.manifest.version
        });
        for package in of_release {
            images.entry(by(package)).or_default().extend(package.files().iter().flat_map(|file| &file.device.images));
        }
        let name = format!("{}-kernels", core.manifest.simulator);
        units.extend(images.into_values().map(|images| Unit::new(name.as_str().into(), images)));
    }
    units
}

/// Code inside a library or archive.
fn embedded<'a>(file: &'a FileFacts, manifests: &Manifests) -> Vec<&'a CodeImage> {
    let inside: Vec<&CodeImage> = file.device.images.iter().filter(|image| !image.place.is_file()).collect();
    loadable(&inside, manifests)
}

/// Known devices above the lowest that a unit is for, and one that nobody knows yet. Systems on a chip below its highest
/// machine code count only where they were thought of.
fn devices(unit: &Unit<'_>, bottom: Capability, manifests: &Manifests) -> Vec<Capability> {
    let top = unit.sass().map(Capability::plain).max().unwrap_or(bottom);
    let current = manifests.capabilities.iter().filter(|entry| entry.renamed.is_none());
    let thought_of = current.filter(|entry| !entry.tegra || (entry.capability() > top && !unit.is_x86));
    let mut devices: Vec<Capability> =
        thought_of.map(|entry| entry.capability()).filter(|capability| *capability > bottom).collect();
    let highest = manifests.capabilities.iter().map(|entry| entry.capability().major).max().unwrap_or(0);
    devices.push(Capability::new(highest.max(top.major).saturating_add(1), 0));
    devices
}

/// What stands for all devices that nobody knows yet.
const TO_COME: &str = "whatever comes";

fn device_coverage(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    let manifests = &facts.rules.manifests;
    // Libraries of others that lack nothing but PTX for what is to come, by package: one list of targets is the cause.
    let mut without_future: BTreeMap<(&str, String), Vec<&Unit<'_>>> = BTreeMap::new();
    let units = units(facts);
    for unit in &units {
        let Some(bottom) = unit.bottom() else { continue };
        let devices = devices(unit, bottom, manifests);
        // Behind each gap begins what another machine code reaches.
        let mut missing: BTreeMap<Capability, Vec<String>> = BTreeMap::new();
        for device in devices.iter().filter(|device| !runs_on(**device, &unit.targets, manifests)) {
            let is_last = Some(device) == devices.last();
            let name = if is_last { TO_COME.to_owned() } else { device.to_string() };
            missing.entry(unit.below(*device).unwrap_or(bottom)).or_default().push(name);
        }
        let ptx: Vec<String> = unit.ptx().map(Capability::compute).collect();
        let why = match ptx.as_slice() {
            [] => "it holds no PTX".to_owned(),
            _ => format!("its PTX is {}, which does not reach them", ptx.join(", ")),
        };
        let is_future_alone = missing.values().flatten().eq([TO_COME]);
        if let Some(package) = unit.package.filter(|_| is_future_alone) {
            without_future.entry((package, why)).or_default().push(unit);
            continue;
        }
        for (below, names) in missing {
            let what = format!("nothing runs on {}: newer than {}, and {why}", names.join(", "), below.sm());
            hits.add(&unit.subject, what).evidence(format!("it holds {}", list(&unit.targets)));
        }
    }
    for ((_, why), units) in without_future {
        // The same words for each, so that they are one finding. Today nobody misses anything.
        let lines: Vec<String> =
            units.iter().map(|unit| format!("{} holds {}", unit.subject, list(&unit.targets))).collect();
        for unit in units {
            let what = format!("runs on GPUs of today alone, and on none that is newer: {why}");
            hits.add(&unit.subject, what).evidence_lines(lines.iter().cloned()).weighs(Level::Warn);
        }
    }
}

fn list(targets: &BTreeSet<KernelTarget>) -> String {
    targets.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// PTX reaches what is newer, but was compiled without the features of the highest machine code.
fn ptx_below_sass(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    for unit in units(facts) {
        let plain = unit.ptx().filter(|capability| capability.suffix == Suffix::Plain).max();
        let sass = unit.sass().map(Capability::plain).max();
        if let (Some(ptx), Some(sass)) = (plain, sass)
            && ptx < sass
        {
            hits.add(
                &unit.subject,
                format!(
                    "devices newer than {} get the PTX {}, which knows nothing of {sass}",
                    sass.sm(),
                    ptx.compute()
                ),
            )
            .fix(format!("add PTX for {}", sass.compute()));
        }
    }
}

/// `a` code alone on its device: a driver of the next device refuses it, and so do all other devices.
fn exact_only(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    for unit in units(facts) {
        let is_exact = |target: &KernelTarget| target.capability().is_some_and(|code| code.suffix == Suffix::Exact);
        let others: BTreeSet<KernelTarget> = unit.targets.iter().copied().filter(|target| !is_exact(target)).collect();
        let mut alone: BTreeMap<Capability, Vec<String>> = BTreeMap::new();
        for target in unit.targets.iter().filter(|target| is_exact(target)) {
            let Some(device) = target.capability().map(Capability::plain) else { continue };
            if !runs_on(device, &others, &facts.rules.manifests) {
                alone.entry(device).or_default().push(target.to_string());
            }
        }
        for (device, targets) in alone {
            hits.add(&unit.subject, format!("{device} is covered by {} only", targets.join(" and ")))
                .fix(format!("compile for {} or a lower minor, or add PTX, beside it", device.sm()));
        }
    }
}

/// Kernels of a library that some of its devices lack: the compiler was called with other targets for one file.
fn kernel_hole(facts: &BundleFacts, parameters: &Parameters, hits: &mut Hits) {
    let most = usize::try_from(parameters.number("most-kernels")).unwrap_or(usize::MAX);
    // An environment has the kernels of one CUDA release.
    for unit in units_of(facts, releases(facts, |package| package.manifest.cuda)) {
        let with_target = unit.images.iter().filter_map(|image| Some((image, image.target()?)));
        let mut all: Vec<(&str, KernelTarget)> = with_target
            .flat_map(|(image, target)| image.kernels.iter().map(move |kernel| (&*kernel.signature.name, target)))
            .collect();
        all.sort_unstable();
        // Libraries have thousands of kernels and few sets of targets.
        let mut by_targets: BTreeMap<BTreeSet<KernelTarget>, Vec<&str>> = BTreeMap::new();
        for same in all.chunk_by(|(one, _), (other, _)| one == other) {
            by_targets.entry(same.iter().map(|(_, target)| *target).collect()).or_default().push(same[0].0);
        }
        let with_kernels: BTreeSet<KernelTarget> = by_targets.keys().flatten().copied().collect();
        let is_here = |device: &Capability| !(unit.is_x86 && facts.rules.manifests.capabilities.is_tegra(*device));
        let devices = with_kernels.iter().filter_map(|target| target.capability()).map(Capability::plain);
        let devices: BTreeSet<Capability> = devices.filter(is_here).collect();
        let holes: Vec<Hole<'_>> = by_targets
            .into_iter()
            .map(|(targets, kernels)| {
                let lacks = |device: &&Capability| !runs_on(**device, &targets, &facts.rules.manifests);
                let missing: Vec<String> = devices.iter().filter(lacks).map(ToString::to_string).collect();
                Hole { targets, kernels, missing: missing.join(", ") }
            })
            .filter(|hole| !hole.missing.is_empty())
            .collect();
        if holes.len() > MOST_HOLES {
            many_holes(&unit.subject, holes, hits);
            continue;
        }
        for Hole { targets, kernels, missing } in holes {
            let message = match kernels.as_slice() {
                [kernel] => format!("`{}` has no code that runs on {missing}", facts.rules.shown(kernel)),
                _ => format!("{} kernels have no code that runs on {missing}", kernels.len()),
            };
            let more = kernels.len().saturating_sub(most);
            hits.add(&unit.subject, message)
                .evidence(format!("compiled for {}; the others in it for {}", list(&targets), list(&with_kernels)))
                .evidence_lines(
                    kernels
                        .iter()
                        .take(if kernels.len() > 1 { most } else { 0 })
                        .map(|name| format!("`{}`", facts.rules.shown(name))),
                )
                .evidence_lines((more > 0 && kernels.len() > 1).then(|| format!("and {more} more")));
        }
    }
}

/// Kernels with the same targets, and the devices that these leave out.
struct Hole<'a> {
    targets: BTreeSet<KernelTarget>,
    kernels: Vec<&'a str>,
    missing: String,
}

/// Of more sets of targets than this one finding tells: such a library has code of its own for each GPU.
const MOST_HOLES: usize = 4;

fn many_holes(subject: &Subject, mut holes: Vec<Hole<'_>>, hits: &mut Hits) {
    holes.sort_by_key(|hole| std::cmp::Reverse(hole.kernels.len()));
    let all: usize = holes.iter().map(|hole| hole.kernels.len()).sum();
    let more = holes.len() - MOST_HOLES;
    let line = |hole: &Hole<'_>| format!("{} not on {}", hole.kernels.len(), hole.missing);
    let message = format!("{all} kernels have no code for some of its devices, in {} sets", holes.len());
    hits.add(subject, message)
        .evidence_lines(holes.iter().take(MOST_HOLES).map(line))
        .evidence(format!("and {more} smaller {}", if more == 1 { "set" } else { "sets" }));
}
