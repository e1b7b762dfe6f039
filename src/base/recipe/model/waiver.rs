//! Findings that a recipe accepts.

use globset::Glob;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::report::Subject;

/// A finding that the recipe accepts, and why.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Waiver {
    /// Lint id.
    pub id: String,
    /// Glob over the finding's subject.
    pub subject: String,
    /// Why it is accepted.
    pub reason: String,
}

impl Waiver {
    /// Whether it may waive findings over a package or its files: their subjects begin with the package's name.
    pub fn is_over(&self, package: &str) -> bool {
        Glob::new(&Subject::written(&self.subject).owner).is_ok_and(|glob| glob.compile_matcher().is_match(package))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_waiver_is_over_the_packages_that_its_subject_begins_with() {
        let over = |subject: &str, package: &str| {
            Waiver { id: String::new(), subject: subject.to_owned(), reason: String::new() }.is_over(package)
        };
        assert!(
            over("sim-core: lib/libsim.so*", "sim-core")
                && over("sim-*: **", "sim-rtc")
                && over("sim-core", "sim-core")
        );
        assert!(!over("sim-core: lib/libsim.so*", "sim-rtc") && !over("staging: lib/x", "sim-core"));
    }
}
