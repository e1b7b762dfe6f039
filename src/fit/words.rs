//! Verdicts in words, for terminals.

use std::fmt;

use super::{DeviceFit, DriverNeed, Fit, How, Reach, Runs, ShaderFit};
use crate::arch::{Capability, KernelTarget};
use crate::gpu::{Place, Verdict};
use crate::wrap::{width, wrap};

impl DeviceFit {
    /// What the device runs in one line: `kernels sm_90 (exact)`, or why the CPU is left.
    pub fn line(&self) -> String {
        match (&self.runs, &self.why_cpu) {
            (Some(Runs { target, place, reason, .. }), _) => {
                let taken = self.trace.iter().find(|step| step.verdict == Verdict::Taken);
                let target = target.to_string();
                let name = taken.map_or_else(|| target.clone(), |step| step.named(&self.trace, &target));
                let how = if *place == Place::Ptx { "PTX, compiled by the driver" } else { reason };
                format!("kernels {name} ({how})")
            }
            (None, Some(why)) => format!("CPU: {why}"),
            (None, None) => "CPU".to_owned(),
        }
    }

    /// What else was considered, piece by piece: `PTX 7.5 yes`, `sm_86 no (higher minor than 8.0)`. Refused packages
    /// with the same reason stand together. Empty where nothing runs: then the reasons are the verdict itself.
    pub fn fallback(&self) -> Vec<String> {
        if self.runs.is_none() {
            return Vec::new();
        }
        // What is not there is no fallback; what of it would be better is said apart.
        let has_installed = self.trace.iter().any(|step| step.installed);
        let there = self.trace.iter().filter(|step| step.installed || !has_installed);
        let mut words: Vec<String> = Vec::new();
        let mut refused: Vec<(&str, Vec<String>)> = Vec::new();
        for step in there.filter(|step| step.verdict != Verdict::Taken) {
            let name = step.named(&self.trace, &short(step.target));
            match step.verdict {
                Verdict::Refused => match refused.iter_mut().find(|(reason, _)| *reason == step.reason) {
                    Some((_, targets)) => targets.push(name),
                    None => refused.push((&step.reason, vec![name])),
                },
                _ => words.push(format!("{name} yes")),
            }
        }
        words.extend(refused.iter().map(|(reason, targets)| format!("{} no ({reason})", targets.join(" "))));
        words
    }
}

/// Words in lines of at most 100 columns, each behind the same indentation; `label` begins the first.
fn paragraph(label: &str, words: &str) -> String {
    wrap(label, label.chars().count(), words, width()).join("\n") + "\n"
}

/// `PTX 7.5` for `compute_75`: a name that says what it is.
fn short(target: KernelTarget) -> String {
    match target {
        KernelTarget::Ptx(capability) => format!("PTX {capability}"),
        other => other.to_string(),
    }
}

impl Fit {
    /// The verdicts of all devices, a line or two each, and what to install for all.
    pub fn page(&self) -> String {
        let mut text = String::new();
        for device in &self.devices {
            let capability = device.capability.map_or(String::new(), |capability| format!("  {capability}"));
            text.push_str(&format!("GPU {}     {}{capability}\n", device.index, device.name));
            let better = device.better.as_ref().map_or(String::new(), |better| format!("; {}", better.words));
            let verdict = format!("{} {}  -> {}{better}", self.simulator, self.version, device.line());
            text.push_str(&paragraph("          ", &verdict));
            let fallback = device.fallback();
            if !fallback.is_empty() {
                // A piece stays on its line: its spaces are none to break at.
                let pieces: Vec<String> = fallback.iter().map(|piece| piece.replace(' ', "\u{a0}")).collect();
                text.push_str(&paragraph("          fallback: ", &pieces.join(", ")).replace('\u{a0}', " "));
            }
        }
        if self.devices.len() > 1 && !self.best.is_empty() {
            text.push_str(&format!("best      {}\n", self.best.join(" ")));
            if self.smallest != self.best {
                text.push_str(&format!("smallest  {}\n", self.smallest.join(" ")));
            }
        }
        for disagreement in &self.disagreements {
            text.push_str(&paragraph("problem   ", disagreement));
        }
        text
    }
}

impl ShaderFit {
    /// The device, and what it runs of a simulator.
    pub fn page(&self, of: &Fit) -> String {
        let verdict = format!("{} {}  -> {}", of.simulator, of.version, self.words());
        format!("Vulkan {}  {}\n{}", self.index, self.name, paragraph("          ", &verdict))
    }
}

impl fmt::Display for DriverNeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CUDA {}", self.cuda)?;
        if let Some(driver) = &self.driver {
            write!(f, " ({driver} or newer)")?;
        }
        write!(f, ": {}", self.because)
    }
}

impl Reach {
    /// A few lines about what was looked at, and what is wrong with it.
    pub fn page(&self) -> String {
        let problems = self.problems.iter().map(|problem| ("problem", problem.clone()));
        let unexamined = self.unexamined.iter().map(|gap| ("not examined", gap.clone()));
        let lines = self.about().into_iter().chain(unexamined).chain(problems);
        let lines = lines.map(|(label, words)| paragraph(&format!("  {label:<13} "), &words));
        format!("{}\n{}", self.subject, lines.collect::<String>())
    }

    /// What is known of it, each with a label, without what is wrong.
    pub fn about(&self) -> Vec<(&'static str, String)> {
        let mut found = Vec::new();
        let mut line = |label: &'static str, words: String| {
            if !words.is_empty() {
                found.push((label, words));
            }
        };
        let coded = self.units.iter().filter(|unit| !unit.code.is_empty()).count();
        let compiling = self.units.iter().filter(|unit| unit.compiles.is_some()).count();
        match (coded, compiling) {
            (0, 0) if !self.unexamined.is_empty() => line("device code", "unknown".to_owned()),
            (0, 0) => line("device code", "none, and nothing that compiles some: it runs on the CPU".to_owned()),
            (0, _) => line("device code", format!("none: {} at run time, with NVRTC", compile(compiling))),
            (_, 0) => line("device code", files(coded)),
            _ => line("device code", format!("{}; {} more at run time, with NVRTC", files(coded), compile(compiling))),
        }
        let newer = self.whatever_comes();
        for (label, how) in [
            ("natively", How::Native),
            ("at run time", How::Compiled),
            ("through PTX", How::Ptx),
            ("not on", How::Nothing),
        ] {
            let mut words = list(&self.capabilities(how));
            // What NVRTC makes for a device that it does not know is the program's choice.
            if newer == how && coded > 0 {
                words.push_str(if words.is_empty() { "whatever comes" } else { ", whatever comes" });
            }
            line(label, words);
        }
        for (label, need) in [("machine code", &self.machine_code), ("PTX", &self.ptx), ("NVRTC", &self.compiled)] {
            if let Some(need) = need {
                line("driver", format!("for {label}: {need}"));
            }
        }
        if self.units.iter().any(|unit| unit.needs_driver) {
            line("linked with", "libcuda.so.1: without a driver it does not load".to_owned());
        }
        let others: std::collections::BTreeSet<&str> =
            self.units.iter().flat_map(|unit| unit.other.iter().map(String::as_str)).collect();
        line("also holds", others.into_iter().collect::<Vec<_>>().join(", "));
        found
    }
}

fn files(count: usize) -> String {
    if count == 1 { "in 1 file".to_owned() } else { format!("in {count} files") }
}

fn compile(count: usize) -> String {
    if count == 1 { "1 file compiles".to_owned() } else { format!("{count} files compile") }
}

fn list(capabilities: &[Capability]) -> String {
    capabilities.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}
