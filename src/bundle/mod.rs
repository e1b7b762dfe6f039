//! The bundle: the staged tree of one component for one target, plus its `simpack.json`.

mod kernels;
mod manifest;

pub use kernels::{KERNELS_LIST, KERNELS_SCHEMA, KernelsList};
pub use manifest::{
    Artifact, ArtifactKind, Bundle, BundleManifest, EARLIEST, MANIFEST_SCHEMA, Provenance, ToolVersion,
};
