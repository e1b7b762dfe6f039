//! What examinations say: findings, what could not be examined, the verdict over both, and the forms
//! in which that is printed.

mod finding;
mod format;
mod github;
mod json;
mod sarif;
mod text;

pub use finding::of_any_release;
pub use finding::{Finding, Incomplete, Level, NotRun, Place, Report, Rule, Verdict, Waived, one_of, owner};
pub use format::Format;
pub use github::github;
pub use json::{Counts, REPORT_SCHEMA, ReportJson};
pub use sarif::sarif;
pub use text::{TextOptions, wrapped};
