//! The table of schedulers, by the names that users give them.

use super::scheduler::{Run, Scheduler};
use super::{gridengine, slurm};

/// A program that schedules the jobs of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClusterKind {
    /// Slurm.
    Slurm,
    /// Grid Engine.
    GridEngine,
}

impl ClusterKind {
    /// As users name them, with what is said of each.
    pub const NAMES: [(&str, Self, &str); 2] = [
        ("slurm", Self::Slurm, "Jobs of Slurm, on nodes that share the cache"),
        ("gridengine", Self::GridEngine, "Jobs of Grid Engine, on nodes that share the cache"),
    ];

    /// As people call it.
    pub fn title(self) -> &'static str {
        match self {
            Self::Slurm => "Slurm",
            Self::GridEngine => "Grid Engine",
        }
    }

    /// As users name it.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, kind, _)| *kind == self).map_or("", |(name, ..)| name)
    }

    /// The one with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, ..)| *known == name).map(|(_, kind, _)| *kind)
    }

    /// A line of what is told of a run.
    pub(super) fn line(self, text: &str) -> String {
        format!("  {:<10} {text}", self.name())
    }

    /// Its programs, for one run.
    pub(super) fn scheduler(self, run: Run) -> Box<dyn Scheduler> {
        match self {
            Self::Slurm => Box::new(slurm::Slurm::new(run)),
            Self::GridEngine => Box::new(gridengine::GridEngine::new(run)),
        }
    }
}
