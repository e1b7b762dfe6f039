//! `simpack compile`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::arch::Capability;
use crate::cli::build::SandboxArg;
use crate::config;
use crate::error::Result;
use crate::ops::compile::{CompileRequest, compile};
use crate::parallel;
use crate::ui::Ui;

/// Which nvcc.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum NvccArg {
    /// The one that CUDA_HOME or PATH names
    System,
    /// The pinned wheels that simpack fetches
    Wheels,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Packages NAME-source bring sources of device code, packages NAME-rtc programs that compile models. The compilers are the
user's: CXX, else g++; CUDA_HOME, else nvcc on PATH. One that a package cannot work with is refused before anything is
compiled. What is there already, made from the same, is not compiled again. Programs of packages run in the sandbox of build
steps: they see the files of their simulator, what the package says it reads, and a copy of the model.

Results lie in the user's data directory (SIMPACK_COMPILED_DIR), where loaders of simulators look first; for models the
variables are printed by which programs find them.

Exit codes: 0 done, 2 nothing to compile there, 4 a compiler does not fit, 5 something does not compile, 6 a file cannot be
read or written, 7 a package is damaged

Examples:
  simpack compile                          what the active environment compiles, for the GPUs of this machine
  simpack compile models/cells             the mechanisms of a model
  simpack compile --prefix ~/envs/sim --capability 9.0     for a GPU that is elsewhere
  simpack compile --machine machine.json   for the GPUs of a machine that `simpack doctor --json` recorded
  simpack compile --toolchain wheels       by the pinned nvcc
  simpack compile --list                   what is there
  simpack compile --clean --simulator neuron")]
pub(in crate::cli) struct CompileArgs {
    /// Directory with what you wrote [default: the current directory]
    dir: Option<PathBuf>,

    /// Prefix that packages are installed in, once for each [default: the active environment]
    #[arg(long, value_name = "DIR")]
    prefix: Vec<PathBuf>,

    /// The packages of one simulator alone
    #[arg(long, value_name = "NAME")]
    simulator: Option<String>,

    /// Compile for these GPUs, such as 9.0, and not for those of this machine; separate several by commas
    #[arg(long, value_name = "CAPABILITY", value_delimiter = ',')]
    capability: Vec<Capability>,

    /// Compile for the GPUs of a machine that `simpack doctor --json` has recorded
    #[arg(long, value_name = "FILE", conflicts_with = "capability")]
    machine: Option<PathBuf>,

    /// Directory of results, for this call
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,

    /// Which nvcc
    #[arg(long, value_enum, default_value = "system")]
    toolchain: NvccArg,

    /// Use no network
    #[arg(long)]
    offline: bool,

    /// Whether programs of packages are isolated
    #[arg(long, value_enum, default_value = "auto")]
    sandbox: SandboxArg,

    /// Compilers at a time
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,

    /// Say what would be compiled, and do nothing
    #[arg(long)]
    dry_run: bool,

    /// List what is there, and whether it is whole
    #[arg(long, conflicts_with_all = ["dir", "prefix", "capability", "machine", "dry_run"])]
    list: bool,

    /// Remove what is there
    #[arg(long, conflicts_with_all = ["dir", "prefix", "capability", "machine", "dry_run", "list"])]
    clean: bool,
}

impl CompileArgs {
    /// Runs the verb; answers the exit code.
    pub(in crate::cli) fn run(self, ui: &Ui) -> Result<u8> {
        let request = CompileRequest {
            dir: self.dir,
            prefixes: self.prefix,
            simulator: self.simulator,
            capabilities: self.capability,
            machine: self.machine,
            into: self.into,
            pinned: self.toolchain == NvccArg::Wheels,
            offline: self.offline || config::current().is_on("offline"),
            sandbox: self.sandbox.into(),
            jobs: self.jobs.map_or_else(parallel::threads, usize::from),
            dry_run: self.dry_run,
            list: self.list,
            clean: self.clean,
            program: Some(crate::cli::OWN_PROGRAM.into()),
        };
        compile(&request, ui)
    }
}
