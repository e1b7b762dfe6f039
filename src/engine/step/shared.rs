//! Several kernel steps by one compiler call. nvcc starts once for several capabilities of a unit, asks the host compiler
//! for its version once, and the sandbox is made once: 20 ms a step, of 300 that a small one takes. glslc takes several
//! shaders with the same arguments, and makes the tables of the language once: 85 ms, of 90 that a small one takes.
//!
//! It is an optimisation and nothing else. Whatever does not go as it should, the steps run by calls of their own,
//! which tell what is wrong and with which of them.

use std::time::{Duration, Instant};

use super::kind::kind_of;
use super::log::Log;
use super::run::StepRun;
use crate::engine::cache::{CacheEntry, Made};
use crate::error::{Error, Result};
use crate::plan::Step;
use crate::process::Ended;

/// Steps that take longer gain less than one in a hundred by a shared call, and lose by waiting for one another.
pub(in crate::engine) const LONG: Duration = Duration::from_secs(3);

/// Why steps need calls of their own.
#[derive(Debug)]
pub(in crate::engine) struct NotShareable {
    /// For those who want to know more.
    pub why: String,
    /// They take too long to wait for one another.
    pub slow: bool,
}

impl From<Error> for NotShareable {
    fn from(error: Error) -> Self {
        Self { why: error.to_string(), slow: false }
    }
}

impl StepRun<'_> {
    /// Runs kernel steps by one call; entries in their order. What it took is divided evenly among them: nobody knows
    /// what each took, and a later build needs to know only which are long.
    ///
    /// # Errors
    /// Nothing that a user need know: run each alone.
    pub(in crate::engine) fn run_together(&self, steps: &[&Step]) -> Result<Vec<CacheEntry>, NotShareable> {
        let apart = |why: &str| NotShareable { why: why.to_owned(), slow: false };
        for step in steps {
            if self.cache.get(step.key)?.is_some() {
                return Err(apart("another run has made some of them"));
            }
        }
        let started = Instant::now();
        let scratch = self.scratch()?;
        let place = self.kernels(scratch.path());
        let call = place.shared_call(steps)?.ok_or_else(|| apart("they have too little in common"))?;
        // A limit is one for a call, however many steps it takes.
        let limit = LONG * u32::try_from(steps.len()).unwrap_or(u32::MAX);
        let limit = self.options.step_timeout.map_or(limit, |given| given.min(limit));
        let watched = call.run_watched(Some(limit))?;
        match watched.ended {
            Ended::Itself if watched.outcome.status.success() => {}
            Ended::TimeOut | Ended::Stuck => return Err(NotShareable { why: "they take long".to_owned(), slow: true }),
            Ended::Itself | Ended::Interrupted => return Err(apart(&watched.outcome.how())),
        }
        let mut finished = Vec::new();
        for step in steps {
            let made = place.made_by_shared_call(step)?;
            finished.push((place.finish(step, &made)?, made));
        }
        let seconds = started.elapsed().as_secs_f64() / steps.len() as f64;
        let mut entries = Vec::new();
        for (before, (step, tree)) in steps.iter().zip(&finished) {
            Log::of(self.logs, before).add(&call, &watched);
            let isolation = self.options.isolation.kind();
            let made = Made {
                step: step.id.clone(),
                kind: kind_of(step),
                seconds,
                cpu: watched.cpu.as_secs_f64() / steps.len() as f64,
                peak: watched.peak,
                isolation,
                unused: Vec::new(),
                incremental: false,
            };
            entries.push(self.cache.put(step.key, &made, &tree.dir)?);
        }
        Ok(entries)
    }
}
