//! Reads a SPIR-V module: the scan, then its resources.

use super::{SpirvModule, reflect, scan};
use crate::budget::Budget;
use crate::gpu::CodeError;

/// Reads a module.
///
/// # Errors
/// Not SPIR-V, big-endian, or words that contradict themselves. What only spirq cannot put together stands in
/// [`SpirvModule::unexamined`].
pub fn spirv(bytes: &[u8]) -> Result<SpirvModule, CodeError> {
    spirv_within(bytes, &Budget::of(bytes))
}

/// As [`spirv`], within a budget that others share.
pub(in crate::gpu) fn spirv_within(bytes: &[u8], budget: &Budget) -> Result<SpirvModule, CodeError> {
    // What is noted on the way is gone when the module is read: only what it says is kept.
    let scanned = scan::scan(bytes, &budget.passing(bytes.len() as u64, PASSING))?;
    let mut module = scanned.module;
    match reflect::resources(scanned.declarations, scanned.resources) {
        Ok(found) => {
            module.bindings = found.bindings;
            module.push_constants = found.push_constants;
            module.unexamined.extend(found.unexamined);
        }
        Err(reason) => module.unexamined.push(format!("its resources: {reason}")),
    }
    let stopped = || CodeError::stopped(budget, || CodeError::damaged("a SPIR-V module without an end"));
    budget.keep(module.held()).ok_or_else(stopped)?;
    Ok(module)
}

/// Bytes that may be noted for each byte of a module while it is read: 128 for an instruction of a few words, and its types.
const PASSING: u64 = 32;
