//! Device code: what files hold, what kernels look like, which device runs what.

mod chain;
mod signature;

pub use chain::{Available, Choice, Considered, Verdict, choose};
pub use signature::{KernelSignature, Param, kernel_abi_tag};
