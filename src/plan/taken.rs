//! What steps take of what others made: shaders that the build of core embeds, and what is installed that another build is
//! built against. Their keys hold those of the others, so they are settled when these are.

use std::collections::{BTreeMap, BTreeSet};

use super::{Action, BuildPlan, KeyPart, Step, key_of};
use crate::arch::KernelTarget;
use crate::error::{Error, Result};
use crate::fs::Digest;
use crate::recipe::{Component, ComponentKind, HostVariant, Recipe};

/// Stands in options for the directory of the modules.
const SHADERS: &str = "{shaders}";
/// Part of a key that waits for the keys of the steps that something is taken of.
pub(super) const TAKEN: &str = "taken";
/// Beginning of the parts that take its place, for modules.
const MODULE: &str = "module ";

/// Gives host steps the steps that they take something of: those whose options ask for the shaders all that compile these,
/// those of components that are built against others the builds of these. Each stands behind what it takes of.
pub(super) fn join(steps: &mut [Step], recipe: &Recipe) -> Result<()> {
    let is_shader = |step: &&Step| {
        matches!(step.action, Action::Kernel { .. }) && step.target().is_some_and(KernelTarget::is_shader)
    };
    let compile: Vec<String> = steps.iter().filter(is_shader).map(|step| step.id.clone()).collect();
    let built: Vec<Vec<String>> = steps.iter().map(|step| builds(steps, step, recipe)).collect::<Result<_>>()?;
    for (step, built) in steps.iter_mut().zip(built) {
        let Action::Host { options, shaders, against, .. } = &mut step.action else { continue };
        if options.values().any(|value| value.contains(SHADERS)) {
            shaders.clone_from(&compile);
        }
        *against = built;
        if !(shaders.is_empty() && against.is_empty()) {
            step.parts.push(KeyPart::new(TAKEN, "known when it is made"));
            step.key = key_of(&step.parts);
        }
    }
    let ways: BTreeMap<String, usize> = steps.iter().map(|step| (step.id.clone(), depth(steps, step))).collect();
    steps.sort_by_key(|step| ways.get(&step.id).copied());
    Ok(())
}

/// How many steps stand one behind the other before a step can begin. The recipe has no circles.
fn depth(steps: &[Step], step: &Step) -> usize {
    let of = |id: &String| steps.iter().find(|other| other.id == *id).map_or(0, |other| depth(steps, other) + 1);
    match &step.action {
        // All of them are alike, and take nothing themselves.
        Action::Host { shaders, against, .. } => {
            against.iter().map(of).max().unwrap_or_default().max(usize::from(!shaders.is_empty()))
        }
        _ => 0,
    }
}

/// Ids of the steps that build what a step is built against: of each component the build of the host part, and of several
/// host variants the one with the same choices.
fn builds(steps: &[Step], step: &Step, recipe: &Recipe) -> Result<Vec<String>> {
    let build = match step.action {
        Action::Host { .. } => recipe.component(step.component).and_then(|component| component.build.as_ref()),
        _ => None,
    };
    let Some(build) = build else { return Ok(Vec::new()) };
    let one = |kind: &ComponentKind| {
        let component = recipe.component(*kind);
        let is_own = |other: &&Step| other.cuda.is_none_or(|cuda| cuda == recipe.cuda);
        let is_it = |other: &&Step| {
            other.component == *kind
                && matches!(other.action, Action::Host { target: None, .. })
                && !other.is_other_variant(recipe)
                && component.is_some_and(|component| is_same_choice(component, other.host.as_ref(), step.host.as_ref()))
        };
        let found = steps.iter().filter(is_own).find(is_it).map(|other| other.id.clone());
        found.ok_or_else(|| Error::bug(format!("no step builds component `{kind}` for {}", step.id)))
    };
    build.against.iter().map(one).collect()
}

/// Whether a build of a component is the one for a variant of another: with its choices where both have them, else with the
/// defaults.
fn is_same_choice(component: &Component, of: Option<&HostVariant>, wanted: Option<&HostVariant>) -> bool {
    let default = component.default_variant();
    of.is_none_or(|of| {
        of.choices().all(|(axis, value)| {
            let wanted = wanted.and_then(|wanted| wanted.of(axis));
            wanted.or_else(|| default.as_ref()?.of(axis)) == Some(value)
        })
    })
}

/// Completes the keys of steps that take of what settled steps make.
pub(super) fn settle(steps: &mut [Step]) {
    let mut keys: BTreeMap<String, Digest> = BTreeMap::new();
    // In the plan's order, in which no step takes of a later one.
    for step in steps.iter_mut() {
        if !step.is_settled()
            && let Some(settled) = step.taking(|id| keys.get(id).copied())
        {
            *step = settled;
        }
        if step.is_settled() {
            keys.insert(step.id.clone(), step.key);
        }
    }
}

impl BuildPlan {
    /// Keeps the steps with these ids, and all that they take something of.
    pub fn keep(&mut self, ids: &BTreeSet<&str>) {
        let mut kept: BTreeSet<String> = ids.iter().map(|id| (*id).to_owned()).collect();
        // Whatever is taken stands before.
        for step in self.steps.iter().rev() {
            if kept.contains(&step.id) {
                kept.extend(step.takes().map(str::to_owned));
            }
        }
        self.steps.retain(|step| kept.contains(&step.id));
    }
}

impl Step {
    /// Ids of the steps that it takes something of, which have ended when it begins.
    pub fn takes(&self) -> impl Iterator<Item = &str> {
        let (shaders, against) = match &self.action {
            Action::Host { shaders, against, .. } => (shaders.as_slice(), against.as_slice()),
            Action::Kernel { .. } | Action::Generate { .. } | Action::Structures { .. } => Default::default(),
        };
        shaders.iter().chain(against).map(String::as_str)
    }

    /// The step with the key that those of the steps give it that it takes something of. None for one that takes nothing,
    /// and while one of the keys is not known.
    #[must_use]
    pub fn taking(&self, key: impl Fn(&str) -> Option<Digest>) -> Option<Self> {
        let Action::Host { shaders, against, .. } = &self.action else { return None };
        if shaders.is_empty() && against.is_empty() {
            return None;
        }
        let mut parts = self.known_parts().to_vec();
        for id in shaders {
            parts.push(KeyPart::new(format!("{MODULE}{id}"), key(id)?));
        }
        for id in against {
            parts.push(KeyPart::of_build(id, key(id)?));
        }
        Some(Self { key: key_of(&parts), parts, ..self.clone() })
    }

    /// What its key is made of beside what it takes of others.
    pub(super) fn known_parts(&self) -> &[KeyPart] {
        let is_taken = |part: &KeyPart| part.name == TAKEN || part.name.starts_with(MODULE) || part.is_of_build();
        let end = if self.takes().next().is_none() { None } else { self.parts.iter().position(is_taken) };
        &self.parts[..end.unwrap_or(self.parts.len())]
    }
}
