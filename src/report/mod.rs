//! What examinations say: findings, what could not be examined, and the verdict over both.

mod finding;

pub use finding::{Finding, Incomplete, Level, Report, Verdict};
