//! Bundles, plain and compressed, and damage.

use std::io::Write;

use super::*;
use crate::gpu::fixture::offload_bundle;

const IDS: [&str; 3] =
    ["host-x86_64-unknown-linux-gnu-", "hipv4-amdgcn-amd-amdhsa--gfx906", "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-"];

/// `CCOB` of a version around zstd (1) or zlib (0).
fn packed(version: u16, method: u16, content: &[u8]) -> Vec<u8> {
    let body = if method == 1 {
        zstd::bulk::compress(content, 3).unwrap()
    } else {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    };
    let mut bytes = [b"CCOB".as_slice(), &version.to_le_bytes(), &method.to_le_bytes()].concat();
    let unpacked = content.len() as u64;
    match version {
        1 => bytes.extend((unpacked as u32).to_le_bytes()),
        2 => {
            bytes.extend((24 + body.len() as u32).to_le_bytes());
            bytes.extend((unpacked as u32).to_le_bytes());
        }
        _ => {
            bytes.extend((32 + body.len() as u64).to_le_bytes());
            bytes.extend(unpacked.to_le_bytes());
        }
    }
    bytes.extend([7; 8]);
    bytes.extend(body);
    bytes
}

#[test]
fn targets_of_every_form() {
    let plain = offload_bundle(&IDS);
    let mut forms = vec![plain.clone()];
    for version in 1..=3 {
        forms.extend([0, 1].map(|method| packed(version, method, &plain)));
    }
    for form in forms {
        let bundles = offload_bundles(&form).unwrap();
        let devices: Vec<&str> =
            bundles[0].entries.iter().filter(|entry| !entry.is_host()).map(OffloadEntry::device).collect();
        assert_eq!(devices, ["gfx906", "gfx90a:xnack-"]);
        assert_eq!((bundles.len(), bundles[0].size), (1, form.len() as u64));
    }
}

#[test]
fn several_bundles_with_padding() {
    let bytes = [offload_bundle(&IDS), vec![0; 100], packed(2, 1, &offload_bundle(&IDS[..2])), vec![0; 4]].concat();
    let bundles = offload_bundles(&bytes).unwrap();
    assert_eq!(bundles.iter().map(|bundle| bundle.entries.len()).collect::<Vec<_>>(), [3, 2]);
    assert!(bundles[1].compressed);
}

#[test]
fn damage_is_said() {
    let plain = offload_bundle(&IDS);
    assert!(offload_bundles(&plain[..40]).is_err());
    let mut long = plain.clone();
    long[40] = 0xff;
    long[47] = 0xff;
    assert!(offload_bundles(&long).is_err(), "an entry past the end");
    let mut many = plain.clone();
    many[24..32].copy_from_slice(&u64::MAX.to_le_bytes());
    assert!(offload_bundles(&many).is_err(), "more entries than bytes");
    let mut bomb = packed(2, 1, &plain);
    bomb[12..16].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(offload_bundles(&bomb).is_err(), "a bomb");
    assert!(offload_bundles(b"something else").is_err());
    assert!(offload_bundles(&packed(9, 1, &plain)).is_err());
}

proptest::proptest! {
    #[test]
    fn never_panics(writes in proptest::collection::vec((0usize..400, proptest::prelude::any::<u8>()), 0..9), form in 0u16..6) {
        let plain = offload_bundle(&IDS);
        let mut bytes = if form == 0 { plain } else { packed(form.min(3), form % 2, &plain) };
        for (at, byte) in writes {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        let _ = offload_bundles(&bytes);
    }
}
