//! The machine that answers for itself.

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use crate::elf::resolve::{Environment, Loader, Remembered};
use crate::error::Result;
use crate::fs::Root;
use crate::machine::{
    Device, DriverAnswer, DriverFiles, DriverRole, Prefix, Provider, RunningProcess, RuntimeCache, System, Tools,
    Variables, Vulkan, Wanted,
};
use crate::manifest::Manifests;

use super::asked::DriverQuery;
use super::installed::PrefixScanner;
use super::search::{loader, search};
use super::{Snapshot, amd, caches, driver_files, process, system, tools};

/// Looks at this machine, or at files of another one.
pub struct Probe {
    /// Root of another machine's files.
    root: Option<PathBuf>,
    manifests: Manifests,
    snapshot: Snapshot,
    /// Prefixes that are examined: nothing in them is opened.
    examined: Vec<String>,
    /// Also what takes long.
    thorough: bool,
    asker: DriverQuery,
    loader: OnceLock<Option<Loader>>,
}

impl Probe {
    /// This machine.
    pub fn here(manifests: &Manifests, snapshot: Snapshot) -> Self {
        Self {
            root: None,
            manifests: manifests.clone(),
            examined: Vec::new(),
            thorough: false,
            asker: DriverQuery::new(&manifests.environment, &snapshot),
            snapshot,
            loader: OnceLock::new(),
        }
    }

    /// The machine whose files lie below a directory.
    ///
    /// # Errors
    /// The directory is not there.
    pub fn at(manifests: &Manifests, snapshot: Snapshot, root: &std::path::Path) -> Result<Self> {
        Root::at(root)?;
        Ok(Self { root: Some(root.to_owned()), ..Self::here(manifests, snapshot) })
    }

    /// The same, opening nothing below these directories.
    #[must_use]
    pub fn examining(self, prefixes: &[String]) -> Self {
        Self { examined: prefixes.to_vec(), ..self }
    }

    /// The same, starting the CUDA driver also where NVML answers.
    #[must_use]
    pub fn thorough(self, thorough: bool) -> Self {
        Self { thorough, ..self }
    }

    /// The same, letting another process open the driver's libraries: `program` is simpack itself, which answers
    /// [`super::answer`] when it is called with `ask-driver`. Without a program this process opens them, and shares
    /// their fate.
    #[must_use]
    pub fn asking_by(mut self, program: Option<PathBuf>) -> Self {
        self.asker.program = program;
        self
    }

    /// The same, with another time for the driver to answer than the manifest's.
    #[must_use]
    pub fn waiting(mut self, limit: Option<Duration>) -> Self {
        self.asker.limit = limit.unwrap_or(self.asker.limit);
        self
    }

    fn root(&self) -> std::result::Result<Root, String> {
        match &self.root {
            None => Ok(Root::machine()),
            Some(directory) => Root::at(directory).map_err(|error| error.to_string()),
        }
    }

    fn loader(&self, root: &Root) -> std::result::Result<&Loader, String> {
        let found = self.loader.get_or_init(|| loader(root, &self.manifests));
        found.as_ref().ok_or_else(|| "no rules are known for its loader".to_owned())
    }

    fn environment(&self) -> Environment {
        Environment {
            library_path: self.snapshot.value("LD_LIBRARY_PATH").map(str::to_owned),
            // What is preloaded has its own check; here it would only be in the way of the names that are asked for.
            preload: None,
            directory: self.snapshot.directory.clone(),
            secure: false,
        }
    }

    /// Whether a library of the driver may be opened.
    fn may_open(&self, path: &str) -> bool {
        let below = |prefix: &String| path.starts_with(&format!("{}/", prefix.trim_end_matches('/')));
        self.root.is_none() && !self.examined.iter().any(below)
    }
}

/// Whether only the CUDA driver itself can say which GPUs programs get, or why none: NVML lists none, or more than there
/// are device files, the library that wins is not the kernel module's own, or a GPU is split (MIG).
fn is_doubtful(files: &DriverFiles, nvml: Option<&DriverAnswer>) -> bool {
    let listed = nvml.is_some_and(|nvml| nvml.failure.is_none() && !nvml.devices.is_empty());
    let own = files.winner().is_some_and(|winner| {
        winner.role == DriverRole::Real && winner.version.is_some() && winner.version == files.kernel_module
    });
    let split = nvml.is_some_and(|nvml| nvml.states.iter().any(|state| state.mig_instances.is_some()));
    let closed = nvml.is_some_and(|nvml| {
        let of_one = |path: &str| path.strip_prefix("/dev/nvidia").is_some_and(|rest| rest.parse::<u32>().is_ok());
        let open = files.nodes.iter().filter(|node| node.usable && of_one(&node.path)).count();
        // WSL has one device file for all.
        open < nvml.devices.len() && !files.nodes.iter().any(|node| node.path == "/dev/dxg")
    });
    !listed || !own || files.nodes.is_empty() || split || closed
}

type Answer<T> = std::result::Result<T, String>;

impl Provider for Probe {
    fn system(&self) -> Answer<System> {
        let root = self.root()?;
        Ok(system::system(&root, self.loader(&root)?, &self.environment(), &self.manifests, &self.snapshot))
    }

    fn variables(&self) -> Answer<Variables> {
        let root = self.root()?;
        Ok(system::variables(&root, self.loader(&root)?, &self.environment(), &self.manifests, &self.snapshot))
    }

    fn driver_files(&self) -> Answer<DriverFiles> {
        let root = self.root()?;
        let toolkits = tools::toolkit_roots(&root, &self.manifests, &self.snapshot);
        Ok(driver_files::driver_files(&root, self.loader(&root)?, &self.environment(), &self.manifests, &toolkits))
    }

    fn nvml(&self, files: &DriverFiles) -> Answer<Option<DriverAnswer>> {
        let library = files.nvml.as_ref().filter(|it| it.role == DriverRole::Real && self.may_open(&it.real));
        Ok(library.map(|library| self.asker.nvml(&library.path)))
    }

    fn cuda(&self, files: &DriverFiles, nvml: Option<&DriverAnswer>) -> Answer<Option<DriverAnswer>> {
        let library = files.winner().filter(|it| it.role != DriverRole::Stub && self.may_open(&it.real));
        let start = self.thorough || is_doubtful(files, nvml);
        Ok(library.map(|library| self.asker.cuda(&library.path, start)))
    }

    fn amd(&self) -> Answer<Vec<Device>> {
        Ok(amd::devices(&self.root()?))
    }

    fn vulkan(&self) -> Answer<Vulkan> {
        let root = self.root()?;
        let found = search(&root, self.loader(&root)?, &self.environment(), "libvulkan.so.1").into_iter().next();
        let opened = found.filter(|it| self.may_open(&root.real(&it.path).unwrap_or_else(|| it.path.clone())));
        Ok(opened.map(|library| self.asker.vulkan(&library.path)).unwrap_or_default())
    }

    fn tools(&self) -> Answer<Tools> {
        let root = self.root()?;
        let run = self.root.is_none();
        let environment = self.environment();
        Ok(tools::tools(&root, self.loader(&root)?, &environment, &self.manifests, &self.snapshot, run))
    }

    fn caches(&self, files: &DriverFiles) -> Answer<Vec<RuntimeCache>> {
        Ok(caches::caches(&self.root()?, files, &self.snapshot))
    }

    fn prefixes(&self, wanted: &Wanted) -> Answer<Vec<Prefix>> {
        let root = self.root()?;
        let (loader, environment) = (self.loader(&root)?, self.environment());
        let scanner = PrefixScanner {
            files: Remembered::new(self.root()?, loader.machine),
            opened: RefCell::default(),
            loader,
            environment: &environment,
            manifests: &self.manifests,
            snapshot: &self.snapshot,
            root: &root,
        };
        Ok(scanner.prefixes(&wanted.prefixes))
    }

    fn process(&self, wanted: &Wanted) -> Answer<Option<RunningProcess>> {
        let Some(pid) = wanted.process else { return Ok(None) };
        if self.root.is_some() {
            return Err("a directory of files has no processes".to_owned());
        }
        process::process(pid, self.loader(&self.root()?)?, &self.manifests).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuda_is_started_where_nvml_or_the_files_leave_doubt() {
        let files = |role: &str, version: &str| -> DriverFiles {
            serde_json::from_value(serde_json::json!({
                "kernel-module": "580.1",
                "pci-devices": 1,
                "nodes": [{ "path": "/dev/nvidia0", "usable": true }],
                "libraries": [{
                    "path": "/usr/lib/libcuda.so.1", "real": "/usr/lib/libcuda.so.1", "role": role,
                    "version": version, "wins": true, "size": 1,
                }],
            }))
            .unwrap()
        };
        let gpu = serde_json::json!({ "index": 0, "name": "a GPU", "kind": { "kind": "cuda", "capability": "9.0" } });
        let listed: DriverAnswer = serde_json::from_value(serde_json::json!({ "devices": [gpu] })).unwrap();
        let silent = DriverAnswer::default();
        let sound = files("real", "580.1");
        assert!(!is_doubtful(&sound, Some(&listed)));
        assert!(is_doubtful(&sound, None) && is_doubtful(&sound, Some(&silent)));
        assert!(is_doubtful(&files("compat", "580.1"), Some(&listed)));
        assert!(is_doubtful(&files("real", "580.2"), Some(&listed)));
        let closed = DriverFiles { nodes: Vec::new(), ..sound.clone() };
        assert!(is_doubtful(&closed, Some(&listed)));
        let mut two = listed.clone();
        two.devices.extend(listed.devices.clone());
        assert!(is_doubtful(&sound, Some(&two)), "one device file for two GPUs");
        let mut split = listed;
        split.states = vec![crate::machine::DeviceState { mig_instances: Some(2), ..Default::default() }];
        assert!(is_doubtful(&sound, Some(&split)));
    }
}
