//! What the slice of a package says of itself: in a wheel's name, in a conda package's build and dependencies.

use crate::arch::{Capability, KernelTarget, Suffix};
use crate::bundle::{Condition, DeviceRange};
use crate::gpu::slice::{PtxRule, SlicePlan, SliceSpec};
use crate::manifest::Manifests;
use crate::package::{Effort, device_range, preference};
use crate::slice::CondaLabel;

/// `sm80.sm90`, `ptx90`: a wheel's local version.
pub(super) fn local_version(ask: &SliceSpec) -> String {
    words(ask).join(".")
}

/// `sm_80-sm_90`, `compute_90`: the directory that a wheel's slice has for itself. Installers sort a local version above
/// the plain one, so in one directory with others it would be everybody's choice.
pub(super) fn index_directory(ask: &SliceSpec) -> String {
    let target = |capability: &Capability| match ask.ptx {
        PtxRule::Only => capability.compute(),
        _ => capability.sm(),
    };
    let mut names: Vec<String> = ask.capabilities.iter().map(target).collect();
    if ask.ptx == PtxRule::Keep {
        names.push("ptx".to_owned());
    }
    names.join("-")
}

fn words(ask: &SliceSpec) -> Vec<String> {
    let kind = if ask.ptx == PtxRule::Only { "ptx" } else { "sm" };
    let mut names: Vec<String> =
        ask.capabilities.iter().map(|capability| format!("{kind}{}", &capability.sm()[3..])).collect();
    if ask.ptx == PtxRule::Keep {
        names.push("ptx".to_owned());
    }
    names
}

/// Label of a `.conda` package whose files were cut by `plans` to `bytes` in all.
pub(super) fn conda_label<'a>(
    ask: &SliceSpec,
    plans: impl Iterator<Item = &'a SlicePlan>,
    bytes: u64,
    manifests: &Manifests,
) -> CondaLabel {
    let highest = ask.capabilities.iter().max().copied();
    let target = match ask.ptx {
        PtxRule::Only => highest.map(KernelTarget::Ptx),
        _ => highest.map(KernelTarget::Sass),
    };
    CondaLabel {
        word: words(ask).join("_"),
        conditions: vec![Condition::Device { ranges: ranges(ask, plans, manifests), if_unknown: false }],
        preference: target.map_or(0, preference),
        effort: Effort::for_size(bytes),
    }
}

/// Where the slice runs. Never
/// more than what was asked for, but that PTX which stays reaches what is newer.
fn ranges<'a>(ask: &SliceSpec, plans: impl Iterator<Item = &'a SlicePlan>, manifests: &Manifests) -> Vec<DeviceRange> {
    let newer = match ask.ptx {
        // Each container has PTX for the lowest, so all above are served.
        PtxRule::Only => ask.capabilities.iter().map(|capability| capability.plain()).min(),
        PtxRule::Keep => highest_ptx(plans),
        PtxRule::Needed | PtxRule::Drop => None,
    };
    let sass = ask.capabilities.iter().filter(|_| ask.ptx != PtxRule::Only);
    let mut ranges: Vec<DeviceRange> =
        sass.filter_map(|capability| device_range(KernelTarget::Sass(*capability), &manifests.capabilities)).collect();
    ranges.extend(newer.map(DeviceRange::from));
    ranges.dedup();
    ranges
}

/// The highest plain PTX that stays in any file: every device from it on is served in all of them.
fn highest_ptx<'a>(plans: impl Iterator<Item = &'a SlicePlan>) -> Option<Capability> {
    let kept = plans.flat_map(|plan| &plan.targets).filter(|target| target.kept > 0);
    let plain = kept.filter_map(|target| match target.target.parse() {
        Ok(KernelTarget::Ptx(capability)) if capability.suffix == Suffix::Plain => Some(capability),
        _ => None,
    });
    plain.max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Data;
    use crate::package::conda::selection;

    #[test]
    fn packages_say_where_they_run() {
        let manifests = Manifests::load(&Data::at("no such directory")).unwrap();
        let label = |capabilities: &[&str], ptx| {
            let capabilities = capabilities.iter().map(|text| text.parse().unwrap()).collect();
            let ask = SliceSpec { capabilities, ptx, ..SliceSpec::default() };
            let label = conda_label(&ask, std::iter::empty(), 0, &manifests);
            (local_version(&ask), label.word, selection(&label.conditions).depends.join(" "))
        };
        let texts = |tag: &str, word: &str, range: &str| (tag.to_owned(), word.to_owned(), range.to_owned());
        assert_eq!(
            label(&["8.0", "9.0a"], PtxRule::Needed),
            texts("sm80.sm90a", "sm80_sm90a", "__cuda_arch >=8.0,<9,!=8.7,!=8.8|==9.0")
        );
        assert_eq!(label(&["9.0"], PtxRule::Only), texts("ptx90", "ptx90", "__cuda_arch >=9.0"));
    }
}
