//! The log of a step.

use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::plan::Step;
use crate::process::{Call, Watched};

/// Calls and what they printed, on disk after each.
pub(in crate::engine) struct Log {
    path: PathBuf,
    text: String,
    /// Why it is not on disk.
    lost: Option<String>,
}

impl Log {
    /// That of a step, with nothing in it.
    pub(in crate::engine) fn of(logs: &Path, step: &Step) -> Self {
        Self { path: logs.join(log_name(step)), text: String::new(), lost: None }
    }

    pub(in crate::engine) fn add(&mut self, call: &Call, watched: &Watched) {
        let outcome = &watched.outcome;
        self.text.push_str(&format!(
            "$ {}\n{}# {} after {:.2} s, {:.2} s of processor, {} MB\n",
            call.line(),
            outcome.all_text(),
            outcome.how(),
            outcome.time.as_secs_f64(),
            watched.cpu.as_secs_f64(),
            watched.peak / 1_000_000,
        ));
        // A log that cannot be written must not hide what the compiler said.
        self.lost = fs_err::write(&self.path, &self.text).err().map(|error| error.to_string());
    }

    pub(super) fn tell(&self, error: Error) -> Error {
        match &self.lost {
            None => error.detail(format!("command and output: {}", self.path.display())),
            Some(why) => error.detail(format!("there is no log: {why}")),
        }
    }
}

/// `4f2a-neuron-sm_90-fixed.log`.
fn log_name(step: &Step) -> String {
    let words: Vec<String> = step
        .id
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect();
    format!("{}-{}.log", step.key.short(4), words.join("-"))
}
