//! How far binaries reach: on which GPUs they run as they are, on which through PTX, and which driver each needs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::foreign::{Compiles, ForeignFit, Unit, UnitFit};
use crate::arch::{Capability, CudaVersion, KernelTarget, Suffix};
use crate::machine::{Device, DeviceKind, Driver};
use crate::manifest::Manifests;

/// How far the files of one subject reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Reach {
    /// What was looked at: a library, a wheel, a tree, an environment.
    pub subject: String,
    /// Files with device code, or that compile some.
    pub units: Vec<Unit>,
    /// Every known capability, ascending, and last one that nobody knows yet; of systems on a chip, which have no
    /// x86-64, only those that files with host code for x86-64 run on all the same. Empty without CUDA code.
    pub devices: Vec<DeviceReach>,
    /// Driver for the machine code.
    pub machine_code: Option<DriverNeed>,
    /// Driver for the PTX.
    pub ptx: Option<DriverNeed>,
    /// Driver for what is compiled at run time.
    pub compiled: Option<DriverNeed>,
    /// What is wrong, in words, each with what to do where something can be done.
    pub problems: Vec<String>,
    /// What could not be examined, and why; absent in the first files of this form.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unexamined: Vec<String>,
}

/// One capability.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct DeviceReach {
    /// Capability; none stands for all that come after the known ones.
    pub capability: Option<Capability>,
    /// How the subject runs on it.
    pub how: How,
    /// Files of it that do not run there.
    pub lacking: Vec<String>,
}

/// How a subject runs on a device; of several files the worst counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum How {
    /// As machine code.
    Native,
    /// Compiled at run time by NVRTC.
    Compiled,
    /// As PTX, which the driver compiles.
    Ptx,
    /// Not at all.
    Nothing,
}

/// The oldest driver that is new enough.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct DriverNeed {
    /// CUDA version that it must support.
    pub cuda: CudaVersion,
    /// Its own number, where the tables know it.
    pub driver: Option<String>,
    /// From what this follows.
    pub because: String,
}

impl Reach {
    /// Judges the files of a subject.
    pub fn of(subject: String, units: Vec<Unit>, manifests: &Manifests) -> Self {
        // Libraries without device code tell the machine, too: objects in static archives do not.
        let is_x86 = units.iter().any(|unit| unit.is_x86);
        let units: Vec<Unit> = units.into_iter().filter(Unit::is_of_interest).collect();
        let mut reach = Self {
            subject,
            devices: Vec::new(),
            machine_code: machine_code(&units, manifests),
            ptx: ptx(&units, manifests),
            compiled: compiled(&units, manifests),
            problems: Vec::new(),
            unexamined: Vec::new(),
            units,
        };
        if reach.machine_code.is_some() || reach.ptx.is_some() || reach.compiled.is_some() {
            let current = manifests.capabilities.iter().filter(|entry| entry.renamed.is_none());
            let known: Vec<Capability> = current.map(|entry| entry.capability()).collect();
            let is_elsewhere = |device: &DeviceReach| {
                is_x86
                    && device.how != How::Native
                    && device.capability.is_some_and(|it| manifests.capabilities.is_tegra(it))
            };
            let all = known.iter().map(|&capability| reach.device(Some(capability), manifests));
            reach.devices = all.filter(|device| !is_elsewhere(device)).collect();
            reach.devices.push(reach.device(None, manifests));
        }
        reach.problems = reach.find_problems(manifests);
        reach
    }

    /// The same, of a subject that could not be examined as a whole.
    #[must_use]
    pub fn without(self, unexamined: Vec<String>) -> Self {
        Self { unexamined, ..self }
    }

    /// Files with device code that CUDA runs.
    fn with_code(&self) -> impl Iterator<Item = &Unit> {
        self.units.iter().filter(|unit| !unit.code.is_empty())
    }

    fn device(&self, capability: Option<Capability>, manifests: &Manifests) -> DeviceReach {
        let device = capability.unwrap_or_else(|| manifests.capabilities.to_come());
        // As new as can be: what a driver needs is said apart.
        let driver = Some(CudaVersion::new(u32::MAX, 0));
        let mut how = How::Native;
        let mut lacking = Vec::new();
        for unit in self.with_code() {
            let own = match unit.on(device, driver, manifests).place {
                Some(place) if place.is_machine_code() => How::Native,
                Some(_) => How::Ptx,
                None => How::Nothing,
            };
            if own == How::Nothing {
                lacking.push(unit.name.clone());
            }
            how = how.max(own);
        }
        if self.with_code().next().is_none() {
            let compiles = self.units.iter().filter_map(|unit| unit.compiles.as_ref());
            how = compiles.map(|compiles| by_compiler(compiles, device, manifests)).max().unwrap_or(How::Nothing);
        }
        DeviceReach { capability, how, lacking }
    }

    /// How each file with code for CUDA, or that compiles some, runs on a device with a driver that is new enough.
    pub fn files_on(&self, device: Capability, manifests: &Manifests) -> Vec<(&str, How)> {
        let driver = Some(CudaVersion::new(u32::MAX, 0));
        let how = |unit: &Unit| match (&unit.compiles, unit.on(device, driver, manifests).place) {
            (_, Some(place)) if place.is_machine_code() => How::Native,
            (_, Some(_)) => How::Ptx,
            (Some(compiles), None) if unit.code.is_empty() => by_compiler(compiles, device, manifests),
            (_, None) => How::Nothing,
        };
        let counted = self.units.iter().filter(|unit| !unit.code.is_empty() || unit.compiles.is_some());
        counted.map(|unit| (unit.name.as_str(), how(unit))).collect()
    }

    /// Capabilities of the known devices that run it in one way.
    pub fn capabilities(&self, how: How) -> Vec<Capability> {
        self.devices.iter().filter(|device| device.how == how).filter_map(|device| device.capability).collect()
    }

    /// How the subject runs on devices that come after the known ones.
    pub fn whatever_comes(&self) -> How {
        self.devices.last().map_or(How::Nothing, |device| device.how)
    }

    /// What a machine's device runs of it.
    pub fn on(&self, device: &Device, driver: Option<&Driver>, manifests: &Manifests) -> ForeignFit {
        let mut fit = ForeignFit {
            index: device.index,
            name: device.name.clone(),
            capability: None,
            runs: false,
            words: "not an NVIDIA GPU: it runs no CUDA code".to_owned(),
            units: Vec::new(),
        };
        let DeviceKind::Cuda { capability } = device.kind else { return fit };
        let cuda = driver.map(|driver| driver.cuda);
        fit.capability = Some(capability);
        fit.units = self.with_code().map(|unit| unit.on(capability, cuda, manifests)).collect();
        (fit.runs, fit.words) = match (cuda, &self.compiled, fit.units.is_empty()) {
            (None, ..) => (false, "no CUDA driver".to_owned()),
            (Some(_), None, true) => (false, "holds no CUDA code".to_owned()),
            (Some(cuda), Some(need), true) if cuda < need.cuda => {
                (false, format!("NVRTC's code needs a driver of CUDA {}, this one is of CUDA {cuda}", need.cuda))
            }
            (Some(_), Some(need), true) => match self.device(Some(capability), manifests).how {
                How::Nothing => (false, format!("NVRTC does not compile for {capability}: {}", need.because)),
                _ => (true, "compiled at run time by NVRTC".to_owned()),
            },
            (Some(_), _, false) => summary(&fit.units),
        };
        fit
    }

    /// Libraries of the vendor that nothing in the environment brings, each once with the files that need it.
    fn find_absent(&self) -> Vec<String> {
        let mut by_library: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
        for unit in &self.units {
            for (library, project) in &unit.absent {
                by_library
                    .entry((library, project))
                    .or_default()
                    .push(unit.name.rsplit('/').next().unwrap_or(&unit.name));
            }
        }
        let words = |((library, project), files): ((&str, &str), Vec<&str>)| {
            format!(
                "{library} is not in this environment, and {} does not load without it: install {project}",
                files.join(", ")
            )
        };
        by_library.into_iter().map(words).collect()
    }

    fn find_problems(&self, manifests: &Manifests) -> Vec<String> {
        let mut problems = self.find_absent();
        if self.with_code().next().is_none() {
            return problems;
        }
        let native = self.capabilities(How::Native);
        let nothing = self.capabilities(How::Nothing);
        let highest = self.with_code().flat_map(|unit| &unit.code).filter_map(|code| code.target.capability()).max();
        let is_newer = |capability: &Capability| highest.is_some_and(|highest| *capability > highest.plain());
        let newer: Vec<Capability> = nothing.into_iter().filter(is_newer).collect();
        if self.whatever_comes() == How::Nothing {
            let first = newer.first().map_or(String::new(), |first| format!("{first} and "));
            problems
                .push(format!("nothing runs on {first}whatever is newer: no PTX reaches that, it needs another build"));
        } else if !newer.is_empty() {
            let names: Vec<String> = newer.iter().map(ToString::to_string).collect();
            problems.push(format!("nothing runs on {}: no PTX reaches that, it needs another build", names.join(", ")));
        }
        // Devices that a part of the files runs on, and another does not.
        let torn: Vec<&DeviceReach> = self
            .devices
            .iter()
            .filter(|device| !device.lacking.is_empty() && device.lacking.len() < self.with_code().count())
            // Of what comes it is said already.
            .filter(|device| device.capability.is_some())
            .collect();
        if let Some(first) = torn.first() {
            let devices: Vec<String> = torn.iter().filter_map(|device| Some(device.capability?.to_string())).collect();
            let whole = format!("on {} a part of the files does not run", devices.join(", "));
            problems.push(format!("{whole}: {}", first.lacking.join(", ")));
        }
        let exact = |unit: &&Unit| {
            let mut sass = unit.code.iter().filter_map(|code| code.target.capability()).peekable();
            sass.peek().is_some() && sass.all(|capability| capability.suffix == Suffix::Exact)
        };
        for unit in self.with_code().filter(exact) {
            problems.push(format!("{} holds `a` code only: it runs on exactly the devices it names", unit.name));
        }
        let old = native
            .iter()
            .all(|capability| manifests.capabilities.get(*capability).is_some_and(|entry| entry.max_cuda.is_some()));
        if old && !native.is_empty() && self.ptx.is_none() {
            let names: Vec<String> = native.iter().map(ToString::to_string).collect();
            let names = names.join(", ");
            problems.push(format!("machine code for {names} only, for which current CUDA releases no longer compile"));
        }
        problems
    }
}

/// What NVRTC compiles for: what its release does, or any of its major where that is all that is known.
fn by_compiler(compiles: &Compiles, device: Capability, manifests: &Manifests) -> How {
    let known = manifests.cuda.iter().map(|release| release.version());
    let releases: Vec<CudaVersion> = match compiles.release {
        Some(release) => vec![release],
        None => known.filter(|version| version.major == compiles.major).collect(),
    };
    match releases.into_iter().any(|release| manifests.capabilities.check(device, release).is_ok()) {
        true => How::Compiled,
        false => How::Nothing,
    }
}

fn summary(units: &[UnitFit]) -> (bool, String) {
    let failed: Vec<&UnitFit> = units.iter().filter(|unit| unit.place.is_none()).collect();
    if let Some(first) = failed.first() {
        let which = if units.len() == 1 { String::new() } else { format!("{}: ", first.name) };
        return (false, format!("{which}{}", first.why));
    }
    let mut targets: Vec<String> = Vec::new();
    for target in units.iter().filter_map(|unit| unit.target.map(|target| target.to_string())) {
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    let how = match units.iter().all(|unit| unit.place.is_some_and(|place| place.is_machine_code())) {
        true => "as machine code",
        false => "through PTX",
    };
    (true, format!("{} ({how})", targets.join(", ")))
}

fn is_sass(target: KernelTarget) -> bool {
    matches!(target, KernelTarget::Sass(_))
}

/// Machine code of any release of a major runs on that major's first driver.
fn machine_code(units: &[Unit], manifests: &Manifests) -> Option<DriverNeed> {
    let code = units.iter().flat_map(|unit| unit.code.iter().map(move |code| (unit, code)));
    let (unit, newest) = code.filter(|(_, code)| is_sass(code.target)).max_by_key(|(_, code)| code.cuda)?;
    let from = unit.release_from.clone().unwrap_or_default();
    let major = manifests.cuda.major(newest.cuda.major);
    Some(DriverNeed {
        cuda: major.map_or(CudaVersion::new(newest.cuda.major, 0), |major| major.min_driver_cuda),
        driver: major.map(|major| major.min_driver.clone()),
        because: format!("compiled by CUDA {}, says {from}", newest.cuda),
    })
}

/// The driver's compiler must know the ISA.
fn ptx(units: &[Unit], manifests: &Manifests) -> Option<DriverNeed> {
    let code = units.iter().flat_map(|unit| &unit.code).filter(|code| !is_sass(code.target));
    let needs = code.map(|code| {
        let known = code.ptx_isa.and_then(|isa| manifests.cuda.cuda_for_ptx(isa));
        (known.unwrap_or(code.cuda), code.ptx_isa)
    });
    let (cuda, isa) = needs.max()?;
    let because = isa.map_or("of its compiler".to_owned(), |(major, minor)| format!("ISA {major}.{minor}"));
    let driver = manifests.cuda.get(cuda).and_then(|release| release.driver.clone());
    Some(DriverNeed { cuda, driver, because })
}

/// PTX of a release is known to drivers from that release on; its machine code to all of the major.
fn compiled(units: &[Unit], manifests: &Manifests) -> Option<DriverNeed> {
    let all = units.iter().filter_map(|unit| unit.compiles.as_ref());
    let compiles = all.max_by_key(|compiles| (compiles.major, compiles.release))?;
    if let Some(cuda) = compiles.release {
        let driver = manifests.cuda.get(cuda).and_then(|release| release.driver.clone());
        let because = format!(
            "compiles at run time with {}, of CUDA {cuda} here, whose PTX older drivers refuse",
            compiles.library
        );
        return Some(DriverNeed { cuda, driver, because });
    }
    let major = manifests.cuda.major(compiles.major);
    Some(DriverNeed {
        cuda: major.map_or(CudaVersion::new(compiles.major, 0), |major| major.min_driver_cuda),
        driver: major.map(|major| major.min_driver.clone()),
        because: format!("compiles at run time with {}", compiles.library),
    })
}
