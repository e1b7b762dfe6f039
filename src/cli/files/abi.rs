//! `simpack abi`.

use std::path::PathBuf;

use clap::Subcommand;

use crate::arch::Version;
use crate::arch::VersionPolicy;
use crate::error::Result;
use crate::ops::abi::{self, DiffRequest, UpdateRequest};
use crate::ui::Ui;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum AbiCommand {
    /// Record the interface of libraries as a baseline
    #[command(after_help = "\
Examples:
  simpack abi dump dist/ -o baseline.json
  simpack abi dump /usr/lib/libz.so.1 --release 1.3.1")]
    Dump {
        /// Library, directory, package or bundle
        #[arg(value_name = "TREE|PACKAGE")]
        subject: PathBuf,
        /// File to write [default: standard output]
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Release, when the packages do not say it
        #[arg(long, value_name = "R")]
        release: Option<Version>,
    },
    /// Compare two releases and say which version number the new one must have
    #[command(after_help = "\
Exit codes: 0 the new release may carry its number, 1 it breaks what the old one promised, 7 something could not be read

Only dynamic symbols are compared: parameters of functions and members of types are not.

Examples:
  simpack abi diff baseline.json dist/
  simpack abi diff libsim.so.1.0 libsim.so.1.1 --old-release 1.0.0 --new-release 1.1.0
  simpack abi diff old/ new/ --second-opinion")]
    Diff {
        /// What was promised: a baseline, library, directory or package
        old: PathBuf,
        /// What is there now
        new: PathBuf,
        /// Release of OLD, when it does not say it itself
        #[arg(long, value_name = "R")]
        old_release: Option<Version>,
        /// Release of NEW, when it does not say it itself
        #[arg(long, value_name = "R")]
        new_release: Option<Version>,
        /// What the version promises: major, major.minor [default: what the packages say, else major]
        #[arg(long, value_name = "POLICY")]
        policy: Option<VersionPolicy>,
        /// Ask abidiff, too
        #[arg(long)]
        second_opinion: bool,
        /// Show every change
        #[arg(long)]
        all: bool,
    },
    /// Find the lowest releases of libraries that have every symbol a consumer uses
    #[command(after_help = "\
Exit codes: 0 found, 1 a symbol is in no recorded release, 7 something could not be read

Examples:
  simpack abi floor bin/analyse --against symbols/
  simpack abi floor dist/ --against recipes/volley/symbols --json")]
    Floor {
        /// Programs, libraries, directories or packages
        #[arg(required = true, value_name = "CONSUMER")]
        consumers: Vec<PathBuf>,
        /// Directory of symbols files
        #[arg(long, value_name = "DIR")]
        against: PathBuf,
    },
    /// Record a release in the symbols files: in which release each symbol first appeared
    #[command(after_help = "\
Examples:
  simpack abi update dist/ --symbols recipes/volley/symbols
  simpack abi update libcusparse.so.12 --symbols symbols --package libcusparse --release 12.5.4.2
  simpack abi update baseline-1.0.0.json --symbols symbols --package volley-core")]
    Update {
        /// Libraries, directories, packages or baselines of one release
        #[arg(required = true, value_name = "TREE|PACKAGE")]
        subjects: Vec<PathBuf>,
        /// Directory of symbols files
        #[arg(long, value_name = "DIR")]
        symbols: PathBuf,
        /// Release, when the packages do not say it
        #[arg(long, value_name = "R")]
        release: Option<Version>,
        /// Package that provides the libraries, when the packages do not say it
        #[arg(long, value_name = "NAME")]
        package: Option<String>,
        /// What its version promises: major, major.minor
        #[arg(long, value_name = "POLICY")]
        policy: Option<VersionPolicy>,
    },
}

impl AbiCommand {
    /// Runs the verb; answers the exit code.
    pub(in crate::cli) fn run(self, ui: &Ui) -> Result<u8> {
        match self {
            Self::Dump { subject, output, release } => abi::dump(&subject, output.as_deref(), release, ui),
            Self::Diff { old, new, old_release, new_release, policy, second_opinion, all } => {
                let request = DiffRequest { old, new, old_release, new_release, policy, second_opinion, all };
                abi::diff(&request, ui)
            }
            Self::Floor { consumers, against } => abi::floor(&consumers, &against, ui),
            Self::Update { subjects, symbols, release, package, policy } => {
                abi::update(&UpdateRequest { subjects, symbols, release, package, policy }, ui)
            }
        }
    }
}
