//! Shaders that the build of core embeds: the one place where a step takes what others made. Its key holds theirs, so
//! it is settled when they are.

use std::collections::{BTreeMap, BTreeSet};

use super::{Action, BuildPlan, KeyPart, Step, key_of};
use crate::arch::KernelTarget;
use crate::fs::Digest;

/// Stands in options for the directory of the modules.
const SHADERS: &str = "{shaders}";
/// Part of a key that waits for the keys of the steps that compile the modules.
pub(super) const MODULES: &str = "modules";

/// Gives host steps whose options ask for the shaders the steps that compile these, and puts them behind all others.
pub(super) fn embed(steps: &mut [Step]) {
    let is_shader = |step: &&Step| {
        matches!(step.action, Action::Kernel { .. }) && step.target().is_some_and(KernelTarget::is_shader)
    };
    let compile: Vec<String> = steps.iter().filter(is_shader).map(|step| step.id.clone()).collect();
    for step in steps.iter_mut() {
        let Action::Host { options, shaders, .. } = &mut step.action else { continue };
        if options.values().any(|value| value.contains(SHADERS)) {
            shaders.clone_from(&compile);
            step.parts.push(KeyPart::new(MODULES, "known when they are compiled"));
            step.key = key_of(&step.parts);
        }
    }
    steps.sort_by_key(|step| !step.embeds().is_empty());
}

/// Completes the keys of steps that embed what settled steps make.
pub(super) fn settle(steps: &mut [Step]) {
    let keys: BTreeMap<String, Digest> = {
        let settled = steps.iter().filter(|step| step.is_settled());
        settled.map(|step| (step.id.clone(), step.key)).collect()
    };
    for step in steps.iter_mut().filter(|step| !step.is_settled()) {
        if let Some(settled) = step.embedding(|id| keys.get(id).copied()) {
            *step = settled;
        }
    }
}

impl BuildPlan {
    /// Keeps the steps with these ids, and what they embed.
    pub fn keep(&mut self, ids: &BTreeSet<&str>) {
        let kept = self.steps.iter().filter(|step| ids.contains(step.id.as_str()));
        let embedded: BTreeSet<String> = kept.flat_map(|step| step.embeds().to_vec()).collect();
        self.steps.retain(|step| ids.contains(step.id.as_str()) || embedded.contains(&step.id));
    }
}

impl Step {
    /// Ids of the steps whose modules it puts into what it builds.
    pub fn embeds(&self) -> &[String] {
        match &self.action {
            Action::Host { shaders, .. } => shaders,
            Action::Kernel { .. } | Action::Generate { .. } | Action::Structures { .. } => &[],
        }
    }

    /// The step with the key that those of the steps give it whose modules it embeds. None for one that embeds nothing, and
    /// while one of the keys is not known.
    #[must_use]
    pub fn embedding(&self, key: impl Fn(&str) -> Option<Digest>) -> Option<Self> {
        if self.embeds().is_empty() {
            return None;
        }
        let mut parts = self.known_parts().to_vec();
        for id in self.embeds() {
            parts.push(KeyPart::new(format!("module {id}"), key(id)?));
        }
        Some(Self { key: key_of(&parts), parts, ..self.clone() })
    }

    /// What its key is made of beside the modules that it embeds.
    pub(super) fn known_parts(&self) -> &[KeyPart] {
        let is_of_modules = |part: &KeyPart| part.name == MODULES || part.name.starts_with("module ");
        let end = if self.embeds().is_empty() { None } else { self.parts.iter().position(is_of_modules) };
        &self.parts[..end.unwrap_or(self.parts.len())]
    }
}
