//! The one door to external tools: clean environment, captured output, measured time.

mod answering;
mod bubblewrap;
mod call;
mod interrupt;
mod landlock;
mod lineage;
mod namespaces;
mod run;
mod sandbox;
#[cfg(test)]
mod tests;
mod text_busy;
mod watched;

pub use answering::Answering;
pub use call::{Call, Outcome};
pub use interrupt::{InterruptGuard, check_interrupted, interrupted, run_interruptible, signal_name};
pub use sandbox::{Isolation, IsolationKind, Sandbox, candidates};
pub use text_busy::{await_closed, retry_text_busy};
pub use watched::{Ended, Watched};
