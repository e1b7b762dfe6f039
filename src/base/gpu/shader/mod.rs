//! Shaders in WGSL, and shaders inside programs.

pub(super) mod embedded;
pub(super) mod webgpu;
pub(super) mod wgsl;
