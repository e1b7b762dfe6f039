//! Bundles of clang, plain and compressed: entries lie within what the bundle says it unpacks to.

pub fn run(bytes: &[u8]) {
    for bundle in simpack::gpu::offload_bundles(bytes).unwrap_or_default() {
        assert!(bundle.at + bundle.size <= bytes.len() as u64);
        bundle.entries.iter().for_each(|entry| drop(entry.device().to_owned()));
    }
}
