//! The page: what is broken, what is there, what else is worth knowing, the count.

use super::Facts;
use super::serve::PrefixFit;
use crate::fit::{DeviceFit, ShaderFit};
use crate::machine::{
    CompilerFamily, ComputeMode, Device, DeviceKind, DriverAnswer, DriverLibrary, DriverRole, Machine, VulkanDevice,
};
use crate::report::{Finding, Level, Report};
use crate::wrap::{width, wrap};

/// Column where the text of a line starts.
const INDENT: usize = 10;
/// Lines of evidence of one finding, unless all are wanted.
const MOST_EVIDENCE: usize = 4;

/// How the page is printed.
#[derive(Debug, Clone, Copy, Default)]
pub struct PageOptions<'a> {
    /// Everything, also what is not needed to act: all copies of the driver, all directories, all evidence.
    pub verbose: bool,
    /// Wall time in milliseconds.
    pub millis: Option<u128>,
    /// More paragraphs, each a label and its lines, before the problems.
    pub more: &'a [(String, Vec<String>)],
}

/// The page in words.
pub fn page(facts: &Facts, report: &Report, options: PageOptions<'_>) -> String {
    let mut lines = Lines { lines: Vec::new(), verbose: options.verbose };
    let of = |level: Level| report.findings.iter().filter(move |finding| finding.level == level);
    of(Level::Deny).for_each(|finding| lines.finding("broken", finding));
    let machine = &facts.machine;
    lines.system(machine);
    lines.driver(machine);
    lines.devices(facts);
    lines.vulkan(facts);
    lines.tools(machine);
    lines.packages(machine);
    lines.process(machine);
    for (label, texts) in options.more {
        for (index, text) in texts.iter().enumerate() {
            lines.wrap(if index == 0 { label } else { "" }, text, INDENT + 4);
        }
    }
    of(Level::Warn).for_each(|finding| lines.finding("problem", finding));
    of(Level::Note).for_each(|finding| lines.finding("note", finding));
    for gap in &report.incomplete {
        lines.put("unknown", &format!("{}: {}", gap.subject, gap.reason));
    }
    for waived in report.waived() {
        lines.put("accepted", &format!("{}: {}", waived.finding.about(), waived.finding.message));
    }
    lines.lines.push(totals(facts, report, options));
    lines.lines.join("\n")
}

struct Lines {
    lines: Vec<String>,
    verbose: bool,
}

impl Lines {
    /// A line with a label; what is too long goes on below its text.
    fn put(&mut self, label: &str, text: &str) {
        self.wrap(label, text, INDENT);
    }

    fn more(&mut self, text: &str) {
        self.wrap("", text, INDENT + 2);
    }

    fn wrap(&mut self, label: &str, text: &str, below: usize) {
        let mut head = format!("{label:<INDENT$}");
        if head.chars().count() > INDENT {
            head.push(' ');
        }
        self.lines.extend(wrap(&head, below, text, width()));
    }

    fn finding(&mut self, label: &str, finding: &Finding) {
        self.put(label, &format!("{}: {}", finding.about(), finding.message));
        let also = if self.verbose { finding.also.len() } else { MOST_EVIDENCE };
        for subject in finding.also.iter().take(also) {
            self.more(&format!("  also {subject}"));
        }
        if finding.also.len() > also {
            self.more(&format!("  and {} more: --verbose", finding.also.len() - also));
        }
        let shown = if self.verbose { finding.evidence.len() } else { MOST_EVIDENCE };
        for evidence in finding.evidence.iter().take(shown) {
            self.wrap("", &format!("  {evidence}"), INDENT + 4);
        }
        if finding.evidence.len() > shown {
            self.more(&format!("  and {} more: --verbose", finding.evidence.len() - shown));
        }
        if let Some(fix) = &finding.fix {
            self.wrap("", &format!("fix: {fix}"), INDENT + 5);
        }
        if self.verbose {
            self.more(&format!("(simpack doctor --explain {})", finding.lint));
        }
    }

    fn system(&mut self, machine: &Machine) {
        let system = &machine.system;
        let mut parts = vec![system.os.clone().unwrap_or_else(|| "unknown system".to_owned())];
        parts.extend(system.glibc.map(|glibc| format!("glibc {glibc}")));
        let cxx = system.libstdcxx.iter().find(|library| library.wins);
        parts.extend(cxx.and_then(|library| Some(format!("GLIBCXX {}", library.glibcxx.as_ref()?))));
        parts.extend((system.cpu_level > 0).then(|| match system.cpu_level {
            1 => "x86-64".to_owned(),
            level => format!("x86-64-v{level}"),
        }));
        parts.extend(system.surroundings.iter().map(|it| it.words().to_owned()));
        self.put("machine", &parts.join(", "));
        if self.verbose {
            let kernel = system.kernel.iter().map(|kernel| format!("kernel {kernel}"));
            let cxx = system.libstdcxx.iter().map(|library| {
                let level = |text: &Option<String>| text.clone().unwrap_or_else(|| "?".to_owned());
                format!(
                    "{} GLIBCXX {} CXXABI {}  {}",
                    library.path,
                    level(&library.glibcxx),
                    level(&library.cxxabi),
                    library.by.as_deref().unwrap_or_default()
                )
            });
            let variables = machine.variables.values.iter().map(|(name, value)| format!("{name}={value}"));
            kernel.chain(cxx).chain(variables).for_each(|line| self.more(&line));
        }
    }

    fn driver(&mut self, machine: &Machine) {
        let files = &machine.driver_files;
        let Some(winner) = files.winner() else {
            let said = match files.has_hardware() {
                true => "none, although there is an NVIDIA GPU",
                false => "none, and no NVIDIA GPU",
            };
            return self.put("driver", said);
        };
        let by = match (&winner.by, &winner.profile) {
            (Some(by), _) => format!("found by {}", first_entry(by)),
            (None, Some(profile)) => format!("in the directory of {profile}, which packages name"),
            (None, None) => String::new(),
        };
        let what = match (winner.role, machine.driver()) {
            (DriverRole::Stub, _) => "stub for linking".to_owned(),
            (role, Some(driver)) => {
                let version = driver.version.unwrap_or_else(|| "unknown version".to_owned());
                let compat = if role == DriverRole::Compat { " by the compatibility library" } else { "" };
                format!("{version} (CUDA {}{compat})", driver.cuda)
            }
            (_, None) => winner.version.clone().unwrap_or_else(|| "unknown version".to_owned()),
        };
        self.put("driver", &format!("{what}  {}  {by}", winner.path));
        let others: Vec<String> = files
            .libraries
            .iter()
            .filter(|library| library.path != winner.path)
            .filter(|library| self.verbose || library.by.is_some() || library.role == DriverRole::Compat)
            .map(|library| also(library, winner, files.kernel_module.as_deref()))
            .collect();
        if !others.is_empty() {
            self.wrap("", &format!("also seen: {}", others.join(", ")), INDENT + 2);
        }
        if self.verbose {
            let module = files.kernel_module.as_deref().unwrap_or("not loaded");
            self.more(&format!("kernel module {module}, {} NVIDIA GPUs on the bus", files.pci_devices));
            for node in &files.nodes {
                self.more(&format!("{}{}", node.path, if node.usable { "" } else { "  may not be opened" }));
            }
            if let Some(nvml) = &files.nvml {
                self.more(&format!("NVML {}", nvml.path));
            }
        }
    }

    fn devices(&mut self, facts: &Facts) {
        let machine = &facts.machine;
        let devices = machine.devices();
        if devices.is_empty() {
            let silence = |answer: &Option<DriverAnswer>| {
                answer
                    .as_ref()
                    .and_then(|answer| answer.failure.as_ref())
                    .is_some_and(|failure| failure.silence.is_some())
            };
            let count = machine.driver_files.pci_devices;
            match silence(&machine.nvml) || silence(&machine.cuda) {
                true => self.put("GPU", &format!("unknown: the driver does not say; {count} NVIDIA on the PCI bus")),
                false => self.put("GPU", "none: simulators run on the CPU"),
            }
        }
        for device in &devices {
            self.put(&format!("GPU {}", device.index), &device_words(machine, device));
            facts.fits.iter().for_each(|found| self.serving(facts, found, device));
        }
        if devices.len() > 1 {
            facts.fits.iter().for_each(|found| self.serving_all(found));
        }
    }

    /// `volley 1.0.0  -> kernels sm_90 (exact)`, and what else was considered.
    fn serving(&mut self, facts: &Facts, found: &PrefixFit, device: &Device) {
        let kind = |it: &&DeviceFit| it.index == device.index && it.name == device.name;
        let Some(fit) = found.fit.devices.iter().find(kind) else { return };
        let place = if facts.machine.prefixes.len() > 1 { format!("  in {}", found.prefix) } else { String::new() };
        let better = fit.better.as_ref().map(|better| format!("; {}", better.words)).unwrap_or_default();
        let text = format!("{} {}  -> {}{better}{place}", found.fit.simulator, found.fit.version, fit.line());
        self.wrap("", &text, INDENT + 4);
        let fallback = fit.fallback();
        if !fallback.is_empty() {
            self.wrap("", &format!("fallback: {}", fallback.join(", ")), INDENT + 4);
        }
    }

    /// The packages that a mixed host needs.
    fn serving_all(&mut self, found: &PrefixFit) {
        let fit = &found.fit;
        let Some((first, rest)) = fit.smallest.split_first() else { return };
        let served = fit.devices.iter().filter(|device| device.trace.iter().any(|step| step.place.is_some())).count();
        let how = match (rest.is_empty(), served == fit.devices.len()) {
            (true, true) => format!("{first} alone serves all"),
            (false, true) => format!("smallest set that serves all: {}", fit.smallest.join(", ")),
            (_, false) => format!("{} serves {served} of {}", fit.smallest.join(", "), fit.devices.len()),
        };
        let best =
            if fit.smallest == fit.best { String::new() } else { format!("; best for each: {}", fit.best.join(", ")) };
        self.put("all GPUs", &format!("{} {}: {how}{best}", fit.simulator, fit.version));
    }

    fn vulkan(&mut self, facts: &Facts) {
        let machine = &facts.machine;
        for (device, index) in machine.vulkan.devices.iter().zip(0_u32..) {
            self.put(&format!("Vulkan {index}"), &vulkan_words(device, self.verbose));
            for found in &facts.fits {
                let place = if machine.prefixes.len() > 1 { format!("  in {}", found.prefix) } else { String::new() };
                let fits = found.shaders.iter().filter(|fit| fit.index == index);
                for line in fits.map(ShaderFit::words) {
                    let text = format!("{} {}  -> {line}{place}", found.fit.simulator, found.fit.version);
                    self.wrap("", &text, INDENT + 4);
                }
            }
        }
        if self.verbose
            && let Some(loader) = &machine.vulkan.loader
        {
            self.more(&format!("loader {loader}"));
        }
    }

    fn tools(&mut self, machine: &Machine) {
        let tools = &machine.tools;
        let mut parts = Vec::new();
        for toolkit in
            tools.toolkits.iter().filter(|toolkit| self.verbose || toolkit.first || tools.toolkits.len() == 1)
        {
            let version = toolkit.version.map_or("of unknown version".to_owned(), |version| version.to_string());
            let what = if toolkit.nvcc.is_some() { "nvcc" } else { "CUDA files" };
            parts.push(format!("{what} {version} ({})", toolkit.root));
        }
        for compiler in tools.compilers.iter().take(if self.verbose { usize::MAX } else { 1 }) {
            let name = match compiler.family {
                CompilerFamily::Gcc => "g++",
                CompilerFamily::Clang => "clang++",
            };
            let major = compiler.major.map_or("of unknown version".to_owned(), |major| major.to_string());
            parts.push(format!("{name} {major} ({})", compiler.path));
        }
        if !parts.is_empty() {
            self.put("tools", &parts.join(", "));
        }
        if self.verbose {
            tools.nvrtc.iter().for_each(|path| self.more(&format!("NVRTC {path}")));
            let binutils = tools.binutils.iter().map(|program| format!("{} {}", program.name, program.path));
            binutils.for_each(|line| self.more(&line));
        }
    }

    fn packages(&mut self, machine: &Machine) {
        for prefix in &machine.prefixes {
            let names = prefix.packages.iter().map(|package| &package.manifest);
            let names: Vec<String> = names.map(|it| format!("{} {}", it.package, it.version)).collect();
            let names = if names.is_empty() { "nothing that simpack made".to_owned() } else { names.join(", ") };
            self.put("packages", &format!("{}: {names}", prefix.path));
            if self.verbose {
                for file in &prefix.vendor {
                    self.more(&format!("{} ({})", file.path, bytes(file.size)));
                }
                for load in prefix.packages.iter().flat_map(|package| &package.loads).flat_map(|loads| &loads.vendor) {
                    self.more(&format!("{} from {}  {}", load.name, load.path, load.by));
                }
            }
        }
    }

    fn process(&mut self, machine: &Machine) {
        let Some(process) = &machine.process else { return };
        self.put("process", &format!("{} {}, {} libraries", process.pid, process.program, process.mapped));
        for library in &process.libraries {
            let driver = match library.driver {
                Some(DriverRole::Stub) => "  (stub)",
                Some(DriverRole::Compat) => "  (compatibility driver)",
                _ => "",
            };
            self.wrap("", &format!("{}{driver}  {}", library.path, library.by), INDENT + 4);
        }
    }
}

/// `LD_LIBRARY_PATH /usr/local/nvidia/lib64` is plain from the path that stands before it.
fn first_entry(by: &str) -> &str {
    by.strip_prefix("LD_LIBRARY_PATH ").map_or(by, |_| "LD_LIBRARY_PATH")
}

fn also(library: &DriverLibrary, winner: &DriverLibrary, module: Option<&str>) -> String {
    let version = library.version.as_deref();
    let what = match library.role {
        DriverRole::Stub => "stub for linking".to_owned(),
        DriverRole::Compat => match (version, module) {
            (Some(own), Some(module)) if crate::machine::compare_versions(own, module).is_lt() => {
                format!("{own}, older than the driver: never use")
            }
            (Some(own), _) => format!("{own}, forward compatibility"),
            (None, _) => "forward compatibility".to_owned(),
        },
        DriverRole::Real if library.real == winner.real => "same file".to_owned(),
        DriverRole::Real if version == winner.version.as_deref() && library.size == winner.size => {
            "same version".to_owned()
        }
        DriverRole::Real => version.unwrap_or("unknown version").to_owned(),
    };
    format!("{} ({what})", library.path)
}

fn device_words(machine: &Machine, device: &Device) -> String {
    let mut text = device.name.clone();
    if let DeviceKind::Cuda { capability } = &device.kind {
        text.push_str(&format!("  {capability}"));
    }
    if let Some(memory) = device.memory {
        text.push_str(&format!("  {}", bytes(memory)));
    }
    let Some(state) = machine.state(device.index).filter(|_| matches!(device.kind, DeviceKind::Cuda { .. })) else {
        return text;
    };
    match state.mig_instances {
        Some(1) => text.push_str("  MIG, 1 instance"),
        Some(count) => text.push_str(&format!("  MIG, {count} instances")),
        None => {}
    }
    match state.compute_mode {
        ComputeMode::Default => {}
        ComputeMode::Exclusive => text.push_str("  one process at a time"),
        ComputeMode::Prohibited => text.push_str("  no process may compute"),
    }
    if state.ecc == Some(false) {
        text.push_str("  ECC off");
    }
    text
}

fn vulkan_words(device: &VulkanDevice, verbose: bool) -> String {
    let mut text =
        format!("{}  Vulkan {}  arrays up to {}", device.name, device.api, bytes(device.storage_buffer_range));
    if verbose {
        let [x, y, z] = device.work_group_count;
        text.push_str(&format!(
            "  work groups {x} x {y} x {z} of {} invocations, {} shared",
            device.work_group_invocations,
            bytes(device.shared_memory.into())
        ));
        let heaps: Vec<String> = device.heaps.iter().map(|heap| bytes(*heap)).collect();
        text.push_str(&format!(", memory {}", heaps.join(" + ")));
    }
    text
}

/// `139 GiB`, `128 MiB`, `96 KiB`, without a fraction where it says nothing.
pub(super) fn bytes(count: u64) -> String {
    for (unit, size) in [("GiB", 1_u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)] {
        if count >= size {
            let tenths = (count as u128 * 10 / u128::from(size)) as u64;
            return match tenths {
                0..100 if !tenths.is_multiple_of(10) => format!("{}.{} {unit}", tenths / 10, tenths % 10),
                _ => format!("{} {unit}", tenths / 10),
            };
        }
    }
    format!("{count} bytes")
}

/// `2 devices served, 1 problem, nothing broken (84 ms)`.
fn totals(facts: &Facts, report: &Report, options: PageOptions<'_>) -> String {
    let devices = facts.machine.devices();
    let count = devices.len();
    let runs = |device: &&Device| {
        let all = facts.fits.iter().flat_map(|found| &found.fit.devices);
        all.filter(|fit| fit.index == device.index && fit.name == device.name).any(|fit| fit.runs.is_some())
    };
    let served = (!facts.fits.is_empty() && count > 0).then(|| devices.iter().filter(runs).count());
    let mut parts = vec![match served {
        Some(served) if served == count => format!("{} served", crate::amount::count(count, "device")),
        Some(served) => format!("{served} of {} served", crate::amount::count(count, "device")),
        None => crate::amount::count(count, "device"),
    }];
    parts.push(crate::amount::count(report.count(Level::Warn), "problem"));
    if !report.incomplete.is_empty() {
        parts.push(format!("{} unknown", report.incomplete.len()));
    }
    parts.push(match report.count(Level::Deny) {
        0 => "nothing broken".to_owned(),
        broken => format!("{broken} broken"),
    });
    let time = options.millis.map(|millis| format!(" ({millis} ms)")).unwrap_or_default();
    let unstarted = facts.machine.cuda.as_ref().is_some_and(|cuda| cuda.unstarted);
    let hint = if unstarted { "     start CUDA, too: simpack doctor --verbose" } else { "" };
    format!("{}{time}{hint}", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_are_short() {
        assert_eq!(bytes(150_754_820_096), "140 GiB");
        assert_eq!(bytes(134_217_728), "128 MiB");
        assert_eq!(bytes(1_610_612_736), "1.5 GiB");
        assert_eq!(bytes(512), "512 bytes");
    }
}
