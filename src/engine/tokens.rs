//! Jobs as tokens that everything shares: the engine's own steps and the build systems that they call,
//! by the protocol of GNU make's jobserver. A build system takes a token for each process beyond its
//! first, from a pipe with a name, and puts it back; so all together never are more than the jobs.
//!
//! The protocol: <https://www.gnu.org/software/make/manual/html_node/POSIX-Jobserver.html>. Ninja takes
//! part since 1.13, make by the name of the pipe since 4.4 and by two descriptors of it since 4.2.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use tempfile::TempDir;

use super::step::sandbox::scratch::SCRATCH;
use crate::build_system::BuildDriver;
use crate::error::{Error, Result};
use crate::fs;
use crate::plan::BuildPlan;
use crate::process::Call;

/// Name of the pipe.
const PIPE: &str = "jobs";

/// How a build system takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    /// It opens the pipe by its name.
    Name,
    /// It is given descriptors.
    Descriptors,
}

/// The tokens of a run.
#[derive(Debug)]
pub(super) struct Tokens {
    dir: TempDir,
    /// The engine's own end, which never waits.
    own: File,
    /// Ends that are handed on.
    handed: [File; 2],
    jobs: usize,
    /// By the tool that takes part.
    protocols: BTreeMap<&'static str, Protocol>,
}

impl Tokens {
    /// One token for each job, in a pipe below `work`.
    ///
    /// # Errors
    /// The pipe cannot be made.
    pub(super) fn new(work: &Path, jobs: usize, plan: &BuildPlan) -> Result<Self> {
        let dir = tempfile::Builder::new()
            .prefix(SCRATCH)
            .tempdir_in(work)
            .map_err(|error| Error::file(work, "cannot make a directory for the jobs").because(error))?;
        let path = dir.path().join(PIPE);
        let cannot = |error: std::io::Error| Error::file(&path, "cannot make a pipe").because(error);
        let name = std::ffi::CString::new(path.as_os_str().as_bytes()).map_err(|error| cannot(error.into()))?;
        // SAFETY: a NUL-terminated string that lives through the call.
        if unsafe { libc::mkfifo(name.as_ptr(), 0o600) } != 0 {
            return Err(cannot(std::io::Error::last_os_error()));
        }
        // For both ends: an end of one's own alone would wait for the other.
        let open = |flags| File::options().read(true).write(true).custom_flags(flags).open(&path).map_err(cannot);
        let version = |tool: &str| plan.tools.get(tool).and_then(|tool| version(&tool.version));
        let ninja = version("ninja").filter(|version| *version >= (1, 13)).map(|_| Protocol::Name);
        let make = version("make").and_then(|version| match version {
            (4, 4..) | (5.., _) => Some(Protocol::Name),
            (4, 2..) => Some(Protocol::Descriptors),
            _ => None,
        });
        let tokens = Self {
            own: open(libc::O_NONBLOCK)?,
            handed: [open(0)?, open(0)?],
            jobs,
            protocols: [("ninja", ninja), ("make", make)]
                .into_iter()
                .filter_map(|(tool, it)| Some((tool, it?)))
                .collect(),
            dir,
        };
        tokens.put(jobs);
        Ok(tokens)
    }

    /// Takes as many tokens as there are, `most` at most; never waits.
    pub(super) fn take(&self, most: usize) -> usize {
        let mut taken = vec![0; most];
        (&self.own).read(&mut taken).unwrap_or(0)
    }

    /// Puts tokens back.
    pub(super) fn put(&self, count: usize) {
        // A pipe holds thousands of bytes, and jobs are fewer.
        if count > 0 {
            let _ = (&self.own).write(&vec![b'+'; count]);
        }
    }

    /// Makes it `free` tokens again: build systems that were stopped have not put theirs back. Only while
    /// none runs.
    pub(super) fn settle(&self, free: usize) {
        while self.take(self.jobs) > 0 {}
        self.put(free);
    }

    /// Whether a host step's build system takes part, so that it needs a token for its first process only.
    pub(super) fn is_shared_with(&self, driver: BuildDriver) -> bool {
        self.protocol(driver).is_some()
    }

    fn protocol(&self, driver: BuildDriver) -> Option<Protocol> {
        self.protocols.get(driver.system().jobserver()?).copied()
    }

    /// The call of a build system in a step's directory, with its part in the tokens.
    ///
    /// # Errors
    /// The pipe cannot be shown in the directory.
    pub(super) fn share(&self, call: Call, driver: BuildDriver, work: &Path) -> Result<Call> {
        let jobs = self.jobs;
        match self.protocol(driver) {
            None => Ok(call),
            Some(Protocol::Name) => {
                // A step sees its own directory and no other.
                let name = work.join(PIPE);
                if !name.exists() {
                    fs_err::hard_link(self.dir.path().join(PIPE), &name)?;
                }
                Ok(call.env("MAKEFLAGS", format!(" -j{jobs} --jobserver-auth=fifo:{}", fs::utf8(&name)?)))
            }
            Some(Protocol::Descriptors) => {
                let [read, write] = [&self.handed[0], &self.handed[1]].map(AsRawFd::as_raw_fd);
                let call = call.env("MAKEFLAGS", format!(" -j{jobs} --jobserver-auth={read},{write}"));
                Ok(call.hand_on([read, write]))
            }
        }
    }
}

/// First two numbers of a version: of `1.13.2`, of `GNU Make 4.3`.
fn version(text: &str) -> Option<(u32, u32)> {
    let number = text.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    let mut parts = number.split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next().flatten().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(dir: &Path, jobs: usize, tools: &[(&str, &str)]) -> Tokens {
        let tools: serde_json::Map<String, serde_json::Value> = tools
            .iter()
            .map(|(name, version)| ((*name).to_owned(), serde_json::json!({ "version": version })))
            .collect();
        let plan = serde_json::json!({
            "schema": 1, "simulator": "s", "version": "1.0.0", "platform": "linux-64", "cuda": "13.0",
            "kernel-abi": null, "tools": tools, "steps": [], "bundles": [],
        });
        Tokens::new(dir, jobs, &serde_json::from_value(plan).unwrap()).unwrap()
    }

    #[test]
    fn there_are_as_many_tokens_as_jobs_and_lost_ones_come_back() {
        let dir = tempfile::tempdir().unwrap();
        let tokens = tokens(dir.path(), 3, &[]);
        assert_eq!([tokens.take(1), tokens.take(5), tokens.take(1)], [1, 2, 0]);
        tokens.put(2);
        assert_eq!(tokens.take(5), 2);
        tokens.settle(1);
        assert_eq!(tokens.take(5), 1);
        tokens.put(3);
        tokens.settle(0);
        assert_eq!(tokens.take(5), 0);
    }

    #[test]
    fn who_takes_part_follows_from_the_version() {
        let dir = tempfile::tempdir().unwrap();
        let part = |tool, version| {
            let tokens = tokens(dir.path(), 1, &[(tool, version)]);
            (tokens.protocol(BuildDriver::Cmake), tokens.protocol(BuildDriver::Make))
        };
        assert_eq!(part("ninja", "1.12.1"), (None, None));
        assert_eq!(part("ninja", "1.13.0"), (Some(Protocol::Name), None));
        assert_eq!(part("make", "GNU Make 4.1"), (None, None));
        assert_eq!(part("make", "GNU Make 4.3"), (None, Some(Protocol::Descriptors)));
        assert_eq!(part("make", "GNU Make 4.4.1"), (None, Some(Protocol::Name)));
        assert_eq!(part("make", "Some Make"), (None, None));
    }
}
