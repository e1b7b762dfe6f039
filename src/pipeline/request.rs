//! What a build or its plan is asked for, as plain values.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::machines::cluster::kind::ClusterKind;
pub use super::tools::CudaSource;
use crate::arch::{Capability, CudaVersion};
pub use crate::engine::SandboxMode;
use crate::engine::object_store;
use crate::error::Result;
use crate::package::FormatName;
use crate::plan::Shard;
use crate::project::RecipeRequest;
use crate::recipe::{HostKind, Selection};
use crate::toolchain::ObjectStore;

/// One part of a plan, for machines that share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardRequest {
    /// Which part.
    pub shard: Shard,
    /// File that says which steps each part has; without it they follow from the plan alone.
    pub division: Option<PathBuf>,
}

/// What host compilers are called through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LauncherKind {
    /// Nothing.
    #[default]
    None,
    /// sccache, in the sandbox of each step.
    Sccache,
}

/// How jobs of a cluster make the steps of a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterRequest {
    /// What schedules them.
    pub kind: ClusterKind,
    /// Partition or queue; the cluster's default when absent.
    pub partition: Option<String>,
    /// Tasks that the plan is divided into; by what its steps are expected to take when absent.
    pub tasks: Option<usize>,
    /// Tasks that run at a time, at most.
    pub array_limit: Option<usize>,
    /// Arguments for the program that submits.
    pub args: Vec<String>,
    /// Directory that all nodes see; one in the cache when absent.
    pub shared: Option<PathBuf>,
}

/// What a build is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildRequest {
    /// Recipe: a directory, a file, or an embedded name.
    pub recipe: Option<String>,
    /// Only these capabilities.
    pub capabilities: Option<Vec<Capability>>,
    /// PTX of only these.
    pub ptx: Option<Vec<Capability>>,
    /// Shaders for only these environments.
    pub environments: Option<Vec<String>>,
    /// CUDA release instead of the recipe's.
    pub cuda: Option<CudaVersion>,
    /// Where nvcc comes from.
    pub cuda_source: CudaSource,
    /// Host compiler instead of the recipe's choice; the recipe's settings for it hold, too.
    pub host: Option<HostKind>,
    /// Fetch nothing.
    pub offline: bool,
    /// Ask no object store, and give it nothing.
    pub without_store: bool,
    /// Refuse to differ from the recipe's lock.
    pub locked: bool,
    /// Only these components; all when empty.
    pub components: Vec<String>,
    /// Only one part of the steps, and no packages.
    pub shard: Option<ShardRequest>,
    /// Steps are made by jobs of a cluster, not by this machine.
    pub cluster: Option<ClusterRequest>,
    /// Formats of the packages, in the order in which they are told of.
    pub formats: Vec<FormatName>,
    /// Steps at a time; the machine's cores when absent.
    pub jobs: Option<usize>,
    /// Time that one call of a compiler or build system may take.
    pub step_timeout: Option<Duration>,
    /// Go on after a failed step.
    pub keep_going: bool,
    /// Whether steps are kept from what they do not declare.
    pub sandbox: SandboxMode,
    /// Whether host steps may go on in the build trees of earlier builds; what is made so is nobody else's.
    pub incremental: bool,
    /// What host compilers are called through; it changes no bytes.
    pub launcher: LauncherKind,
    /// Do nothing.
    pub dry_run: bool,
    /// Directory of finished packages.
    pub dist: PathBuf,
    /// Secret key that packages are signed with.
    pub sign: Option<PathBuf>,
    /// File whose first line opens that key.
    pub sign_password: Option<PathBuf>,
    /// Directory of logs and intermediate files.
    pub work: PathBuf,
    /// Time stamp of everything; `SOURCE_DATE_EPOCH` when absent.
    pub source_date_epoch: Option<u64>,
    /// Cache of what steps made; the user's when absent.
    pub artifacts: Option<PathBuf>,
    /// Lints at `warn`.
    pub warn: Vec<String>,
    /// Lints at `allow`.
    pub allow: Vec<String>,
    /// Lints at `deny`.
    pub deny: Vec<String>,
    /// Whether structures of kernel tables are about to be written, and so need not be there.
    pub writes_structures: bool,
}

impl Default for BuildRequest {
    fn default() -> Self {
        Self {
            recipe: None,
            capabilities: None,
            ptx: None,
            environments: None,
            cuda: None,
            cuda_source: CudaSource::Wheels,
            host: None,
            offline: false,
            without_store: false,
            locked: false,
            components: Vec::new(),
            shard: None,
            cluster: None,
            formats: FormatName::defaults(),
            jobs: None,
            step_timeout: None,
            keep_going: false,
            sign: None,
            sign_password: None,
            sandbox: SandboxMode::Auto,
            incremental: false,
            launcher: LauncherKind::None,
            dry_run: false,
            dist: PathBuf::from("dist"),
            work: PathBuf::from("target/simpack"),
            source_date_epoch: None,
            artifacts: None,
            warn: Vec::new(),
            allow: Vec::new(),
            deny: Vec::new(),
            writes_structures: false,
        }
    }
}

impl BuildRequest {
    /// Threads, and steps at a time.
    pub(crate) fn threads(&self) -> usize {
        self.jobs.unwrap_or_else(crate::parallel::threads)
    }

    /// Whether the object store of the settings is asked: a build with a cache of its own keeps to that.
    pub(crate) fn uses_store(&self) -> bool {
        !self.without_store && self.artifacts.is_none()
    }

    /// The object store of the settings, where it is asked and they name one.
    ///
    /// # Errors
    /// A setting says no place, or credentials are missing.
    pub(crate) fn store(&self) -> Result<Option<Arc<ObjectStore>>> {
        if self.uses_store() { object_store() } else { Ok(None) }
    }

    /// Whether it leaves a part of the distribution out.
    pub(crate) fn is_partial(&self) -> bool {
        !self.components.is_empty()
    }

    /// What decides the plan, as arguments of `simpack plan` and `simpack build`.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let listed = |list: &[Capability]| list.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        let mut args: Vec<String> = self.recipe.iter().cloned().collect();
        let mut add = |name: &str, value: String| args.extend([name.to_owned(), value]);
        if let Some(capabilities) = &self.capabilities {
            add("--capability", listed(capabilities));
        }
        match self.ptx.as_deref() {
            None => {}
            Some([]) => add("--ptx", "none".to_owned()),
            Some(ptx) => add("--ptx", listed(ptx)),
        }
        match self.environments.as_deref() {
            None => {}
            Some([]) => add("--environment", "none".to_owned()),
            Some(environments) => add("--environment", environments.join(",")),
        }
        if let Some(cuda) = self.cuda {
            add("--cuda", cuda.to_string());
        }
        if self.cuda_source == CudaSource::System {
            add("--toolchain", "system".to_owned());
        }
        if let Some((name, _)) = HostKind::NAMES.iter().find(|(_, kind)| Some(*kind) == self.host) {
            add("--host", (*name).to_owned());
        }
        args.extend(self.locked.then(|| "--locked".to_owned()));
        args
    }

    /// Which recipe, with which choices in the place of its own.
    pub(crate) fn recipe(&self) -> RecipeRequest {
        let selection = Selection {
            cuda: self.cuda,
            capabilities: self.capabilities.clone(),
            ptx: self.ptx.clone(),
            environments: self.environments.clone(),
            host: self.host,
            writes_structures: self.writes_structures,
        };
        RecipeRequest { recipe: self.recipe.clone(), selection, offline: self.offline }
    }
}
