//! Containers: every way of storing, groups, unknown kinds, and damage.

use super::*;
use crate::gpu::fixture::{self, PTX, Store, container, entry, group};

#[test]
fn every_way_of_storing() {
    let long = PTX.repeat(20);
    for store in [Store::Raw, Store::Lz4, Store::Zstd] {
        let bytes = container(&[entry(1, 75, 0x11, long.as_bytes(), store)]);
        let containers = fatbins(&bytes).unwrap();
        let found = &containers[0].entries[0];
        assert_eq!((found.kind, found.is_compressed()), (CodeKind::Ptx, store != Store::Raw));
        assert_eq!(found.capability, Some(Capability::new(7, 5)));
        let code = found.unpack().unwrap();
        assert!(code.starts_with(long.as_bytes()), "raw code is padded");
    }
}

#[test]
fn suffixes_debug_and_unknown_kinds() {
    let bytes = container(&[
        entry(2, 90, 0x10_0013, b"code", Store::Raw),
        entry(2, 100, 0x20_0011, b"code", Store::Raw),
        entry(0x40, 90, 0x11, b"future", Store::Raw),
        entry(8, 90, 0x11, b"ir", Store::Raw),
    ]);
    // Containers stand one after another, with padding.
    let bytes = [bytes.clone(), vec![0; 24], bytes].concat();
    let containers = fatbins(&bytes).unwrap();
    assert_eq!(containers.len(), 2);
    let entries = &containers[1].entries;
    assert_eq!(entries[0].capability.unwrap().to_string(), "9.0a");
    assert!(entries[0].debug);
    assert_eq!(entries[1].capability.unwrap().to_string(), "10.0f");
    assert_eq!((entries[2].kind, entries[3].kind), (CodeKind::Other(0x40), CodeKind::LtoIr));
}

#[test]
fn groups_show_their_members() {
    let first = fixture::cubin(8, 0x6005a04, &[], None);
    let bytes = container(&[
        group(&[
            (2, 90, 0x11, b"", &first),
            (1, 75, 0x11, b"options of nine words", PTX.as_bytes()),
            (2, 100, 0x20_0011, b"x", b"third"),
        ]),
        entry(1, 80, 0x11, PTX.as_bytes(), Store::Zstd),
    ]);
    let containers = fatbins(&bytes).unwrap();
    let entries = &containers[0].entries;
    let found: Vec<_> = entries.iter().map(|entry| (entry.kind, entry.capability.unwrap().to_string())).collect();
    assert_eq!(
        found,
        [
            (CodeKind::Sass, "9.0".to_owned()),
            (CodeKind::Ptx, "7.5".into()),
            (CodeKind::Sass, "10.0f".into()),
            (CodeKind::Ptx, "8.0".into()),
        ]
    );
    assert_eq!(entries[0].unpack().unwrap(), first);
    assert_eq!(entries[1].unpack().unwrap(), PTX.as_bytes());
    assert_eq!(entries[2].unpack().unwrap(), b"third");
}

/// Found by fuzzing: a group's header that ends in the number of its members.
#[test]
fn a_group_without_room_for_members_is_refused() {
    let mut bytes = container(&[group(&[(2, 90, 0x11, b"", b"first")])]);
    bytes[20..24].copy_from_slice(&68u32.to_le_bytes());
    assert!(fatbins(&bytes).is_err() || fatbins(&bytes).unwrap()[0].entries.is_empty());
}

#[test]
fn bombs_and_lies_are_refused() {
    let zeros = vec![0; 1 << 20];
    for store in [Store::Lz4, Store::Zstd] {
        let honest = entry(1, 75, 0, &zeros, store);
        for size in [u64::MAX, 1 << 40, 1 << 30, (1 << 20) - 1, (1 << 20) + 1] {
            let mut lying = honest.clone();
            lying[56..64].copy_from_slice(&size.to_le_bytes());
            let bytes = container(&[lying]);
            assert!(fatbins(&bytes).unwrap()[0].entries[0].unpack().is_err(), "{size}");
        }
    }
    let mut long = container(&[entry(1, 75, 0, b"x", Store::Raw)]);
    long[8] = 0xff;
    assert!(fatbins(&long).is_err());
    let mut endless = container(&[entry(1, 75, 0, b"x", Store::Raw)]);
    endless[20..24].copy_from_slice(&0u32.to_le_bytes());
    assert!(fatbins(&endless).is_err(), "an entry without a header would never end");
    assert!(fatbins(b"not a container at all").is_err());
}

proptest::proptest! {
    #[test]
    fn never_panics(writes in proptest::collection::vec((0usize..4000, proptest::prelude::any::<u8>()), 0..30), cut in 0usize..4000) {
        let cubin = fixture::cubin(8, 0x6005a04, &[2, 9, 1, 0], Some("-arch sm_90a"));
        let mut bytes = container(&[
            entry(2, 90, 0x11, &cubin, Store::Raw),
            entry(1, 75, 0x11, PTX.as_bytes(), Store::Lz4),
            group(&[(2, 90, 0x11, b"", &cubin), (1, 75, 0x11, b"options", PTX.as_bytes())]),
        ]);
        for (at, byte) in writes {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        if cut % 3 == 0 {
            bytes.truncate(cut);
        }
        let _ = crate::gpu::device_code(&bytes);
        let _ = crate::gpu::device_code_with(&bytes[bytes.len().min(1)..], crate::gpu::Look { kernels: true, deep: true });
    }
}
