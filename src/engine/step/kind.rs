//! What kind of step one is, as the cache counts it and names its file.

use crate::engine::cache::StepKind;
use crate::plan::{Action, Step};

/// The kind of a step, as the cache counts it.
pub(in crate::engine) fn kind_of(step: &Step) -> StepKind {
    match step.action {
        Action::Host { .. } => StepKind::Host,
        Action::Kernel { .. } | Action::Generate { .. } | Action::Structures { .. } => StepKind::Kernel,
    }
}

/// Name of a kernel step's single file in the cache: it must not depend on where it is staged.
pub(in crate::engine) fn cached_name(step: &Step) -> &str {
    match &step.action {
        Action::Kernel { output, .. } => output.rsplit('/').next().unwrap_or(output),
        Action::Host { .. } | Action::Generate { .. } | Action::Structures { .. } => "",
    }
}
