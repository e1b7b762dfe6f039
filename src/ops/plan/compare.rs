//! `simpack plan --compare`: what the ways to ship device code for many capabilities cost, from what the steps of
//! this recipe took and made here.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use crate::arch::{CudaVersion, KernelTarget, Version};
use crate::bundle::ArtifactKind;
use crate::engine::{Cache, CacheEntry, Claims};
use crate::error::{Error, Result};
use crate::fs::{self, Content};
use crate::gpu::slice::{FreedSpace, Part as Piece, SliceError, plan};
use crate::manifest::Manifests;
use crate::package;
use crate::pipeline::{Job, slice_for};
use crate::plan::Step;
use crate::recipe::ComponentKind;
use crate::table::{Column, Table};
use crate::ui::size;

/// The answer.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Comparison {
    /// Always 1.
    schema: u32,
    /// Simulator.
    simulator: String,
    /// Its version.
    version: Version,
    /// Steps of the plan.
    steps: usize,
    /// Those whose cost was measured: their artifacts are in the cache. The others are estimated.
    measured: usize,
    /// Everything but kernels, and but libraries that ship cut.
    host: Cost,
    /// Libraries that ship cut, whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default)]
    fat: Option<Cost>,
    /// Kernels by target, as the recipe lists them.
    targets: Vec<TargetCost>,
    /// The ways, in the order in which people find them.
    ways: Vec<Way>,
}

/// What a part costs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Cost {
    /// Seconds of its steps, one after another.
    seconds: f64,
    /// Bytes of its files.
    bytes: u64,
    /// Those that users of the simulator need (no headers, static libraries or sources), compressed as a package is.
    download: u64,
    /// Whether a part of it is an estimate.
    estimated: bool,
}

/// What the kernels of one target cost.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TargetCost {
    /// Target.
    target: KernelTarget,
    /// CUDA release, where the plan has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default)]
    cuda: Option<CudaVersion>,
    /// Its cost.
    #[serde(flatten)]
    cost: Cost,
}

/// One way to ship.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Way {
    /// Its name.
    way: WayName,
    /// Seconds of compiling for all targets.
    seconds: f64,
    /// Seconds of compiling when one more target is asked for, of average cost.
    one_more: f64,
    /// Bytes of all packages' files.
    stored: u64,
    /// Compressed bytes that a user with one GPU downloads: for the largest target.
    download: u64,
    /// Whether a part of it is an estimate.
    estimated: bool,
}

/// Ways to ship.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WayName {
    /// One library with the code for every target.
    Fat,
    /// That library, cut to one target in each package.
    Sliced,
    /// The whole simulator built anew for each target.
    Rebuilt,
    /// One core, and a package of kernels for each target.
    Compiled,
}

impl WayName {
    fn words(self) -> &'static str {
        match self {
            Self::Fat => "fat: one library for all",
            Self::Sliced => "sliced: the fat one, cut for each",
            Self::Rebuilt => "rebuilt: everything for each",
            Self::Compiled => "compiled: kernels for each",
        }
    }
}

/// A step's cost, measured.
struct Measured {
    seconds: f64,
    bytes: u64,
}

/// Compares the ways for a plan, from the artifacts in `cache`.
///
/// # Errors
/// No step of one kind was ever run here, so there is nothing to estimate from.
pub(super) fn compare(job: &Job, cache: &Cache) -> Result<Comparison> {
    let plan = &job.plan;
    let mut host = Part::default();
    // Of these only the libraries that ship cut are taken: the builds of other releases, and of other variants.
    let mut again: BTreeMap<CudaVersion, Part<'_>> = BTreeMap::new();
    let mut kernels: BTreeMap<(KernelTarget, Option<CudaVersion>), Part<'_>> = BTreeMap::new();
    let release = |cuda: Option<CudaVersion>| cuda.filter(|_| !plan.others.is_empty());
    let own = job.inputs.recipes.own();
    for step in &plan.steps {
        let cuda = step.cuda.unwrap_or(plan.cuda);
        let part = match step.target() {
            None if cuda != plan.cuda || step.is_other_variant(own) => again.entry(cuda).or_default(),
            None => &mut host,
            Some(target) => kernels.entry((target, release(step.cuda))).or_default(),
        };
        match cache.get(step.key)? {
            Some(entry) => part.measured.push(entry),
            None => part.open.push(step),
        }
    }
    let parts = || std::iter::once(&host).chain(again.values()).chain(kernels.values());
    let measured = parts().map(|part| part.measured.len()).sum();
    let known: Vec<Measured> = kernels.values().flat_map(|part| part.measured.iter().map(of_entry)).collect();
    let hosts: Vec<Measured> = host.measured.iter().map(of_entry).collect();
    let claims = Claims::new(&job.inputs.recipes.own().components)?;
    let mut targets = Vec::new();
    for ((target, cuda), part) in kernels {
        targets.push(TargetCost { target, cuda, cost: part.cost(&known, &|_| true)? });
    }
    let is_fat = |path: &str| claims.of(path).contains(&ComponentKind::Kernels);
    let mut fat = None;
    if job.inputs.recipes.own().is_sliced() {
        let made = |cuda: CudaVersion| -> Vec<&CacheEntry> {
            let first = host.measured.iter().filter(|_| cuda == plan.cuda);
            first.chain(again.get(&cuda).into_iter().flat_map(|part| &part.measured)).collect()
        };
        let whole = made(plan.cuda);
        let bytes = files(whole.iter().copied(), &is_fat).map(|(_, size)| size).sum();
        let asked = plan.bundles.iter().filter(|bundle| bundle.component == ComponentKind::Kernels);
        for (target, cuda) in asked.filter_map(|bundle| Some((bundle.target?, bundle.cuda))) {
            let mut cost = Cost::default();
            for (path, _) in files(made(cuda.unwrap_or(plan.cuda)), &is_fat) {
                cost.add_slice(&path, target, &job.inputs.manifests)?;
            }
            targets.push(TargetCost { target, cuda: release(cuda), cost });
        }
        fat = Some(Cost { bytes, download: packed(whole, &is_fat)?, ..Cost::default() });
    }
    let needed = |path: &str| {
        !is_fat(path) && claims.of(path).iter().any(|kind| matches!(kind, ComponentKind::Core | ComponentKind::Rtc))
    };
    let cut: u64 = files(&host.measured, &is_fat).map(|(_, size)| size).sum();
    let again = again.values().map(|part| part.cost(&hosts, &|_| false)).collect::<Result<Vec<_>>>()?;
    let mut host = host.cost(&hosts, &needed)?;
    host.seconds += again.iter().map(|cost| cost.seconds).sum::<f64>();
    host.estimated |= again.iter().any(|cost| cost.estimated);
    host.bytes -= cut;
    let ways = match &fat {
        Some(fat) => ways_of_slices(&host, fat, &targets),
        None => ways(&host, &targets),
    };
    Ok(Comparison {
        schema: 1,
        simulator: plan.simulator.clone(),
        version: plan.version,
        steps: plan.steps.len(),
        measured,
        host,
        fat,
        targets,
        ways,
    })
}

/// Steps whose files lie in one package.
#[derive(Default)]
struct Part<'p> {
    measured: Vec<CacheEntry>,
    open: Vec<&'p Step>,
}

impl Part<'_> {
    /// Its cost; steps that were not run count as the mean of those of their kind.
    fn cost(&self, known: &[Measured], needed: &dyn Fn(&str) -> bool) -> Result<Cost> {
        let own: Vec<Measured> = self.measured.iter().map(of_entry).collect();
        let mut cost = Cost {
            seconds: own.iter().map(|one| one.seconds).sum(),
            bytes: own.iter().map(|one| one.bytes).sum(),
            download: packed(&self.measured, needed)?,
            estimated: !self.open.is_empty(),
        };
        if let Some(step) = self.open.first() {
            if known.is_empty() {
                return Err(Error::usage(format!("nothing is known of what `{}` costs", step.id))
                    .hint("run `simpack build` once, for one capability at least: what its steps take is remembered"));
            }
            let (open, all) = (self.open.len() as f64, known.len() as f64);
            let bytes = known.iter().map(|one| one.bytes).sum::<u64>() as f64 / all * open;
            cost.seconds += known.iter().map(|one| one.seconds).sum::<f64>() / all * open;
            // Packed as well as the measured ones of this part; bytes themselves where there are none.
            let ratio = if cost.bytes > 0 { cost.download as f64 / cost.bytes as f64 } else { 1.0 };
            cost.download += (bytes * ratio) as u64;
            cost.bytes += bytes as u64;
        }
        Ok(cost)
    }
}

fn of_entry(entry: &CacheEntry) -> Measured {
    let sizes = entry.artifacts.iter().map(|artifact| match artifact.kind {
        ArtifactKind::File { size, .. } => size,
        ArtifactKind::Link { .. } => 0,
    });
    Measured { seconds: entry.made.seconds, bytes: sizes.sum() }
}

impl Cost {
    /// Adds the slice of the file at `path` for a target; what holds no device code is in every slice.
    fn add_slice(&mut self, path: &Path, target: KernelTarget, manifests: &Manifests) -> Result<()> {
        let content = Content::open(path)?;
        let bytes = content.bytes();
        let parts = match plan(bytes, &slice_for(target), FreedSpace::Cut, manifests) {
            Ok(plan) => plan.parts,
            Err(SliceError::Nothing | SliceError::Elf(_)) => vec![Piece::Copy { from: 0, size: bytes.len() as u64 }],
            Err(SliceError::Code(error)) => return Err(error.at(path)),
        };
        let size = parts.iter().map(Piece::size).sum();
        let mut sink = zstd::Encoder::new(Counted(0), package::Effort::for_size(size).zstd())?;
        for part in parts {
            match part {
                Piece::Copy { from, size } => sink.write_all(&bytes[from as usize..(from + size) as usize])?,
                Piece::Bytes(new) => sink.write_all(&new)?,
                Piece::Zeros(size) => drop(std::io::copy(&mut std::io::repeat(0).take(size), &mut sink)?),
            }
        }
        self.bytes += size;
        self.download += sink.finish()?.0;
        Ok(())
    }
}

/// Files of the entries that fit, with their sizes.
fn files<'a>(
    entries: impl IntoIterator<Item = &'a CacheEntry>,
    fits: &'a dyn Fn(&str) -> bool,
) -> impl Iterator<Item = (PathBuf, u64)> {
    entries.into_iter().flat_map(move |entry| {
        entry.artifacts.iter().filter(|one| fits(&one.path)).filter_map(|one| match one.kind {
            ArtifactKind::File { size, .. } => Some((entry.root.join(&one.path), size)),
            ArtifactKind::Link { .. } => None,
        })
    })
}

/// Bytes of those of the entries' files that fit in one compressed archive, without what the archive adds.
fn packed<'a>(
    entries: impl IntoIterator<Item = &'a CacheEntry> + Clone,
    fits: &'a dyn Fn(&str) -> bool,
) -> Result<u64> {
    let size = files(entries.clone(), fits).map(|(_, size)| size).sum();
    let mut sink = zstd::Encoder::new(Counted(0), package::Effort::for_size(size).zstd())?;
    for (path, _) in files(entries, fits) {
        copy(&path, &mut sink)?;
    }
    Ok(sink.finish()?.0)
}

fn copy(path: &Path, sink: &mut impl std::io::Write) -> Result<()> {
    std::io::copy(&mut fs::open(path)?, sink)?;
    Ok(())
}

/// Counts what is written.
struct Counted(u64);

impl std::io::Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn ways(host: &Cost, targets: &[TargetCost]) -> Vec<Way> {
    let count = targets.len() as u64;
    let seconds: f64 = targets.iter().map(|one| one.cost.seconds).sum();
    let bytes: u64 = targets.iter().map(|one| one.cost.bytes).sum();
    let download: u64 = targets.iter().map(|one| one.cost.download).sum();
    let most = targets.iter().map(|one| one.cost.download).max().unwrap_or(0);
    let mean = if count > 0 { seconds / count as f64 } else { 0.0 };
    let estimated = host.estimated || targets.iter().any(|one| one.cost.estimated);
    let all = host.seconds + seconds;
    let way = |way, seconds, one_more, stored, download| Way { way, seconds, one_more, stored, download, estimated };
    vec![
        way(WayName::Fat, all, all + mean, host.bytes + bytes, host.download + download),
        way(WayName::Sliced, all, all + mean, host.bytes * count + bytes, host.download + most),
        way(
            WayName::Rebuilt,
            host.seconds * count as f64 + seconds,
            host.seconds + mean,
            host.bytes * count + bytes,
            host.download + most,
        ),
        way(WayName::Compiled, all, mean, host.bytes + bytes, host.download + most),
    ]
}

/// The ways for libraries that cannot be split: host code and kernels are compiled together, so nobody knows how the
/// seconds are shared. A build for one target alone takes at least its part of them.
fn ways_of_slices(host: &Cost, fat: &Cost, targets: &[TargetCost]) -> Vec<Way> {
    let bytes: u64 = targets.iter().map(|one| one.cost.bytes).sum();
    let most = targets.iter().map(|one| one.cost.download).max().unwrap_or(0);
    let gpus = targets.iter().filter(|one| one.target != KernelTarget::Cpu).count().max(1) as f64;
    let one_more = host.seconds + host.seconds / gpus;
    let (shared, measured) = (host.seconds, host.estimated);
    let way = |way, one_more, stored, download, estimated| Way {
        way,
        seconds: shared,
        one_more,
        stored,
        download,
        estimated,
    };
    vec![
        way(WayName::Fat, one_more, host.bytes + fat.bytes, host.download + fat.download, measured),
        way(WayName::Sliced, one_more, host.bytes + bytes, host.download + most, measured),
        way(WayName::Rebuilt, host.seconds / gpus, host.bytes + bytes, host.download + most, true),
    ]
}

/// The answer as a table.
pub(super) fn text(comparison: &Comparison) -> String {
    let columns = [
        Column::words("way to ship"),
        Column::number("compile"),
        Column::number("one more target"),
        Column::number("stored").spare(0),
        Column::number("download"),
    ];
    let row = |way: &Way| {
        let mark = if way.estimated { "~" } else { "" };
        let seconds = |seconds: f64| format!("{mark}{}", minutes(seconds));
        let bytes = |bytes: u64| format!("{mark}{}", size(bytes));
        [
            way.way.words().to_owned(),
            seconds(way.seconds),
            seconds(way.one_more),
            bytes(way.stored),
            bytes(way.download),
        ]
    };
    let mut text = Table::new(columns).rows(comparison.ways.iter().map(row)).text();
    text.push_str("compile: seconds of all steps one after another; download: by a user with one GPU, compressed\n");
    if comparison.fat.is_some() {
        text.push_str("rebuilt: at least so long; how much of it is host code, compiled for each, is not known\n");
    }
    match comparison.steps - comparison.measured {
        0 => text.push_str(&format!("measured: all {} steps", comparison.steps)),
        _ => text.push_str(&format!(
            "measured: {} of {} steps; ~ holds estimates for the others (the mean of those of their kind)",
            comparison.measured, comparison.steps
        )),
    }
    text
}

fn minutes(seconds: f64) -> String {
    if seconds < 100.0 { format!("{seconds:.1} s") } else { format!("{:.1} min", seconds / 60.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_follow_from_host_and_targets() {
        let cost = |seconds, bytes, download| Cost { seconds, bytes, download, estimated: false };
        let target = |target: &str, cost| TargetCost { target: target.parse().unwrap(), cuda: None, cost };
        let targets = [target("sm_80", cost(2.0, 100, 40)), target("sm_90", cost(4.0, 300, 60))];
        let ways = ways(&cost(10.0, 1000, 500), &targets);
        let numbers: Vec<_> = ways.iter().map(|way| (way.seconds, way.one_more, way.stored, way.download)).collect();
        assert_eq!(
            numbers,
            [(16.0, 19.0, 1400, 600), (16.0, 19.0, 2400, 560), (26.0, 13.0, 2400, 560), (16.0, 3.0, 1400, 560)]
        );
    }
}
