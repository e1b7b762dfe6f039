//! The driver's cache of compiled code, and whether the driver that is there will read it.
//!
//! A driver reads what it compiled itself; after an update it starts afresh. What was written before the installed
//! library was even made is another driver's. Times of single files are looked at only where the index, which changes
//! with each of them, is that old.

use std::time::SystemTime;

use super::Snapshot;
use crate::fs::Root;
use crate::machine::{DriverFiles, DriverRole, RuntimeCache};

/// Below the user's home directory (CUDA C++ Programming Guide, `CUDA_CACHE_PATH`).
const USUAL: &str = ".nv/ComputeCache";
/// Directories below the cache; there are two levels.
const MOST_DEPTH: u32 = 4;

/// The cache of this user; empty where there is none.
pub(super) fn caches(root: &Root, files: &DriverFiles, snapshot: &Snapshot) -> Vec<RuntimeCache> {
    let usual = || snapshot.home.as_ref().map(|home| format!("{}/{USUAL}", home.trim_end_matches('/')));
    let Some(path) = snapshot.value("CUDA_CACHE_PATH").map(str::to_owned).or_else(usual) else { return Vec::new() };
    if modified(root, &format!("{path}/index")).is_none() {
        return Vec::new();
    }
    let driver = files.winner().filter(|library| library.role != DriverRole::Stub).map(|library| library.real.clone());
    let made = driver.as_deref().and_then(|file| modified(root, file));
    let size = made.and_then(|made| older(root, &path, made, 0));
    vec![RuntimeCache { path, driver, stale: size.is_some(), size: size.unwrap_or(0) }]
}

fn modified(root: &Root, path: &str) -> Option<SystemTime> {
    root.metadata(path).ok()?.modified().ok()
}

/// Bytes of the files, if all of them are older than that.
fn older(root: &Root, directory: &str, than: SystemTime, depth: u32) -> Option<u64> {
    let mut size = 0;
    let own = |name: &String| depth > 0 || RuntimeCache::is_own(name);
    let mut names: Vec<String> = root.names(directory).into_iter().filter(own).collect();
    // The index first: it settles most cases.
    names.sort_by_key(|name| name != "index");
    for name in names {
        let path = format!("{directory}/{name}");
        let data = root.metadata(&path).ok()?;
        size += match data.is_dir() {
            true if depth < MOST_DEPTH => older(root, &path, than, depth + 1)?,
            true => return None,
            false if data.modified().ok()? < than => data.len(),
            false => return None,
        };
    }
    Some(size)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::machine::DriverLibrary;

    #[test]
    fn a_cache_is_stale_when_all_of_it_is_older_than_the_driver() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        let put = |path: &str, age: u64| {
            fs_err::create_dir_all(at(path).parent().unwrap()).unwrap();
            let file = std::fs::File::create(at(path)).unwrap();
            file.set_len(10).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
        };
        put("usr/lib/libcuda.so.580.1", 1000);
        put("home/.nv/ComputeCache/index", 2000);
        put("home/.nv/ComputeCache/a/0/code", 3000);
        put("home/.nv/ComputeCache/notes.txt", 1);
        let library = DriverLibrary {
            path: "/usr/lib/libcuda.so.1".into(),
            real: "/usr/lib/libcuda.so.580.1".into(),
            role: DriverRole::Real,
            version: None,
            by: None,
            wins: true,
            profile: None,
            size: 10,
        };
        let files = DriverFiles { libraries: vec![library], ..DriverFiles::default() };
        let snapshot = Snapshot { home: Some("/home".into()), ..Snapshot::default() };
        let root = Root::at(dir.path()).unwrap();
        let found = caches(&root, &files, &snapshot);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].stale, found[0].size), (true, 20));
        // One newer file, and the driver has used it.
        put("home/.nv/ComputeCache/a/0/code", 10);
        assert!(!caches(&root, &files, &snapshot)[0].stale);
        assert!(!caches(&root, &DriverFiles::default(), &snapshot)[0].stale, "no driver, no verdict");
        assert_eq!(caches(&root, &files, &Snapshot::default()), []);
    }
}
