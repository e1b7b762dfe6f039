//! The lints over what others made: what a project lists, what it needs, what meets in one process.

mod copies;
mod missing;
mod record;

use crate::lint::{ParameterKind, Predicate};
use crate::verify::BundleFacts;

/// How many names a finding shows.
const MOST_NAMES: &[(&str, ParameterKind)] = &[("most-names", ParameterKind::Number)];

pub(super) fn predicates() -> Vec<Predicate<BundleFacts>> {
    vec![
        Predicate { id: "copies-hurt", parameters: &[], check: copies::hurt },
        Predicate { id: "copies-meet", parameters: &[], check: copies::meet },
        Predicate { id: "library-missing", parameters: &[], check: missing::library_missing },
        Predicate { id: "record-mismatch", parameters: MOST_NAMES, check: record::record_mismatch },
    ]
}
