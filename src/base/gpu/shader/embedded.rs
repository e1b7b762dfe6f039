//! Shaders that a build put into a program, as SPIR-V or in WGSL. Neither has a length, so that one is found by the size and the
//! digest that it had when it was compiled.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest as _, Sha256};

use super::webgpu::{WGSL_MARK, is_wgsl, webgpu_within};
use crate::budget::Budget;
use crate::fs::Digest;
use crate::gpu::CodeError;
use crate::gpu::spirv::{MAGIC, SpirvModule, spirv_within};

/// Steps that a digest costs beside the bytes that go into it.
const FINISHING: u64 = 500;

/// Those of the modules with these sizes and digests that stand somewhere in `bytes`.
///
/// # Errors
/// Finding or reading them takes more than the budget; a module that was found is damaged.
pub fn embedded_modules(
    bytes: &[u8],
    wanted: &BTreeMap<u64, BTreeSet<Digest>>,
    budget: &Budget,
) -> Result<BTreeMap<Digest, SpirvModule>, CodeError> {
    let stopped = || CodeError::stopped(budget, || CodeError::damaged("a module without an end"));
    let mut found = BTreeMap::new();
    if wanted.is_empty() {
        return Ok(found);
    }
    let magic = MAGIC.to_le_bytes();
    for at in memchr::memmem::find_iter(bytes, &magic).chain(memchr::memmem::find_iter(bytes, WGSL_MARK)) {
        let rest = &bytes[at..];
        let (mut hash, mut hashed) = (Sha256::new(), 0_usize);
        for (size, digests) in wanted {
            let Some(end) = usize::try_from(*size).ok().filter(|end| *end <= rest.len()) else { break };
            budget.work((end - hashed) as u64 + FINISHING).ok_or_else(stopped)?;
            hash.update(&rest[hashed..end]);
            hashed = end;
            let digest: [u8; 32] = hash.clone().finalize().into();
            let digest = Digest::from(digest);
            if !digests.contains(&digest) {
                continue;
            }
            // A longer one may begin like this one.
            if let Entry::Vacant(place) = found.entry(digest) {
                let module = &rest[..end];
                let read = if is_wgsl(module) { webgpu_within } else { spirv_within };
                place.insert(read(module, budget)?);
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A module that says its version and capabilities, and nothing else.
    fn module(capabilities: u32) -> Vec<u8> {
        let mut words = vec![MAGIC, 0x0001_0300, 8 << 16, 1, 0];
        words.extend((0..capabilities).flat_map(|_| [2 << 16 | 17, 1]));
        words.extend([3 << 16 | 14, 0, 1]);
        words.iter().flat_map(|word: &u32| word.to_le_bytes()).collect()
    }

    fn wanted(modules: &[&[u8]]) -> BTreeMap<u64, BTreeSet<Digest>> {
        let mut wanted: BTreeMap<u64, BTreeSet<Digest>> = BTreeMap::new();
        for module in modules {
            wanted.entry(module.len() as u64).or_default().insert(Digest::of(module));
        }
        wanted
    }

    #[test]
    fn a_module_that_begins_like_another_one_is_found() {
        let words = [MAGIC, 0x0001_0300, 8 << 16, 1, 0, 2 << 16 | 17, 1];
        let long: Vec<u8> = words.iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
        let short = &long[..20];
        let found = embedded_modules(&long, &wanted(&[short, &long]), &Budget::of(&long)).unwrap();
        assert_eq!(found.keys().copied().collect::<BTreeSet<_>>(), [Digest::of(short), Digest::of(&long)].into());
    }

    #[test]
    fn modules_are_found_wherever_they_stand() {
        let (small, large, other) = (module(1), module(9), module(3));
        let file = [b"\x7fELF, odd".as_slice(), &large, b"between", &small[..8], &small, &small].concat();
        let budget = Budget::of(&file);
        let found = embedded_modules(&file, &wanted(&[&small, &large, &other]), &budget).unwrap();
        assert_eq!(found.keys().copied().collect::<BTreeSet<_>>(), [Digest::of(&small), Digest::of(&large)].into());
        assert_eq!(found[&Digest::of(&large)].version, (1, 3));
        // One that was changed is not the one that was compiled, nor is one that is cut off.
        let mut changed = file.clone();
        let at = file.windows(large.len()).position(|window| window == large).unwrap();
        changed[at + 6] ^= 1;
        let found = embedded_modules(&changed[..changed.len() - 1], &wanted(&[&large]), &budget).unwrap();
        assert!(found.is_empty());
    }

    #[test]
    fn files_that_are_made_of_beginnings_cost_no_more_than_their_size() {
        let file = MAGIC.to_le_bytes().repeat(1 << 18);
        let large = module(100_000);
        let many: Vec<Vec<u8>> = (0..500).map(module).collect();
        let all: Vec<&[u8]> = many.iter().map(Vec::as_slice).chain([large.as_slice()]).collect();
        let budget = Budget::of(&file);
        assert!(matches!(embedded_modules(&file, &wanted(&all), &budget), Err(CodeError::Budget(_))));
    }
}
