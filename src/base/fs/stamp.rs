//! A file as the file system describes it: while its stamp is the same, so is its content.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

/// What tells one state of a file, or of the names in a directory, from another. The change time moves with every
/// write, with a rename over the file, and with every attempt to set another time stamp.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stamp {
    device: u64,
    inode: u64,
    mode: u32,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl From<&Metadata> for Stamp {
    fn from(data: &Metadata) -> Self {
        Self {
            device: data.dev(),
            inode: data.ino(),
            mode: data.mode(),
            size: data.len(),
            modified: (data.mtime(), data.mtime_nsec()),
            changed: (data.ctime(), data.ctime_nsec()),
        }
    }
}

impl Stamp {
    /// A file that was changed within this time may change once more without another time stamp: kernels stamp by
    /// the tick, some file systems by one or two seconds.
    pub const SETTLED: Duration = Duration::from_secs(2);

    /// Of what a path leads to, through links; none where that is nothing.
    pub fn of(path: &Path) -> Option<Self> {
        std::fs::metadata(path).ok().as_ref().map(Self::from)
    }

    /// Whether the file was left alone for so long before `time` that whatever was read of it from then on is what this
    /// stamp stands for. Never for one that was changed in the future: somebody set the clock.
    pub fn is_settled_before(&self, time: SystemTime) -> bool {
        let (Ok(seconds), Ok(nanos)) = (u64::try_from(self.changed.0), u32::try_from(self.changed.1)) else {
            return false;
        };
        let changed = SystemTime::UNIX_EPOCH + Duration::new(seconds, nanos);
        time.duration_since(changed).is_ok_and(|since| since > Self::SETTLED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_shows_even_when_size_and_time_are_put_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        assert_eq!(Stamp::of(&path), None);
        std::fs::write(&path, "one").unwrap();
        let (first, names) = (Stamp::of(&path).unwrap(), Stamp::of(dir.path()).unwrap());
        assert_eq!(Stamp::of(&path).as_ref(), Some(&first));
        let modified = std::fs::metadata(&path).unwrap().modified().unwrap();
        std::thread::sleep(Duration::from_millis(20));
        std::fs::write(&path, "two").unwrap();
        std::fs::File::open(&path).unwrap().set_modified(modified).unwrap();
        assert_ne!(Stamp::of(&path), Some(first));
        assert_eq!(Stamp::of(dir.path()), Some(names.clone()), "the names are the same");
        std::fs::write(dir.path().join("b"), "").unwrap();
        assert_ne!(Stamp::of(dir.path()), Some(names));
    }

    #[test]
    fn what_was_changed_just_now_or_in_the_future_is_not_settled() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        std::fs::write(&path, "one").unwrap();
        let stamp = Stamp::of(&path).unwrap();
        let now = SystemTime::now();
        assert!(!stamp.is_settled_before(now));
        assert!(!stamp.is_settled_before(now - Duration::from_secs(3600)), "the clock was set back");
        assert!(stamp.is_settled_before(now + Stamp::SETTLED + Duration::from_secs(1)));
    }
}
