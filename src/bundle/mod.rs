//! The bundle: the staged tree of one component for one target, plus its `simpack.json`.

mod condition;
mod dependency;
mod installed;
mod inventory;
mod kernels;
mod manifest;

pub use condition::{Condition, DeviceRange};
pub use dependency::{Dependency, Ecosystem, Versions};
pub use installed::installed;
pub use inventory::{Inventory, KnownFile};
pub use kernels::{KERNELS_LIST, KERNELS_SCHEMA, KernelsList};
pub use manifest::{
    Artifact, ArtifactKind, Bundle, BundleManifest, EARLIEST, MANIFEST_SCHEMA, Provenance, ToolVersion,
};
