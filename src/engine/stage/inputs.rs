//! What staging works on.

use std::collections::BTreeMap;

use crate::bundle::ToolVersion;
use crate::engine::run::BuildOutcome;
use crate::plan::{BuildPlan, PlannedBundle};
use crate::recipe::{HostVariant, RecipeMatrix};

/// What staging works on.
pub struct StageInputs<'a> {
    /// The recipe.
    pub recipes: &'a RecipeMatrix,
    /// Its plan.
    pub plan: &'a BuildPlan,
    /// What the plan's steps made.
    pub outcome: &'a BuildOutcome,
    /// What the builds of each host variant were given of others, as it enters provenance.
    pub given: &'a BTreeMap<Option<HostVariant>, BTreeMap<String, ToolVersion>>,
    /// Stands in for every time stamp.
    pub source_date_epoch: u64,
}

impl StageInputs<'_> {
    /// Tools that a bundle was made with, and what its builds were given of others.
    pub(super) fn tools_of(&self, planned: &PlannedBundle) -> BTreeMap<String, ToolVersion> {
        let mut tools = self.plan.tools_of(planned.cuda).clone();
        if planned.host.is_some() {
            let others = self.given.get(&None);
            tools.retain(|name, _| others.is_none_or(|others| !others.contains_key(name)));
            tools.extend(self.given.get(&planned.host).cloned().unwrap_or_default());
        }
        tools
    }
}
