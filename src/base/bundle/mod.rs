//! The bundle: the staged tree of one component for one target, plus its `simpack.json`.

mod condition;
mod dependency;
mod embedded;
mod find;
mod inventory;
mod kernels;
mod manifest;
mod outside;
mod schema;

pub use condition::{Condition, DeviceRange};
pub use dependency::{Dependency, Ecosystem, Versions};
pub use embedded::{EmbeddedModule, EmbeddedShaders};
pub use find::{
    FoundManifest, ManifestError, installed, is_manifest, manifests, manifests_below, read_manifest, wheel_prefixes,
};
pub use inventory::{HeldFile, Inventory, KnownFile};
pub use kernels::{KERNELS_LIST, KERNELS_SCHEMA, KernelsList};
pub use manifest::{Artifact, ArtifactKind, Bundle, BundleManifest, DeviceSources, EARLIEST, Provenance, ToolVersion};
pub use outside::{OutsideLibrary, Provider};
pub use schema::MANIFEST_SCHEMA;
