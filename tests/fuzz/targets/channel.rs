//! The index of a channel: what it offers, whoever wrote it.

pub fn run(bytes: &[u8]) {
    for offer in simpack::pack::offers(&[bytes.to_vec()]).unwrap_or_default() {
        assert!(offer.distribution.kernels.iter().all(|kernels| !kernels.installed));
        assert!(!offer.simulator.is_empty());
    }
}
