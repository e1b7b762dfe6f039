//! What starts calls and collects what they made, and the loop between it and the scheduler.

use std::time::Duration;

use super::scheduler::{Assignment, Fate, Release, Scheduler};
use super::step::StepFailure;
use super::step::shared::NotShareable;
use crate::error::{Error, Result};

/// How long whoever ends a call leaves its token to build systems that wait for one, and how often one that was not
/// there is looked for again.
const TICK: Duration = Duration::from_millis(5);

/// How often memory that others give back is looked for: nobody tells.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// Runs calls somewhere. Calls are known by the index of their first step.
pub(super) trait Executor {
    /// What is left of a step.
    type Made;

    /// Bytes that calls can have now.
    fn memory(&self) -> u64;

    /// Takes as many tokens as are free, `most` at most; never waits.
    fn take(&mut self, most: usize) -> usize;

    /// Puts tokens back.
    fn release(&mut self, release: Release);

    /// Starts a call, and does not wait for it.
    ///
    /// # Errors
    /// No call can be started any more.
    fn start(&mut self, call: &Assignment) -> Result<()>;

    /// Waits for the end of a call, for `time` at most.
    fn wait(&mut self, time: Duration) -> Option<usize>;

    /// What became of a call that has ended.
    fn collect(&mut self, call: usize) -> End<Self::Made>;

    /// Sees to it that calls end soon: nobody waits for their results any more.
    fn cancel(&mut self);
}

/// What became of a call.
#[derive(Debug)]
pub(super) enum End<M> {
    /// What is left of each of its steps, by index.
    Made(Vec<(usize, M)>),
    /// Its steps need calls of their own.
    Apart(NotShareable),
    /// It failed.
    Failed(StepFailure),
}

impl<M> End<M> {
    fn fate(&self) -> Fate {
        match self {
            Self::Made(_) => Fate::Made,
            Self::Apart(why) => Fate::Apart { slow: why.slow },
            Self::Failed(failure) => failure.fate(),
        }
    }
}

/// What is told of a build while it runs.
#[derive(Debug)]
pub(super) enum Event<'a, M> {
    /// A call starts.
    Started(&'a Assignment),
    /// Steps are made.
    Made(Vec<(usize, M)>),
    /// The steps of a call run one by one.
    Apart(&'a Assignment, String),
    /// A step runs once more, because memory was not enough.
    OnceMore(usize, StepFailure),
    /// A step failed.
    Failed(&'a Assignment, Error),
}

/// Runs everything that the scheduler has, until nothing is left, something failed, or `is_interrupted`.
///
/// # Errors
/// The executor can start nothing.
pub(super) fn drive<E: Executor>(
    scheduler: &mut Scheduler,
    executor: &mut E,
    is_interrupted: impl Fn() -> bool,
    mut tell: impl FnMut(Event<'_, E::Made>),
) -> Result<()> {
    let mut is_cancelled = false;
    // The longest calls are those of build systems: they come first.
    let mut gives_way = false;
    loop {
        if !is_cancelled && is_interrupted() {
            is_cancelled = true;
            scheduler.stop();
            executor.cancel();
        }
        let time = match std::mem::take(&mut gives_way) {
            true => TICK,
            false => start_all(scheduler, executor, &mut tell)?,
        };
        if scheduler.is_done() {
            return Ok(());
        }
        let Some(index) = executor.wait(time) else { continue };
        let end = executor.collect(index);
        let Some(ended) = scheduler.ended(index, end.fate()) else { continue };
        executor.release(ended.release);
        gives_way = scheduler.is_shared();
        match end {
            End::Made(made) => tell(Event::Made(made)),
            End::Apart(NotShareable { why, .. }) => tell(Event::Apart(&ended.call, why)),
            End::Failed(failure) if ended.once_more => tell(Event::OnceMore(index, failure)),
            End::Failed(failure) => tell(Event::Failed(&ended.call, *failure.error)),
        }
    }
}

/// Starts what can start now; answers how long to wait before looking again.
fn start_all<E: Executor>(
    scheduler: &mut Scheduler,
    executor: &mut E,
    tell: &mut impl FnMut(Event<'_, E::Made>),
) -> Result<Duration> {
    while scheduler.may_start() {
        if executor.take(1) == 0 {
            return Ok(TICK);
        }
        let Some((index, wanted)) = scheduler.next(executor.memory()) else {
            executor.release(Release::Put(1));
            break;
        };
        let tokens = if wanted > 0 { executor.take(wanted) } else { 0 };
        if let Some(call) = scheduler.grant(index, tokens) {
            tell(Event::Started(call));
            executor.start(call)?;
        }
    }
    Ok(LOOK_AGAIN)
}
