//! What a build is built against: what builds of other components installed, as one prefix in the directory of the step.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::bundle::ArtifactKind;
use crate::engine::cache::{CacheEntry, artifacts_with};
use crate::engine::trees::AGAINST;
use crate::error::{Error, Result};
use crate::fs::{Digest, DigestBuilder, Tree};

/// Files and links of several builds, by their paths below the prefix.
pub(super) struct Against<'a>(BTreeMap<&'a str, (&'a ArtifactKind, &'a CacheEntry)>);

impl<'a> Against<'a> {
    /// What `entries` hold; none where there is nothing.
    ///
    /// # Errors
    /// Two of them hold different files of one path.
    pub(super) fn of(entries: impl Iterator<Item = &'a CacheEntry>) -> Result<Option<Self>> {
        let mut all: BTreeMap<&str, (&ArtifactKind, &CacheEntry)> = BTreeMap::new();
        let mut is_any = false;
        for entry in entries {
            is_any = true;
            for artifact in &entry.artifacts {
                let before = all.insert(&artifact.path, (&artifact.kind, entry));
                if let Some((_, other)) = before.filter(|(kind, _)| **kind != artifact.kind) {
                    return Err(Error::build(format!("two host builds install {}", artifact.path))
                        .detail(format!("{} and {}", other.made.step, entry.made.step))
                        .hint("install it by one of them"));
                }
            }
        }
        Ok(is_any.then_some(Self(all)))
    }

    /// Whether some of it was made in a build tree that an earlier build had left: what is built against that is no better
    /// proven.
    pub(super) fn is_incremental(&self) -> bool {
        self.0.values().any(|(_, entry)| entry.made.incremental)
    }

    /// A digest over all paths, bytes and modes.
    pub(super) fn digest(&self) -> Digest {
        let mut digest = DigestBuilder::default().field("simpack-against 1");
        for (path, (kind, _)) in &self.0 {
            digest = digest.field(path);
            digest = match kind {
                ArtifactKind::File { sha256, executable, .. } => {
                    digest.field("file").field(sha256.as_bytes()).field(if *executable { "x" } else { "-" })
                }
                ArtifactKind::Link { to } => digest.field("link").field(to),
            };
        }
        digest.finish()
    }

    /// Puts it below the directory `work` of a step, and answers where. What lies there already as it should keeps its time
    /// stamps, so that nothing is compiled again for it; anything else is laid out anew.
    ///
    /// # Errors
    /// A file cannot be read or written.
    pub(super) fn lay_out(&self, work: &Path) -> Result<PathBuf> {
        let dir = work.join(AGAINST);
        if dir.symlink_metadata().is_ok() {
            if self.lies_in(&dir)? {
                return Ok(dir);
            }
            fs_err::remove_dir_all(&dir)?;
        }
        let tree = Tree::make(&dir)?;
        for (path, (kind, entry)) in &self.0 {
            match kind {
                ArtifactKind::Link { to } => tree.symlink(to, path)?,
                ArtifactKind::File { executable, .. } => {
                    let mode = if *executable { 0o755 } else { 0o644 };
                    tree.copy(&Tree::at(&entry.root)?.open(path)?, path, Some(mode))?;
                }
            }
        }
        Ok(dir)
    }

    fn lies_in(&self, dir: &Path) -> Result<bool> {
        let there = artifacts_with(dir, |path| Digest::of_file(&dir.join(path)))?;
        let is_it = |path: &str, kind: &ArtifactKind| self.0.get(path).is_some_and(|(own, _)| *own == kind);
        Ok(there.len() == self.0.len() && there.iter().all(|artifact| is_it(&artifact.path, &artifact.kind)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::cache::{Cache, Made, StepKind};
    use crate::process::IsolationKind;

    fn made(step: &str, incremental: bool) -> Made {
        let (seconds, cpu, peak, unused) = (1.0, 1.0, 0, Vec::new());
        let (kind, isolation) = (StepKind::Host, IsolationKind::None);
        Made { step: step.to_owned(), kind, seconds, cpu, peak, isolation, unused, incremental }
    }

    fn entry(cache: &Cache, step: &str, files: &[(&str, &str)]) -> CacheEntry {
        let tree = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = tree.path().join(path);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            match text.strip_prefix("-> ") {
                Some(to) => fs_err::os::unix::fs::symlink(to, path).unwrap(),
                None => fs_err::write(path, text).unwrap(),
            }
        }
        cache.put(Digest::of(step.as_bytes()), &made(step, false), tree.path()).unwrap()
    }

    #[test]
    fn what_builds_installed_lies_in_one_prefix_and_stays_while_it_is_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::at(dir.path().join("cache"));
        let core =
            entry(&cache, "core", &[("lib/libsim.so.1", "1"), ("lib/libsim.so", "-> libsim.so.1"), ("LICENSE", "x")]);
        let rtc = entry(&cache, "rtc", &[("lib/libsim_rtc.so.1", "2"), ("LICENSE", "x")]);
        let all = Against::of([&core, &rtc].into_iter()).unwrap().unwrap();
        let work = dir.path().join("work");
        fs_err::create_dir(&work).unwrap();
        let prefix = all.lay_out(&work).unwrap();
        assert_eq!(fs_err::read_to_string(prefix.join("lib/libsim.so")).unwrap(), "1");
        assert_eq!(fs_err::read_to_string(prefix.join("lib/libsim_rtc.so.1")).unwrap(), "2");
        let time = || fs_err::metadata(prefix.join("lib/libsim.so.1")).unwrap().modified().unwrap();
        let first = time();
        all.lay_out(&work).unwrap();
        assert_eq!(time(), first);
        // What a build has changed there is put right.
        fs_err::write(prefix.join("lib/libsim.so.1"), "3").unwrap();
        fs_err::write(prefix.join("more"), "").unwrap();
        all.lay_out(&work).unwrap();
        assert_eq!(fs_err::read_to_string(prefix.join("lib/libsim.so")).unwrap(), "1");
        assert!(!prefix.join("more").exists());

        assert_ne!(all.digest(), Against::of([&core].into_iter()).unwrap().unwrap().digest());
        assert!(Against::of(std::iter::empty()).unwrap().is_none());
        assert!(!all.is_incremental());
        let unproven = CacheEntry { made: made("rtc", true), ..rtc };
        assert!(Against::of([&core, &unproven].into_iter()).unwrap().unwrap().is_incremental());
        let other = entry(&cache, "other", &[("LICENSE", "y")]);
        let error = Against::of([&core, &other].into_iter()).err().unwrap();
        assert!(error.to_string().contains("two host builds install LICENSE"), "{error}");
    }
}
