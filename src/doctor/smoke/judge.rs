//! Runs what a simulator declares, and judges each run.

use std::collections::BTreeMap;
use std::path::{Component, Path};
use std::time::Duration;

use serde_json::Value;

use super::compare::compare;
use super::report::{Backend, Result as Ended, SmokeReport, SmokeRun};
use crate::arch::KernelTarget;
use crate::error::{Error, ErrorKind, Result};
use crate::fit::{DeviceFit, Fit, ShaderFit};
use crate::gpu::{Place, Verdict};
use crate::process::{Call, Ended as Stopped, interrupted};
use crate::recipe::Smoke;

/// What an environment decides about libraries and devices.
pub(super) const PASSED: [&str; 12] = [
    "HOME",
    "TMPDIR",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "CUDA_CACHE_PATH",
    "CUDA_CACHE_DISABLE",
    "CUDA_FORCE_PTX_JIT",
    "OMP_NUM_THREADS",
    "VK_DRIVER_FILES",
    "VK_ICD_FILENAMES",
];
/// Variables that the runs get.
pub type Environment = BTreeMap<String, String>;

/// Lines of a failing program that are shown.
const LAST_LINES: usize = 3;

/// Runs on the CPU and on each device.
pub(super) fn run(
    root: &Path,
    smoke: Option<&Smoke>,
    (fit, shaders): (&Fit, &[ShaderFit]),
    env: &Environment,
) -> Result<SmokeReport> {
    let mut report = SmokeReport {
        simulator: fit.simulator.clone(),
        version: fit.version,
        command: smoke.map(|smoke| smoke.command.join(" ")).unwrap_or_default(),
        runs: Vec::new(),
    };
    let Some(smoke) = smoke else { return Ok(report) };
    let here = Here { root, env };
    let (cpu, printed) = here.run(smoke, Backend::Cpu, None)?;
    report.runs.push(cpu);
    for device in &fit.devices {
        if smoke.cuda.is_empty() {
            let why = format!("{} declares no run on CUDA devices", fit.simulator);
            report.runs.push(not_run(unasked(device), why));
            continue;
        }
        let wanted = targets(device);
        if wanted.is_empty() {
            report.runs.push(not_run(unasked(device), why_not(device)));
        }
        for (target, place) in wanted {
            let (target, place) = (Some(target), Some(place));
            let backend = Backend::Cuda { device: device.index, name: device.name.clone(), target, place };
            report.runs.push(here.run(smoke, backend, printed.as_ref())?.0);
        }
    }
    for fit in shaders {
        let backend = |target, variant| Backend::Vulkan { device: fit.index, name: fit.name.clone(), target, variant };
        let why_not = match (&fit.why_not, smoke.vulkan.is_empty()) {
            (_, true) => Some(format!("{} declares no run on Vulkan devices", report.simulator)),
            (why_not, false) => why_not.clone(),
        };
        if let Some(why) = why_not {
            report.runs.push(not_run(backend(None, None), why));
            continue;
        }
        // Without a word for the variant it runs the simulator's own choice: once.
        let names_variant = smoke.vulkan.iter().any(|word| word.contains("{variant}"));
        if !names_variant {
            let backend = backend(fit.target, None);
            report.runs.push(here.run(smoke, backend, printed.as_ref())?.0);
        }
        for variant in fit.variants.iter().filter(|_| names_variant) {
            let backend = backend(fit.target, Some(variant.clone()));
            report.runs.push(here.run(smoke, backend, printed.as_ref())?.0);
        }
    }
    Ok(report)
}

/// What a device takes by itself, and the PTX that it would take if there were no machine code.
fn targets(device: &DeviceFit) -> Vec<(KernelTarget, Place)> {
    let mut found: Vec<(KernelTarget, Place)> = Vec::new();
    let usable = device.trace.iter().filter(|step| step.installed && step.verdict != Verdict::Refused);
    for (target, place) in usable.filter_map(|step| Some((step.target, step.place?))) {
        let is_first = found.is_empty();
        let is_first_ptx = place == Place::Ptx && !found.iter().any(|(_, other)| *other == Place::Ptx);
        if is_first || is_first_ptx {
            found.push((target, place));
        }
    }
    found
}

fn why_not(device: &DeviceFit) -> String {
    let mut why = device.why_cpu.clone().unwrap_or_else(|| "nothing that is installed runs on it".to_owned());
    if let Some(capability) = device.capability {
        why = match &device.better {
            Some(better) => format!("{why}; {}", better.words),
            None => format!("{why}; the CPU runs instead. `simpack select --device {capability}` says what to install"),
        };
    }
    why
}

/// A CUDA device that nothing is asked of.
fn unasked(device: &DeviceFit) -> Backend {
    Backend::Cuda { device: device.index, name: device.name.clone(), target: None, place: None }
}

fn not_run(backend: Backend, why: String) -> SmokeRun {
    SmokeRun { backend, result: Ended::NotRun { why }, seconds: None, own_seconds: None, code: None }
}

/// Where the runs happen.
struct Here<'a> {
    root: &'a Path,
    env: &'a Environment,
}

impl Here<'_> {
    /// One run. `cpu` is what the CPU printed; the CPU's own run has none, and a device without it fails.
    fn run(&self, smoke: &Smoke, backend: Backend, cpu: Option<&Value>) -> Result<(SmokeRun, Option<Value>)> {
        let mut run = SmokeRun { backend, result: failed("did not run"), seconds: None, own_seconds: None, code: None };
        let (program, arguments) = smoke.command.split_first().map_or(("", &[] as &[String]), |(a, b)| (a.as_str(), b));
        let target = run.backend.target().map_or(String::new(), |target| target.to_string());
        let fill = |words: &[String], device: u32, variant: &str| -> Vec<String> {
            let fill = |word: &String| word.replace("{device}", &device.to_string()).replace("{target}", &target);
            words.iter().map(|word| fill(word).replace("{variant}", variant)).collect()
        };
        let added = match &run.backend {
            Backend::Cpu => smoke.cpu.clone(),
            Backend::Cuda { device, .. } => fill(&smoke.cuda, *device, ""),
            Backend::Vulkan { device, variant, .. } => {
                fill(&smoke.vulkan, *device, variant.as_deref().unwrap_or_default())
            }
        };
        // A manifest's word: it names a program of the prefix, and no other.
        let is_inside = Path::new(program).components().all(|part| matches!(part, Component::Normal(_)));
        let program = std::path::absolute(self.root)?.join(program);
        if !is_inside || !program.is_file() {
            run.result = failed(format!("there is no program {} in the prefix", smoke.command.join(" ")));
            return Ok((run, None));
        }
        let mut call = Call::new(program).args(arguments).args(added).dir(self.root);
        call.env.extend(self.env.clone());
        let watched = call.run_watched(Some(Duration::from_secs(u64::from(smoke.limit))))?;
        run.seconds = Some(milliseconds(watched.outcome.time.as_secs_f64()));
        if watched.ended == Stopped::Interrupted {
            let signal = interrupted().unwrap_or("a signal");
            return Err(Error::new(ErrorKind::Interrupted, format!("interrupted by {signal}")));
        }
        if matches!(watched.ended, Stopped::TimeOut | Stopped::Stuck) {
            run.result = failed(format!("took longer than {} s and was ended", smoke.limit));
            return Ok((run, None));
        }
        if !watched.outcome.status.success() {
            let text = watched.outcome.all_text();
            let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
            let last = lines[lines.len().saturating_sub(LAST_LINES)..].join(" / ");
            run.result = failed(format!("{}: {last}", watched.outcome.how()));
            return Ok((run, None));
        }
        let Ok(printed) = serde_json::from_slice::<Value>(&watched.outcome.stdout) else {
            run.result = failed("printed something else than JSON");
            return Ok((run, None));
        };
        run.own_seconds =
            smoke.seconds.as_ref().and_then(|pointer| printed.pointer(pointer)?.as_f64()).map(milliseconds);
        let code = smoke.code.as_ref().and_then(|pointer| printed.pointer(pointer)?.as_str());
        run.code = code.filter(|code| !code.is_empty()).map(str::to_owned);
        run.result = judged(smoke, &run, cpu, &printed);
        Ok((run, Some(printed)))
    }
}

fn judged(smoke: &Smoke, run: &SmokeRun, cpu: Option<&Value>, printed: &Value) -> Ended {
    let Some(target) = run.backend.target() else {
        // The CPU is what others are compared with: it must print what is compared.
        return match compare(smoke, printed, printed) {
            Ok(_) => Ended::Passed { agrees: Vec::new() },
            Err(_) => failed("prints not all that is to be compared"),
        };
    };
    let Some(cpu) = cpu else { return failed("cannot be compared: the run on the CPU failed") };
    let mut differs = Vec::new();
    if smoke.code.is_some() && !run.code.as_ref().is_some_and(|code| code.ends_with(&target.to_string())) {
        let ran = run.code.as_deref().unwrap_or("no device code");
        differs.push(format!("{target} was asked for, it says it ran {ran}"));
    }
    match compare(smoke, cpu, printed) {
        Ok(agrees) if differs.is_empty() => Ended::Passed { agrees },
        Ok(_) => Ended::Differs { what: differs },
        Err(what) => Ended::Differs { what: differs.into_iter().chain(what).collect() },
    }
}

/// Whole milliseconds: more is noise, and short numbers survive JSON.
fn milliseconds(seconds: f64) -> f64 {
    (seconds * 1000.0).round() / 1000.0
}

fn failed(why: impl Into<String>) -> Ended {
    Ended::Failed { why: why.into() }
}
