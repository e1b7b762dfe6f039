//! The top of the command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use super::build::{BuildArgs, PlanArgs};
use super::cache::CacheCommand;
use super::config::ConfigArgs;
use super::files::abi::AbiCommand;
use super::files::inspect::InspectArgs;
use super::files::patch::PatchArgs;
use super::files::resolve::ResolveArgs;
use super::files::slice::SliceArgs;
use super::files::verify::VerifyArgs;
use super::machine::compile::CompileArgs;
use super::machine::doctor::DoctorArgs;
use super::machine::select::SelectArgs;
use super::packages::compose::ComposeArgs;
use super::packages::merge::MergeArgs;
use super::packages::publish::PublishArgs;
use super::packages::rebuild::RebuildArgs;
use super::packages::vendor::VendorArgs;
use super::recipe::check::CheckArgs;
use super::recipe::generate::GenerateCommand;
use super::recipe::init::InitArgs;
use super::recipe::lock::LockArgs;
use super::recipe::patch_source::PatchSourceArgs;
use super::recipe::schema::SchemaArgs;
use super::toolchain::ToolchainCommand;
use super::{completions, help};
use crate::budget;
use crate::config;
use crate::data::Data;
use crate::error::{EXIT_CODES, Error, Result};
use crate::ops;
use crate::probe;
use crate::process::run_interruptible;
use crate::ui::{Ui, measure_terminal};

/// Turns one recipe of a GPU simulator into a distribution
#[derive(Debug, Parser)]
#[command(name = "simpack", version, max_term_width = 100, propagate_version = true, after_help = after_help())]
struct Cli {
    #[command(subcommand)]
    verb: Verb,

    /// Print the result as JSON on standard output
    #[arg(long, global = true, display_order = 900)]
    json: bool,

    /// Print errors and results only, no notes and no progress
    #[arg(long, short, global = true, display_order = 901)]
    quiet: bool,

    /// Say more about the work: paths, programs, every step
    #[arg(long, short, global = true, display_order = 902, conflicts_with = "quiet")]
    verbose: bool,

    /// Take manifests/ and templates/ of this directory before the embedded ones; the setting `data-dir` for one call
    #[arg(long, global = true, display_order = 903, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    data: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  simpack build volley            the embedded simulator, into dist/
  simpack build                   the recipe of the current directory
  simpack verify dist/            look into every package again";

/// Exit codes, then examples.
fn after_help() -> String {
    let codes: String = EXIT_CODES.iter().map(|(code, meaning)| format!("  {code:<3}  {meaning}\n")).collect();
    format!("Exit codes:\n{codes}\n{EXAMPLES}")
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Start a recipe that builds
    Init(InitArgs),
    /// Show all mistakes of a recipe
    Check(CheckArgs),
    /// Build a recipe into verified packages
    Build(BuildArgs),
    /// Show the whole job of a build without doing it
    Plan(PlanArgs),
    /// Make packages from the parts that several machines built
    Merge(MergeArgs),
    /// Write or check the digests of everything that a build takes from outside
    Lock(LockArgs),
    /// Bring everything that the lock names into one directory, for machines without a network
    Vendor(VendorArgs),
    /// Unpack a recipe's source to change it, and make a patch of the changes
    PatchSource(PatchSourceArgs),
    /// Make packages again from what they say about themselves, and compare
    Rebuild(RebuildArgs),
    /// Look into packages and say what would break on a user's machine
    Verify(VerifyArgs),
    /// Add the packages of a build to a conda channel
    Publish(PublishArgs),
    /// Look into files, trees and packages: device code, kernels, ELF facts
    Inspect(InspectArgs),
    /// Change search path, SONAME and needs of finished ELF files, safely
    Patch(PatchArgs),
    /// Say which libraries a program would load, and by which rule, without running it
    Resolve(ResolveArgs),
    /// Say which packages a machine needs, and why
    Select(SelectArgs),
    /// Say what this machine has, what fits it, what is wrong and what would fix it
    Doctor(DoctorArgs),
    /// Compile on this machine what installed packages leave to it: device code for its GPUs, models of users
    Compile(CompileArgs),
    /// Cut a file with code for many GPUs down to some, without compiling
    Slice(SliceArgs),
    /// Put several components or packages into one directory
    Compose(ComposeArgs),
    /// Write recipes for other package managers and build systems, or check written ones
    #[command(subcommand)]
    Generate(GenerateCommand),
    /// Record and compare the interfaces of libraries, and find what a consumer needs
    #[command(subcommand)]
    Abi(AbiCommand),
    /// Fetch and inspect compilers and build tools
    #[command(subcommand)]
    Toolchain(ToolchainCommand),
    /// Look into the cache of built artifacts and make it smaller
    #[command(subcommand)]
    Cache(CacheCommand),
    /// Show all settings, their values and where each came from
    Config(ConfigArgs),
    /// Print the JSON schema of a form
    Schema(SchemaArgs),
    /// Print a completion script for a shell
    #[command(
        after_help = "Examples:\n  simpack completions bash > ~/.local/share/bash-completion/completions/simpack"
    )]
    Completions {
        /// Shell
        shell: clap_complete::Shell,
    },
    /// Ask one library of the driver: the doctor lets another process do so, which may hang or crash
    #[command(hide = true)]
    AskDriver {
        /// The question
        question: String,
    },
    /// Make the steps of one task of a job array: what a build submits to a cluster
    #[command(hide = true)]
    ClusterTask {
        /// Directory of the run
        dir: PathBuf,
        /// Number of the task, from 1
        task: usize,
        /// Node that it runs on
        node: String,
    },
    /// Print a man page
    #[command(after_help = "Examples:\n  simpack man > simpack.1\n  simpack man build > simpack-build.1\n  \
                            simpack man cache gc > simpack-cache-gc.1")]
    Man {
        /// Verb whose page is printed, and the verb below it [default: the page of simpack itself]
        verb: Vec<String>,
    },
}

/// The command line as clap sees it, for help snapshots, completions and the man page.
pub fn command() -> clap::Command {
    help::laid_out(Cli::command())
}

/// Parses and runs; answers how to speak to the user and the exit code.
pub fn run(args: impl IntoIterator<Item = OsString>) -> (Ui, Result<u8>) {
    let (ui, answer) = answered(args.into_iter().collect());
    let answer = answer.and_then(|code| ui.written().map(|()| code));
    (ui, answer)
}

fn answered(args: Vec<OsString>) -> (Ui, Result<u8>) {
    measure_terminal();
    let parsed = command().try_get_matches_from(&args).and_then(|found| Cli::from_arg_matches(&found));
    let cli = match parsed.map_err(|error| error.format(&mut command())) {
        Ok(cli) => cli,
        Err(error) => {
            let ui = Ui::new(args.iter().any(|arg| arg == "--json"), false);
            // A file of settings that is wrong is told to whoever asks for something.
            let ui = config::start(&[]).map_or(ui.clone(), |config| ui.with_settings(config, false));
            let code = refused(&error, &ui);
            return (ui, code);
        }
    };
    let config = match config::start(&cli.settings()) {
        Ok(config) => config,
        Err(error) => return (Ui::new(cli.json, cli.quiet), Err(error)),
    };
    budget::raise_limits(config.count(config::LIMITS.name).unwrap_or(1) as u64);
    let quiet = config.is_on("quiet") && !cli.verbose;
    let verbose = config.is_on("verbose") && !quiet;
    let ui = Ui::new(cli.json, quiet).with_settings(config, verbose);
    let ui = match Data::here().origin() {
        Ok(data) => ui.with_data(data),
        Err(error) => return (ui, Err(error)),
    };
    let answer = match cli.verb.kept() {
        None => dispatch(cli.verb, &ui),
        Some(kept) => {
            let own = ui.clone();
            run_interruptible(kept, move || dispatch(cli.verb, &own))
        }
    };
    (ui, answer)
}

/// What clap says instead of a command: help that was asked for, or a complaint. Answers the exit code.
fn refused(error: &clap::Error, ui: &Ui) -> Result<u8> {
    let text = error.render().to_string();
    if !error.use_stderr() {
        ui.help(&text);
        return Ok(0);
    }
    ui.complain(&text);
    // A reader of the JSON gets the failure in its form, too.
    let why = Error::usage(error.kind().as_str().unwrap_or("the command line is wrong"));
    let named = error.context().filter_map(|(kind, value)| Some(format!("{}: {value}", kind.as_str()?)));
    let why = named.fold(why, Error::detail);
    ui.json(&why.json()).map(|_| why.kind().exit_code())
}

impl Cli {
    /// Options of every verb that are settings.
    fn settings(&self) -> Vec<(&'static str, String)> {
        let on = |is_on: bool| is_on.then(|| true.to_string());
        let given = [("quiet", on(self.quiet)), ("verbose", on(self.verbose)), ("data-dir", self.data.clone())];
        given.into_iter().filter_map(|(name, text)| Some((name, text?))).collect()
    }
}

impl Verb {
    /// What stays of an interrupted run, for verbs that take long and leave something; the others just end.
    fn kept(&self) -> Option<&'static str> {
        match self {
            Self::Build(_) | Self::Merge(_) => Some(
                "the packages are as they were; what was fetched and built is kept, and the next run goes on from there",
            ),
            Self::Plan(_)
            | Self::Check(_)
            | Self::Lock(_)
            | Self::PatchSource(_)
            | Self::Rebuild(_)
            | Self::Toolchain(_)
            | Self::ClusterTask { .. }
            | Self::Vendor(_) => Some("what was fetched is kept, and the next run goes on from there"),
            Self::Compile(_) => Some("what was compiled before is as it was"),
            _ => None,
        }
    }
}

fn dispatch(verb: Verb, ui: &Ui) -> Result<u8> {
    match verb {
        Verb::Init(args) => args.run(ui),
        Verb::Check(args) => args.run(ui),
        Verb::Build(args) => args.run(ui),
        Verb::Plan(args) => ops::plan::plan(&args.options()?, &args.view(), ui),
        Verb::Merge(args) => args.run(ui),
        Verb::Lock(args) => args.run(ui),
        Verb::Vendor(args) => args.run(ui),
        Verb::PatchSource(args) => args.run(ui),
        Verb::Rebuild(args) => args.run(ui),
        Verb::Verify(args) => args.run(ui),
        Verb::Publish(args) => args.run(ui),
        Verb::Inspect(args) => args.run(ui),
        Verb::Patch(args) => args.run(ui),
        Verb::Config(args) => args.run(ui),
        Verb::Schema(args) => args.run(ui),
        Verb::Resolve(args) => args.run(ui),
        Verb::Select(args) => args.run(ui),
        Verb::Doctor(args) => args.run(ui),
        Verb::Compile(args) => args.run(ui),
        Verb::Slice(args) => args.run(ui),
        Verb::Compose(args) => args.run(ui),
        Verb::Generate(command) => command.run(ui),
        Verb::Abi(command) => command.run(ui),
        Verb::Toolchain(command) => command.run(ui),
        Verb::Cache(command) => command.run(ui),
        Verb::Completions { shell } => text(ui, completions::script(Cli::command(), shell)?),
        Verb::AskDriver { question } => probe::answer(&question).map(|()| 0),
        Verb::ClusterTask { dir, task, node } => ops::build::cluster_task(&dir, task, &node, ui),
        Verb::Man { verb } => text(ui, man(&verb)?),
    }
}

/// The man page of a verb, or of the whole.
fn man(verbs: &[String]) -> Result<Vec<u8>> {
    let mut page = Cli::command();
    page.build();
    let mut title = "simpack".to_owned();
    for verb in verbs {
        let found = page.find_subcommand(verb).cloned();
        page = found.ok_or_else(|| {
            let above = title.replace('-', " ");
            Error::usage(format!("no verb `{verb}`")).hint(format!("`{above} --help` lists the verbs"))
        })?;
        title = format!("{title}-{verb}");
    }
    help::man(page, &title).map_err(|error| Error::bug("the man page cannot be written").because(error))
}

fn text(ui: &Ui, bytes: Vec<u8>) -> Result<u8> {
    let text = String::from_utf8(bytes).map_err(|error| Error::bug("generated text is not UTF-8").because(error))?;
    ui.out(&text);
    Ok(0)
}
