//! PTX text, recognised and read.

use simpack::gpu::{is_ptx, ptx};

pub fn run(bytes: &[u8]) {
    is_ptx(bytes);
    let _ = ptx(bytes);
}
