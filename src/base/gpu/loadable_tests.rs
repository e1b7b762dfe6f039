use super::*;
use crate::data::Data;
use crate::gpu::{CodeKind, CodePlace};

fn manifests() -> Manifests {
    Manifests::load(&Data::at("no such directory")).unwrap()
}

const LINK: &str = ".nv_fatbin";
const REL: &str = "__nv_relfatbin";

fn image(section: &str, container: u64, target: &str, left_by_link: bool) -> CodeImage {
    let target: KernelTarget = target.parse().unwrap();
    let kind = if matches!(target, KernelTarget::Ptx(_)) { CodeKind::Ptx } else { CodeKind::Sass };
    let (capability, relocatable) = (target.capability(), section == REL);
    let place = CodePlace::default().section(section);
    CodeImage { capability, container, relocatable, left_by_link, ..CodeImage::new(kind, &place, container + 64, 1) }
}

/// A link's result, and the containers of what it was made from.
fn linked(link: &[&str], left: &[&[&str]]) -> Vec<CodeImage> {
    let of_link = link.iter().map(|target| image(LINK, 0, target, false));
    let containers = (1..).map(|number| number * 1000).zip(left);
    let left = containers.flat_map(|(at, targets)| targets.iter().map(move |target| image(REL, at, target, true)));
    of_link.chain(left).collect()
}

fn targets(images: &[CodeImage]) -> Vec<String> {
    let loadable = loadable(&images.iter().collect::<Vec<_>>(), &manifests());
    let targets: BTreeSet<KernelTarget> = loadable.iter().filter_map(|image| image.target()).collect();
    targets.iter().map(ToString::to_string).collect()
}

/// As nvcc leaves it for `-gencode arch=compute_80,code=[sm_80,compute_80]`.
#[test]
fn ptx_that_a_link_left_is_linked_by_the_driver() {
    let unit: &[&str] = &["sm_80", "compute_80"];
    assert_eq!(targets(&linked(&["sm_80"], &[unit, unit])), ["compute_80", "sm_80"]);
    // Machine code alone is none that drivers were seen to link.
    assert_eq!(targets(&linked(&["sm_80"], &[&["sm_60", "sm_80"]])), ["sm_80"]);
}

/// As NVIDIA's HPC compilers leave it.
#[test]
fn what_another_runtime_loads_is_the_linked_code_alone() {
    let mut images = linked(&["sm_80"], &[&["sm_80", "compute_80"]]);
    images[0].hidden = true;
    assert_eq!(targets(&images), ["sm_80"]);
}

#[test]
fn all_that_a_link_was_made_from_must_be_there() {
    assert_eq!(targets(&linked(&["sm_80"], &[&["sm_80", "compute_80"], &["sm_80"]])), ["sm_80"]);
    assert_eq!(targets(&linked(&["sm_75"], &[&["compute_75"], &["compute_90"]])), ["compute_90", "sm_75"]);
    let both: &[&str] = &["compute_75", "compute_90"];
    assert_eq!(targets(&linked(&["sm_75"], &[both, both])), ["compute_75", "compute_90", "sm_75"]);
    assert_eq!(targets(&linked(&["sm_75"], &[&["compute_75"], &["compute_90a"]])), ["compute_90a", "sm_75"]);
}

/// The device runtime, which nvcc adds to a link of PTX alone, is machine code for every device, and PTX for those to come.
#[test]
fn machine_code_counts_beside_ptx_that_is_linked() {
    let runtime = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120", "sm_121"];
    let whole = [&runtime[..], &["compute_121"]].concat();
    assert_eq!(targets(&linked(&[], &[&["compute_80"], &whole])), ["compute_80"]);
    assert_eq!(targets(&linked(&[], &[&["compute_80"], &runtime])), [""; 0], "nothing for what comes");
}

#[test]
fn what_nobody_has_linked_counts() {
    let object = [image(REL, 0, "sm_80", false), image(REL, 0, "compute_80", false)];
    assert_eq!(targets(&object), ["compute_80", "sm_80"]);
    let empty = CodeImage { empty: true, ..image(LINK, 0, "sm_90", false) };
    assert_eq!(targets(&[empty]), [""; 0]);
}
