//! `simpack doctor`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::arch::Capability;
use crate::error::{Error, Result};
use crate::ops::doctor::{self, DoctorRequest};
use crate::report::Format;
use crate::ui::Ui;

/// Forms of a report beside `--json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FormatArg {
    /// Words
    Text,
    /// The same as --json
    Json,
    /// SARIF 2.1.0
    Sarif,
    /// Annotations of GitHub Actions
    Github,
}

const MACHINE: &str = "Machine";
const REPAIR: &str = "Repair";

#[derive(Debug, Args)]
#[command(after_help = "\
Of all libraries only the driver's are opened, each by a process of its own: NVML, libcuda.so.1,
the Vulkan loader. Nothing of the examined prefixes is loaded or run, unless --smoke is given.
Where NVML answers and nothing looks wrong, CUDA is started with --verbose and --smoke only: that
takes longer than all the rest. A record (--json) holds no home directories, no names of users or
of the host, no identifiers of single GPUs, and of the environment only variables that lead to
libraries and GPUs.

What is wrong with files that simpack did not make is a problem or a note and does not change the
exit code: they may well be meant for other GPUs.

Exit codes: 0 nothing broken, 1 something is broken, 2 wrong command line, 6 a file cannot be read,
7 something could not be examined

Examples:
  simpack doctor                          this machine, and what is installed in the active environment
  simpack doctor ~/envs/sim               a conda environment, virtual environment or directory
  simpack doctor volley-core              the findings about one package
  simpack doctor ~/envs/sim --smoke       runs its smoke test: CPU, machine code, PTX
  simpack doctor ~/envs/sim --channel dist/   also what there is to install
  simpack doctor some_gpu_wheel.whl       on which GPUs it runs, and which driver it needs
  simpack doctor --device 9.0,12.0 .venv  each file on these GPUs: native, PTX, none
  simpack doctor --process 4711           what a running process has loaded, and what brought it
  simpack doctor --json > machine.json    a record of everything, to be sent to somebody
  simpack doctor --replay machine.json    the same report, elsewhere
  simpack doctor --fix                    what would be done; with --yes it is
  simpack doctor --root /mnt/image        the files of another machine
  simpack doctor --explain driver-stub-wins")]
pub(in crate::cli) struct DoctorArgs {
    /// Prefix that packages are installed in, name of an installed package, or a library, wheel or directory that
    /// simpack did not make [default: the active environment]
    #[arg(value_name = "PREFIX|PACKAGE|FILE")]
    subjects: Vec<String>,

    /// Show how each file that simpack did not make runs on these GPUs, such as 9.0; separate several by commas
    #[arg(long, value_name = "CAPABILITY", value_delimiter = ',')]
    device: Vec<Capability>,

    /// Look into a running process
    #[arg(long, value_name = "PID")]
    process: Option<u32>,

    /// Examine a machine that --json has recorded
    #[arg(long, help_heading = MACHINE, value_name = "FILE", conflicts_with_all = ["process", "root", "env"])]
    replay: Option<PathBuf>,

    /// Examine the files of a machine below a directory; nothing is opened or run
    #[arg(long, help_heading = MACHINE, value_name = "DIR", conflicts_with = "process")]
    root: Option<PathBuf>,

    /// Examine the machine as if a variable had this value; as if it were not set, if the value is empty
    #[arg(long, help_heading = MACHINE, value_name = "NAME=VALUE")]
    env: Vec<String>,

    /// Directory of packages, or channel: what there is to install besides, for verdicts and for --fix
    #[arg(long, value_name = "DIST", conflicts_with_all = ["replay", "root"])]
    channel: Option<PathBuf>,

    /// How long a library of the driver may take to answer [default: 30]
    #[arg(long, help_heading = MACHINE, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    driver_limit: Option<u64>,

    /// Run the installed simulator's own smoke test on the CPU and on every GPU, and compare
    #[arg(long, conflicts_with_all = ["replay", "root"])]
    smoke: bool,

    /// Keep home directories, names of users and of the host, and identifiers of single GPUs
    #[arg(long)]
    names: bool,

    /// Say what would repair the machine without touching the system
    #[arg(long, help_heading = REPAIR, conflicts_with = "replay")]
    fix: bool,

    /// Do what --fix says: files of this user only
    #[arg(long, help_heading = REPAIR, requires = "fix", conflicts_with = "root")]
    yes: bool,

    /// Form of the report
    #[arg(long, value_enum, default_value = "text")]
    format: FormatArg,

    /// List all checks and their levels
    #[arg(long, conflicts_with = "subjects")]
    list: bool,

    /// Explain a check
    #[arg(long, value_name = "ID", conflicts_with_all = ["subjects", "list"])]
    explain: Option<String>,
}

impl DoctorArgs {
    /// Runs the verb; answers the exit code.
    pub(in crate::cli) fn run(self, ui: &Ui) -> Result<u8> {
        if self.list {
            return doctor::list(ui).map(|()| 0);
        }
        if let Some(id) = &self.explain {
            return doctor::explain(id, ui).map(|()| 0);
        }
        let ui = if self.format == FormatArg::Json { ui.as_json() } else { ui.clone() };
        doctor::run(&self.request()?, &ui)
    }

    fn request(self) -> Result<DoctorRequest> {
        let mut env = BTreeMap::new();
        for setting in &self.env {
            let Some((name, value)) = setting.split_once('=') else {
                return Err(Error::usage(format!("--env {setting} sets nothing")).hint("write NAME=VALUE"));
            };
            env.insert(name.to_owned(), value.to_owned());
        }
        Ok(DoctorRequest {
            subjects: self.subjects,
            process: self.process,
            replay: self.replay,
            root: self.root,
            env,
            devices: self.device,
            channel: self.channel,
            program: Some(crate::cli::OWN_PROGRAM.into()),
            driver_limit: self.driver_limit.map(Duration::from_secs),
            fix: self.fix,
            yes: self.yes,
            smoke: self.smoke,
            names: self.names,
            format: match self.format {
                FormatArg::Sarif => Format::Sarif,
                FormatArg::Github => Format::Github,
                FormatArg::Text | FormatArg::Json => Format::Text,
            },
        })
    }
}
