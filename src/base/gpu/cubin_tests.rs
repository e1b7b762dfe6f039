//! Cubins built field by field: every place where a suffix may stand, kernels, and damage.

use super::*;
use crate::gpu::fixture;

fn found(abi: u8, flags: u32, compat: &[u8], arguments: Option<&str>) -> (String, bool) {
    let cubin = cubin(&fixture::cubin(abi, flags, compat, arguments)).unwrap();
    (cubin.capability.to_string(), cubin.suffix_known)
}

#[test]
fn capabilities_of_all_compilers() {
    // CUDA 11.8, 12.8 (ABI 7)
    assert_eq!(found(7, 0x055a_055a, &[], None), ("9.0".into(), true));
    assert_eq!(found(7, 0x055a_0d5a, &[], None), ("9.0a".into(), true));
    // CUDA 12.8 (ABI 8)
    assert_eq!(found(8, 0x0600_6402, &[], Some("-arch sm_100 -m 64")), ("10.0".into(), true));
    assert_eq!(found(8, 0x0600_640a, &[], None), ("10.0a".into(), true));
    // CUDA 13: `a` in `.nv.compat`, `f` in the note only
    assert_eq!(found(8, 0x0600_5a04, &[2, 9, 1, 0, 2, 2, 1, 0], None), ("9.0a".into(), true));
    assert_eq!(found(8, 0x0600_6402, &[2, 9, 0, 0], Some("-arch sm_100f -m 64")), ("10.0f".into(), true));
    assert_eq!(found(8, 0x0600_6402, &[2, 9, 0, 0], Some("--gpu-name=sm_100f")), ("10.0f".into(), true));
    assert_eq!(found(8, 0x0600_6402, &[2, 9, 0, 0], None), ("10.0".into(), false));
    // A note about another capability (a library linked in) says nothing.
    assert_eq!(found(8, 0x0600_7802, &[], Some("-arch sm_100f")), ("12.0".into(), false));
    assert!(cubin(&fixture::cubin(8, 4, &[], None)).is_err());
}

#[test]
fn kernels_with_what_they_use() {
    let cubin = cubin(&fixture::cubin(8, 0x0600_5a04, &[], Some("-arch sm_90"))).unwrap();
    assert_eq!(cubin.compilers, ["ptxas 13.0, V13.0.88"]);
    assert_eq!(cubin.kernels.len(), 1, "device functions are no kernels");
    let kernel = &cubin.kernels[0];
    assert_eq!(kernel.signature.name, "k");
    assert_eq!(kernel.signature.params, [Param { offset: 0, size: 4 }, Param { offset: 8, size: 8 }]);
    let expected = Resources {
        registers: 24,
        shared: 512,
        stack: Some(16),
        local: 0,
        constant: 368,
        parameters_at: Some(0x160),
        barriers: 1,
        max_threads: Some([256, 2, 1]),
    };
    assert_eq!(kernel.resources, expected);
}

#[test]
fn ptx_and_cubin_give_one_tag() {
    let from_cubin = cubin(&fixture::cubin(8, 0x0600_5a04, &[], None)).unwrap().kernels.remove(0).signature;
    let from_ptx = crate::gpu::ptx(fixture::PTX.as_bytes()).unwrap().kernels.remove(0).signature;
    assert_eq!(from_cubin, from_ptx);
}

proptest::proptest! {
    #[test]
    fn never_panics(writes in proptest::collection::vec((0usize..4000, proptest::prelude::any::<u8>()), 0..30), cut in 0usize..4000) {
        let mut bytes = fixture::cubin(8, 0x0600_5a04, &[2, 9, 1, 0], Some("-arch sm_90a"));
        for (at, byte) in writes {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        if cut % 3 == 0 {
            bytes.truncate(cut);
        }
        let _ = cubin(&bytes);
    }
}
