//! A request that has become a plan.

use std::collections::BTreeSet;

use super::inputs::BuildInputs;
use super::machines::parts;
use super::request::BuildRequest;
use crate::amount::count;
use crate::arch::KernelTarget;
use crate::error::{Error, Result};
use crate::fs::Digest;
use crate::lastrun::StepKeys;
use crate::plan::{self, BuildPlan, PlanIdentity, PlannedBundle, Step};
use crate::recipe::{ComponentKind, Recipe};
use crate::ui::Ui;

/// A request that has become a plan.
pub(crate) struct Job {
    pub inputs: BuildInputs,
    pub plan: BuildPlan,
    /// The plan that `plan` is one part of, where only a part is asked for.
    pub whole: Option<PlanIdentity>,
}

impl BuildInputs {
    /// Plans what the request asks for.
    pub(crate) fn plan(self, request: &BuildRequest) -> Result<Job> {
        let mut job = self.plan_unsettled(request)?;
        job.settle();
        Ok(job)
    }

    /// The same without what compilers said on this machine of the headers that they read.
    pub(super) fn plan_unsettled(self, request: &BuildRequest) -> Result<Job> {
        let mut plan = plan::plan(&self.recipes, &self.plan_inputs)?;
        narrow(&mut plan, self.recipes.own(), &request.components)?;
        let whole = request.shard.as_ref().map(|asked| parts::keep(&self, &mut plan, asked)).transpose()?;
        Ok(Job { inputs: self, plan, whole })
    }
}

impl Job {
    pub(crate) fn prepare(request: &BuildRequest, ui: &Ui) -> Result<Self> {
        BuildInputs::find(request, ui)?.plan(request)
    }

    /// Completes keys with what compilers have read by now.
    pub(crate) fn settle(&mut self) {
        self.settle_by_lists();
        let left: BTreeSet<Digest> = self.unsettled().collect();
        if !left.is_empty() && self.inputs.headers.bring(&left.into_iter().collect::<Vec<_>>()) {
            self.settle_by_lists();
        }
    }

    fn unsettled(&self) -> impl Iterator<Item = Digest> {
        self.plan.steps.iter().filter(|step| !step.is_settled()).filter_map(|step| step.direct)
    }

    fn settle_by_lists(&mut self) {
        let recorded = self.inputs.headers.load(self.unsettled());
        plan::settle(&mut self.plan, &self.inputs.plan_inputs.sources, &recorded);
    }

    /// One line that says what the job is.
    pub(crate) fn headline(&self) -> String {
        let recipe = self.inputs.recipes.own();
        let releases: Vec<String> = self
            .inputs
            .recipes
            .compiling()
            .map(|recipe| {
                let of = |is: &dyn Fn(&KernelTarget) -> bool| recipe.targets.iter().filter(|target| is(target)).count();
                let ptx = of(&|target| matches!(target, KernelTarget::Ptx(_)));
                let sass = of(&|target| matches!(target, KernelTarget::Sass(_)));
                let code = match (sass, ptx) {
                    (0, 0) => None,
                    (0, _) => Some("PTX".to_owned()),
                    (sass, 0) => Some(count(sass, "capability")),
                    (sass, _) => Some(format!("{} + PTX", count(sass, "capability"))),
                };
                let code = code.map(|code| format!("{code}, CUDA {}", recipe.cuda));
                let shaders = recipe.targets.iter().filter(|target| target.is_shader()).map(ToString::to_string);
                let shaders = shaders.collect::<Vec<_>>().join(" ");
                match (code, shaders.is_empty()) {
                    (None, true) => "no device code".to_owned(),
                    (Some(code), true) => code,
                    (None, false) => shaders,
                    (Some(code), false) => format!("{code}, {shaders}"),
                }
            })
            .collect();
        let kernels = releases.join("; ");
        let steps = count(self.plan.steps.len(), "step");
        format!("{} {}  {}  {kernels}, {steps}", recipe.name, recipe.version, self.inputs.shown)
    }

    /// What the keys of its steps are made of.
    pub(super) fn keys(&self) -> StepKeys {
        let parts = |step: &Step| step.parts.iter().map(|part| (part.name.clone(), part.value.clone())).collect();
        self.plan.steps.iter().map(|step| (step.id.clone(), parts(step))).collect()
    }
}

/// Keeps the bundles of the asked components and the steps that make their files.
fn narrow(plan: &mut BuildPlan, recipe: &Recipe, components: &[String]) -> Result<()> {
    if components.is_empty() {
        return Ok(());
    }
    let is_own = |kind: &ComponentKind| *kind != ComponentKind::Kernels || recipe.ships_kernels();
    let known: Vec<ComponentKind> = recipe.components.iter().map(|component| component.kind).filter(is_own).collect();
    let mut asked = Vec::new();
    for name in components {
        let found = known.iter().find(|kind| kind.to_string() == *name).copied();
        asked.push(found.ok_or_else(|| {
            let names: Vec<String> = known.iter().map(ToString::to_string).collect();
            Error::usage(format!("the recipe has no component `{name}`")).hint(format!("it has {}", names.join(", ")))
        })?);
    }
    // What core embeds is examined with it.
    let is_of_core = |bundle: &PlannedBundle| {
        asked.contains(&ComponentKind::Core) && bundle.target.is_some_and(|target| recipe.is_embedded(target))
    };
    plan.bundles.retain(|bundle| asked.contains(&bundle.component) || is_of_core(bundle));
    let wants_host = asked.iter().any(|kind| match kind {
        ComponentKind::Kernels => recipe.is_sliced(),
        kind => *kind != ComponentKind::Meta,
    });
    let embedding = wants_host && recipe.embeds_shaders();
    let is_wanted = |step: &&Step| match step.component {
        ComponentKind::Kernels => asked.contains(&ComponentKind::Kernels) || (embedding && step.cuda.is_none()),
        // Its build makes nothing of others.
        ComponentKind::Python => asked.contains(&ComponentKind::Python),
        _ => wants_host,
    };
    let wanted: Vec<String> = plan.steps.iter().filter(is_wanted).map(|step| step.id.clone()).collect();
    plan.keep(&wanted.iter().map(String::as_str).collect());
    Ok(())
}
