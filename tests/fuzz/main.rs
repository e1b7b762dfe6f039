//! All fuzz targets as one program, which is compiled and linked once. The name by which it is started is the target.
//!
//! A target is a function of bytes that fails by a panic. Whatever it does, it may hold no more memory than its input
//! allows.
#![no_main]

mod allocation;
mod scratch;

use std::path::Path;
use std::sync::LazyLock;

macro_rules! targets {
    ($($name:ident),* $(,)?) => {
        mod targets {
            $(pub mod $name;)*
        }

        /// The target of this process.
        static TARGET: LazyLock<fn(&[u8])> = LazyLock::new(|| {
            let program = std::env::args_os().next().unwrap_or_default();
            match Path::new(&program).file_name().and_then(|name| name.to_str()) {
                $(Some(stringify!($name)) => targets::$name::run,)*
                _ => panic!("start this program by the name of a target, not as {}", program.display()),
            }
        });
    };
}

targets! {
    archive,
    channel,
    conda,
    cubin,
    deb,
    elf_edit,
    elf_facts,
    fatbin,
    index_page,
    instructions,
    ld_cache,
    loader,
    offload,
    package,
    ptx,
    recipe,
    record,
    slice,
    solve,
    spirv,
    structures,
    symbols,
    wgsl,
    wheel,
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| allocation::bounded(bytes, || TARGET(bytes)));
