//! Device code: what files hold, what kernels look like, which device runs what.

mod signature;

pub use signature::{KernelSignature, Param, kernel_abi_tag};
