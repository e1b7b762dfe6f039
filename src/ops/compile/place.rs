//! A directory in which packages' programs work, and the sandbox that holds them to what they may see.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::engine::{SandboxMode, StepIsolation, told};
use crate::error::{Error, ErrorKind, Result};
use crate::fs;
use crate::process::{Call, Ended, interrupted};
use crate::toolchain::STEP_PATH;

/// Where the programs of one package run.
pub(super) struct Place<'a> {
    /// Empty directory that is gone afterwards.
    pub work: &'a Path,
    /// What they see besides the system and the compilers.
    pub seen: BTreeSet<PathBuf>,
    isolation: StepIsolation,
}

impl<'a> Place<'a> {
    /// A place below `work`, for a package in `prefix` and these compilers.
    ///
    /// # Errors
    /// Isolation is required, and there is none.
    pub fn new(
        work: &'a Path,
        prefix: &Path,
        seen: BTreeSet<PathBuf>,
        compilers: Vec<PathBuf>,
        mode: SandboxMode,
    ) -> Result<Self> {
        let isolation = StepIsolation::with_programs(mode, compilers, prefix, work)?;
        Ok(Self { work, seen, isolation })
    }

    /// How programs are isolated, in words.
    pub fn isolation(&self) -> &StepIsolation {
        &self.isolation
    }

    /// Runs a program in an environment of its own, whose own directory is `own`; `what` it makes is for people.
    ///
    /// # Errors
    /// It fails: with what it complains of, and all it printed in the file `log`. Or the run was interrupted.
    pub fn run(&self, call: Call, own: &Path, what: &str, limit: Duration, log: &Path) -> Result<()> {
        let home = own.join("home");
        fs_err::create_dir_all(&home)?;
        let sandbox = self.isolation.sandbox(own, self.seen.iter().cloned(), [])?;
        // Without a sandbox there is no other /tmp.
        let temporary = sandbox.as_ref().map_or_else(|| home.clone(), |sandbox| sandbox.temporary.clone());
        let mut whole = Call { env: [("LC_ALL".to_owned(), "C".to_owned())].into(), ..Call::new(&call.program) }
            .env("PATH", STEP_PATH)
            .env("HOME", fs::utf8(&home)?)
            .env("TMPDIR", fs::utf8(&temporary)?)
            .env("TZ", "UTC");
        whole.env.extend(call.env);
        let whole = Call { env: whole.env, sandbox, ..call };
        let watched = whole.run_watched(Some(limit))?;
        if let Some(signal) = interrupted() {
            return Err(Error::new(ErrorKind::Interrupted, format!("interrupted by {signal}")));
        }
        let how = match watched.ended {
            Ended::Itself if watched.outcome.status.success() => return Ok(()),
            Ended::Itself => watched.outcome.how(),
            _ => format!("not at its end after {} s", limit.as_secs()),
        };
        fs::write_atomic(log, format!("{}\n{}", whole.line(), watched.outcome.all_text()).as_bytes())?;
        let error = Error::build(format!("{what} cannot be compiled, {how}"));
        Err(told(error, &watched.outcome).detail(format!("command and output: {}", log.display())))
    }
}
