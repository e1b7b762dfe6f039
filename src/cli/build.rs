//! `simpack build` and `simpack plan`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};

use super::packages::sign::SignArgs;
use crate::arch::{Capability, CudaVersion};
use crate::config;
use crate::error::{Error, Result};
use crate::ops;
use crate::ops::plan::{PlanView, ShardFormat};
use crate::package::FormatName;
use crate::pipeline::{BuildRequest, ClusterKind, ClusterRequest, CudaSource, LauncherKind, SandboxMode, ShardRequest};
use crate::plan::{MOST_SHARDS, Shard};
use crate::recipe::HostKind;
use crate::ui::Ui;

/// Which compilers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ToolchainChoice {
    /// The pinned wheels that simpack fetches
    Wheels,
    /// An nvcc found through CUDA_HOME or PATH
    System,
}

/// Which host compiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum HostArg {
    /// The pinned zig, for the glibc of the recipe
    Zig,
    /// The machine's own C++ compiler
    System,
}

/// Whether steps are isolated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum SandboxArg {
    /// By the best means of this machine; it says so when there is none
    Auto,
    /// Not at all
    Off,
    /// Fail on a machine that has no means; use nothing that was isolated less
    Require,
}

impl From<SandboxArg> for SandboxMode {
    fn from(arg: SandboxArg) -> Self {
        match arg {
            SandboxArg::Auto => Self::Auto,
            SandboxArg::Off => Self::Off,
            SandboxArg::Require => Self::Require,
        }
    }
}

/// What host compilers are called through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LauncherArg {
    /// Nothing
    None,
    /// sccache, the one on PATH or the pinned one, within the sandbox of each step
    Sccache,
}

/// What runs the steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ExecutorArg(Option<ClusterKind>);

impl ValueEnum for ExecutorArg {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [ExecutorArg; 1 + ClusterKind::NAMES.len()] = {
            let mut all = [ExecutorArg(None); 1 + ClusterKind::NAMES.len()];
            let mut place = 1;
            while place < all.len() {
                all[place] = ExecutorArg(Some(ClusterKind::NAMES[place - 1].1));
                place += 1;
            }
            all
        };
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self.0 {
            None => Some(PossibleValue::new("local").help("This machine")),
            Some(kind) => {
                let (name, _, help) = ClusterKind::NAMES.iter().find(|(_, known, _)| *known == kind)?;
                Some(PossibleValue::new(*name).help(*help))
            }
        }
    }
}

/// How a division of the plan is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DivisionFormat {
    /// The matrix of a job of GitHub, on one line
    Github,
    /// A pipeline of GitLab that divides, builds and merges
    Gitlab,
    /// The whole division
    Json,
}

impl From<DivisionFormat> for ShardFormat {
    fn from(format: DivisionFormat) -> Self {
        match format {
            DivisionFormat::Github => Self::Github,
            DivisionFormat::Gitlab => Self::Gitlab,
            DivisionFormat::Json => Self::Json,
        }
    }
}

/// What a build and its plan share.
#[derive(Debug, Args)]
pub(super) struct JobArgs {
    /// Recipe: a directory, a file, or the name of an embedded one [default: ./simpack.toml]
    recipe: Option<String>,

    /// Build only these capabilities (repeat or separate by commas), such as 9.0 or 9.0a
    #[arg(long, value_delimiter = ',', value_name = "C")]
    capability: Vec<Capability>,

    /// Build PTX of only these capabilities; `none` builds no PTX
    #[arg(long, value_delimiter = ',', value_name = "C|none")]
    ptx: Vec<String>,

    /// Build shaders for only these environments, such as vulkan1.2; `none` builds no shaders
    #[arg(long, value_delimiter = ',', value_name = "E|none")]
    environment: Vec<String>,

    /// Build this CUDA release only, instead of all in the recipe's matrix
    #[arg(long, value_name = "VERSION")]
    cuda: Option<CudaVersion>,

    /// Where the CUDA compiler comes from
    #[arg(long, value_enum, default_value = "wheels")]
    toolchain: ToolchainChoice,

    /// Host compiler, instead of the recipe's
    #[arg(long, value_enum)]
    host: Option<HostArg>,

    /// Use no network; fail and name what is missing
    #[arg(long)]
    offline: bool,

    /// Fail when the recipe's simpack.lock is absent or would change
    #[arg(long)]
    locked: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simpack build                                     the recipe of the current directory, into dist/
  simpack build volley                              the embedded simulator
  simpack build recipes/volley --capability 9.0     one capability
  simpack build --format conda,tar                  each package as conda's and as a plain archive
  simpack build volley --toolchain system --cuda 11.8 --capability 7.5,8.0 --ptx 7.5
  simpack build --clean                             from nothing, and not in the build trees of earlier builds
  simpack build --sign minisign.key                 packages with signatures beside them
  simpack build --sigstore                          a statement of origin that the client of sigstore signed
  simpack build --shard 2/8                         the second of eight parts, for `simpack merge`
  simpack build --executor slurm --partition cpu --submit-arg=--time=2:00:00    by jobs of a cluster
  simpack build --dry-run                           the steps, and which are in the cache")]
pub(super) struct BuildArgs {
    #[command(flatten)]
    job: JobArgs,

    /// Build one part of the plan, such as 2/8, into a directory for `simpack merge`; all machines divide the plan alike
    #[arg(long, value_name = "I/N", conflicts_with_all = ["format", "sign", "sigstore", "warn", "allow", "deny"])]
    shard: Option<Shard>,

    /// Take the part's steps from this file, which `simpack plan --shards N --format json` printed: balanced by measured time
    #[arg(long, value_name = "FILE", requires = "shard")]
    division: Option<PathBuf>,

    /// What runs the steps [default: the setting `executor`, else local]
    #[arg(long, value_enum, conflicts_with = "shard")]
    executor: Option<ExecutorArg>,

    /// Cluster: partition or queue of the jobs [default: the setting `cluster-partition`, else the cluster's]
    #[arg(long, value_name = "NAME")]
    partition: Option<String>,

    /// Cluster: tasks that run at a time, at most [default: the setting `cluster-array-limit`, else as many as the cluster runs]
    #[arg(long, value_name = "N", value_parser = jobs)]
    array_limit: Option<u16>,

    /// Cluster: tasks that the steps are divided into [default: by the time that they are expected to take]
    #[arg(long, value_name = "N", value_parser = jobs)]
    tasks: Option<u16>,

    /// Cluster: one argument for the program that submits, such as --time=2:00:00 for sbatch (repeat); those of the setting
    /// `cluster-args` come before
    #[arg(long, alias = "sbatch-arg", value_name = "ARG", allow_hyphen_values = true)]
    submit_arg: Vec<String>,

    /// Cluster: directory that all nodes see [default: the setting `cluster-dir`, else one in the cache]
    #[arg(long, value_name = "DIR")]
    shared_dir: Option<PathBuf>,

    /// Package only these components (repeat or separate by commas), such as core or kernels
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    component: Vec<String>,

    /// Formats of the packages (repeat or separate by commas); --list-formats names them
    #[arg(long, value_delimiter = ',', value_name = "NAME", default_value = "conda")]
    format: Vec<FormatName>,

    /// List the formats of packages, and build nothing
    #[arg(long)]
    list_formats: bool,

    /// Steps at a time [default: the machine's cores]; on a cluster processors of each task [default: a node's, at most 8]
    #[arg(long, short, value_name = "N", value_parser = jobs)]
    jobs: Option<u16>,

    /// Time that a call of a compiler or build system may take: a number with s, m, h or d behind it
    #[arg(long, value_name = "TIME", default_value = "2h", value_parser = super::cache::time)]
    step_timeout: Duration,

    /// Go on after a failed step with what does not need it
    #[arg(long)]
    keep_going: bool,

    /// Keep steps from the network and from files that they do not declare
    #[arg(long, value_enum, default_value = "auto")]
    sandbox: SandboxArg,

    /// Build each host component from nothing, not in the build tree of an earlier build. So do CI (the variable CI) and
    /// builds that sign. What was built incrementally before is compared with the result
    #[arg(long)]
    clean: bool,

    /// Call host compilers through a cache of compilations; it changes no bytes [default: the setting `launcher`, else none]
    #[arg(long, value_enum)]
    launcher: Option<LauncherArg>,

    #[command(flatten)]
    signing: SignArgs,

    /// Show what would be built, and build nothing
    #[arg(long)]
    dry_run: bool,

    /// Directory of the finished packages [default: dist; of a part: shards/I-of-N]
    #[arg(long, value_name = "DIR")]
    dist: Option<PathBuf>,

    /// Directory of logs and intermediate files
    #[arg(long, value_name = "DIR", default_value = "target/simpack")]
    work: PathBuf,

    /// Report a lint's findings without denying them
    #[arg(long, value_name = "ID")]
    warn: Vec<String>,

    /// Do not report a lint's findings
    #[arg(long, value_name = "ID")]
    allow: Vec<String>,

    /// Stop before packing on a lint's findings
    #[arg(long, value_name = "ID")]
    deny: Vec<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simpack plan                    the steps of the recipe of the current directory
  simpack plan --json             the same as one JSON value, with every part of every key
  simpack plan --why 'kernels/neuron.cu sm_90 (fixed)'
  simpack plan --why-rebuilt      after a build: which input changed
  simpack plan --compare          after a build: what fat, sliced and split packages cost
  simpack plan --shards 8         which steps each of eight machines would take
  simpack plan --shards 8 --format json > .division.json       for `simpack build --shard 1/8 --division .division.json`
  simpack plan --shards 8 --format github                      the matrix of a job
  simpack plan --shards 8 --format gitlab > .gitlab/simpack.yml")]
pub(super) struct PlanArgs {
    #[command(flatten)]
    job: JobArgs,

    /// Show what the key of a step is made of; a part of its name will do
    #[arg(long, value_name = "STEP", conflicts_with = "why_rebuilt")]
    why: Option<String>,

    /// Compare ways to ship: fat, sliced, rebuilt, compiled per capability; from steps that ran here
    #[arg(long, conflicts_with_all = ["why", "why_rebuilt"])]
    compare: bool,

    /// Show what each component and capability is expected to cost, from what steps took here, and what leaving it out saves
    #[arg(long, conflicts_with_all = ["why", "why_rebuilt", "compare"])]
    cost: bool,

    /// Divide the steps among N machines, balanced by the time that they took here or are expected to take
    #[arg(long, value_name = "N", conflicts_with_all = ["why", "why_rebuilt", "compare", "cost"],
          value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_SHARDS)))]
    shards: Option<u32>,

    /// Print the division as a CI service or `simpack build --division` takes it
    #[arg(long, value_enum, requires = "shards")]
    format: Option<DivisionFormat>,

    /// Show which inputs changed between the last two builds in the work directory
    #[arg(long)]
    why_rebuilt: bool,

    /// Directory of logs and intermediate files of these builds
    #[arg(long, value_name = "DIR", default_value = "target/simpack")]
    work: PathBuf,
}

impl JobArgs {
    fn request(&self) -> Result<BuildRequest> {
        let none = self.ptx.iter().any(|text| text == "none");
        let ptx = match self.ptx.as_slice() {
            [] => None,
            [_] if none => Some(Vec::new()),
            texts => Some(
                texts.iter().map(|text| text.parse::<Capability>()).collect::<Result<_, _>>().map_err(Error::usage)?,
            ),
        };
        let offline = self.offline || config::current().is_on("offline");
        Ok(BuildRequest {
            recipe: self.recipe.clone(),
            capabilities: (!self.capability.is_empty()).then(|| self.capability.clone()),
            ptx,
            environments: match self.environment.as_slice() {
                [] => None,
                [none] if none == "none" => Some(Vec::new()),
                environments => Some(environments.to_vec()),
            },
            cuda: self.cuda,
            cuda_source: match self.toolchain {
                ToolchainChoice::Wheels => CudaSource::Wheels,
                ToolchainChoice::System => CudaSource::System,
            },
            host: self.host.map(|host| match host {
                HostArg::Zig => HostKind::Zig,
                HostArg::System => HostKind::System,
            }),
            offline,
            without_store: offline,
            locked: self.locked || config::current().is_on("locked"),
            ..BuildRequest::default()
        })
    }
}

impl PlanArgs {
    pub(super) fn options(&self) -> Result<BuildRequest> {
        Ok(BuildRequest { work: self.work.clone(), ..self.job.request()? })
    }

    pub(super) fn view(&self) -> PlanView {
        if let Some(shards) = self.shards {
            return PlanView::Shards(shards, self.format.map_or(ShardFormat::Table, ShardFormat::from));
        }
        match (&self.why, self.why_rebuilt) {
            _ if self.compare => PlanView::Compare,
            _ if self.cost => PlanView::Cost,
            (Some(step), _) => PlanView::Why(step.clone()),
            (None, true) => PlanView::WhyRebuilt,
            (None, false) => PlanView::Whole,
        }
    }
}

impl BuildArgs {
    pub(super) fn run(&self, ui: &Ui) -> Result<u8> {
        if self.list_formats {
            return ops::build::list_formats(ui);
        }
        let request = self.options()?;
        match &request.shard {
            Some(asked) => ops::build::build_shard(&request, asked, ui),
            None => self.signing.after(&request, || ops::build::build(&request, ui)),
        }
    }

    /// How a cluster is used, if one is.
    fn cluster(&self) -> Result<Option<ClusterRequest>> {
        let config = config::current();
        let usual = || config.text("executor").filter(|_| self.shard.is_none()).and_then(ClusterKind::named);
        if let Some(kind) = self.executor.map_or_else(usual, |executor| executor.0) {
            let usual = config.text("cluster-args").unwrap_or_default().split_whitespace().map(str::to_owned);
            return Ok(Some(ClusterRequest {
                kind,
                partition: self.partition.clone().or_else(|| config.text("cluster-partition").map(str::to_owned)),
                tasks: self.tasks.map(usize::from),
                array_limit: self.array_limit.map(usize::from).or(config.count("cluster-array-limit")),
                args: usual.chain(self.submit_arg.iter().cloned()).collect(),
                shared: self.shared_dir.clone().or_else(|| config.path("cluster-dir").map(Path::to_owned)),
            }));
        }
        let given = [
            ("--partition", self.partition.is_some()),
            ("--array-limit", self.array_limit.is_some()),
            ("--tasks", self.tasks.is_some()),
            ("--submit-arg", !self.submit_arg.is_empty()),
            ("--shared-dir", self.shared_dir.is_some()),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            Some((name, _)) => {
                let names = ClusterKind::NAMES.map(|(name, ..)| format!("`--executor {name}`")).join(" or ");
                Err(Error::usage(format!("{name} is for jobs of a cluster"))
                    .hint(format!("add {names}, or leave it out")))
            }
            None => Ok(None),
        }
    }

    /// What ships is built clean, and so is what other machines take.
    fn is_incremental(&self) -> bool {
        let is_on_ci = config::current().variable("CI").is_some();
        !(self.clean || is_on_ci || self.signing.is_asked() || self.shard.is_some())
    }

    fn options(&self) -> Result<BuildRequest> {
        let cluster = self.cluster()?;
        Ok(BuildRequest {
            components: self.component.clone(),
            formats: each_once(&self.format),
            jobs: self.jobs.map(usize::from).or(config::current().count("jobs")),
            step_timeout: Some(self.step_timeout),
            keep_going: self.keep_going,
            sandbox: self.sandbox.into(),
            incremental: self.is_incremental() && cluster.is_none(),
            launcher: match (self.launcher, config::current().text("launcher")) {
                (Some(LauncherArg::Sccache), _) | (None, Some("sccache")) => LauncherKind::Sccache,
                _ => LauncherKind::None,
            },
            sign: self.signing.sign.clone(),
            sign_password: self.signing.sign_password.clone(),
            dry_run: self.dry_run,
            dist: match (&self.dist, self.shard) {
                (Some(dist), _) => dist.clone(),
                (None, Some(shard)) => Path::new("shards").join(shard.word()),
                (None, None) => PathBuf::from("dist"),
            },
            shard: self.shard.map(|shard| ShardRequest { shard, division: self.division.clone() }),
            cluster,
            work: self.work.clone(),
            warn: self.warn.clone(),
            allow: self.allow.clone(),
            deny: self.deny.clone(),
            ..self.job.request()?
        })
    }
}

/// Formats in the order in which they were asked for.
pub(super) fn each_once(asked: &[FormatName]) -> Vec<FormatName> {
    let mut formats = Vec::new();
    for format in asked {
        if !formats.contains(format) {
            formats.push(*format);
        }
    }
    formats
}

/// How many steps at a time.
pub(super) fn jobs(text: &str) -> Result<u16, String> {
    let number = text.trim().parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| format!("give a whole number from 1 to {}, or leave it out for one per core", u16::MAX))
}
