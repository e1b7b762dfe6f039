//! `simpack resolve`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::error::{Error, Result};
use crate::ops::resolve::{self, ResolveRequest};
use crate::report::Level;
use crate::ui::Ui;

/// C libraries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LibcArg {
    /// The GNU C library
    Glibc,
    /// musl
    Musl,
}

const MACHINE: &str = "Machine";
const ANSWER: &str = "Answer";
const LINTS: &str = "Lints";

#[derive(Debug, Args)]
#[command(after_help = "\
Nothing is executed. Without --root and --profile the answer is about this machine, with the
LD_LIBRARY_PATH and LD_PRELOAD of this call unless --env says otherwise.

Exit codes: 0 found, 1 a needed library is not found or must not be loaded, 6 a file failed,
7 a manifest beside it could not be read

Examples:
  simpack resolve bin/volley                      which file wins for each name, and why
  simpack resolve --tree lib/libvolley.so.1       as lddtree prints
  simpack resolve --env LD_LIBRARY_PATH=/opt/lib bin/volley
  simpack resolve --profile wsl lib/libvolley_rtc.so.1.0
  simpack resolve --root /mnt/image /usr/bin/python3 --dlopen libcuda.so.1
  simpack resolve --libc musl bin/tool            with musl's rules
  simpack resolve --svg process.svg bin/volley
  simpack resolve --deny load-path bin/volley     `simpack verify --list` names the lints, --explain one")]
pub(in crate::cli) struct ResolveArgs {
    /// Program or library
    #[arg(value_name = "FILE", required = true)]
    files: Vec<String>,

    /// Kind of machine: conventional, fedora, nixos, wsl, container, musl
    #[arg(long, help_heading = MACHINE, value_name = "NAME")]
    profile: Option<String>,

    /// Directory that is the root of the machine's files
    #[arg(long, help_heading = MACHINE, value_name = "DIR")]
    root: Option<PathBuf>,

    /// Set LD_LIBRARY_PATH or LD_PRELOAD; an empty value unsets
    #[arg(long, help_heading = MACHINE, value_name = "NAME=VALUE")]
    env: Vec<String>,

    /// Rules of this C library [default: the one of the file's interpreter]
    #[arg(long, help_heading = MACHINE, value_enum)]
    libc: Option<LibcArg>,

    /// Level of the x86-64 processor, 1 to 4 [default: this machine's]
    #[arg(long, help_heading = MACHINE, value_name = "LEVEL", value_parser = clap::value_parser!(u32).range(1..=4))]
    cpu: Option<u32>,

    /// As a set-user-ID program
    #[arg(long, help_heading = MACHINE)]
    secure: bool,

    /// Name that the file opens at run time
    #[arg(long, value_name = "NAME")]
    dlopen: Vec<String>,

    /// Do not look for names that files open among their constants
    #[arg(long)]
    no_opened: bool,

    /// Switch a lint off
    #[arg(long, help_heading = LINTS, value_name = "ID")]
    allow: Vec<String>,

    /// Make a lint a warning
    #[arg(long, help_heading = LINTS, value_name = "ID")]
    warn: Vec<String>,

    /// Make a lint stop the run
    #[arg(long, help_heading = LINTS, value_name = "ID")]
    deny: Vec<String>,

    /// Print a tree, as lddtree does
    #[arg(long, help_heading = ANSWER, conflicts_with = "dot")]
    tree: bool,

    /// Print the graph in the language of Graphviz
    #[arg(long, help_heading = ANSWER)]
    dot: bool,

    /// Draw the graph into a file
    #[arg(long, help_heading = ANSWER, value_name = "FILE")]
    svg: Option<PathBuf>,
}

impl ResolveArgs {
    /// Runs the verb; answers the exit code.
    pub(in crate::cli) fn run(self, ui: &Ui) -> Result<u8> {
        resolve::run(&self.request()?, ui)
    }

    fn request(self) -> Result<ResolveRequest> {
        let own = self.root.is_none() && self.profile.is_none();
        let inherited = |name: &str| {
            let value = std::env::var_os(name).filter(|value| own && !value.is_empty());
            value.map(|value| value.to_string_lossy().into_owned())
        };
        let (mut library_path, mut preload) = (inherited("LD_LIBRARY_PATH"), inherited("LD_PRELOAD"));
        for setting in &self.env {
            let value = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
            match setting.split_once('=') {
                Some(("LD_LIBRARY_PATH", text)) => library_path = value(text),
                Some(("LD_PRELOAD", text)) => preload = value(text),
                _ => {
                    return Err(Error::usage(format!("--env {setting} changes no answer"))
                        .hint("write LD_LIBRARY_PATH=VALUE or LD_PRELOAD=VALUE"));
                }
            }
        }
        let directory = match (&self.root, std::env::current_dir()) {
            (None, Ok(directory)) => directory.to_string_lossy().into_owned(),
            _ => "/".to_owned(),
        };
        let levels = [(&self.allow, Level::Allow), (&self.warn, Level::Warn), (&self.deny, Level::Deny)];
        let levels = levels.into_iter().flat_map(|(ids, level)| ids.iter().map(move |id| (id.clone(), level)));
        Ok(ResolveRequest {
            levels: levels.collect(),
            files: self.files,
            profile: self.profile,
            libc: self.libc.map(|libc| match libc {
                LibcArg::Glibc => "glibc".to_owned(),
                LibcArg::Musl => "musl".to_owned(),
            }),
            root: self.root,
            library_path,
            preload,
            directory,
            secure: self.secure,
            cpu_level: self.cpu,
            dlopen: self.dlopen,
            find_opened: !self.no_opened,
            tree: self.tree,
            dot: self.dot,
            svg: self.svg,
        })
    }
}
