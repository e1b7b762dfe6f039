//! Packages and archives as `inspect` reads them: what is damaged is said, never passed over.

use simpack::gpu::Look;
use simpack::inspect;

/// Names by the first bytes of what they hold.
const FORMS: [(&[u8], &[&str]); 6] = [
    (b"PK", &["a-1-0.conda", "a-1-py3-none-any.whl"]),
    (b"!<arch>\ndebian", &["a.deb"]),
    (b"\x1f\x8b", &["a.tar.gz"]),
    (b"BZh", &["a.tar.bz2"]),
    (b"\x28\xb5\x2f\xfd", &["a.tar.zst"]),
    (b"\xfd7zXZ", &["a.tar.xz"]),
];

pub fn run(bytes: &[u8]) {
    let form = FORMS.iter().find(|(magic, _)| bytes.starts_with(magic));
    for name in form.map_or(&["a.tar"][..], |(_, names)| names) {
        let found = inspect::package(name, bytes, Look { kernels: true, deep: true }).expect("the name of a package");
        assert!(found.files.len() <= found.seen, "{name}");
    }
}
