//! What steps took the last time: memory and seconds, by which the next build arranges them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

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
}

/// The steps of one simulator. Keys change with every edit; names of steps stay.
#[derive(Debug, Default)]
pub(super) struct History {
    path: PathBuf,
    steps: BTreeMap<String, Took>,
    is_changed: bool,
}

#[derive(Default, Serialize, Deserialize)]
struct File {
    schema: u32,
    steps: BTreeMap<String, Took>,
}

impl History {
    /// Reads what is known in `dir`; a damaged file is as good as none.
    pub(super) fn read(dir: &Path, simulator: &str) -> Self {
        let path = dir.join(format!("{simulator}.json"));
        let file: Option<File> = std::fs::read(&path).ok().and_then(|text| serde_json::from_slice(&text).ok());
        let steps = file.filter(|file| file.schema == 1).map(|file| file.steps).unwrap_or_default();
        Self { path, steps, is_changed: false }
    }

    /// What a step took.
    pub(super) fn of(&self, step: &str) -> Option<Took> {
        self.steps.get(step).copied()
    }

    /// Notes what a step took, whether it ran now or when its entry was made.
    pub(super) fn note(&mut self, made: &Made) {
        let took = Took { peak: made.peak, seconds: made.seconds };
        self.is_changed |= self.steps.insert(made.step.clone(), took) != Some(took);
    }

    /// Writes it down. Of two runs at once the later wins; both knew about the same.
    pub(super) fn write(self) -> Result<()> {
        if !self.is_changed {
            return Ok(());
        }
        let text = serde_json::to_vec(&File { schema: 1, steps: self.steps })
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
    entries.for_each(|entry| history.note(&entry.made));
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
        history.note(&Made {
            step: "a".to_owned(),
            kind: StepKind::Kernel,
            seconds: 2.5,
            peak: 7,
            isolation: IsolationKind::None,
            unused: Vec::new(),
        });
        history.write().unwrap();
        assert_eq!(History::read(dir.path(), "sim").of("a"), Some(Took { peak: 7, seconds: 2.5 }));
        assert_eq!(History::read(dir.path(), "other").of("a"), None);
        std::fs::write(dir.path().join("sim.json"), "{").unwrap();
        assert_eq!(History::read(dir.path(), "sim").of("a"), None);
    }
}
