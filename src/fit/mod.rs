//! What fits a machine: which packages of a simulator serve which device and why, and how far binaries reach that
//! simpack did not make.
//!
//! What runs where is [`choose`](crate::gpu::choose)'s answer alone: the same for `doctor`, `select`, the lints and,
//! by the same table of cases, for a simulator's own loader.

mod cover;
mod device;
mod distribution;
mod foreign;
mod reach;
mod shaders;
#[cfg(test)]
mod tests;
mod words;

pub use device::{Advice, DeviceFit, Fit, Runs, Step, fit};
pub use distribution::{Distribution, KernelPackage, Part, ShaderPackage};
pub use foreign::{Compiles, ForeignFit, Unit, UnitFit};
pub use reach::{DeviceReach, DriverNeed, How, Reach};
pub use shaders::{ShaderFit, shader_fits};
