//! Slicing over bytes: rules, groups, hostile files. Libraries of the real compiler are sliced in
//! `tests/suite/slicing.rs`.

use super::{FreedSpace, LtoRule, PtxRule, SliceError, SlicePlan, SliceSpec, holds, plan};
use crate::data::Data;
use crate::elf::fixture as host;
use crate::gpu::fixture::{PTX, Store, container, cubin, entry, group};
use crate::gpu::{Look, device_code_with};
use crate::manifest::Manifests;

const EXACT: u64 = 0x10_0000;
const FAMILY: u64 = 0x20_0000;

fn manifests() -> Manifests {
    Manifests::load(&Data::at("no such directory")).unwrap()
}

fn ask(capabilities: &[&str]) -> SliceSpec {
    let capabilities = capabilities.iter().map(|text| text.parse().unwrap()).collect();
    SliceSpec { capabilities, ..SliceSpec::default() }
}

/// An object whose section holds the containers.
fn object(section: &str, containers: &[Vec<u8>]) -> Vec<u8> {
    let dir = host::dir();
    let data = dir.path().join("containers");
    std::fs::write(&data, containers.concat()).unwrap();
    let source = format!(
        "asm(\".section {section},\\\"a\\\",@progbits\\n.balign 8\\n.incbin \\\"{}\\\"\\n.text\");",
        data.display()
    );
    std::fs::read(host::compile(dir.path(), "object.o", &source, &["-c"])).unwrap()
}

fn sass(arch: u32, flags: u64) -> Vec<u8> {
    entry(2, arch, 0x11 | flags, &cubin(8, 0x0600_0004 | arch << 8, &[], None), Store::Lz4)
}

fn ptx(arch: u32) -> Vec<u8> {
    entry(1, arch, 0x11, PTX.as_bytes(), Store::Zstd)
}

fn lto(arch: u32) -> Vec<u8> {
    entry(8, arch, 0x11, &[7; 40], Store::Raw)
}

fn kept(plan: &SlicePlan) -> Vec<&str> {
    plan.targets.iter().filter(|target| target.kept > 0).map(|target| target.target.as_str()).collect()
}

/// What the sliced bytes hold, by the reader.
fn listed(bytes: &[u8]) -> Vec<String> {
    let code = device_code_with(bytes, Look { kernels: false, deep: true }).unwrap();
    assert!(code.unexamined.is_empty(), "{:?}", code.unexamined);
    code.images.iter().map(|image| image.target().map_or_else(|| "other".to_owned(), |it| it.to_string())).collect()
}

fn sliced(file: &[u8], ask: &SliceSpec) -> (SlicePlan, Vec<u8>) {
    let plan = plan(file, ask, FreedSpace::Cut, &manifests()).unwrap();
    let bytes = plan.apply(file).unwrap();
    assert_eq!(bytes.len() as u64, plan.new_length);
    (plan, bytes)
}

#[test]
fn the_fallback_chain_decides_per_container() {
    let all =
        [sass(75, 0), sass(80, 0), sass(86, 0), sass(90, 0), sass(90, EXACT), sass(100, FAMILY), ptx(75), lto(80)];
    let file = object(".nv_fatbin", &[container(&all)]);
    for (capabilities, rule, expected) in [
        (&["8.6"][..], PtxRule::Needed, &["sm_86"][..]),
        (&["8.9"], PtxRule::Needed, &["sm_86"]),
        (&["8.0", "8.6"], PtxRule::Needed, &["sm_80", "sm_86"]),
        (&["9.0"], PtxRule::Needed, &["sm_90a"]),
        (&["9.0a"], PtxRule::Needed, &["sm_90a"]),
        (&["10.3"], PtxRule::Needed, &["sm_100f"]),
        (&["10.0f"], PtxRule::Needed, &["sm_100f"]),
        (&["12.0"], PtxRule::Needed, &["compute_75", "lto_80"]),
        (&["7.5"], PtxRule::Keep, &["sm_75", "compute_75"]),
        (&["8.6"], PtxRule::Only, &["compute_75"]),
    ] {
        let (plan, bytes) = sliced(&file, &SliceSpec { ptx: rule, ..ask(capabilities) });
        assert_eq!(kept(&plan), expected, "{capabilities:?} {rule:?}");
        assert_eq!(listed(&bytes).len(), expected.len(), "{capabilities:?} {rule:?}");
        assert!(plan.losses.is_empty(), "{:?}", plan.losses);
    }
    let (plan, _) = sliced(&file, &SliceSpec { ptx: PtxRule::Drop, lto: LtoRule::Drop, ..ask(&["12.0"]) });
    assert!(kept(&plan).is_empty());
    assert!(plan.losses[0].in_fat && plan.losses[0].kernels == ["k"], "{:?}", plan.losses);
    let (plan, _) = sliced(&file, &SliceSpec { lto: LtoRule::Keep, ..ask(&["7.5"]) });
    assert_eq!(kept(&plan), ["sm_75", "lto_80"]);
}

/// A library of what a link made, and of what it was made from.
fn linked(link: &[Vec<u8>], relocatable: &[Vec<u8>]) -> Vec<u8> {
    let dir = host::dir();
    let mut source = String::new();
    for (section, containers) in [(".nv_fatbin", link), ("__nv_relfatbin", relocatable)] {
        let data = dir.path().join(section);
        std::fs::write(&data, containers.concat()).unwrap();
        source.push_str(&format!(
            "asm(\".section {section},\\\"a\\\",@progbits\\n.balign 8\\n.incbin \\\"{}\\\"\\n.text\");\n",
            data.display()
        ));
    }
    std::fs::read(host::compile(dir.path(), "library.so", &source, &["-shared", "-fPIC"])).unwrap()
}

#[test]
fn what_a_link_was_made_from_goes_where_its_result_serves() {
    let first = [sass(80, 0), sass(90, 0), ptx(75)];
    // The runtime's own library has machine code for every device, and PTX for none of these.
    let runtime = [sass(80, 0), sass(90, 0), sass(100, 0)];
    let file = linked(&[container(&[sass(80, 0), sass(90, 0)])], &[container(&first), container(&runtime)]);
    for (capabilities, rule, expected) in [
        (&["9.0"][..], PtxRule::Drop, &["sm_90"][..]),
        // A device without machine code gets the driver's link.
        (&["10.0"], PtxRule::Needed, &["compute_75", "sm_100"]),
        (&["8.0"], PtxRule::Only, &["compute_75", "sm_80", "sm_90", "sm_100"]),
        (&["9.0"], PtxRule::Keep, &["sm_90", "compute_75"]),
    ] {
        let asked = SliceSpec { ptx: rule, ..ask(capabilities) };
        let (plan, bytes) = sliced(&file, &asked);
        let mut found = listed(&bytes);
        found.sort_by_key(|target| expected.iter().position(|known| known == target));
        assert_eq!(found, expected, "{capabilities:?} {rule:?}");
        assert!(plan.losses.is_empty(), "{capabilities:?} {rule:?}: {:?}", plan.losses);
        let again = holds(&bytes, &asked, &manifests()).unwrap();
        assert!(again.iter().all(|target| target.dropped == 0), "{capabilities:?} {rule:?}: {again:?}");
    }
}

#[test]
fn what_the_driver_cannot_link_is_lost() {
    let only_sass = linked(&[container(&[sass(80, 0)])], &[container(&[sass(80, 0)])]);
    let (plan, _) = sliced(&only_sass, &ask(&["9.0"]));
    assert!(plan.losses.iter().any(|loss| loss.place == ".nv_fatbin" && !loss.in_fat), "{:?}", plan.losses);
    // Two kernels were linked, and PTX is there of one.
    let other = entry(2, 80, 0x11, &cubin(8, 0x0600_0004 | 80 << 8, &[], None), Store::Lz4);
    let one_of_two = linked(&[container(&[other])], &[container(&[ptx(75)]), container(&[sass(80, 0)])]);
    let (plan, _) = sliced(&one_of_two, &ask(&["9.0"]));
    assert!(plan.losses.iter().any(|loss| loss.place == "__nv_relfatbin"), "{:?}", plan.losses);
}

#[test]
fn what_nobody_knows_stays() {
    let file =
        object(".nv_fatbin", &[container(&[sass(80, 0), sass(90, 0), entry(77, 80, 0x11, &[1; 16], Store::Raw)])]);
    let (plan, bytes) = sliced(&file, &ask(&["9.0"]));
    assert_eq!(kept(&plan), ["sm_90", "unknown kind 0x4d"]);
    assert_eq!(listed(&bytes), ["sm_90", "other"]);
    assert!(plan.notes[0].contains("unknown kinds stay"), "{:?}", plan.notes);
}

#[test]
fn members_of_a_group_become_entries_of_their_own() {
    let code: Vec<Vec<u8>> = [80, 90].iter().map(|arch| cubin(8, 0x0600_0004 | arch << 8, &[], None)).collect();
    let members =
        [(2, 80, 0x11, &b""[..], &code[0][..]), (1, 80, 0x11, b"-O3", PTX.as_bytes()), (2, 90, 0x11, b"", &code[1])];
    let file = object(".nv_fatbin", &[container(&[group(&members), sass(86, 0)])]);
    let (plan, bytes) = sliced(&file, &ask(&["9.0"]));
    assert_eq!(kept(&plan), ["sm_90"]);
    assert_eq!(listed(&bytes), ["sm_90"]);
    let read = device_code_with(&bytes, Look { kernels: true, deep: false }).unwrap();
    assert_eq!(read.images[0].kernels[0].signature.name, "k");
    // Asked for all, the group stays as it is.
    let (plan, bytes) = sliced(&file, &SliceSpec { ptx: PtxRule::Keep, ..ask(&["8.0", "8.6", "9.0"]) });
    assert!(plan.is_empty());
    assert!(bytes == file, "nothing goes, and still bytes change");
}

#[test]
fn hidden_containers_are_sliced_only_when_asked() {
    let dir = host::dir();
    let data = dir.path().join("containers");
    std::fs::write(&data, [vec![1; 24], container(&[sass(80, 0), sass(90, 0)])].concat()).unwrap();
    let source = format!(
        "asm(\".section .data.hidden,\\\"a\\\",@progbits\\n.balign 8\\n.incbin \\\"{}\\\"\\n.text\"); int x = 7;",
        data.display()
    );
    for (name, flags) in [("object.o", &["-c"][..]), ("library.so", &["-shared", "-fPIC"])] {
        let file = std::fs::read(host::compile(dir.path(), name, &source, flags)).unwrap();
        let nothing = plan(&file, &ask(&["9.0"]), FreedSpace::Cut, &manifests());
        assert!(matches!(nothing, Err(SliceError::Nothing)), "{name}");
        let deep = SliceSpec { deep: true, ..ask(&["9.0"]) };
        let (plan, bytes) = sliced(&file, &deep);
        assert_eq!(bytes.len(), file.len(), "{name}");
        assert_eq!(listed(&bytes), ["sm_90"], "{name}");
        assert!(plan.warnings[0].contains("a container in ordinary data"), "{:?}", plan.warnings);
        assert!(plan.notes.is_empty(), "{:?}", plan.notes);
        // The slice is read back by asking the same of it.
        let held = holds(&bytes, &deep, &manifests()).unwrap();
        assert_eq!(held.iter().map(|target| (target.kept, target.dropped)).collect::<Vec<_>>(), [(1, 0)], "{name}");
    }
}

#[test]
fn containers_of_a_linked_library_without_wrappers_stay_where_they_are() {
    let dir = host::dir();
    let data = dir.path().join("containers");
    let containers = [container(&[sass(80, 0), sass(90, 0)]), container(&[sass(80, 0), sass(90, 0)])].concat();
    std::fs::write(&data, &containers).unwrap();
    let source = format!(
        "asm(\".section .nv_fatbin,\\\"a\\\",@progbits\\n.balign 8\\n.incbin \\\"{}\\\"\\n.text\"); int x;",
        data.display()
    );
    let path = host::compile(dir.path(), "library.so", &source, &["-shared", "-fPIC"]);
    let file = std::fs::read(path).unwrap();
    let (plan, bytes) = sliced(&file, &ask(&["9.0"]));
    assert!(!plan.together && bytes.len() == file.len());
    assert!(plan.notes[0].contains("the containers stay where they are"), "{:?}", plan.notes);
    assert_eq!(listed(&bytes), ["sm_90", "sm_90"]);
    assert_eq!(plan.containers.len(), 2);
}

/// A library with wrappers, as the compiler's host code has them.
fn library() -> Vec<u8> {
    let wide = |index| entry(2, 80, 0x11, &vec![index; 9000], Store::Raw);
    library_of([0, 1, 2].map(|index| container(&[wide(index), sass(90, 0)])))
}

fn library_of(containers: [Vec<u8>; 3]) -> Vec<u8> {
    let dir = host::dir();
    let mut text = "asm(\".section .nv_fatbin,\\\"a\\\",@progbits\\n.balign 8\\n".to_owned();
    for (index, container) in containers.iter().enumerate() {
        let data = dir.path().join(format!("container{index}"));
        std::fs::write(&data, container).unwrap();
        text.push_str(&format!("fat{index}: .incbin \\\"{}\\\"\\n", data.display()));
    }
    text.push_str(".section .nvFatBinSegment,\\\"aw\\\",@progbits\\n.balign 8\\n");
    for index in 0..3 {
        text.push_str(&format!(".long 0x466243b1, 1\\n.quad fat{index}, 0\\n"));
    }
    text.push_str(".text\"); int x = 4;");
    let path = host::compile(dir.path(), "library.so", &text, &["-shared", "-fPIC"]);
    std::fs::read(path).unwrap()
}

#[test]
fn containers_move_together_and_every_pointer_follows() {
    let file = library();
    let (plan, bytes) = sliced(&file, &ask(&["9.0"]));
    assert!(plan.together && plan.gaps.len() == 1, "{:?} {:?}", plan.gaps, plan.notes);
    assert!(bytes.len() + 18_000 < file.len(), "{} -> {}", file.len(), bytes.len());
    assert_eq!(listed(&bytes), ["sm_90"; 3]);
    let (again, same) = sliced(&bytes, &ask(&["9.0"]));
    assert!(again.is_empty() && same == bytes);
}

/// Padding behind the last container must not stand on what follows the section.
#[test]
fn a_section_may_end_off_the_alignment() {
    let mut odd = sass(90, 0);
    let payload = u64::from_le_bytes(odd[8..16].try_into().unwrap());
    odd[8..16].copy_from_slice(&(payload + 4).to_le_bytes());
    odd.extend([0; 4]);
    let file = library_of([container(&[sass(90, 0)]), container(&[sass(90, 0)]), container(&[odd])]);
    // Something that is not zero follows at once.
    let mut file = file;
    let section = crate::elf::Image::parse(&file).unwrap();
    let section = section.sections.iter().find(|section| section.name == ".nv_fatbin").unwrap();
    let end = (section.offset + section.size) as usize;
    assert_ne!(end % 8, 0);
    file[end] = 7;
    let (_, bytes) = sliced(&file, &ask(&["9.0"]));
    assert_eq!(bytes, file);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(400))]

    /// Damage anywhere is refused or survived, never a panic, and the result is never larger.
    #[test]
    fn hostile_files_are_refused(damage in proptest::collection::vec((0usize..40_000, proptest::num::u8::ANY), 1..12)) {
        static LIBRARY: std::sync::OnceLock<(Vec<u8>, Manifests)> = std::sync::OnceLock::new();
        let (file, manifests) = LIBRARY.get_or_init(|| (library(), manifests()));
        let mut file = file.clone();
        let length = file.len();
        for (at, byte) in damage {
            // The tables at both ends matter more than the code between them.
            let at = if at < 20_000 { at % 4096 } else { length - 1 - (at - 20_000) % 8192 };
            file[at] = byte;
        }
        for room in [FreedSpace::Cut, FreedSpace::Zero] {
            let asked = SliceSpec { deep: true, ..ask(&["9.0"]) };
            if let Ok(plan) = plan(&file, &asked, room, manifests)
                && let Ok(bytes) = plan.apply(&file)
            {
                assert!(bytes.len() <= length);
            }
        }
    }
}
