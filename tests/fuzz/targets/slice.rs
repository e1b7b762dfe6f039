//! Slicing: hostile files are refused; what is made can be sliced again, and has nothing more to give.

use std::sync::OnceLock;

use simpack::data::Data;
use simpack::gpu::slice::{FreedSpace, PtxRule, SliceSpec, plan};
use simpack::manifest::Manifests;

pub fn run(bytes: &[u8]) {
    static MANIFESTS: OnceLock<Manifests> = OnceLock::new();
    let manifests = MANIFESTS.get_or_init(|| Manifests::load(&Data::at("no such directory")).expect("embedded data"));
    let capability = "9.0".parse().expect("a capability");
    let ask = SliceSpec { capabilities: vec![capability], ptx: PtxRule::Needed, deep: true, ..SliceSpec::default() };
    for room in [FreedSpace::Cut, FreedSpace::Zero] {
        let Ok(planned) = plan(bytes, &ask, room, manifests) else { continue };
        let Ok(slice) = planned.apply(bytes) else { continue };
        assert_eq!(slice.len() as u64, planned.new_length);
        assert!(slice.len() <= bytes.len());
        let _ = plan(&slice, &ask, room, manifests);
    }
}
