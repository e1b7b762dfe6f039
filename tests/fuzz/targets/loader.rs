//! What loaders read: an object, and the loader's own file.

use simpack::elf::resolve::{Environment, Loader, MemoryTree, Process, read_object};

pub fn run(bytes: &[u8]) {
    let _ = read_object(bytes, 62);
    let mut loader = Loader::glibc(62, &["/lib"]);
    loader.read(bytes);
    loader.cache_path = None;
    let mut tree = MemoryTree::default();
    for path in ["/bin/main", "/lib/libc.so.6", "/lib/libm.so.6"] {
        tree.file(path, bytes);
    }
    let environment =
        Environment { library_path: Some("$ORIGIN:lib:".into()), directory: "/".into(), ..Default::default() };
    if let Ok(process) = Process::start(&tree, &loader, &environment, "/bin/main") {
        process.finish();
    }
}
