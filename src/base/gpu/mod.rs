//! Device code: what files hold, what kernels look like, which device runs what.
//!
//! The readers work on bytes that anybody may have made: every position is checked, what is unknown
//! is reported and never dropped, and nothing is unpacked beyond its announced size.

mod chain;
mod code_image;
mod code_place;
mod containers;
mod cubin;
mod device_code;
mod entry;
mod error;
#[cfg(test)]
pub(crate) mod fixture;
mod loadable;
mod ptx;
mod shader;
mod signature;
pub mod slice;
mod spirv;

pub use chain::{Available, Choice, Considered, Place, Verdict, choose};
pub use code_image::{CodeImage, DeviceCode, Kernel, Look};
pub use code_place::CodePlace;
pub use containers::fatbin::{CONTAINER_MAGIC, CodeKind, Fatbin, FatbinEntry, fatbin, fatbins, is_fatbin};
pub use containers::members::archive_members;
pub use containers::offload::{OffloadBundle, OffloadEntry, is_offload_bundle, offload_bundles};
pub use cubin::{Cubin, CubinKernel, Resources, cubin, is_cubin};
pub use device_code::{device_code, device_code_with, device_code_within, may_hold_code};
pub use error::CodeError;
pub use loadable::{loadable, runs_on};
pub use ptx::{PtxKernel, PtxModule, is_ptx, ptx};
pub use shader::embedded::embedded_modules;
pub use shader::webgpu::{LARGEST_WGSL, is_wgsl, wgsl_for_webgpu};
pub use shader::wgsl::{Contraction, NAGA_VERSION, wgsl_to_spirv};
pub use signature::{BufferBinding, BufferField, KernelSignature, Param, PushConstants, SpecConstant, kernel_abi_tag};
pub use spirv::{
    FloatArithmetic, ShaderNeeds, SpirvArray, SpirvBinding, SpirvBlock, SpirvEntryPoint, SpirvMember, SpirvModule,
    SpirvResource, is_spirv, spirv,
};
