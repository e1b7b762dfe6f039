//! Names of the packages that hold no files of a component.

/// Version of the package that ties kernels to a core: the schema of the tag, not the simulator's.
pub const KERNEL_ABI_VERSION: u32 = 3;
/// Version of the package by which libraries that ship cut exclude each other.
pub const SLOT_VERSION: u32 = 3;

/// The package that ties kernels to a core. An environment holds one build of a package, and each kernel table has a
/// build of its own: so core and kernels that name different tables cannot be installed together, and the solver says
/// so before anything is downloaded.
pub fn kernel_abi_name(simulator: &str) -> String {
    format!("{simulator}-kernel-abi")
}

/// The package by which libraries that ship cut exclude each other: each target has a build of its own.
pub fn slot_name(simulator: &str) -> String {
    format!("{simulator}-slice")
}

/// The package that brings the kernels of all targets.
pub fn all_kernels_name(simulator: &str) -> String {
    format!("{simulator}-kernels-all")
}

/// The package by which a package manager picks the kernels.
pub fn selector_name(simulator: &str) -> String {
    format!("{simulator}-kernels")
}
