//! What coordinator and tasks tell each other: files in a directory that both see.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::config;
use crate::engine::LauncherUse;
use crate::engine::SandboxMode;
use crate::error::{Error, ErrorRecord, Result};
use crate::fs;
use crate::pipeline::LauncherKind;
use crate::pipeline::machines::parts::Asked;
use crate::plan::PlanIdentity;
use crate::printable;

/// Version of the files.
const SCHEMA: u32 = 1;

/// What the tasks of a run are to do.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Orders {
    schema: u32,
    /// The plan.
    pub plan: PlanIdentity,
    /// What was asked for.
    pub asked: Asked,
    pub locked: bool,
    pub sandbox: SandboxMode,
    pub launcher: LauncherKind,
    /// Whether nodes use the object store of the settings; then they share no cache, and fetch tools and sources.
    pub uses_store: bool,
    pub keep_going: bool,
    pub step_timeout: Option<Duration>,
    /// Steps at a time, and processors, of each task.
    pub jobs: usize,
    /// Ids of the steps of each task.
    pub tasks: Vec<Vec<String>>,
}

impl Orders {
    pub(super) fn new(
        (plan, asked): (PlanIdentity, Asked),
        request: &crate::pipeline::BuildRequest,
        jobs: usize,
        tasks: Vec<Vec<String>>,
    ) -> Self {
        Self {
            schema: SCHEMA,
            plan,
            asked,
            locked: request.locked,
            sandbox: request.sandbox,
            launcher: request.launcher,
            uses_store: request.uses_store() && config::current().text("cache-store").is_some(),
            keep_going: request.keep_going,
            step_timeout: request.step_timeout,
            jobs,
            tasks,
        }
    }
}

/// How a task ended, or that it runs.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct TaskState {
    /// Where.
    pub node: String,
    /// Whether it has ended.
    pub ended: bool,
    /// Why it failed, if it did.
    pub error: Option<ErrorRecord>,
    /// How often the launcher of host compilers helped.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub launched: Option<LauncherUse>,
}

/// The directory of a run.
#[derive(Debug, Clone)]
pub(super) struct RunDir(PathBuf);

impl RunDir {
    pub(super) fn at(path: &Path) -> Self {
        Self(path.to_owned())
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// The program, so that nodes need not have it.
    pub(super) fn program(&self) -> PathBuf {
        self.0.join("simpack")
    }

    fn orders(&self) -> PathBuf {
        self.0.join("orders.json")
    }

    /// What a task printed; the scheduler writes there, too.
    pub(super) fn log(&self, task: impl std::fmt::Display) -> PathBuf {
        self.0.join("logs").join(format!("{task}.log"))
    }

    /// Logs and intermediate files of a task.
    pub(super) fn work(&self, task: usize) -> PathBuf {
        self.0.join("work").join(task.to_string())
    }

    fn state(&self, task: usize) -> PathBuf {
        self.0.join("tasks").join(format!("{task}.json"))
    }

    /// Ids of finished steps of a task, one a line, in the order in which they ended.
    pub(super) fn made(&self, task: usize) -> PathBuf {
        self.0.join("tasks").join(format!("{task}.made"))
    }

    /// Makes it anew.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn begin(&self, orders: &Orders) -> Result<()> {
        if self.0.exists() {
            fs_err::remove_dir_all(&self.0)?;
        }
        for dir in ["logs", "tasks", "work"] {
            fs_err::create_dir_all(self.0.join(dir))?;
        }
        let own = std::env::current_exe()
            .map_err(|error| Error::bug("the program does not know where it lies").because(error))?;
        fs_err::copy(own, self.program())?;
        let text =
            serde_json::to_vec(orders).map_err(|error| Error::bug("orders do not print as JSON").because(error))?;
        fs::write_atomic(&self.orders(), &text)
    }

    pub(super) fn read_orders(&self) -> Result<Orders> {
        let orders: Orders = read(&self.orders())?;
        match orders.schema {
            SCHEMA => Ok(orders),
            other => Err(Error::file(self.orders(), format!("has version {other}, and this simpack reads {SCHEMA}"))),
        }
    }

    /// What a task says of itself; none before it began.
    pub(super) fn read_state(&self, task: usize) -> Option<TaskState> {
        read(&self.state(task)).ok()
    }

    pub(super) fn write_state(&self, task: usize, state: &TaskState) -> Result<()> {
        let text =
            serde_json::to_vec(state).map_err(|error| Error::bug("a state does not print as JSON").because(error))?;
        fs::write_atomic(&self.state(task), &text)
    }

    /// Forgets what a task said of itself, before it is submitted once more.
    pub(super) fn forget_state(&self, task: usize) {
        let _ = std::fs::remove_file(self.state(task));
    }

    /// Ids of the steps that a task has made so far.
    pub(super) fn read_made(&self, task: usize) -> Vec<String> {
        let text = fs::read_to_string(&self.made(task)).unwrap_or_default();
        // A line that is still being written has no end yet.
        text.split_inclusive('\n').filter_map(|line| Some(line.strip_suffix('\n')?.to_owned())).collect()
    }

    /// The last lines that a task printed.
    pub(super) fn last_lines(&self, task: usize) -> Vec<String> {
        const BYTES: u64 = 8 << 10;
        const LINES: usize = 12;
        use std::io::{Read, Seek, SeekFrom};
        let end = |mut file: fs_err::File| -> std::io::Result<Vec<u8>> {
            let length = file.metadata()?.len();
            file.seek(SeekFrom::Start(length.saturating_sub(BYTES)))?;
            let mut bytes = Vec::new();
            file.take(BYTES).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let bytes = fs::open(&self.log(task)).and_then(end).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        lines[lines.len().saturating_sub(LINES)..].iter().map(|line| printable::text(line).into_owned()).collect()
    }
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = fs::read(path)?;
    serde_json::from_slice(&text).map_err(|error| Error::file(path, "is damaged").because(error))
}

/// The failure of a task, as if it had happened here.
pub(super) fn failure(record: ErrorRecord) -> Error {
    let shown = |text: &str| printable::text(text).into_owned();
    let error = Error::new(record.kind, shown(&record.message));
    let details = record.causes.iter().chain(&record.details);
    let error = details.fold(error, |error, line| error.detail(shown(line)));
    record.hints.iter().fold(error, |error, line| error.hint(shown(line)))
}
