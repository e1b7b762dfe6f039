//! SPIR-V modules: what spirq gets must be what it can bear. Modules in a file: those that have a digest that is looked for are
//! found, whatever stands around them.

use std::collections::{BTreeMap, BTreeSet};

use simpack::budget::Budget;
use simpack::fs::Digest;

const MAGIC: [u8; 4] = 0x0723_0203_u32.to_le_bytes();

pub fn run(bytes: &[u8]) {
    let whole = simpack::gpu::spirv(bytes);
    // A byte says where the module ends that is looked for, a fraction of what is left.
    let Some((&fraction, file)) = bytes.split_last() else { return };
    let file = if whole.is_ok() { bytes } else { file };
    let begins = file.windows(MAGIC.len()).enumerate().filter(|(_, four)| *four == MAGIC).map(|(at, _)| at).take(4);
    let modules: Vec<&[u8]> = begins
        .map(|at| {
            let rest = &file[at..];
            if whole.is_ok() { rest } else { &rest[..rest.len() * usize::from(fraction) / 255] }
        })
        .collect();
    let mut wanted: BTreeMap<u64, BTreeSet<Digest>> = BTreeMap::new();
    for module in &modules {
        wanted.entry(module.len() as u64).or_default().insert(Digest::of(module));
    }
    if let Ok(found) = simpack::gpu::embedded_modules(file, &wanted, &Budget::of(file)) {
        for module in modules.iter().filter(|module| module.starts_with(&MAGIC)) {
            assert!(found.contains_key(&Digest::of(module)), "a module of {} bytes is not found", module.len());
        }
    }
}
