//! Names of the kernels in a container: from symbols of machine code, or from PTX.

use crate::budget::Budget;
use crate::gpu::containers::fatbin::Unpacker;
use crate::gpu::{CodeKind, FatbinEntry, cubin, ptx::ptx_within};

/// Names of the kernels in a container, sorted, from the first entry that tells them; none for a container without
/// kernels. `relocatable` code calls device functions by name, which no list tells.
pub(super) fn kernels<'a>(
    entries: &[FatbinEntry<'a>],
    relocatable: bool,
    unpacker: &mut Unpacker<'a>,
    budget: &Budget,
) -> Vec<String> {
    let mut unread = relocatable;
    for kind in [CodeKind::Sass, CodeKind::Ptx] {
        for entry in entries.iter().filter(|entry| entry.kind == kind) {
            let names = unpacker.unpack(entry).and_then(|code| match kind {
                CodeKind::Sass => cubin::kernel_names(code, budget),
                _ => Ok(ptx_within(code, budget)?.kernels.into_iter().map(|kernel| kernel.signature.name).collect()),
            });
            match names {
                Ok(mut names) if !names.is_empty() => {
                    names.sort();
                    names.dedup();
                    return names;
                }
                Ok(_) => {}
                Err(_) => unread = true,
            }
        }
    }
    unread |= entries.iter().any(|entry| entry.kind == CodeKind::LtoIr);
    if unread { vec!["(device functions without a readable list)".to_owned()] } else { Vec::new() }
}
