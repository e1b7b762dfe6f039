//! Which files a compiler read: from its own list to a value, and the lists of earlier compilations.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::sandbox::isolation::{StepIsolation, changed, plain};
use crate::engine::cache::{KindStat, OPEN_TO_ALL, make_dir};
use crate::error::{Error, Result};
use crate::fs::{self, Digest};
use crate::parallel::side_by_side;
use crate::plan::{HeaderList, RecordedHeaders, SoughtNames};
use crate::toolchain::ObjectStore;

/// Lists that are kept of one translation unit with one set of arguments.
const KEPT: usize = 16;

/// Bytes of a list in an object store at most.
const MOST_OBJECT: u64 = 16 << 20;
/// Questions to an object store at a time: they take the way there and back, not processors.
const AT_A_TIME: usize = 16;

/// How old the stamp of a last use may grow.
const STAMPED: Duration = Duration::from_secs(86_400);

/// Lists of earlier compilations below one directory. What is damaged or missing only costs a compilation.
#[derive(Debug, Clone)]
pub struct HeaderStore {
    root: PathBuf,
    /// A second directory of lists, which is read and never written.
    remote: Option<PathBuf>,
    /// An object store of lists, which is asked last.
    store: Option<Arc<ObjectStore>>,
    /// What this process recorded: it holds even where nothing can be written, or another run was later.
    own: Arc<Mutex<RecordedHeaders>>,
    /// Headers of tools by their spelling in compilers' lists. They do not change during a run, and every unit includes
    /// the same few hundred: one look at each is enough.
    of_tools: Arc<Mutex<BTreeMap<PathBuf, Arc<SoughtNames>>>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Lists {
    schema: u32,
    lists: Vec<HeaderList>,
}

impl HeaderStore {
    /// The lists below `root`, which need not exist.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), remote: None, store: None, own: Arc::default(), of_tools: Arc::default() }
    }

    /// Reads the lists of a second directory, too: whoever shares artifacts shares what leads to them.
    #[must_use]
    pub fn with_remote(self, remote: Option<PathBuf>) -> Self {
        Self { remote, ..self }
    }

    /// Asks an object store for lists, too, and gives it those of this process where it may be written.
    #[must_use]
    pub fn with_store(self, store: Option<Arc<ObjectStore>>) -> Self {
        Self { store, ..self }
    }

    /// Brings what the object store has under `keys` here; answers whether there was anything. Nothing without a store.
    pub fn bring(&self, keys: &[Digest]) -> bool {
        let Some(store) = &self.store else { return false };
        let one = |(): &mut (), key: &Digest| {
            let lists = self.stored(store, *key);
            for list in lists.iter().rev() {
                let here = self.places("sought", list.sought).find_map(|place| read::<SoughtNames>(&place));
                let sought = here.or_else(|| object::<SoughtNames>(store, "sought", list.sought));
                match sought {
                    Some(sought) if sought.digest() == list.sought => {
                        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
                        own.add(*key, list.clone(), sought);
                    }
                    Some(_) => store.note(damaged(store, "sought", list.sought)),
                    None => {}
                }
            }
            !lists.is_empty()
        };
        side_by_side(keys, AT_A_TIME, || (), one).contains(&true)
    }

    /// What the object store has under a key.
    fn stored(&self, store: &ObjectStore, key: Digest) -> Vec<HeaderList> {
        let lists = object::<Lists>(store, "lists", key).filter(|lists| lists.schema == 1);
        lists.map(|lists| lists.lists).unwrap_or_default()
    }

    /// Adds a list to those in the object store.
    fn give(&self, store: &ObjectStore, key: Digest, list: &HeaderList, sought: &SoughtNames) {
        if !store.is_written() {
            return;
        }
        let mut lists = self.stored(store, key);
        lists.retain(|old| old != list);
        lists.insert(0, list.clone());
        lists.truncate(KEPT);
        if let (Ok(names), Ok(lists)) = (serde_json::to_vec(sought), serde_json::to_vec(&Lists { schema: 1, lists })) {
            let object = object_name("sought", list.sought);
            // Many units ask for the same names.
            if !store.has(&object) {
                store.put(&object, &names);
            }
            store.put(&object_name("lists", key), &lists);
        }
    }

    fn place(&self, kind: &str, key: Digest) -> PathBuf {
        place(&self.root, kind, key)
    }

    /// Where something of this kind may lie, in the order in which it is looked for.
    fn places(&self, kind: &str, key: Digest) -> impl Iterator<Item = PathBuf> {
        [Some(&self.root), self.remote.as_ref()].into_iter().flatten().map(move |root| place(root, kind, key))
    }

    /// Everything that is recorded under `keys`.
    pub fn load(&self, keys: impl IntoIterator<Item = Digest>) -> RecordedHeaders {
        let own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = RecordedHeaders { lists: BTreeMap::new(), sought: own.sought.clone() };
        for key in keys {
            let mut lists = own.lists.get(&key).cloned().unwrap_or_default();
            lists.extend(
                self.lists(key).into_iter().filter(|list| !own.lists.get(&key).is_some_and(|own| own.contains(list))),
            );
            for list in &lists {
                if !found.sought.contains_key(&list.sought)
                    && let Some(sought) = self
                        .places("sought", list.sought)
                        .filter_map(|place| read::<SoughtNames>(&place))
                        .find(|sought| sought.digest() == list.sought)
                {
                    found.sought.insert(list.sought, sought);
                }
            }
            if !lists.is_empty() {
                found.lists.insert(key, lists);
            }
        }
        found
    }

    fn lists(&self, key: Digest) -> Vec<HeaderList> {
        let found = self.places("lists", key).filter_map(|place| read::<Lists>(&place));
        let mut lists: Vec<HeaderList> = Vec::new();
        for list in found.filter(|lists| lists.schema == 1).flat_map(|lists| lists.lists) {
            if !lists.contains(&list) {
                lists.push(list);
            }
        }
        lists
    }

    /// How many files there are, and their bytes.
    pub fn stat(&self) -> KindStat {
        self.files().into_iter().fold(KindStat::default(), |sum, (_, data)| KindStat {
            entries: sum.entries + 1,
            bytes: sum.bytes.saturating_add(data.len()),
        })
    }

    /// Removes what was not used since; answers how much. Without it a unit is compiled once more.
    pub fn trim(&self, since: SystemTime) -> KindStat {
        let mut removed = KindStat::default();
        for (path, data) in self.files() {
            let is_old = data.modified().is_ok_and(|used| used < since);
            if is_old && std::fs::remove_file(&path).is_ok() {
                removed.entries += 1;
                removed.bytes = removed.bytes.saturating_add(data.len());
            }
        }
        removed
    }

    /// Every file; one that goes meanwhile is none.
    fn files(&self) -> Vec<(PathBuf, std::fs::Metadata)> {
        let entries = walkdir::WalkDir::new(&self.root).into_iter().filter_map(Result::ok);
        let files = entries.filter(|entry| entry.file_type().is_file());
        files.filter_map(|entry| Some((entry.path().to_owned(), entry.metadata().ok()?))).collect()
    }

    /// Adds one list. What cannot be written is known to this process alone, and costs the next one a
    /// compilation; so does a list that another run replaces at the same time.
    pub fn record(&self, key: Digest, list: &HeaderList, sought: &SoughtNames) {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        own.add(key, list.clone(), sought.clone());
        drop(own);
        let _ = self.write_down(key, list, sought);
        if let Some(store) = &self.store {
            self.give(store, key, list, sought);
        }
    }

    fn write_down(&self, key: Digest, list: &HeaderList, sought: &SoughtNames) -> Result<()> {
        let names = self.place("sought", list.sought);
        if !names.exists() {
            self.write(&names, sought)?;
        }
        let mut lists = self.lists(key);
        lists.retain(|old| old != list);
        lists.insert(0, list.clone());
        lists.truncate(KEPT);
        self.write(&self.place("lists", key), &Lists { schema: 1, lists })
    }

    /// Writes a file. Where the cache is a directory of a group, so is everything in it, whatever the umask.
    fn write(&self, path: &Path, value: &impl Serialize) -> Result<()> {
        let text =
            serde_json::to_vec(value).map_err(|error| Error::bug("a list does not print as JSON").because(error))?;
        // A list that a power failure takes costs one compilation; to wait for the disk would cost each of them.
        let Some(mode) = group_mode(&self.root) else { return fs::write_renamed(path, &text) };
        let mut dirs: Vec<&Path> = path.ancestors().skip(1).take_while(|dir| dir.starts_with(&self.root)).collect();
        dirs.reverse();
        for dir in dirs {
            make_dir(dir, mode)?;
        }
        fs::write_renamed(path, &text)?;
        fs::set_mode(path, mode & 0o666)
    }

    /// What a file of a tool asks for, if it was looked at before.
    fn known_of_tools(&self, path: &Path) -> Option<Arc<SoughtNames>> {
        self.of_tools.lock().unwrap_or_else(PoisonError::into_inner).get(path).cloned()
    }

    fn remember_of_tools(&self, path: PathBuf, sought: SoughtNames) {
        self.of_tools.lock().unwrap_or_else(PoisonError::into_inner).insert(path, Arc::new(sought));
    }
}

fn object_name(kind: &str, key: Digest) -> String {
    let name = key.to_string();
    format!("headers/{kind}/{}/{name}.json", &name[..2])
}

/// What an object says.
fn object<T: for<'a> Deserialize<'a>>(store: &ObjectStore, kind: &str, key: Digest) -> Option<T> {
    let bytes = store.bytes(&object_name(kind, key), MOST_OBJECT)?;
    let value = serde_json::from_slice(&bytes).ok();
    if value.is_none() {
        store.note(damaged(store, kind, key));
    }
    value
}

fn damaged(store: &ObjectStore, kind: &str, key: Digest) -> String {
    format!("{} of the store {} is damaged: it is not used", object_name(kind, key), store.describe())
}

fn place(root: &Path, kind: &str, key: Digest) -> PathBuf {
    let name = key.to_string();
    root.join(kind).join(&name[..2]).join(format!("{name}.json"))
}

/// Reads a file and stamps its use, by which `simpack cache gc` knows what is of no use any more. To the day
/// is enough, and a directory that cannot be written is not stamped.
fn read<T: for<'a> Deserialize<'a>>(path: &Path) -> Option<T> {
    let mut file = std::fs::File::open(path).ok()?;
    let mut text = Vec::new();
    std::io::Read::read_to_end(&mut file, &mut text).ok()?;
    let value = serde_json::from_slice(&text).ok()?;
    let used = file.metadata().and_then(|data| data.modified()).ok();
    if used.is_some_and(|used| SystemTime::now().duration_since(used).is_ok_and(|since| since > STAMPED)) {
        let _ = file.set_modified(SystemTime::now());
    }
    Some(value)
}

/// Mode of directories below `root`, where it is, or is to be, a directory that a group writes.
fn group_mode(root: &Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt;
    let there = root.ancestors().find(|dir| dir.is_dir())?;
    let mode = std::fs::metadata(there).ok()?.permissions().mode() & 0o7777 & !OPEN_TO_ALL;
    (mode & 0o020 != 0).then_some(mode | 0o700)
}

/// Where a compilation took place.
pub(in crate::engine) struct HeaderContext<'a> {
    /// Its working directory: the root of the source tree.
    pub root: &'a Path,
    /// Every file of the source with its digest.
    pub sources: &'a BTreeMap<String, Digest>,
    /// Tells what belongs to tools.
    pub isolation: &'a StepIsolation,
    /// Remembers what tools' headers ask for.
    pub store: &'a HeaderStore,
}

/// What a compilation of `unit` read, by the list at `list`.
///
/// # Errors
/// There is no list; a file belongs neither to the source nor to a tool; a file was changed meanwhile.
pub(in crate::engine) fn read_by(
    unit: &str,
    list: &Path,
    place: &HeaderContext<'_>,
) -> Result<(HeaderList, SoughtNames)> {
    let HeaderContext { root, sources, isolation, store } = *place;
    let text = fs::read_to_string(list)
        .map_err(|error| Error::build(format!("the compiler did not say what it read for {unit}")).because(error))?;
    let mut sought = SoughtNames::default();
    let mut read = BTreeMap::new();
    let mut undeclared = BTreeSet::new();
    for named in dependencies(&text) {
        let path = root.join(&named);
        if let Some(known) = store.known_of_tools(&path) {
            sought.add(&known);
            continue;
        }
        let mut asked = SoughtNames::default();
        asked.names.extend(path.file_name().map(|name| name.to_string_lossy().into_owned()));
        let own = source_path(&path, root, sources)?;
        if let Ok(bytes) = std::fs::read(&path) {
            asked_for(&bytes, own.is_some(), &mut asked);
        }
        sought.add(&asked);
        match own {
            Some(path) => {
                read.insert(path.to_owned(), Digest::of_file(&root.join(path))?);
            }
            None if isolation.is_of_tools(&plain(&path)) => store.remember_of_tools(path, asked),
            None => {
                undeclared.insert(plain(&path));
            }
        }
    }
    if let Some(first) = undeclared.first() {
        let mut error = Error::build(format!("{unit} includes {}, which is not in the source", first.display()));
        for path in undeclared.iter().skip(1) {
            error = error.detail(format!("undeclared read: {}", path.display()));
        }
        return Err(error.hint(match undeclared.iter().any(|path| path.starts_with(root)) {
            true => "it is hidden or ignored by a .gitignore file: it counts where `inputs` of a build name it",
            false => "copy it into the source: what lies outside is in no key",
        }));
    }
    if !read.contains_key(unit) {
        return Err(Error::build(format!("the compiler's list of what it read for {unit} does not name it")));
    }
    if let Some((path, _)) = read.iter().find(|(path, digest)| sources.get(*path) != Some(*digest)) {
        return Err(changed(path));
    }
    let list = HeaderList { read, sought: sought.digest(), alike: sought.alike(sources) };
    Ok((list, sought))
}

/// The list of a unit whose language cannot include another file.
pub(in crate::engine) fn read_alone(unit: &str, sources: &BTreeMap<String, Digest>) -> (HeaderList, SoughtNames) {
    let sought = SoughtNames::default();
    let read = sources.get_key_value(unit).map(|(path, digest)| (path.clone(), *digest)).into_iter().collect();
    (HeaderList { read, sought: sought.digest(), alike: sought.alike(sources) }, sought)
}

/// Name of a file in the list of sources: by where it really lies, else by how it was spelled.
fn source_path<'a>(path: &Path, root: &Path, sources: &'a BTreeMap<String, Digest>) -> Result<Option<&'a str>> {
    for path in [std::fs::canonicalize(path).unwrap_or_default(), plain(path)] {
        if path.starts_with(root)
            && let Some((known, _)) = sources.get_key_value(&fs::relative(root, &path)?)
        {
            return Ok(Some(known));
        }
    }
    Ok(None)
}

/// Files that a rule of make's form depends on: blanks after a backslash belong to a name, `$$` is a dollar.
fn dependencies(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\', Some('\n')) => {
                chars.next();
                words.push(std::mem::take(&mut word));
            }
            ('\\', Some(' ' | '#' | '\\')) | ('$', Some('$')) => word.extend(chars.next()),
            (c, _) if c.is_whitespace() => words.push(std::mem::take(&mut word)),
            (c, _) => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    let after = words.iter().position(|word| word.ends_with(':')).map_or(0, |at| at + 1);
    words.split_off(after)
}

/// Names that `__has_include` may ask for: they were looked for and perhaps not found. Libraries wrap
/// it into macros of their own, so every name that stands alone in parentheses counts.
fn asked_for(bytes: &[u8], is_source: bool, sought: &mut SoughtNames) {
    let text = String::from_utf8_lossy(bytes);
    for (open, close) in [("(<", '>'), ("(\"", '"')] {
        for part in text.split(open).skip(1) {
            let Some((name, _)) = part.split_once([close, '\n']) else { continue };
            let name = name.rsplit('/').next().unwrap_or(name);
            if !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-+".contains(c)) {
                sought.names.insert(name.to_owned());
            }
        }
    }
    // Of the source itself a name that macros compute could be any; the tools' own do not reach into it.
    for part in text.split("__has_include").skip(1).filter(|_| is_source) {
        let rest = part.trim_start_matches("_next").trim_start();
        if let Some(argument) = rest.strip_prefix('(') {
            sought.any |= !argument.trim_start().starts_with(['<', '"']);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_gives_its_files() {
        let text = "/a\\ b/x.cubin : k/a.cu \\\n    k/sp\\ ace.h \\\n  /usr/include/c$$d.h k/e\\#f.h\n";
        assert_eq!(dependencies(text), ["k/a.cu", "k/sp ace.h", "/usr/include/c$d.h", "k/e#f.h"]);
        assert_eq!(dependencies("x.o: a.c\n"), ["a.c"]);
        assert_eq!(dependencies(""), [""; 0]);
    }

    #[test]
    fn names_that_are_asked_for_are_sought() {
        let asked = |text: &str, is_source| {
            let mut sought = SoughtNames::default();
            asked_for(text.as_bytes(), is_source, &mut sought);
            (sought.names.into_iter().collect::<Vec<_>>(), sought.any)
        };
        assert_eq!(asked("#if __has_include(<a/b.h>) || WRAPPED(<c>)", true), (vec!["b.h".into(), "c".into()], false));
        assert_eq!(asked("#ifdef __has_include\n#if __has_include(\"d.h\")", true), (vec!["d.h".into()], false));
        assert_eq!(asked("#if __has_include(NAME)", true), (vec![], true));
        assert_eq!(asked("#define HAS(x) __has_include(x)", false), (vec![], false));
        assert_eq!(asked("#if defined(__has_include)", true), (vec![], false));
    }

    #[test]
    fn what_is_recorded_is_found_and_what_is_damaged_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let store = HeaderStore::at(dir.path());
        let key = Digest::of(b"key");
        let sought = SoughtNames { names: ["a.h".to_owned()].into(), any: false };
        let list = |text: &[u8]| HeaderList {
            read: [("k/a.h".to_owned(), Digest::of(text))].into(),
            sought: sought.digest(),
            alike: BTreeSet::new(),
        };
        assert_eq!(store.load([key]), RecordedHeaders::default());
        for number in 0..KEPT + 2 {
            store.record(key, &list(number.to_string().as_bytes()), &sought);
        }
        let found = HeaderStore::at(dir.path()).load([key]);
        assert_eq!(found.lists[&key].len(), KEPT);
        assert_eq!(found.lists[&key][0], list((KEPT + 1).to_string().as_bytes()));
        assert_eq!(found.sought[&sought.digest()], sought);
        fs_err::write(store.place("lists", key), "{").unwrap();
        assert_eq!(HeaderStore::at(dir.path()).load([key]).lists.len(), 0);
        assert_eq!(store.load([key]).lists[&key].len(), KEPT + 2, "this process remembers");
        let second = tempfile::tempdir().unwrap();
        HeaderStore::at(second.path()).record(key, &list(b"elsewhere"), &sought);
        let both = HeaderStore::at(dir.path()).with_remote(Some(second.path().to_owned()));
        assert_eq!(both.load([key]).lists[&key], [list(b"elsewhere")], "a second directory is read");
        HeaderStore::at(dir.path()).record(key, &list(b"1"), &sought);
        assert_eq!(HeaderStore::at(dir.path()).load([key]).lists[&key].len(), 1);
    }
}
