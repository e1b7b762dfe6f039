//! What programs say of themselves (`g++ --version`), remembered by the identity of their file, so that a
//! run that has nothing to do need not start them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::fs::{self, Digest, DigestBuilder, Stamp};
use crate::process::Call;

/// Answers that are kept. More than a machine has compilers; what this run did not ask for goes first.
const KEPT: usize = 200;
/// What the file of a compiler or linker is called. Anything else (`ccache`, under a compiler's name) may
/// answer for a program that it looks for itself.
const NAMES: [&str; 11] =
    ["g++", "gcc", "c++", "clang", "ld", "make", "nvcc", "cudafe", "fatbinary", "ptxas", "glslang"];

/// Answers of programs, from a file and for a file. What cannot be read or written is asked again.
#[derive(Debug, Default)]
pub struct VersionCache {
    path: Option<PathBuf>,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    texts: BTreeMap<Digest, String>,
    used: BTreeSet<Digest>,
    is_changed: bool,
    /// Programs that were asked, and directories that an answer depends on.
    looked_at: BTreeSet<PathBuf>,
    /// Some answer may come from elsewhere than from these.
    is_opaque: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    schema: u32,
    answers: BTreeMap<Digest, String>,
}

impl VersionCache {
    /// Those of the file at `path`, which need not exist.
    pub fn at(path: PathBuf) -> Self {
        let file: Option<File> = std::fs::read(&path).ok().and_then(|text| serde_json::from_slice(&text).ok());
        let texts = file.filter(|file| file.schema == 1).map(|file| file.answers).unwrap_or_default();
        Self { path: Some(path), known: Mutex::new(Known { texts, ..Known::default() }) }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Standard output of a call that asks a program for what is written in its own file.
    ///
    /// # Errors
    /// It cannot be started, or fails.
    pub fn ask(&self, call: &Call) -> Result<String> {
        self.ask_within(call, &[])
    }

    /// The same for an answer that depends on what lies in some directories, too.
    ///
    /// # Errors
    /// It cannot be started, or fails.
    pub fn ask_within(&self, call: &Call, dirs: &[PathBuf]) -> Result<String> {
        let Some(key) = key(call, dirs) else {
            self.known().is_opaque = true;
            return call.read();
        };
        let mut known = self.known();
        known.looked_at.extend(std::iter::once(&call.program).chain(dirs).cloned());
        if let Some(text) = known.texts.get(&key).cloned() {
            known.used.insert(key);
            return Ok(text);
        }
        drop(known);
        let text = call.read()?;
        let mut known = self.known();
        known.texts.insert(key, text.clone());
        known.used.insert(key);
        known.is_changed = true;
        Ok(text)
    }

    /// Everything that the answers so far depend on: while these files and names in directories are the same, so are they.
    /// None when that is not known.
    pub fn looked_at(&self) -> Option<Vec<PathBuf>> {
        let known = self.known();
        (!known.is_opaque).then(|| known.looked_at.iter().cloned().collect())
    }

    /// Writes down what is new. Of two runs at once the later wins; the other's answers are asked once more.
    pub fn keep(&self) {
        let mut known = self.known();
        let Some(path) = self.path.as_ref().filter(|_| known.is_changed) else { return };
        if known.texts.len() > KEPT {
            let Known { texts, used, .. } = &mut *known;
            texts.retain(|key, _| used.contains(key));
        }
        known.is_changed = false;
        if let Ok(text) = serde_json::to_vec(&File { schema: 1, answers: known.texts.clone() }) {
            // A cache that cannot be written costs a few calls in each run.
            let _ = fs::write_atomic(path, &text).and_then(|()| fs::set_mode(path, 0o644));
        }
    }
}

/// Digest over what a call asks and the file that answers; none for a program whose answer may come from
/// elsewhere.
fn key(call: &Call, dirs: &[PathBuf]) -> Option<Digest> {
    let real = std::fs::canonicalize(&call.program).ok().filter(|_| call.program.is_absolute())?;
    let name = real.file_name()?.to_str()?;
    let mut magic = [0; 4];
    std::fs::File::open(&real).ok()?.read_exact(&mut magic).ok()?;
    if magic != *b"\x7fELF" || !NAMES.iter().any(|known| name.contains(known)) {
        return None;
    }
    let mut digest = DigestBuilder::default().field("simpack-answer 1").field(call.program.to_str()?);
    for arg in &call.args {
        digest = digest.field("argument").field(arg);
    }
    for (name, value) in &call.env {
        digest = digest.field(name).field(value);
    }
    digest = digest.field(stamp(&real)?);
    for dir in dirs {
        let stamp = if dir.exists() { stamp(dir)? } else { String::new() };
        digest = digest.field(dir.to_str()?).field(stamp);
    }
    Some(digest.finish())
}

/// A file as the file system describes it; none when it is not there, or was changed just now.
fn stamp(path: &Path) -> Option<String> {
    let stamp = Stamp::of(path).filter(|stamp| stamp.is_settled_before(SystemTime::now()))?;
    Some(format!("{} {stamp:?}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A compiler that is a program, not a script, and that can be replaced: a copy of `echo`.
    fn compiler(dir: &Path, name: &str) -> PathBuf {
        let path = dir.join(name);
        std::fs::copy("/bin/echo", &path).unwrap();
        path
    }

    fn call(path: &Path, word: &str) -> Call {
        Call::new(path).arg(word)
    }

    #[test]
    fn a_settled_program_is_asked_once_and_another_file_again() {
        let dir = tempfile::tempdir().unwrap();
        let gcc = compiler(dir.path(), "x86_64-linux-gnu-g++-12");
        let file = dir.path().join("cache/programs.json");
        assert!(key(&call(&gcc, "12"), &[]).is_none(), "it was changed just now");
        std::thread::sleep(Stamp::SETTLED + Duration::from_millis(1100));
        let answers = VersionCache::at(file.clone());
        assert_eq!(answers.ask(&call(&gcc, "12")).unwrap(), "12\n");
        assert_eq!(answers.ask(&call(&gcc, "13")).unwrap(), "13\n", "another question");
        assert_eq!(answers.looked_at(), Some(vec![gcc.clone()]));
        answers.keep();
        // What is remembered is what is answered: the file is believed, not the program.
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, text.replace("12\\n", "remembered")).unwrap();
        assert_eq!(VersionCache::at(file.clone()).ask(&call(&gcc, "12")).unwrap(), "remembered");
        let elsewhere = [dir.path().join("not-there")];
        assert_eq!(VersionCache::at(file.clone()).ask_within(&call(&gcc, "12"), &elsewhere).unwrap(), "12\n");
        // The same bytes once more are another file.
        compiler(dir.path(), "new");
        std::fs::rename(dir.path().join("new"), &gcc).unwrap();
        assert_eq!(VersionCache::at(file.clone()).ask(&call(&gcc, "12")).unwrap(), "12\n");
        std::fs::write(&file, "{").unwrap();
        assert_eq!(VersionCache::at(file).ask(&call(&gcc, "12")).unwrap(), "12\n");
    }

    #[test]
    fn scripts_and_dispatchers_are_always_asked() {
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("g++");
        std::fs::write(&script, "#!/bin/sh\n").unwrap();
        let ccache = compiler(dir.path(), "ccache");
        let link = dir.path().join("c++");
        std::os::unix::fs::symlink(&ccache, &link).unwrap();
        std::thread::sleep(Stamp::SETTLED + Duration::from_millis(1100));
        for path in [&script, &ccache, &link] {
            assert!(key(&call(path, "--version"), &[]).is_none(), "{}", path.display());
        }
        assert!(key(&call(Path::new("g++"), "--version"), &[]).is_none());
        let answers = VersionCache::default();
        answers.ask(&call(&script, "--version")).unwrap_err();
        assert_eq!(answers.looked_at(), None, "a script may ask anybody");
        std::fs::rename(&ccache, dir.path().join("clang-15")).unwrap();
        std::fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink("clang-15", &link).unwrap();
        std::thread::sleep(Stamp::SETTLED + Duration::from_millis(1100));
        assert!(key(&call(&link, "--version"), &[]).is_some());
    }
}
