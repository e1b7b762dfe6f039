//! Versions that a winner lacks.

use super::answer::MissingVersion;
use super::process::{LOADER, Process};

impl Process<'_> {
    /// Each version record against the object that answers its file's name (`_dl_check_map_versions`).
    pub(super) fn check_versions(&mut self) {
        let mut missing = Vec::new();
        for (from, inside) in self.inside.iter().enumerate() {
            for (file, versions) in &inside.object.version_needs {
                let Some(&object) = self.names.get(file) else { continue };
                let defined = &self.inside[object].object.versions;
                // Without versions of its own a library answers with a warning at most; the loader's
                // file is read for its name only.
                if defined.is_empty() || object == LOADER {
                    continue;
                }
                let lacks = versions.iter().filter(|version| defined.binary_search(version).is_err());
                missing.extend(lacks.map(|version| MissingVersion { from, object, version: version.clone() }));
            }
        }
        missing.sort();
        missing.dedup();
        self.result.missing_versions = missing;
    }
}
