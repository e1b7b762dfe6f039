//! One entry of a container: what its code says.

use super::CodeError;
use super::code_image::{CodeImage, Kernel, Look};
use super::containers::fatbin::{CodeKind, FatbinEntry, Unpacker};
use super::cubin::{Cubin, compilers_of, cubin_within};
use super::ptx::{PtxModule, ptx_within};
use crate::budget::Budget;

/// Code that unpacks to fewer bytes is read even where kernels are not asked for: only there can be none in it.
/// What compilers leave of a unit without kernels has up to 1.5 KiB.
pub(super) const SMALL: u64 = 2048;

/// Reads of an entry what was asked for; answers the image, and why something of it could not be read.
pub(super) fn read_listed<'a>(
    entry: &FatbinEntry<'a>,
    mut image: CodeImage,
    look: Look,
    is_noted: bool,
    unpacker: &mut Unpacker<'a>,
    budget: &Budget,
) -> (CodeImage, Option<String>) {
    if look.kernels {
        let error = read_entry(entry, unpacker, budget, &mut image).err();
        let reason = error.map(|error| format!("code at {:#x}: {error}", image.at));
        return (image, reason);
    }
    if entry.unpacked_size < SMALL {
        let mut read = image.clone();
        image.empty = read_entry(entry, unpacker, budget, &mut read).is_ok() && read.empty;
    } else if is_noted {
        let code = unpacker.unpack(entry).and_then(|code| compilers_of(code, budget));
        image.compilers = code.unwrap_or_default();
    }
    (image, None)
}

fn read_entry<'a>(
    entry: &FatbinEntry<'a>,
    unpacker: &mut Unpacker<'a>,
    budget: &Budget,
    image: &mut CodeImage,
) -> Result<(), CodeError> {
    match entry.kind {
        CodeKind::Sass | CodeKind::Ptx => {}
        CodeKind::LtoIr | CodeKind::Spirv | CodeKind::Wgsl | CodeKind::Offload => return Ok(()),
        CodeKind::Other(number) => {
            return Err(CodeError::Unknown(number));
        }
    }
    let stated = entry.capability;
    read_code(entry.kind, unpacker.unpack(entry)?, budget, image)?;
    // The container's flags know the suffix for sure; the code inside must agree in the number.
    match (stated, image.capability) {
        (Some(stated), Some(found)) if stated.plain() != found.plain() => {
            Err(CodeError::damaged(format!("the entry says {stated} and holds code for {found}")))
        }
        (Some(_), _) => {
            image.capability = stated;
            Ok(())
        }
        (None, _) => Ok(()),
    }
}

pub(super) fn read_code(kind: CodeKind, bytes: &[u8], budget: &Budget, image: &mut CodeImage) -> Result<(), CodeError> {
    match kind {
        CodeKind::Sass => {
            let Cubin { capability, abi, relocatable, debug, compilers, kernels, .. } = cubin_within(bytes, budget)?;
            image.capability = Some(capability);
            image.version = (1, u16::from(abi));
            image.relocatable |= relocatable;
            image.debug |= debug;
            image.compilers = compilers;
            image.kernels = kernels
                .into_iter()
                .map(|kernel| Kernel { signature: kernel.signature.into(), resources: Some(kernel.resources) })
                .collect();
        }
        _ => {
            let PtxModule { version, target, debug, compilers, kernels, .. } = ptx_within(bytes, budget)?;
            image.compilers = compilers;
            image.capability = Some(target);
            image.version = version;
            image.debug |= debug;
            image.kernels = kernels
                .into_iter()
                .map(|kernel| Kernel { signature: kernel.signature.into(), resources: None })
                .collect();
        }
    }
    // What is not linked yet may be functions for the kernels of other units.
    image.empty = image.kernels.is_empty() && !image.relocatable;
    Ok(())
}
