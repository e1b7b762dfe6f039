//! Reading and writing entries: the own level first, then those behind it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::dirs::{GONE, NEW, OPEN_TO_ALL, make_dir, mode_of, object_name, open, place, whole, writable};
use super::entry::{CacheEntry, FILES, LIST, List, Made, artifacts_of, bytes_of};
use super::runs::{self, Run};
use crate::bundle::ArtifactKind;
use crate::error::{Error, Result};
use crate::fs::{self, Digest};
use crate::process::IsolationKind;
use crate::toolchain::ObjectStore;

/// Bytes that a cache may hold unless something else is said.
pub const DEFAULT_LIMIT: u64 = 10 << 30;

/// How a cache is used.
#[derive(Debug, Clone)]
pub struct CacheSettings {
    /// Bytes that it may hold; none for no limit.
    pub limit: Option<u64>,
    /// Root of another cache that is read when an entry is not here; never written.
    pub remote: Option<PathBuf>,
    /// Where entries go when the cache itself cannot be written.
    pub instead: PathBuf,
}

/// A cache that is read behind the own one.
#[derive(Debug)]
struct Behind {
    root: PathBuf,
    /// Whether entries are copied into the own level, or used where they are.
    copied: bool,
}

/// The cache below one directory.
#[derive(Debug)]
pub struct Cache {
    root: PathBuf,
    behind: Vec<Behind>,
    /// What is looked in last, and is given what this run makes where it may be written.
    pub(super) store: Option<Arc<ObjectStore>>,
    limit: Option<u64>,
    /// Entries of steps that were isolated less count as missing.
    least: IsolationKind,
    /// Mode of directories: that of the root, so that a shared cache stays shared whatever the umask of
    /// those who use it.
    mode: u32,
    run: Option<Run>,
    added: AtomicU64,
    notes: Mutex<Vec<String>>,
}

/// How often an entry is put into its place, while other runs do the same and damaged ones are removed.
const ATTEMPTS: u64 = 50;

impl Cache {
    /// The cache below `root`, which need not exist, to look at it: nothing is registered as used.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        let root = root.into();
        let mode = mode_of(&root).unwrap_or(0o755);
        let (added, notes) = (AtomicU64::new(0), Mutex::default());
        let least = IsolationKind::Unknown;
        Self { root, behind: Vec::new(), store: None, limit: None, least, mode, run: None, added, notes }
    }

    /// The cache below `root` for a build. What cannot be written is read only, and what is built then
    /// goes to the directory that the settings name instead.
    ///
    /// # Errors
    /// Neither place can be written.
    pub fn open(root: impl Into<PathBuf>, settings: &CacheSettings) -> Result<Self> {
        let root = root.into();
        let mut behind = Vec::new();
        let mut notes = Vec::new();
        // A directory that was set up for a group is one for what is below it, whatever the umask says.
        if let (false, Some(above)) = (root.exists(), root.parent().and_then(mode_of)) {
            let _ = make_dir(&root, above & !OPEN_TO_ALL);
        }
        let own = match writable(&root) {
            true => root,
            false => {
                notes.push(format!(
                    "the cache {} cannot be written: it is read, and what is built is kept in {}",
                    root.display(),
                    settings.instead.display()
                ));
                behind.push(Behind { root, copied: false });
                fs_err::create_dir_all(&settings.instead)?;
                settings.instead.clone()
            }
        };
        let mut cache = Self::at(own);
        cache.run = Some(Run::begin(&cache.root, cache.mode)?);
        cache = Self { behind, limit: settings.limit, notes: Mutex::new(notes), ..cache };
        Ok(cache.with_remote(settings.remote.clone()))
    }

    /// The same with another cache behind it, which is read when an entry is not here; never written.
    #[must_use]
    pub fn with_remote(mut self, remote: Option<PathBuf>) -> Self {
        match remote {
            Some(root) if root.is_dir() => self.behind.push(Behind { root, copied: true }),
            Some(root) => self.note(format!("the second cache {} is not there", root.display())),
            None => {}
        }
        self
    }

    /// The same with an object store behind it.
    #[must_use]
    pub fn with_store(self, store: Option<Arc<ObjectStore>>) -> Self {
        Self { store, ..self }
    }

    /// The same cache, in which entries of steps that were isolated less count as missing: they are made again.
    #[must_use]
    pub fn requiring(self, least: IsolationKind) -> Self {
        Self { least, ..self }
    }

    /// Its directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Bytes that it may hold.
    pub fn limit(&self) -> Option<u64> {
        self.limit
    }

    /// A directory for something of the engine's own, which everybody who may use the cache may use.
    pub(in crate::engine) fn own_dir(&self, name: &str) -> Result<PathBuf> {
        let dir = self.root.join(name);
        make_dir(&dir, self.mode)?;
        Ok(dir)
    }

    pub(super) fn mode(&self) -> u32 {
        self.mode
    }

    /// Bytes that were added since it was opened.
    pub(super) fn added(&self) -> u64 {
        self.added.load(Ordering::Relaxed)
    }

    /// What a user should know, once.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = std::mem::take(&mut *self.notes.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
        notes.extend(self.store.iter().flat_map(|store| store.notes()));
        notes
    }

    pub(super) fn note(&self, text: String) {
        self.notes.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(text);
    }

    pub(super) fn place(&self, key: Digest) -> PathBuf {
        place(&self.root, key)
    }

    /// Whether an entry is there and whole; changes nothing.
    pub fn holds(&self, key: Digest) -> bool {
        let levels = std::iter::once(&self.root).chain(self.behind.iter().map(|behind| &behind.root));
        let is_held = |entry: Option<CacheEntry>| entry.is_some_and(|entry| self.accepts(entry.made.isolation));
        let is_here = levels.into_iter().any(|root| whole(&place(root, key), key).is_ok_and(is_held));
        is_here || self.store.as_ref().is_some_and(|store| store.has(&object_name(key)))
    }

    /// The entry of `key` if it is there and every file has its digest. A damaged entry is removed
    /// and answers nothing, so that its step runs again.
    ///
    /// # Errors
    /// The cache cannot be read, or a damaged entry cannot be removed.
    pub fn get(&self, key: Digest) -> Result<Option<CacheEntry>> {
        if let Some(entry) = self.own(key)? {
            return Ok(Some(entry));
        }
        for Behind { root, copied } in &self.behind {
            let place = place(root, key);
            match whole(&place, key) {
                Ok(Some(entry)) if !self.accepts(entry.made.isolation) => {}
                Ok(Some(entry)) if *copied => return self.take_over(key, &entry).map(Some),
                Ok(Some(entry)) => return Ok(Some(entry)),
                Ok(None) => {}
                Err(damage) => self.note(format!("{} is damaged: {damage}; it is not used", place.display())),
            }
        }
        match &self.store {
            Some(store) => self.fetch_stored(store, key),
            None => Ok(None),
        }
    }

    pub(super) fn accepts(&self, isolation: IsolationKind) -> bool {
        isolation.is_as_strong_as(self.least)
    }

    fn own(&self, key: Digest) -> Result<Option<CacheEntry>> {
        let place = self.place(key);
        let Some(file) = open(&place.join(LIST)) else { return Ok(None) };
        // Whoever removes it holds it alone.
        if let Err(std::fs::TryLockError::WouldBlock) = file.try_lock_shared() {
            return Ok(None);
        }
        let list = List::read(&file);
        let damage = match &list {
            Some(list) => list.damage(&place, key),
            None => Some("its list cannot be read".to_owned()),
        };
        match (list, damage) {
            (Some(list), None) if !self.accepts(list.isolation) => Ok(None),
            (Some(list), None) => {
                if let Some(run) = &self.run {
                    run.used();
                    // A cache that cannot be stamped only forgets sooner what was used.
                    let _ = runs::touch(&file);
                }
                Ok(Some(list.entry(&place)))
            }
            (_, damage) => {
                let damage = damage.unwrap_or_default();
                self.note(format!("a damaged cache entry is made again: {}: {damage}", key.short(12)));
                let _ = file.unlock();
                self.discard(&place, &file)?;
                Ok(None)
            }
        }
    }

    /// Removes the entry at `place`, whose list is open as `file`, when nobody reads it; answers whether
    /// it is gone.
    pub(super) fn discard(&self, place: &Path, file: &File) -> Result<bool> {
        // Readers hold it for as long as it takes to digest its files.
        file.lock()?;
        let is_same = |found: &std::fs::Metadata| {
            file.metadata().is_ok_and(|own| (own.dev(), own.ino()) == (found.dev(), found.ino()))
        };
        match std::fs::metadata(place.join(LIST)) {
            Ok(found) if is_same(&found) => self.remove(place),
            // Another run has removed it, and perhaps made it again.
            _ => Ok(false),
        }
    }

    /// Takes a directory out of the way in one step, then to pieces.
    pub(super) fn remove(&self, place: &Path) -> Result<bool> {
        let parent = place.parent().unwrap_or(&self.root);
        let cannot = |error: std::io::Error| Error::file(place, "this cache entry cannot be removed").because(error);
        let gone = tempfile::Builder::new().prefix(GONE).tempdir_in(parent).map_err(cannot)?;
        match std::fs::rename(place, gone.path().join("entry")) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(cannot(error)),
        }
    }

    /// Copies an entry of another cache into this one.
    fn take_over(&self, key: Digest, entry: &CacheEntry) -> Result<CacheEntry> {
        let fresh = self.fresh(key)?;
        fs::copy_tree(&entry.root, &fresh.path().join(FILES), &BTreeMap::new())?;
        let taken = self.settle(key, &entry.made, fresh)?;
        match taken.artifacts == entry.artifacts {
            true => Ok(taken),
            false => Err(Error::file(&entry.root, "changed while it was copied")),
        }
    }

    /// Moves the tree at `made` into the cache under `key`. Another run that was faster wins: both
    /// made the same.
    ///
    /// # Errors
    /// The tree cannot be read, or the cache cannot be written.
    pub fn put(&self, key: Digest, made: &Made, tree: &Path) -> Result<CacheEntry> {
        let fresh = self.fresh(key)?;
        let files = fresh.path().join(FILES);
        if std::fs::rename(tree, &files).is_err() {
            fs::copy_tree(tree, &files, &BTreeMap::new())?;
        }
        let entry = self.settle(key, made, fresh)?;
        self.to_store(key, &entry);
        Ok(entry)
    }

    /// Removes an entry, whoever reads it; one that is not there is gone already.
    ///
    /// # Errors
    /// It cannot be removed.
    pub(in crate::engine) fn forget(&self, key: Digest) -> Result<()> {
        let place = self.place(key);
        if place.exists() {
            self.remove(&place)?;
        }
        Ok(())
    }

    /// A directory beside the place of `key`.
    pub(super) fn fresh(&self, key: Digest) -> Result<tempfile::TempDir> {
        let place = self.place(key);
        let parent = place.parent().unwrap_or(&self.root);
        make_dir(parent, self.mode)?;
        tempfile::Builder::new()
            .prefix(NEW)
            .tempdir_in(parent)
            .map_err(|error| Error::file(parent, "cannot write to the cache").because(error))
    }

    /// Completes an entry and renames it into its place.
    pub(super) fn settle(&self, key: Digest, made: &Made, fresh: tempfile::TempDir) -> Result<CacheEntry> {
        let place = self.place(key);
        let files = fresh.path().join(FILES);
        let list = List::new(key, made, artifacts_of(&files)?);
        self.set_modes(fresh.path(), &list)?;
        let text = serde_json::to_vec_pretty(&list)
            .map_err(|error| Error::bug("a list does not print as JSON").because(error))?;
        let bytes = bytes_of(&list.artifacts).saturating_add(text.len() as u64);
        let path = fresh.path().join(LIST);
        fs_err::write(&path, text)?;
        // Everybody who may use the cache may stamp the use.
        fs::set_mode(&path, self.mode & 0o666)?;
        for attempt in 0..ATTEMPTS {
            // Other runs put and remove the same entry: each attempt gives them more time.
            std::thread::sleep(std::time::Duration::from_millis(attempt));
            match std::fs::rename(fresh.path(), &place) {
                Ok(()) => {
                    // The directory has its final name now; there is nothing left to clean up.
                    let _ = fresh.keep();
                    self.added.fetch_add(bytes, Ordering::Relaxed);
                    return Ok(list.entry(&place));
                }
                // It was there, whether or not another run has removed it since.
                Err(error) if matches!(error.kind(), ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists) => {}
                Err(error) if !place.exists() => {
                    return Err(Error::file(&place, "cannot be put into the cache").because(error));
                }
                Err(_) => {}
            }
            if let Some(entry) = self.own(key)? {
                return Ok(entry);
            }
            if let Some(file) = open(&place.join(LIST))
                && List::read(&file).is_some_and(|old| !self.accepts(old.isolation))
            {
                // Whoever uses the weaker one goes on with this, which holds the same.
                if fs::exchange(fresh.path(), &place) {
                    self.added.fetch_add(bytes, Ordering::Relaxed);
                    return Ok(list.entry(&place));
                }
                self.discard(&place, &file)?;
            }
            // A directory without a list is what is left of an entry on a damaged disk.
            if place.exists() && !place.join(LIST).exists() {
                self.remove(&place)?;
            }
        }
        Err(Error::file(&place, "cannot be put into the cache, because something else keeps its place"))
    }

    /// Directories as the root; files for reading only, so that no mistake writes into them.
    fn set_modes(&self, fresh: &Path, list: &List) -> Result<()> {
        let files = fresh.join(FILES);
        for artifact in &list.artifacts {
            if let ArtifactKind::File { executable, .. } = artifact.kind {
                let read = self.mode & 0o444;
                fs::set_mode(&files.join(&artifact.path), if executable { read | (read >> 2) } else { read })?;
            }
        }
        for entry in fs::walk(fresh)? {
            if entry.kind == fs::EntryKind::Directory {
                fs::set_mode(&fresh.join(entry.path), self.mode)?;
            }
        }
        fs::set_mode(fresh, self.mode)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::engine::StepKind;

    struct Scene(tempfile::TempDir);

    impl Scene {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn tree(&self, name: &str) -> PathBuf {
            let tree = self.0.path().join(name);
            std::fs::create_dir_all(tree.join("deep")).unwrap();
            std::fs::write(tree.join("deep/a.cubin"), b"code").unwrap();
            tree
        }

        fn settings(&self) -> CacheSettings {
            CacheSettings { limit: None, remote: None, instead: self.0.path().join("instead") }
        }
    }

    fn made() -> Made {
        made_by(IsolationKind::Bubblewrap)
    }

    fn made_by(isolation: IsolationKind) -> Made {
        Made {
            step: "step".to_owned(),
            kind: StepKind::Kernel,
            seconds: 1.0,
            cpu: 0.0,
            peak: 1 << 20,
            isolation,
            unused: Vec::new(),
            incremental: false,
        }
    }

    fn damage(file: &Path) {
        fs::set_mode(file, 0o644).unwrap();
        std::fs::write(file, b"c0de").unwrap();
    }

    #[test]
    fn a_damaged_entry_is_gone_and_can_be_made_again() {
        let scene = Scene::new();
        let cache = Cache::at(scene.0.path().join("cache"));
        let key = Digest::of(b"key");
        assert!(cache.get(key).unwrap().is_none());
        let entry = cache.put(key, &made(), &scene.tree("made")).unwrap();
        let found = cache.get(key).unwrap().unwrap();
        assert_eq!((found.artifacts, found.made), (entry.artifacts, made()));
        damage(&entry.root.join("deep/a.cubin"));
        assert!(!cache.holds(key));
        assert!(cache.get(key).unwrap().is_none());
        assert!(cache.notes()[0].contains("deep/a.cubin is not what was put there"));
        cache.put(key, &made(), &scene.tree("made")).unwrap();
        std::fs::write(entry.root.join("extra"), b"").unwrap();
        assert!(cache.get(key).unwrap().is_none());
        // A list that cannot be read, and one that is gone.
        cache.put(key, &made(), &scene.tree("made")).unwrap();
        std::fs::write(cache.place(key).join(LIST), b"{").unwrap();
        assert!(cache.get(key).unwrap().is_none());
        cache.put(key, &made(), &scene.tree("made")).unwrap();
        std::fs::remove_file(cache.place(key).join(LIST)).unwrap();
        assert!(cache.get(key).unwrap().is_none());
        cache.put(key, &made(), &scene.tree("made")).unwrap();
        assert!(cache.get(key).unwrap().is_some());
        let left = std::fs::read_dir(cache.place(key).parent().unwrap()).unwrap().count();
        assert_eq!(left, 1);
    }

    #[test]
    fn the_second_of_two_equal_results_is_dropped() {
        let scene = Scene::new();
        let cache = Cache::at(scene.0.path().join("cache"));
        let key = Digest::of(b"key");
        for name in ["one", "two"] {
            cache.put(key, &made(), &scene.tree(name)).unwrap();
        }
        assert!(cache.get(key).unwrap().is_some());
        let left: Vec<_> = std::fs::read_dir(scene.0.path().join("cache").join(key.short(2))).unwrap().collect();
        assert_eq!(left.len(), 1);
    }

    #[test]
    fn what_another_cache_holds_is_checked_and_copied() {
        let scene = Scene::new();
        let key = Digest::of(b"key");
        let remote = Cache::at(scene.0.path().join("remote"));
        let there = remote.put(key, &made(), &scene.tree("made")).unwrap();
        let settings = CacheSettings { remote: Some(remote.root().to_owned()), ..scene.settings() };
        let here = Cache::open(scene.0.path().join("cache"), &settings).unwrap();
        let entry = here.get(key).unwrap().unwrap();
        assert!(entry.root.starts_with(here.root()));
        assert_eq!(entry.artifacts, there.artifacts);
        let again = Cache::open(scene.0.path().join("other"), &settings).unwrap();
        damage(&there.root.join("deep/a.cubin"));
        assert!(again.get(key).unwrap().is_none());
        assert!(again.notes()[0].contains("is damaged"), "it is said");
        assert!(there.root.exists(), "and it is left alone");
        assert!(here.get(key).unwrap().is_some());
    }

    #[test]
    fn what_was_isolated_less_than_required_is_made_again() {
        let scene = Scene::new();
        let (key, root) = (Digest::of(b"key"), scene.0.path().join("cache"));
        let put = |cache: &Cache, by| cache.put(key, &made_by(by), &scene.tree(&format!("made-{by}"))).unwrap().made;
        let any = || Cache::at(&root);
        put(&any(), IsolationKind::None);
        assert_eq!(any().get(key).unwrap().unwrap().made.isolation, IsolationKind::None);
        for least in [IsolationKind::Landlock, IsolationKind::Namespaces, IsolationKind::Bubblewrap] {
            let cache = Cache::at(&root).requiring(least);
            let other = scene.settings();
            let remote =
                Cache::open(scene.0.path().join("other"), &CacheSettings { remote: Some(root.clone()), ..other });
            assert!(cache.get(key).unwrap().is_none() && !cache.holds(key), "{least}");
            assert!(remote.unwrap().requiring(least).get(key).unwrap().is_none(), "{least}");
        }
        let strict = Cache::at(&root).requiring(IsolationKind::Bubblewrap);
        assert_eq!(put(&strict, IsolationKind::Namespaces).isolation, IsolationKind::Namespaces);
        // It has taken the place of the weaker one, and does as well as bubblewrap.
        assert_eq!(strict.get(key).unwrap().unwrap().made.isolation, IsolationKind::Namespaces);
        assert_eq!(any().get(key).unwrap().unwrap().made.isolation, IsolationKind::Namespaces);
        assert_eq!(std::fs::read_dir(root.join(key.short(2))).unwrap().count(), 1);
        // Nobody knows of entries of earlier simpacks.
        let list = root.join(key.short(2)).join(key.to_string()).join(LIST);
        let text = std::fs::read_to_string(&list).unwrap();
        std::fs::write(&list, text.replace("  \"isolation\": \"namespaces\",\n", "")).unwrap();
        assert_eq!(any().get(key).unwrap().unwrap().made.isolation, IsolationKind::Unknown);
        assert!(strict.get(key).unwrap().is_none());
    }

    #[test]
    fn a_shared_cache_stays_shared() {
        let scene = Scene::new();
        let root = scene.0.path().join("cache");
        std::fs::create_dir(&root).unwrap();
        fs::set_mode(&root, 0o2770).unwrap();
        let cache = Cache::open(&root, &scene.settings()).unwrap();
        let key = Digest::of(b"key");
        let entry = cache.put(key, &made(), &scene.tree("made")).unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        for dir in [&entry.root, &entry.root.join("deep"), &cache.place(key), cache.place(key).parent().unwrap()] {
            assert_eq!(mode(dir), 0o2770, "{}", dir.display());
        }
        assert_eq!(mode(&entry.root.join("deep/a.cubin")), 0o440);
        assert_eq!(mode(&cache.place(key).join(LIST)), 0o660);
    }

    #[test]
    fn many_threads_agree_on_one_entry_even_when_it_gets_damaged() {
        let scene = Scene::new();
        let cache = Cache::open(scene.0.path().join("cache"), &scene.settings()).unwrap();
        let key = Digest::of(b"key");
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (cache, scene) = (&cache, &scene);
                scope.spawn(move || {
                    for round in 0..20 {
                        if cache.get(key).unwrap().is_none() {
                            let tree = scene.tree(&format!("made-{thread}-{round}"));
                            let entry = cache.put(key, &made(), &tree).unwrap();
                            assert_eq!(entry.artifacts.len(), 1);
                        } else if round % 7 == thread % 7 {
                            // It may be gone already.
                            let _ = std::fs::remove_file(cache.place(key).join(FILES).join("deep/a.cubin"));
                        }
                    }
                });
            }
        });
        if cache.get(key).unwrap().is_none() {
            cache.put(key, &made(), &scene.tree("made")).unwrap();
        }
        assert!(cache.get(key).unwrap().is_some());
    }
}
