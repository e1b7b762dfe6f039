//! Who answers for a machine: the real one, a recorded one, or one that cannot say anything.

use super::{
    Device, DriverAnswer, DriverFiles, Gap, Machine, Part, Prefix, RunningProcess, RuntimeCache, System, Tools,
    Variables, Vulkan,
};

/// What of a machine is looked at besides the machine itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Prefixes to examine; without, those that the environment names.
    pub prefixes: Vec<String>,
    /// The process to examine.
    pub process: Option<u32>,
}

/// Answers for the parts of a machine. An error is the reason why a part could not be examined.
pub trait Provider: Sync {
    /// Operating system, C and C++ library, processor.
    ///
    /// # Errors
    /// As all methods here: why this part could not be examined.
    #[allow(clippy::missing_errors_doc)]
    fn system(&self) -> Result<System, String>;
    /// Variables that change which files are found.
    #[allow(clippy::missing_errors_doc)]
    fn variables(&self) -> Result<Variables, String>;
    /// Files of the driver, and what the kernel says.
    #[allow(clippy::missing_errors_doc)]
    fn driver_files(&self) -> Result<DriverFiles, String>;
    /// What NVML says; none where there is none.
    #[allow(clippy::missing_errors_doc)]
    fn nvml(&self, files: &DriverFiles) -> Result<Option<DriverAnswer>, String>;
    /// What the CUDA driver says; none where there is none. Starting it takes longer than all else, so it may be left
    /// out when NVML's answer and the files leave no doubt.
    #[allow(clippy::missing_errors_doc)]
    fn cuda(&self, files: &DriverFiles, nvml: Option<&DriverAnswer>) -> Result<Option<DriverAnswer>, String>;
    /// GPUs of AMD.
    #[allow(clippy::missing_errors_doc)]
    fn amd(&self) -> Result<Vec<Device>, String>;
    /// Vulkan devices.
    #[allow(clippy::missing_errors_doc)]
    fn vulkan(&self) -> Result<Vulkan, String>;
    /// Toolkits and compilers.
    #[allow(clippy::missing_errors_doc)]
    fn tools(&self) -> Result<Tools, String>;
    /// The driver's caches of this user.
    #[allow(clippy::missing_errors_doc)]
    fn caches(&self, files: &DriverFiles) -> Result<Vec<RuntimeCache>, String>;
    /// Prefixes with packages.
    #[allow(clippy::missing_errors_doc)]
    fn prefixes(&self, wanted: &Wanted) -> Result<Vec<Prefix>, String>;
    /// The process that is asked about.
    #[allow(clippy::missing_errors_doc)]
    fn process(&self, wanted: &Wanted) -> Result<Option<RunningProcess>, String>;
}

impl Machine {
    /// Puts a machine together. What a provider cannot say becomes a gap; a part that panics, too.
    pub fn take(provider: &dyn Provider, wanted: &Wanted) -> Self {
        let mut machine = Self::default();
        // Files first: they say which libraries of the driver may be opened. The rest does not wait for each other.
        let mut gaps = Vec::new();
        machine.driver_files = keep(&mut gaps, Part::DriverFiles, provider.driver_files());
        let files = &machine.driver_files;
        std::thread::scope(|scope| {
            let nvml = scope.spawn(|| provider.nvml(files));
            let vulkan = scope.spawn(|| provider.vulkan());
            let tools = scope.spawn(|| provider.tools());
            let ended = || "it ended unexpectedly".to_owned();
            machine.nvml = keep(&mut gaps, Part::Nvml, nvml.join().unwrap_or_else(|_| Err(ended())));
            let answer = machine.nvml.as_ref();
            let cuda = scope.spawn(move || provider.cuda(files, answer));
            machine.system = keep(&mut gaps, Part::System, provider.system());
            machine.variables = keep(&mut gaps, Part::Variables, provider.variables());
            machine.amd = keep(&mut gaps, Part::Amd, provider.amd());
            machine.caches = keep(&mut gaps, Part::Caches, provider.caches(files));
            machine.prefixes = keep(&mut gaps, Part::Prefixes, provider.prefixes(wanted));
            machine.process = keep(&mut gaps, Part::Process, provider.process(wanted));
            machine.cuda = keep(&mut gaps, Part::Cuda, cuda.join().unwrap_or_else(|_| Err(ended())));
            machine.vulkan = keep(&mut gaps, Part::Vulkan, vulkan.join().unwrap_or_else(|_| Err(ended())));
            machine.tools = keep(&mut gaps, Part::Tools, tools.join().unwrap_or_else(|_| Err(ended())));
        });
        gaps.sort();
        machine.gaps = gaps;
        machine
    }
}

fn keep<T: Default>(gaps: &mut Vec<Gap>, part: Part, answer: Result<T, String>) -> T {
    answer.unwrap_or_else(|reason| {
        gaps.push(Gap { part, reason });
        T::default()
    })
}

impl Machine {
    fn recorded<T>(&self, part: Part, value: T) -> Result<T, String> {
        match self.gaps.iter().find(|gap| gap.part == part) {
            Some(gap) => Err(gap.reason.clone()),
            None => Ok(value),
        }
    }
}

/// A recorded machine answers as it did then.
impl Provider for Machine {
    fn system(&self) -> Result<System, String> {
        self.recorded(Part::System, self.system.clone())
    }
    fn variables(&self) -> Result<Variables, String> {
        self.recorded(Part::Variables, self.variables.clone())
    }
    fn driver_files(&self) -> Result<DriverFiles, String> {
        self.recorded(Part::DriverFiles, self.driver_files.clone())
    }
    fn nvml(&self, _: &DriverFiles) -> Result<Option<DriverAnswer>, String> {
        self.recorded(Part::Nvml, self.nvml.clone())
    }
    fn cuda(&self, _: &DriverFiles, _: Option<&DriverAnswer>) -> Result<Option<DriverAnswer>, String> {
        self.recorded(Part::Cuda, self.cuda.clone())
    }
    fn amd(&self) -> Result<Vec<Device>, String> {
        self.recorded(Part::Amd, self.amd.clone())
    }
    fn vulkan(&self) -> Result<Vulkan, String> {
        self.recorded(Part::Vulkan, self.vulkan.clone())
    }
    fn tools(&self) -> Result<Tools, String> {
        self.recorded(Part::Tools, self.tools.clone())
    }
    fn caches(&self, _: &DriverFiles) -> Result<Vec<RuntimeCache>, String> {
        self.recorded(Part::Caches, self.caches.clone())
    }
    fn prefixes(&self, _: &Wanted) -> Result<Vec<Prefix>, String> {
        self.recorded(Part::Prefixes, self.prefixes.clone())
    }
    fn process(&self, _: &Wanted) -> Result<Option<RunningProcess>, String> {
        self.recorded(Part::Process, self.process.clone())
    }
}

/// A machine that fails in some of its parts, and is as another one in the rest.
pub struct Failing<'a> {
    /// Who answers for the other parts.
    pub other: &'a dyn Provider,
    /// Parts that fail.
    pub parts: &'a [Part],
}

impl Failing<'_> {
    fn or<T>(&self, part: Part, answer: impl FnOnce(&dyn Provider) -> Result<T, String>) -> Result<T, String> {
        match self.parts.contains(&part) {
            true => Err("it does not answer".to_owned()),
            false => answer(self.other),
        }
    }
}

impl Provider for Failing<'_> {
    fn system(&self) -> Result<System, String> {
        self.or(Part::System, |other| other.system())
    }
    fn variables(&self) -> Result<Variables, String> {
        self.or(Part::Variables, |other| other.variables())
    }
    fn driver_files(&self) -> Result<DriverFiles, String> {
        self.or(Part::DriverFiles, |other| other.driver_files())
    }
    fn nvml(&self, files: &DriverFiles) -> Result<Option<DriverAnswer>, String> {
        self.or(Part::Nvml, |other| other.nvml(files))
    }
    fn cuda(&self, files: &DriverFiles, nvml: Option<&DriverAnswer>) -> Result<Option<DriverAnswer>, String> {
        self.or(Part::Cuda, |other| other.cuda(files, nvml))
    }
    fn amd(&self) -> Result<Vec<Device>, String> {
        self.or(Part::Amd, |other| other.amd())
    }
    fn vulkan(&self) -> Result<Vulkan, String> {
        self.or(Part::Vulkan, |other| other.vulkan())
    }
    fn tools(&self) -> Result<Tools, String> {
        self.or(Part::Tools, |other| other.tools())
    }
    fn caches(&self, files: &DriverFiles) -> Result<Vec<RuntimeCache>, String> {
        self.or(Part::Caches, |other| other.caches(files))
    }
    fn prefixes(&self, wanted: &Wanted) -> Result<Vec<Prefix>, String> {
        self.or(Part::Prefixes, |other| other.prefixes(wanted))
    }
    fn process(&self, wanted: &Wanted) -> Result<Option<RunningProcess>, String> {
        self.or(Part::Process, |other| other.process(wanted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_becomes_a_gap_and_a_record_fails_in_the_same_way() {
        let healthy = Machine::default();
        let failing = Failing { other: &healthy, parts: &[Part::Nvml, Part::System] };
        let machine = Machine::take(&failing, &Wanted::default());
        assert_eq!(machine.gaps.iter().map(|gap| gap.part).collect::<Vec<_>>(), [Part::System, Part::Nvml]);
        assert_eq!(Machine::take(&machine, &Wanted::default()), machine);
        let all = Failing { other: &healthy, parts: &Part::ALL };
        assert_eq!(Machine::take(&all, &Wanted::default()).gaps.len(), Part::ALL.len());
    }
}
