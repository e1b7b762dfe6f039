//! The bundle: the staged tree of one component for one target, plus its `simpack.json`.

mod manifest;

pub use manifest::{Artifact, ArtifactKind, Bundle, BundleManifest, MANIFEST_SCHEMA, Provenance, ToolVersion};
