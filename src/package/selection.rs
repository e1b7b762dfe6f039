//! The selector: one build per kernel target, by which a package manager picks the right kernels.
//!
//! A solver takes, of one package's builds that fit, the one with the highest build number. So each
//! build states as conditions where its kernels run, the numbers state which is better, and no
//! build needs to know which others exist: one more capability changes no other package.

use super::Choice;
use crate::arch::{Capability, CudaVersion, KernelTarget, Suffix};
use crate::bundle::{Condition, DeviceRange};
use crate::manifest::{Capabilities, Manifests};

/// Devices that run code for a target; none for the CPU's. The ranges are CUDA's compatibility rules,
/// those of [`choose`](crate::gpu::choose): SASS on the same major from its minor on, never between
/// desktop and Tegra; `a` code on exactly its capability; `f` code in its family; PTX on everything
/// from its capability on.
pub fn device_range(target: KernelTarget, known: &Capabilities) -> Option<DeviceRange> {
    let capability = target.capability()?;
    let plain = capability.plain();
    Some(match (capability.suffix, target) {
        (Suffix::Exact, _) => DeviceRange::Only(vec![plain]),
        (Suffix::Family, _) => {
            let family = known.get(plain).map(|entry| entry.family.clone()).unwrap_or_default();
            only(if family.is_empty() { vec![plain] } else { family })
        }
        (Suffix::Plain, KernelTarget::Ptx(_)) => DeviceRange::from(plain),
        (Suffix::Plain, _) => same_major(plain, known),
    })
}

/// Same major, equal or higher minor, of the same kind. A capability that nobody knows yet counts
/// as desktop, as it does in the chain.
fn same_major(from: Capability, known: &Capabilities) -> DeviceRange {
    let tegra: Vec<Capability> = known
        .iter()
        .filter(|entry| entry.tegra)
        .map(|entry| entry.capability())
        .filter(|capability| capability.major == from.major && capability.minor >= from.minor)
        .collect();
    match known.is_tegra(from) {
        true => only(tegra),
        false => DeviceRange::From { from, below: Some(from.major + 1), except: tegra },
    }
}

fn only(mut capabilities: Vec<Capability>) -> DeviceRange {
    capabilities.sort();
    DeviceRange::Only(capabilities)
}

/// How much one of the recipe's own build number adds to that of a selector: a rebuild beats everything older.
pub const SELECTOR_SCALE: u64 = 100_000_000;
/// The same for packages whose builds differ in the CUDA release alone.
pub const RELEASE_SCALE: u64 = 1000;
/// How much one of the recipe's own build number adds where host variants differ in theirs: a rebuild beats everything
/// older.
pub const VARIANT_SCALE: u64 = 1000;
/// What the default variant has more than others, as conda-forge has it: clients take it unless they are asked for
/// another.
pub const PREFERRED: u64 = 100;
/// Number of the selector that brings all kernels where nobody tells the capability.
pub const ALL_TARGETS: u64 = 9_998_000;
/// Number of the selector for known GPUs that no code runs on: above what serves unknown ones, below all code.
const NO_CODE: u64 = 9_999_000;

/// No GPU that runs CUDA has a lower one.
const FIRST_CAPABILITY: Capability = Capability { major: 1, minor: 0, suffix: Suffix::Plain };

/// How good a build is, as its build number: the order of the fallback chain. Digits, from the left:
/// the recipe's own build number (a rebuild beats everything older); the class (0 CPU and what serves unknown GPUs, 1 PTX,
/// 2 SASS of a family, 3 plain SASS, 4 SASS of exactly one capability); four of the capability, the
/// last one for its suffix; three of the CUDA release, so that of two releases' code for the same
/// device the newer that the driver can load is taken. `sm_90` by CUDA 13.0 is 3 0900 130, and `compute_75` for GPUs whose
/// capability nobody tells 0 0750 130.
pub fn build_number(target: KernelTarget, cuda: CudaVersion, choice: Choice, recipe: u64) -> u64 {
    let class = match (choice, target) {
        (Choice::NoCode, _) => return recipe.saturating_mul(SELECTOR_SCALE).saturating_add(NO_CODE),
        (_, KernelTarget::Cpu | KernelTarget::Spirv(..) | KernelTarget::Vulkan(..) | KernelTarget::WebGpu) => {
            return recipe.saturating_mul(SELECTOR_SCALE);
        }
        (Choice::Unknown, _) => 0,
        (_, KernelTarget::Ptx(_)) => 1,
        (_, KernelTarget::Sass(Capability { suffix: Suffix::Family, .. })) => 2,
        (_, KernelTarget::Sass(Capability { suffix: Suffix::Plain, .. })) => 3,
        (_, KernelTarget::Sass(Capability { suffix: Suffix::Exact, .. })) => 4,
    };
    let capability = target
        .capability()
        .map_or(0, |capability| u64::from(capability.number().min(998)) * 10 + capability.suffix as u64);
    let own = class * 10_000_000 + capability * 1000 + release_digits(cuda);
    recipe.saturating_mul(SELECTOR_SCALE).saturating_add(own)
}

/// The number of the selector that brings all kernels where nobody tells the capability.
pub fn unknown_number(recipe: u64) -> u64 {
    recipe.saturating_mul(SELECTOR_SCALE).saturating_add(ALL_TARGETS)
}

fn release_digits(cuda: CudaVersion) -> u64 {
    u64::from((cuda.major * 10 + cuda.minor.min(9)).min(999))
}

/// How good code for a target is among other builds of one package, by the order of the fallback chain; below 100 million.
pub fn preference(target: KernelTarget) -> u64 {
    build_number(target, CudaVersion::new(0, 0), Choice::Fitting, 0)
}

/// The CUDA release in a selector's build number; none for the CPU's.
pub fn release_of(build_number: u64) -> Option<CudaVersion> {
    let release = u32::try_from(build_number % 1000).unwrap_or_default();
    (release > 0).then(|| CudaVersion::new(release / 10, release % 10))
}

/// The build number of packages that are made once for each CUDA release: the release alone decides.
pub fn release_number(cuda: CudaVersion, recipe: u64) -> u64 {
    recipe.saturating_mul(RELEASE_SCALE).saturating_add(release_digits(cuda))
}

/// The CUDA version of the oldest driver that loads machine code of a release: a driver loads that of every release of
/// its major.
pub fn lowest_driver(cuda: CudaVersion, manifests: &Manifests) -> CudaVersion {
    manifests.cuda.major(cuda.major).map_or(cuda, |major| major.min_driver_cuda)
}

/// What a build asks of the machine: a device that runs its code, and a `driver` that takes it. Machine code asks for
/// [`lowest_driver`]; PTX must be understood by the driver's own compiler, so it asks for the release of its ISA version.
pub fn conditions(target: KernelTarget, driver: CudaVersion, choice: Choice, manifests: &Manifests) -> Vec<Condition> {
    let device = |range, if_unknown| Condition::Device { ranges: vec![range], if_unknown };
    match (choice, device_range(target, &manifests.capabilities)) {
        (Choice::NoCode, _) => vec![device(DeviceRange::from(FIRST_CAPABILITY), false)],
        (_, None) => Vec::new(),
        (_, Some(range)) => vec![Condition::Driver { cuda: driver }, device(range, choice == Choice::Unknown)],
    }
}

#[cfg(test)]
mod tests {
    use rattler_conda_types::{ParseStrictness, Version, VersionSpec};

    use super::super::conda::{Selection, selection};
    use super::*;
    use crate::data::Data;
    use crate::gpu::{Available, choose};

    /// A version against the range of `__cuda >=13.0`, by the rules of conda.
    fn fits(spec: &str, name: &str, version: Option<&str>) -> Option<bool> {
        let range = spec.strip_prefix(name)?.strip_prefix(' ')?;
        let range = VersionSpec::from_str(range, ParseStrictness::Strict).unwrap();
        Some(version.is_some_and(|version| range.matches(&version.parse::<Version>().unwrap())))
    }

    /// A solver in a few lines: of the builds whose conditions hold, the highest number. Old ones know no conditions on
    /// what need not be there.
    fn solve_by(
        items: &[Available],
        driver: CudaVersion,
        device: Option<Capability>,
        manifests: &Manifests,
        heeds_constraints: bool,
    ) -> String {
        let plain_ptx = |item: &Available| match item.target {
            KernelTarget::Ptx(capability) if capability.suffix == Suffix::Plain => Some(capability),
            _ => None,
        };
        let lowest = items.iter().filter_map(plain_ptx).min();
        let (driver, text) = (driver.to_string(), device.map(|device| device.to_string()));
        let nothing = Available { target: KernelTarget::Cpu, cuda: CudaVersion::new(13, 0), ptx_isa: None };
        let mut builds: Vec<(&Available, Choice)> = items.iter().map(|item| (item, Choice::Fitting)).collect();
        let serves_unknown = items.iter().filter(|item| plain_ptx(item).is_some() && plain_ptx(item) == lowest);
        builds.extend(serves_unknown.map(|item| (item, Choice::Unknown)));
        builds.push((&nothing, Choice::NoCode));
        let holds = |(item, choice): &&(&Available, Choice)| {
            let oldest = match item.target {
                KernelTarget::Sass(_) => lowest_driver(item.cuda, manifests),
                _ => item.cuda,
            };
            let conditions = conditions(item.target, oldest, *choice, manifests);
            let Selection { depends, constrains } = selection(&conditions);
            let ok = |spec: &String| {
                fits(spec, "__cuda", Some(driver.as_str())).or(fits(spec, "__cuda_arch", text.as_deref())).unwrap()
            };
            // What conda's text says of a device is what the value says.
            if let (Some(device), [_, Condition::Device { ranges, .. }]) = (device, conditions.as_slice()) {
                let said =
                    depends.iter().chain(&constrains).filter_map(|spec| fits(spec, "__cuda_arch", text.as_deref()));
                assert!(said.eq([ranges.iter().any(|range| range.contains(device))]), "{device}: {ranges:?}");
            }
            let constrained = heeds_constraints && device.is_some();
            depends.iter().all(ok) && (!constrained || constrains.iter().all(ok))
        };
        let best =
            builds.iter().filter(holds).max_by_key(|(item, choice)| build_number(item.target, item.cuda, *choice, 0));
        best.map_or("cpu".to_owned(), |(item, _)| item.target.to_string())
    }

    fn solve(items: &[Available], driver: CudaVersion, device: Option<Capability>, manifests: &Manifests) -> String {
        let [new, old] = [true, false].map(|heeds| solve_by(items, driver, device, manifests, heeds));
        assert_eq!(new, old, "{device:?}: what a solver chooses must not rest on constraints");
        new
    }

    fn items(targets: &[&str], cuda: &str) -> Vec<Available> {
        let cuda = cuda.parse().unwrap();
        targets.iter().map(|text| Available { target: text.parse().unwrap(), cuda, ptx_isa: None }).collect()
    }

    #[test]
    fn conditions_and_numbers_are_the_fallback_chain() {
        let manifests = Manifests::load(&Data::at("no such directory")).unwrap();
        let all: Vec<Capability> = manifests.capabilities.targets(CudaVersion::new(13, 0));
        let every: Vec<String> = all.iter().flat_map(|one| [one.sm(), one.compute()]).collect();
        let every: Vec<&str> = every.iter().map(String::as_str).collect();
        let sets = [
            items(&every, "13.0"),
            items(
                &["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120", "compute_75", "compute_120"],
                "13.0",
            ),
            items(
                &["sm_80", "sm_87", "sm_90", "sm_90a", "sm_100f", "compute_90a", "compute_100f", "compute_80"],
                "13.0",
            ),
            [items(&["sm_60", "sm_86", "compute_50"], "11.8"), items(&["sm_86", "sm_100", "compute_90"], "13.3")]
                .concat(),
        ];
        let devices: Vec<_> = manifests.capabilities.iter().map(|entry| entry.capability()).collect();
        let unborn = [Capability::new(8, 1), Capability::new(9, 5), Capability::new(13, 0)];
        for items in &sets {
            for driver in ["11.4", "11.8", "12.6", "13.0", "13.4"].map(|text| text.parse().unwrap()) {
                for &device in devices.iter().chain(&unborn) {
                    let chosen = choose(device, Some(driver), items, &manifests).chosen;
                    let chosen = chosen.map_or("cpu".to_owned(), |index| items[index].target.to_string());
                    assert_eq!(solve(items, driver, Some(device), &manifests), chosen, "{device}, driver {driver}");
                }
            }
        }
        let volley = &sets[1];
        assert_eq!(solve(volley, CudaVersion::new(13, 0), None, &manifests), "compute_75");
        assert_eq!(solve(volley, CudaVersion::new(12, 6), None, &manifests), "cpu");
    }

    #[test]
    fn ranges_that_people_read() {
        let manifests = Manifests::load(&Data::at("no such directory")).unwrap();
        let range = |text: &str| {
            let cuda = CudaVersion::new(13, 0);
            let (text, choice) = match text.split_once(' ') {
                Some((text, _)) => (text, Choice::Unknown),
                None => (text, Choice::Fitting),
            };
            let conditions = conditions(text.parse().unwrap(), cuda, choice, &manifests);
            let Selection { mut depends, constrains } = selection(&conditions);
            depends.extend(constrains.iter().map(|spec| format!("if known {spec}")));
            depends.last().map_or("any".to_owned(), |spec| spec.replace("__cuda_arch ", ""))
        };
        assert_eq!(range("sm_86"), ">=8.6,<9,!=8.7,!=8.8");
        assert_eq!(range("sm_87"), "==8.7|==8.8");
        assert_eq!(range("sm_90a"), "==9.0");
        assert_eq!(range("sm_120f"), "==12.0|==12.1");
        assert_eq!(range("compute_75 unknown"), "if known >=7.5");
        assert_eq!(range("compute_75"), ">=7.5");
        assert_eq!(range("compute_120"), ">=12.0");
        assert_eq!(range("cpu"), "any");
        let number = |text: &str| build_number(text.parse().unwrap(), CudaVersion::new(13, 0), Choice::Fitting, 2);
        assert_eq!(number("sm_90"), 230_900_130);
        assert_eq!(release_of(number("sm_90")), Some(CudaVersion::new(13, 0)));
        assert_eq!(release_of(number("cpu")), None);
        assert!(number("cpu") < number("compute_75") && number("compute_120") < number("sm_75"));
        let newest = KernelTarget::Ptx(Capability { major: 99, minor: 9, suffix: Suffix::Plain });
        let of = |target, choice| build_number(target, CudaVersion::new(99, 9), choice, 2);
        assert!(number("cpu") < of(newest, Choice::Unknown) && of(newest, Choice::Unknown) < unknown_number(2));
        assert!(unknown_number(2) < of(KernelTarget::Cpu, Choice::NoCode));
        assert!(of(KernelTarget::Cpu, Choice::NoCode) < number("compute_50"));
        assert_eq!(release_of(unknown_number(2)), None);
    }
}
