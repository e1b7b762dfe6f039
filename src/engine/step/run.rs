//! One step: a directory of its own, its calls one after the other, a log, and the result into the cache.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::explain::diagnose::{Cause, cause};
use super::explain::told::told;
use super::explain::undeclared::{Keys, Scene, explain};
use super::failure::{Share, StepFailure};
use super::generator::GeneratorStep;
use super::kernel::KernelPlace;
use super::kind::kind_of;
use super::log::Log;
use super::sandbox::isolation::{copy_declared, outside_links};
use super::sandbox::launcher::{LauncherUse, Launching};
use super::sandbox::scratch::scratch;
use super::sandbox::toolset::Toolset;
use super::structures::StructuresStep;
use crate::engine::cache::{Cache, CacheEntry, Made, StepKind};
use crate::engine::options::BuildOptions;
use crate::engine::trees::BuildTrees;
use crate::error::{Error, ErrorKind, Result};
use crate::plan::{Action, Step};
use crate::process::{Call, Ended, Outcome, interrupted};
use crate::ui::Ui;

/// What steps run with.
pub(in crate::engine) struct StepRun<'a> {
    pub tools: &'a Toolset,
    pub cache: &'a Cache,
    pub trees: &'a BuildTrees,
    pub options: &'a BuildOptions,
    pub logs: &'a Path,
    pub ui: &'a Ui,
    /// Root of the source tree, where it really lies.
    pub(super) root: PathBuf,
    /// The directory for intermediate files, where it really lies.
    pub(super) work: PathBuf,
    /// What kernel steps see of the machine besides the system and the tools: the source, and where its links lead.
    pub(super) seen: BTreeSet<PathBuf>,
    /// How often the launcher of host compilers had what they were to make.
    pub(super) launched: Mutex<LauncherUse>,
}

impl<'a> StepRun<'a> {
    /// Looks once at what all steps share; `steps` are those that are to run.
    pub(in crate::engine) fn new<'b>(
        (tools, cache, trees): (&'a Toolset, &'a Cache, &'a BuildTrees),
        (options, logs, ui): (&'a BuildOptions, &'a Path, &'a Ui),
        mut steps: impl Iterator<Item = &'b Step>,
    ) -> Result<Self> {
        let root = fs_err::canonicalize(&options.source)?;
        let work = fs_err::canonicalize(&options.work)?;
        let mut seen = BTreeSet::from([root.clone()]);
        if steps.any(|step| kind_of(step) == StepKind::Kernel) {
            seen.extend(outside_links(&root, &options.sources)?);
        }
        Ok(Self { tools, cache, trees, options, logs, ui, root, work, seen, launched: Mutex::default() })
    }

    /// How often the launcher of host compilers had what they were to make; none without one.
    pub(in crate::engine) fn launched(&self) -> Option<LauncherUse> {
        self.tools.launcher.as_ref()?;
        Some(*self.launched.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// An empty directory for one call or one step.
    pub(in crate::engine) fn scratch(&self) -> Result<TempDir> {
        scratch(&self.work)
    }

    /// Where kernel steps are compiled that have the directory `work`.
    pub(in crate::engine) fn kernels<'b>(&'b self, work: &'b Path) -> KernelPlace<'b> {
        KernelPlace { tools: self.tools, options: self.options, root: &self.root, seen: &self.seen, work }
    }

    /// Runs a step that takes what others have made; `share` counts for one that has several processes.
    pub(in crate::engine) fn run(
        &self,
        step: &Step,
        taken: &[(&Step, CacheEntry)],
        share: Share<'_>,
    ) -> Result<CacheEntry, StepFailure> {
        let options = self.options;
        let started = Instant::now();
        let scratch = self.scratch()?;
        let (root, work) = (&self.root, scratch.path());
        let isolation = &options.isolation;
        let (step, spent, tree) = match &step.action {
            Action::Kernel { .. } => {
                let place = self.kernels(work);
                let declared = |path: &Path| path.to_str().is_some_and(|path| options.sources.contains_key(path));
                let scene = Scene {
                    seen_as: root,
                    source: root,
                    declared: &declared,
                    files: &options.sources,
                    below: ".",
                    keys: Keys::Kernels,
                    vendor: &options.vendor,
                    isolation,
                    given: None,
                    work,
                };
                let (calls, made) = place.calls(step)?;
                let spent = self.call_all(step, (calls.as_slice(), None), &scene, &mut |_| {})?;
                (place.finish(step, &made)?, spent, made.dir)
            }
            Action::Generate { command, sources } => {
                let copy = self.copy(step, work)?;
                let generator = GeneratorStep { command, sources, source: &copy, work };
                let call = generator.call(self.tools)?;
                let (spent, _) = self.call_on_copy(step, call, Keys::Generator, (&copy, work))?;
                (step.clone(), spent, generator.finish(step, &options.sources)?)
            }
            Action::Structures { group, source: by, types, declared } => {
                let copy = self.copy(step, work)?;
                let structures = StructuresStep { group, by, types, declared, source: &copy, work };
                let call = structures.call(self.tools)?;
                let (spent, outcome) = self.call_on_copy(step, call, Keys::Structures, (&copy, work))?;
                (step.clone(), spent, structures.finish(outcome.as_ref())?)
            }
            Action::Host { .. } => return self.build(step, taken, share),
        };
        let made = self.made(&step, started, spent);
        Ok(self.cache.put(step.key, &made, &tree)?)
    }

    /// A copy of what a step declares to read, and nothing else.
    pub(super) fn copy(&self, step: &Step, work: &Path) -> Result<PathBuf> {
        let copy = work.join("source");
        copy_declared(&self.root, "", step.inputs(), &copy)?;
        Ok(copy)
    }

    /// Makes the one call of a step that works on a copy of the source's root; answers what it took and said.
    pub(super) fn call_on_copy(
        &self,
        step: &Step,
        call: Call,
        keys: Keys,
        (copy, work): (&Path, &Path),
    ) -> Result<((u64, Duration), Option<Outcome>), StepFailure> {
        let isolation = &self.options.isolation;
        let sandbox = isolation.sandbox(work, [], self.tools.compiler_cache.iter().cloned())?;
        let declared = |path: &Path| step.inputs().any(|(input, _)| Path::new(input) == path);
        let scene = Scene {
            seen_as: copy,
            source: &self.root,
            declared: &declared,
            files: &self.options.sources,
            below: ".",
            keys,
            vendor: &self.options.vendor,
            isolation,
            given: None,
            work,
        };
        let mut last = None;
        let spent =
            self.call_all(step, (&[call.within(sandbox)], None), &scene, &mut |outcome| last = Some(outcome))?;
        Ok((spent, last))
    }

    /// How a step was made that has begun at `started`.
    pub(super) fn made(&self, step: &Step, started: Instant, (peak, cpu): (u64, Duration)) -> Made {
        Made {
            step: step.id.clone(),
            kind: kind_of(step),
            seconds: started.elapsed().as_secs_f64(),
            cpu: cpu.as_secs_f64(),
            peak,
            isolation: self.options.isolation.kind(),
            unused: Vec::new(),
            incremental: false,
        }
    }

    /// Makes the calls; answers the memory of the largest process, and the processors' time of all. `hear` is given what each said that succeeded.
    pub(super) fn call_all(
        &self,
        step: &Step,
        (calls, launching): (&[Call], Option<&Launching<'_>>),
        scene: &Scene<'_>,
        hear: &mut dyn FnMut(Outcome),
    ) -> Result<(u64, Duration), StepFailure> {
        let mut log = Log::of(self.logs, step);
        let (mut peak, mut cpu) = (0, Duration::ZERO);
        for call in calls {
            let mut watched = match launching {
                None => call.run_watched(self.options.step_timeout)?,
                Some(launching) => {
                    let watched = launching.around(call)?.run_watched(self.options.step_timeout)?;
                    let mut launched = self.launched.lock().unwrap_or_else(PoisonError::into_inner);
                    *launched = launched.and(launching.counted());
                    watched
                }
            };
            let said = watched.outcome.all_text();
            // A step that works on a copy of its source speaks of files that will be gone.
            for text in [&mut watched.outcome.stdout, &mut watched.outcome.stderr] {
                let real = String::from_utf8_lossy(text);
                *text = real.replace(&*scene.seen_as.to_string_lossy(), &scene.source.to_string_lossy()).into_bytes();
            }
            peak = peak.max(watched.peak);
            cpu += watched.cpu;
            log.add(call, &watched);
            match watched.ended {
                Ended::Interrupted | Ended::Stuck if interrupted().is_some() => {
                    let signal = interrupted().unwrap_or("a signal");
                    let error = Error::new(ErrorKind::Interrupted, format!("interrupted by {signal}"));
                    return Err(StepFailure { ended: false, ..error.into() });
                }
                Ended::TimeOut | Ended::Stuck | Ended::Interrupted => {
                    let error = self.timed_out(step, call, &watched.outcome, &log);
                    return Err(StepFailure { ended: false, ..error.into() });
                }
                Ended::Itself if !watched.outcome.status.success() => {
                    let mut failure = self.failed(step, call, &watched.outcome, peak, &log);
                    failure.error = Box::new(explain(*failure.error, &said, scene));
                    return Err(failure);
                }
                Ended::Itself => hear(watched.outcome),
            }
        }
        Ok((peak, cpu))
    }

    fn timed_out(&self, step: &Step, call: &Call, outcome: &Outcome, log: &Log) -> Error {
        let limit = self.options.step_timeout.unwrap_or_default();
        let error = Error::build(format!(
            "{} did not end on {} within {} s and was stopped",
            program(call),
            step.id,
            limit.as_secs_f64()
        ));
        log.tell(told(error, outcome)).hint("a step that needs longer is given more time by --step-timeout")
    }

    fn failed(&self, step: &Step, call: &Call, outcome: &Outcome, peak: u64, log: &Log) -> StepFailure {
        let mut error = Error::build(format!("{} failed on {}, {}", program(call), step.id, outcome.how()));
        let cause = cause(outcome, &self.options.memory);
        error = told(error, outcome);
        error = match &cause {
            Cause::Told => error,
            Cause::Crashed(signal) => error
                .detail(format!("the compiler crashed ({signal}): this is its mistake, not one of the source"))
                .hint("try another release of it, or less optimisation for this file"),
            Cause::Memory(why) => error
                .detail(format!("it was killed because memory was not enough: {why}"))
                .hint("give the build more memory, or fewer --jobs"),
            Cause::Full => error.hint("free some space or choose another directory with --work"),
        };
        let ended = cause == Cause::Told;
        StepFailure { error: Box::new(log.tell(error)), cause, peak, ended }
    }
}

fn program(call: &Call) -> String {
    call.program.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
