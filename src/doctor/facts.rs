//! What the lints over a machine look at.

use serde::Deserialize;

use super::foreign::Foreign;
use super::serve::{PrefixFit, serve};
use crate::fit::{Distribution, Reach};
use crate::machine::{HostEnvironment, Machine};
use crate::manifest::Manifests;

/// What the lints look at.
pub struct Facts {
    /// The machine.
    pub machine: Machine,
    /// What is known of the world.
    pub manifests: Manifests,
    /// What of the installed packages runs on which GPU.
    pub fits: Vec<PrefixFit>,
    /// Binaries that simpack did not make.
    pub foreign: Vec<Foreign>,
    /// Runs of smoke tests that failed.
    pub failed_runs: Vec<FailedRun>,
}

/// A run of a simulator's smoke test that failed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct FailedRun {
    /// The simulator and its version.
    pub simulator: String,
    /// Where it ran: `GPU 0 sm_90`.
    pub place: String,
    /// In words.
    pub why: String,
}

impl Facts {
    /// The facts about a machine, about binaries that simpack did not make, and about what there is to install besides.
    pub fn new(machine: Machine, reaches: Vec<Reach>, offers: &[Distribution], manifests: Manifests) -> Self {
        let fits = serve(&machine, offers, &manifests);
        let foreign = reaches.into_iter().map(|reach| Foreign::new(reach, &machine, &manifests)).collect();
        Self { machine, manifests, fits, foreign, failed_runs: Vec::new() }
    }

    /// The same with runs of smoke tests that failed.
    #[must_use]
    pub fn with_failed_runs(self, failed_runs: Vec<FailedRun>) -> Self {
        Self { failed_runs, ..self }
    }

    pub(super) fn is(&self, surroundings: HostEnvironment) -> bool {
        self.machine.system.surroundings.contains(&surroundings)
    }

    pub(super) fn in_container(&self) -> bool {
        self.machine.system.surroundings.iter().any(|it| it.is_container())
    }
}
