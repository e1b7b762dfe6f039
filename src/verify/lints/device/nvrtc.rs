//! The run-time compiler and the library that it opens by name.

use crate::lint::{Hits, Parameters, Predicate};
use crate::verify::BundleFacts;

pub(super) fn predicates() -> Vec<Predicate<BundleFacts>> {
    vec![Predicate { id: "nvrtc-builtins", parameters: &[], check: nvrtc_builtins }]
}

/// The name of the built-in functions stands in NVRTC's own bytes, with major and minor; the loader looks
/// for it beside NVRTC. What is shipped must have that very name, there.
fn nvrtc_builtins(facts: &BundleFacts, _: &Parameters, hits: &mut Hits) {
    for contents in facts.contents() {
        for nvrtc in &contents.files {
            let Some(wanted) = &nvrtc.builtins else { continue };
            if contents.files.iter().any(|file| file.name() == wanted && file.directory() == nvrtc.directory()) {
                continue;
            }
            let others: Vec<&str> = contents
                .files
                .iter()
                .filter(|file| file.name().starts_with("libnvrtc-builtins"))
                .map(|file| file.path.as_str())
                .collect();
            let elsewhere = others.iter().any(|path| path.rsplit('/').next() == Some(wanted));
            let message = match others.as_slice() {
                [] => format!("opens {wanted}, which is not here"),
                _ if elsewhere => format!("opens {wanted}, which lies in another directory"),
                _ => format!("opens {wanted}; what is here is {}", others.join(", ")),
            };
            hits.add(contents.subject(&nvrtc.path), message).evidence(format!("it holds the name {wanted}"));
        }
    }
}
