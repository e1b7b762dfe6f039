//! A loader's cache: hostile files give errors, and lookups in damaged tables end.

use simpack::elf::ld_cache::{CacheReader, LdCache};

pub fn run(bytes: &[u8]) {
    let Ok(cache) = LdCache::parse(bytes) else { return };
    let hwcaps = ["x86-64-v3", "x86-64-v2"].map(str::to_owned).to_vec();
    let reader = CacheReader { flags: 0x0303, hwcaps, level: 3, legacy: 1 << 63 };
    for entry in cache.entries().take(64) {
        cache.lookup(&entry.name, &reader);
        cache.named(&entry.name).take(64).for_each(drop);
    }
}
