//! `simpack plan --cost`: what the steps are expected to take and to leave, by component and target, and what each target
//! alone costs, with who would serve its devices without it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::amount::{count, in_words};
use crate::arch::{Capability, CudaVersion, KernelTarget, Version};
use crate::engine::{Accuracy, Cache, expectations};
use crate::gpu::{Available, choose};
use crate::manifest::Manifests;
use crate::pipeline::Job;
use crate::recipe::ComponentKind;
use crate::table::{Column, Table};
use crate::ui::size;

/// What a plan costs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Costs {
    /// Always 1.
    schema: u32,
    /// Simulator.
    simulator: String,
    /// Its version.
    version: Version,
    /// Steps of the plan.
    steps: usize,
    /// Those that were made before: what they took is known. The others are estimated.
    measured: usize,
    /// Everything.
    total: StepCosts,
    /// By component and target.
    parts: Vec<PartCost>,
    /// What each target alone costs, in the order of the parts.
    targets: Vec<Marginal>,
    /// How well it was known what the last build that made steps would take.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default)]
    last: Option<Accuracy>,
}

/// What steps cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct StepCosts {
    /// Seconds, one step after the other.
    seconds: f64,
    /// Seconds of processors.
    cpu_seconds: f64,
    /// Bytes of the largest process of the largest step.
    memory: u64,
    /// Bytes of the files that they leave, uncompressed.
    bytes: u64,
    /// Whether nothing is known of the bytes of some steps, which are left out.
    incomplete: bool,
}

/// The steps of a component for one target.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PartCost {
    /// Component.
    component: ComponentKind,
    /// Target; none of what runs on the CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default)]
    target: Option<KernelTarget>,
    /// CUDA release, where the plan has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default)]
    cuda: Option<CudaVersion>,
    /// Its steps.
    steps: usize,
    /// Those that were made before.
    measured: usize,
    /// What they cost.
    #[serde(flatten)]
    costs: StepCosts,
}

/// What a plan without a target saves, and who loses.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Marginal {
    /// Target.
    target: KernelTarget,
    /// Seconds of processors that it takes.
    cpu_seconds: f64,
    /// The same as a part of all.
    cpu_part: f64,
    /// Bytes of its files.
    bytes: u64,
    /// The same as a part of those of all targets.
    bytes_part: f64,
    /// Devices that run its code, and what they would run without it.
    without: Vec<Served>,
}

/// Devices, and what they run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Served {
    /// Their capabilities.
    devices: Vec<Capability>,
    /// Target whose code they run; none runs on the CPU.
    by: Option<KernelTarget>,
}

impl StepCosts {
    fn add(&mut self, other: &Self) {
        self.seconds += other.seconds;
        self.cpu_seconds += other.cpu_seconds;
        self.memory = self.memory.max(other.memory);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.incomplete |= other.incomplete;
    }
}

/// What a plan costs, by what `cache` remembers of its steps.
pub(super) fn costs(job: &Job, cache: &Cache) -> Costs {
    let (plan, manifests) = (&job.plan, &job.inputs.manifests);
    let (expected, last) = expectations(plan, cache, &job.inputs.source, (&manifests.time, &manifests.memory));
    let mut parts: BTreeMap<_, (usize, usize, StepCosts)> = BTreeMap::new();
    let mut total = StepCosts::default();
    for (step, expected) in plan.steps.iter().zip(&expected) {
        let cuda = step.cuda.filter(|_| !plan.others.is_empty());
        let (steps, measured, costs) = parts.entry((step.component, step.target(), cuda)).or_default();
        let own = StepCosts {
            seconds: expected.seconds,
            cpu_seconds: expected.cpu,
            memory: expected.memory,
            bytes: expected.bytes.unwrap_or(0),
            incomplete: expected.bytes.is_none(),
        };
        (*steps, *measured) = (*steps + 1, *measured + usize::from(expected.measured));
        costs.add(&own);
        total.add(&own);
    }
    let part = |((component, target, cuda), (steps, measured, costs))| PartCost {
        component,
        target,
        cuda,
        steps,
        measured,
        costs,
    };
    let parts: Vec<PartCost> = parts.into_iter().map(part).collect();
    let newest = plan.others.iter().map(|release| release.cuda).chain([plan.cuda]).max().unwrap_or(plan.cuda);
    let targets = marginal(&parts, (plan.cuda, newest), total.cpu_seconds, manifests);
    Costs {
        schema: 1,
        simulator: plan.simulator.clone(),
        version: plan.version,
        steps: plan.steps.len(),
        measured: expected.iter().filter(|expected| expected.measured).count(),
        total,
        parts,
        targets,
        last,
    }
}

/// What each target costs. `cuda` is the release of parts that do not say, and that of the newest driver.
fn marginal(
    parts: &[PartCost],
    (cuda, driver): (CudaVersion, CudaVersion),
    all_cpu: f64,
    manifests: &Manifests,
) -> Vec<Marginal> {
    let mut targets: BTreeMap<KernelTarget, StepCosts> = BTreeMap::new();
    for part in parts {
        if let Some(target) = part.target.filter(|target| target.capability().is_some()) {
            targets.entry(target).or_default().add(&part.costs);
        }
    }
    let available = |without: Option<KernelTarget>| -> Vec<Available> {
        let own = parts.iter().filter_map(|part| Some((part.target?, part.cuda.unwrap_or(cuda))));
        let own = own.filter(|(target, _)| target.capability().is_some() && Some(*target) != without);
        own.map(|(target, cuda)| Available { target, cuda, ptx_isa: None }).collect()
    };
    let runs = |device: Capability, available: &[Available]| {
        choose(device, Some(driver), available, manifests).chosen.map(|index| available[index].target)
    };
    let all = available(None);
    let all_bytes: u64 = targets.values().map(|costs| costs.bytes).fold(0, u64::saturating_add);
    let part = |own: f64, all: f64| if all > 0.0 { own / all } else { 0.0 };
    let of = |(&target, costs): (&KernelTarget, &StepCosts)| {
        let others = available(Some(target));
        let mut without: Vec<Served> = Vec::new();
        for info in manifests.capabilities.iter().filter(|info| info.renamed.is_none()) {
            let device = info.capability();
            if runs(device, &all) != Some(target) {
                continue;
            }
            let by = runs(device, &others);
            match without.iter_mut().find(|served| served.by == by) {
                Some(served) => served.devices.push(device),
                None => without.push(Served { devices: vec![device], by }),
            }
        }
        Marginal {
            target,
            cpu_seconds: costs.cpu_seconds,
            cpu_part: part(costs.cpu_seconds, all_cpu),
            bytes: costs.bytes,
            bytes_part: part(costs.bytes as f64, all_bytes as f64),
            without,
        }
    };
    targets.iter().map(of).collect()
}

/// The answer as tables.
pub(super) fn text(costs: &Costs) -> String {
    let columns = [
        Column::words("component"),
        Column::words("target"),
        Column::number("steps"),
        Column::number("processor"),
        Column::number("memory").spare(0),
        Column::number("stored"),
    ];
    let cells = |costs: &StepCosts, is_estimate: bool| {
        let mark = if is_estimate { "~" } else { "" };
        let stored = match costs {
            StepCosts { bytes: 0, incomplete: true, .. } => "?".to_owned(),
            StepCosts { bytes, incomplete, .. } => {
                format!("{}{}", if is_estimate || *incomplete { "~" } else { "" }, size(*bytes))
            }
        };
        [format!("{mark}{}", time(costs.cpu_seconds)), format!("{mark}{}", size(costs.memory)), stored]
    };
    let row = |part: &PartCost| {
        let target = part.target.map_or("-".to_owned(), |target| target.to_string());
        let target = part.cuda.map_or(target.clone(), |cuda| format!("{target}, CUDA {cuda}"));
        let [processor, memory, stored] = cells(&part.costs, part.measured < part.steps);
        [part.component.to_string(), target, part.steps.to_string(), processor, memory, stored]
    };
    let [processor, memory, stored] = cells(&costs.total, costs.measured < costs.steps);
    let all = ["all".to_owned(), String::new(), costs.steps.to_string(), processor, memory, stored];
    let mut text = Table::new(columns).rows(costs.parts.iter().map(row).chain([all])).text();
    text.push_str(
        "processor: seconds of all steps; memory: of the largest process; stored: files before compression\n",
    );
    for one in &costs.targets {
        let device = |device: &Capability| device.to_string();
        let served = one.without.iter().map(|served| {
            let devices: Vec<String> = served.devices.iter().map(device).collect();
            match served.by {
                Some(by @ KernelTarget::Ptx(_)) => format!("{} by {by}, compiled by the driver", devices.join(" ")),
                Some(by) => format!("{} by {by} code", devices.join(" ")),
                None => format!("{} by the CPU", devices.join(" ")),
            }
        });
        let served: Vec<String> = served.collect();
        let who = match served.is_empty() {
            true => "no known device runs it".to_owned(),
            false => format!("served then: {}", served.join("; ")),
        };
        text.push_str(&format!(
            "drop {:<12} -{:.0} % processor, -{:.0} % bytes of kernels; {who}\n",
            one.target.to_string(),
            one.cpu_part * 100.0,
            one.bytes_part * 100.0
        ));
    }
    match costs.steps - costs.measured {
        0 => text.push_str(&format!("measured: all {}", count(costs.steps, "step"))),
        _ => text.push_str(&format!(
            "measured: {} of {}; ~ holds estimates for the others",
            costs.measured,
            count(costs.steps, "step")
        )),
    }
    if let Some(last) = &costs.last {
        let off = if last.expected > 0.0 { (last.took / last.expected - 1.0) * 100.0 } else { 0.0 };
        text.push_str(&format!(
            "\nlast build: {} took {}, {off:+.0} % of what was expected; each was off by {:.0} %",
            count(last.steps, "step"),
            time(last.took),
            last.each * 100.0
        ));
    }
    text
}

fn time(seconds: f64) -> String {
    match seconds {
        short if short < 100.0 => format!("{short:.1} s"),
        long => in_words(std::time::Duration::from_secs(long as u64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Data;

    #[test]
    fn a_target_that_another_serves_costs_what_it_takes_and_nobody_loses() {
        let manifests = Manifests::load(&Data::at("no such directory")).unwrap();
        let cuda: CudaVersion = "13.0".parse().unwrap();
        let part = |target: &str, seconds: f64, bytes| PartCost {
            component: ComponentKind::Kernels,
            target: Some(target.parse().unwrap()),
            cuda: None,
            steps: 1,
            measured: 1,
            costs: StepCosts { cpu_seconds: seconds, bytes, ..StepCosts::default() },
        };
        let parts = [part("sm_80", 3.0, 700), part("sm_86", 1.0, 100), part("compute_90", 4.0, 200)];
        let found = marginal(&parts, (cuda, cuda), 16.0, &manifests);
        let of = |target: &str| found.iter().find(|one| one.target.to_string() == target).unwrap();
        let words = |target: &str| -> Vec<String> {
            let of = of(target).without.iter();
            of.map(|served| {
                format!(
                    "{:?} {:?}",
                    served.devices.iter().map(ToString::to_string).collect::<Vec<_>>(),
                    served.by.map(|by| by.to_string())
                )
            })
            .collect()
        };
        assert_eq!((of("sm_86").cpu_part, of("sm_86").bytes_part), (0.0625, 0.1));
        assert_eq!(words("sm_86"), [r#"["8.6", "8.9"] Some("sm_80")"#]);
        assert!(words("sm_80").iter().all(|line| line.ends_with("None")), "{:?}", words("sm_80"));
        assert!(words("compute_90")[0].contains("\"9.0\""), "{:?}", words("compute_90"));
    }
}
