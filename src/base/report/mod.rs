//! What examinations say: findings, what could not be examined, the verdict over both, and the forms
//! in which that is printed.

mod finding;
mod format;
mod github;
mod json;
mod sarif;
mod subject;
mod text;

pub use finding::{Finding, Incomplete, Level, NotRun, Place, Report, Rule, Verdict, Waived};
pub use format::Format;
pub use github::github;
pub use json::{Counts, REPORT_SCHEMA, ReportJson};
pub use sarif::sarif;
pub use subject::{Subject, one_of};
pub use text::{TextOptions, wrapped};
