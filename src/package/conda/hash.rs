//! What the digest in a package's build string is over.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::bundle::BundleManifest;

/// What a build string's digest is over: the manifest (files by digest, provenance) and the
/// conditions. No directory, host, user or clock is in it.
pub(super) fn hash_input(
    manifest: &BundleManifest,
    depends: &[String],
    constrains: &[String],
) -> BTreeMap<&'static str, Value> {
    BTreeMap::from([("manifest", json!(manifest)), ("depends", json!(depends)), ("constrains", json!(constrains))])
}
