//! What steps took the last time: memory and seconds, by which the next build arranges them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cache::{Cache, CacheEntry, Made};
use crate::error::{Error, Result};
use crate::fs;

/// Directory of the cache for what steps took.
pub(super) const HISTORY: &str = ".history";

/// What one step took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Took {
    /// Bytes of its largest process at its peak; 0 when nobody knows.
    pub peak: u64,
    /// Seconds.
    pub seconds: f64,
    /// Seconds of processors; 0 when nobody knows.
    #[serde(default)]
    pub cpu: f64,
    /// Bytes of the files that it left; 0 when nobody knows.
    #[serde(default)]
    pub bytes: u64,
}

/// How well it was known what the steps of a build would take.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Accuracy {
    /// Steps that were made.
    pub steps: usize,
    /// Seconds that they were expected to take, one after the other.
    pub expected: f64,
    /// Seconds that they took.
    pub took: f64,
    /// Mean of what each step took more or less than expected, as a part of what was expected.
    pub each: f64,
}

impl Accuracy {
    /// Of steps, each with the seconds that it was expected to take and took. None without a step.
    pub(super) fn of(steps: &[(f64, f64)]) -> Option<Self> {
        const SMALLEST: f64 = 0.001;
        let sum = |one: fn(&(f64, f64)) -> f64| steps.iter().map(one).sum::<f64>();
        let off = |(expected, took): &(f64, f64)| (took - expected).abs() / expected.max(SMALLEST);
        (!steps.is_empty()).then(|| Self {
            steps: steps.len(),
            expected: sum(|step| step.0),
            took: sum(|step| step.1),
            each: steps.iter().map(off).sum::<f64>() / steps.len() as f64,
        })
    }
}

/// The steps of one simulator. Keys change with every edit; names of steps stay.
#[derive(Debug, Default)]
pub(super) struct History {
    path: PathBuf,
    steps: BTreeMap<String, Took>,
    /// Of the last build that made a step.
    pub accuracy: Option<Accuracy>,
    is_changed: bool,
}

#[derive(Default, Serialize, Deserialize)]
struct File {
    schema: u32,
    steps: BTreeMap<String, Took>,
    #[serde(default)]
    accuracy: Option<Accuracy>,
}

impl History {
    /// Reads what is known in `dir`; a damaged file is as good as none.
    pub(super) fn read(dir: &Path, simulator: &str) -> Self {
        let path = dir.join(format!("{simulator}.json"));
        let file: Option<File> = std::fs::read(&path).ok().and_then(|text| serde_json::from_slice(&text).ok());
        let File { steps, accuracy, .. } = file.filter(|file| file.schema == 1).unwrap_or_default();
        Self { path, steps, accuracy, is_changed: false }
    }

    /// What a step took.
    pub(super) fn of(&self, step: &str) -> Option<Took> {
        self.steps.get(step).copied()
    }

    /// Notes what a step took, whether it ran now or when its entry was made.
    pub(super) fn note(&mut self, entry: &CacheEntry) {
        let Made { step, seconds, cpu, peak, .. } = &entry.made;
        let took = Took { peak: *peak, seconds: *seconds, cpu: *cpu, bytes: entry.bytes() };
        self.is_changed |= self.steps.insert(step.clone(), took) != Some(took);
    }

    /// Notes how well what steps took was known before.
    pub(super) fn judge(&mut self, accuracy: Accuracy) {
        (self.accuracy, self.is_changed) = (Some(accuracy), true);
    }

    /// Writes it down. Of two runs at once the later wins; both knew about the same.
    pub(super) fn write(self) -> Result<()> {
        if !self.is_changed {
            return Ok(());
        }
        let text = serde_json::to_vec(&File { schema: 1, steps: self.steps, accuracy: self.accuracy })
            .map_err(|error| Error::bug("a history does not print as JSON").because(error))?;
        fs::write_atomic(&self.path, &text)
    }
}

/// Notes in a cache what steps took, wherever they ran.
///
/// # Errors
/// It cannot be written.
pub fn remember<'a>(cache: &Cache, simulator: &str, entries: impl Iterator<Item = &'a CacheEntry>) -> Result<()> {
    let mut history = History::read(&cache.own_dir(HISTORY)?, simulator);
    entries.for_each(|entry| history.note(entry));
    history.write()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::StepKind;
    use crate::process::IsolationKind;

    #[test]
    fn what_was_noted_is_known_the_next_time() {
        let dir = tempfile::tempdir().unwrap();
        let mut history = History::read(dir.path(), "sim");
        assert_eq!(history.of("a"), None);
        history.note(&CacheEntry {
            key: crate::fs::Digest::of(b"a"),
            root: PathBuf::new(),
            artifacts: Vec::new(),
            made: Made {
                step: "a".to_owned(),
                kind: StepKind::Kernel,
                seconds: 2.5,
                cpu: 2.0,
                peak: 7,
                isolation: IsolationKind::None,
                unused: Vec::new(),
                incremental: false,
            },
        });
        let accuracy = Accuracy::of(&[(2.0, 2.5), (4.0, 3.0)]);
        history.judge(accuracy.unwrap());
        history.write().unwrap();
        assert_eq!(History::read(dir.path(), "sim").of("a"), Some(Took { peak: 7, seconds: 2.5, cpu: 2.0, bytes: 0 }));
        assert_eq!(History::read(dir.path(), "sim").accuracy, accuracy);
        assert_eq!(accuracy, Some(Accuracy { steps: 2, expected: 6.0, took: 5.5, each: 0.25 }));
        assert_eq!(Accuracy::of(&[]), None);
        assert_eq!(History::read(dir.path(), "other").of("a"), None);
        std::fs::write(dir.path().join("sim.json"), "{").unwrap();
        assert_eq!(History::read(dir.path(), "sim").of("a"), None);
    }
}
