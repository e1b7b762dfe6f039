//! SPIR-V: what a module asks of a device, where it expects its resources, and how their bytes lie.
//!
//! A pass of our own over the words ([`scan`]) checks everything and reads what stands there as it is. The
//! types of resources are put together by `spirq`, which trusts its input: it panics on instructions that it
//! does not know and copies nested types as often as they are named. So it gets a module that was checked,
//! measured, and cut down to declarations.

mod arithmetic;
mod module;
mod needs;
mod read;
mod reflect;
mod scan;
#[cfg(test)]
mod tests;

pub use arithmetic::FloatArithmetic;
pub(super) use module::MAGIC;
pub use module::{
    SpirvArray, SpirvBinding, SpirvBlock, SpirvEntryPoint, SpirvMember, SpirvModule, SpirvResource, is_spirv,
};
pub use needs::ShaderNeeds;
pub use read::spirv;
pub(super) use read::spirv_within;
