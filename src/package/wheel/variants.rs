//! Variant wheels: wheels of one version among which an installer chooses by the machine (PEP 817 and PEP 825, both
//! drafts). They are written where the recipe asks for the experiment, hold nothing, and bring the device code for one
//! target, as the builds of the selector do for conda. Installers that know no variants pass over their file names and
//! take the wheel without a label, which brings nothing.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::super::Package;
use super::names::extra;
use crate::arch::{Capability, KernelTarget, Suffix};
use crate::bundle::Condition;
use crate::error::{Error, Result};

/// The form that the draft describes; its number begins with a zero because it may change.
const SCHEMA: &str = "https://variants-schema.wheelnext.dev/v0.0.3.json";
/// The label of the wheel for every machine.
pub(super) const NULL: &str = "null";
/// Whose properties they are.
const NAMESPACE: &str = "nvidia";
/// The feature that says for which GPU code is.
const GPU: &str = "sm_arch";
/// The feature that says which driver it needs.
const DRIVER: &str = "cuda_version_lower_bound";

/// What makes a wheel a variant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Variant {
    /// Label: the last part of the wheel's name.
    pub label: String,
    /// Properties of the machine that it is for, by feature; none for every machine.
    properties: Vec<(&'static str, String)>,
    /// How good it is among the others: the selector's build number.
    preference: u64,
}

impl Variant {
    /// Of a build of the selector.
    pub fn of(selector: &Package) -> Self {
        let target = selector.manifest.target.unwrap_or(KernelTarget::Cpu);
        let preference = selector.build_number;
        let Some(gpu) = gpu(target) else {
            return Self { label: NULL.to_owned(), properties: Vec::new(), preference };
        };
        let driver = selector.manifest.conditions.iter().find_map(|condition| match condition {
            Condition::Driver { cuda } => Some((DRIVER, cuda.to_string())),
            _ => None,
        });
        let label = extra(target, selector.manifest.cuda).replace('-', "_");
        Self { label, properties: [(GPU, gpu)].into_iter().chain(driver).collect(), preference }
    }

    fn json(&self) -> Value {
        let mut features = Map::new();
        for (feature, value) in &self.properties {
            features.insert((*feature).to_owned(), json!([value]));
        }
        if features.is_empty() { json!({}) } else { json!({ NAMESPACE: features }) }
    }
}

/// What the file `variant.json` of a wheel says, or that of an index of all of them.
///
/// # Errors
/// An internal error.
pub(super) fn described(variants: &[&Variant], all: &[Variant]) -> Result<Vec<u8>> {
    let mut best: Vec<&Variant> = all.iter().collect();
    best.sort_by_key(|variant| std::cmp::Reverse(variant.preference));
    let of = |wanted: &str| -> Vec<&str> {
        let values = best.iter().flat_map(|variant| &variant.properties);
        let mut seen = BTreeSet::new();
        let values = values.filter(|(feature, _)| *feature == wanted).map(|(_, value)| value.as_str());
        values.filter(|value| seen.insert(*value)).collect()
    };
    let labels: Map<String, Value> = variants.iter().map(|variant| (variant.label.clone(), variant.json())).collect();
    let value = json!({
        "$schema": SCHEMA,
        "default-priorities": {
            "namespace": [NAMESPACE],
            "feature": { NAMESPACE: [GPU, DRIVER] },
            "property": { NAMESPACE: { GPU: of(GPU), DRIVER: of(DRIVER) } },
        },
        "variants": labels,
    });
    let mut bytes = serde_json::to_vec_pretty(&value)
        .map_err(|error| Error::bug("the variants of wheels do not print as JSON").because(error))?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// The value of the feature that says for which GPU code is.
fn gpu(target: KernelTarget) -> Option<String> {
    let kind = match target {
        KernelTarget::Sass(_) => "real",
        KernelTarget::Ptx(_) => "virtual",
        KernelTarget::Cpu | KernelTarget::Spirv(..) | KernelTarget::Vulkan(..) | KernelTarget::WebGpu => return None,
    };
    let Capability { major, minor, suffix } = target.capability()?;
    let suffix = match suffix {
        Suffix::Plain => "",
        Suffix::Exact => "a",
        Suffix::Family => "f",
    };
    Some(format!("{major}{minor}{suffix}_{kind}"))
}
