//! `simpack merge`.

use std::path::PathBuf;

use clap::Args;

use super::sign::SignArgs;
use crate::cli::build::{SandboxArg, each_once};
use crate::config;
use crate::error::Result;
use crate::ops;
use crate::package::FormatName;
use crate::pipeline::BuildRequest;
use crate::ui::Ui;

#[derive(Debug, Args)]
#[command(after_help = "\
The packages have the bytes that `simpack build` on one machine gives. Nothing is compiled and no cache is asked: all steps come
from the shards, each of which must be there once and be of the plan that follows from the recipe here. What the shards were
asked for (capabilities, CUDA release, components) stands in them.

Exit codes: 0 done, 1 denied findings, 2 a shard is missing or given twice, 6 a shard is damaged, 8 a shard is of another plan

Examples:
  simpack merge shards                     all shards in that directory, into dist/
  simpack merge shards/1-of-2 shards/2-of-2
  simpack merge shards --format conda,wheel --sign minisign.key")]
pub(in crate::cli) struct MergeArgs {
    /// Directory of a shard (`simpack build --shard`), or one that holds shards
    #[arg(value_name = "DIR", required = true)]
    shards: Vec<PathBuf>,

    /// Recipe: a directory, a file, or an embedded name [default: what the shards were asked for]
    #[arg(long, value_name = "RECIPE")]
    recipe: Option<String>,

    /// Formats of the packages (repeat or separate by commas); `simpack build --list-formats` names them
    #[arg(long, value_delimiter = ',', value_name = "NAME", default_value = "conda")]
    format: Vec<FormatName>,

    /// Threads [default: the machine's cores]
    #[arg(long, short, value_name = "N", value_parser = crate::cli::build::jobs)]
    jobs: Option<u16>,

    /// Use no network; fail and name what is missing
    #[arg(long)]
    offline: bool,

    /// Fail when the recipe's simpack.lock is absent or would change
    #[arg(long)]
    locked: bool,

    /// With `require`, take no step that was not isolated where it was built
    #[arg(long, value_enum, default_value = "auto")]
    sandbox: SandboxArg,

    #[command(flatten)]
    signing: SignArgs,

    /// Directory of the finished packages
    #[arg(long, value_name = "DIR", default_value = "dist")]
    dist: PathBuf,

    /// Directory of intermediate files
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

impl MergeArgs {
    /// Runs the verb; answers the exit code.
    pub(in crate::cli) fn run(self, ui: &Ui) -> Result<u8> {
        let request = BuildRequest {
            recipe: self.recipe,
            formats: each_once(&self.format),
            jobs: self.jobs.map(usize::from).or(config::current().count("jobs")),
            offline: self.offline || config::current().is_on("offline"),
            locked: self.locked || config::current().is_on("locked"),
            sandbox: self.sandbox.into(),
            sign: self.signing.sign.clone(),
            sign_password: self.signing.sign_password.clone(),
            dist: self.dist,
            work: self.work,
            warn: self.warn,
            allow: self.allow,
            deny: self.deny,
            ..BuildRequest::default()
        };
        self.signing.after(&request, || ops::build::merge(&request, &self.shards, ui))
    }
}
