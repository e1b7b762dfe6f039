//! Questions to the driver's libraries, each asked by a process of its own: a library that hangs or crashes takes nothing
//! along but the answer.
//!
//! The process is simpack itself (`simpack ask-driver QUESTION`), which opens one library, prints one answer and ends.

use std::path::PathBuf;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Snapshot, cuda, nvml, vulkan};
use crate::error::{Error, Result};
use crate::machine::{DriverAnswer, DriverFailure, NoResponse, Vulkan};
use crate::manifest::EnvironmentMarks;
use crate::process::{Answering, Call, Ended};

/// The hidden verb.
const VERB: &str = "ask-driver";

/// What one library is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "library", deny_unknown_fields)]
enum Question {
    /// GPUs by NVML.
    Nvml { path: String },
    /// The CUDA driver; about GPUs only if it is started.
    Cuda { path: String, start: bool },
    /// Devices by the Vulkan loader.
    Vulkan { path: String },
}

/// Answers a question of another simpack: prints the answer and ends the process.
///
/// # Errors
/// It is no question, or the answer cannot be written.
pub fn answer(question: &str) -> Result<()> {
    let question: Question = serde_json::from_str(question)
        .map_err(|error| Error::usage("this is no question to a library of the driver").because(error))?;
    let answering = Answering::begin()?;
    let answer = match question {
        Question::Nvml { path } => serde_json::to_vec(&nvml::ask(&path)),
        Question::Cuda { path, start } => serde_json::to_vec(&cuda::ask(&path, start)),
        Question::Vulkan { path } => serde_json::to_vec(&vulkan::ask(&path)),
    };
    let answer = answer.map_err(|error| Error::bug("an answer of the driver does not print").because(error))?;
    Ok(answering.end(&answer)?)
}

/// How questions are asked.
#[derive(Debug)]
pub(super) struct DriverQuery {
    /// simpack itself; without, this process opens the libraries.
    pub(super) program: Option<PathBuf>,
    /// How long an answer may take.
    pub(super) limit: Duration,
    /// Variables that are set as the doctor sees them, the others being this process's.
    set: Vec<(String, Option<String>)>,
}

impl DriverQuery {
    pub(super) fn new(marks: &EnvironmentMarks, snapshot: &Snapshot) -> Self {
        let names = marks.variables.iter().chain(snapshot.values.keys());
        let set = names.map(|name| (name.clone(), snapshot.values.get(name).cloned())).collect();
        Self { program: None, limit: Duration::from_secs(marks.driver_answers_within), set }
    }

    pub(super) fn nvml(&self, path: &str) -> DriverAnswer {
        match self.ask(&Question::Nvml { path: path.to_owned() }) {
            Some(answer) => answer.unwrap_or_else(silent),
            None => nvml::ask(path),
        }
    }

    pub(super) fn cuda(&self, path: &str, start: bool) -> DriverAnswer {
        match self.ask(&Question::Cuda { path: path.to_owned(), start }) {
            Some(answer) => answer.unwrap_or_else(silent),
            None => cuda::ask(path, start),
        }
    }

    pub(super) fn vulkan(&self, path: &str) -> Vulkan {
        match self.ask(&Question::Vulkan { path: path.to_owned() }) {
            Some(answer) => answer.unwrap_or_else(|(silence, said)| Vulkan {
                loader: Some(path.to_owned()),
                failure: Some(with_last_words(&silence, &said)),
                devices: Vec::new(),
            }),
            None => vulkan::ask(path),
        }
    }

    /// None where no other process is to ask.
    fn ask<T: DeserializeOwned>(&self, question: &Question) -> Option<std::result::Result<T, (NoResponse, String)>> {
        let program = self.program.as_ref()?;
        let question = serde_json::to_string(question).ok()?;
        let mut call = Call::new(program).args([VERB, &question]).pass_all();
        for (name, value) in &self.set {
            match value {
                Some(value) => call.env.insert(name.clone(), value.clone()),
                None => call.env.remove(name),
            };
        }
        let watched = match call.run_watched(Some(self.limit)) {
            Ok(watched) => watched,
            // The file of this very program cannot be run: nothing else is left than to ask from here.
            Err(_) => return None,
        };
        // Whatever became of the process: an answer that is whole counts.
        if let Ok(answer) = serde_json::from_slice(&watched.outcome.stdout) {
            return Some(Ok(answer));
        }
        let silence = match watched.ended {
            Ended::Itself => {
                let how = watched.outcome.how();
                NoResponse::Crashed { by: how.strip_prefix("killed by ").unwrap_or(&how).to_owned() }
            }
            Ended::TimeOut | Ended::Stuck | Ended::Interrupted => NoResponse::Hung { seconds: self.limit.as_secs() },
        };
        let said = String::from_utf8_lossy(&watched.outcome.stderr).into_owned();
        let last = said.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
        Some(Err((silence, last.chars().take(200).collect())))
    }
}

fn silent((silence, said): (NoResponse, String)) -> DriverAnswer {
    let text = with_last_words(&silence, &said);
    let failure = DriverFailure { code: None, text, silence: Some(silence) };
    DriverAnswer { failure: Some(failure), ..DriverAnswer::default() }
}

/// What it did, and the last that was heard of it.
fn with_last_words(silence: &NoResponse, said: &str) -> String {
    if said.is_empty() { format!("it {silence}") } else { format!("it {silence}: {said}") }
}
