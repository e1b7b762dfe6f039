//! What a step is given, and why it failed.

use super::explain::diagnose::Cause;
use crate::engine::scheduler::Fate;
use crate::engine::tokens::Tokens;
use crate::error::Error;

/// How many processes a step may have.
#[derive(Clone, Copy)]
pub(in crate::engine) struct Share<'a> {
    /// At a time, at most.
    pub jobs: usize,
    /// Where its build system takes a token for each, when it can.
    pub tokens: Option<&'a Tokens>,
}

/// Why a step failed.
#[derive(Debug)]
pub(in crate::engine) struct StepFailure {
    /// What is told.
    pub error: Box<Error>,
    /// What can be done about it.
    pub cause: Cause,
    /// Bytes that its largest process had, as far as that is known.
    pub peak: u64,
    /// Whether its calls came to their ends by themselves: nothing was killed while it wrote.
    pub ended: bool,
}

impl StepFailure {
    /// What it is to the scheduler.
    pub(in crate::engine) fn fate(&self) -> Fate {
        match self.cause {
            Cause::Memory(_) => Fate::OutOfMemory { peak: self.peak },
            Cause::Told | Cause::Crashed(_) | Cause::Full => Fate::Failed,
        }
    }
}

impl From<Error> for StepFailure {
    fn from(error: Error) -> Self {
        Self { error: Box::new(error), cause: Cause::Told, peak: 0, ended: true }
    }
}
