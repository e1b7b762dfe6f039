//! `simpack patch`: changes what the loader reads of finished ELF files: search path, names, needs.
//!
//! A [`PatchRequest`] becomes an intent once (policy, contradictions); every file then gets the edits
//! that the intent means for it, by itself: one file that fails leaves the others done.

mod find;
mod intent;
mod report;
mod run;

pub use intent::{PatchRequest, PathRequest};
pub use report::{FileReport, Outcome, PatchReport, Totals};
pub use run::run;
