//! What a call asks for, checked against the policy, and what it means for one file.

use std::path::PathBuf;

use crate::elf::edit::{Edits, NeededEdit, PathTag, Place, SearchPathEdit, State};
use crate::error::{Error, Result};
use crate::manifest::Drivers;
use crate::patch::{objection, search_path};

/// What to patch, and how.
#[derive(Debug, Clone, Default)]
pub struct PatchRequest {
    /// Files, and directories whose ELF files are all meant.
    pub paths: Vec<PathBuf>,
    /// What happens to the search path.
    pub path: PathRequest,
    /// Tag that holds the search path; without, the one that a file has, or RUNPATH.
    pub tag: Option<PathTag>,
    /// Driver profiles whose directories are added, and where.
    pub profiles: Vec<(String, Place)>,
    /// Directories and paths that are accepted against the policy.
    pub allow: Vec<String>,
    /// Name of the library.
    pub soname: Option<String>,
    /// Needed libraries.
    pub needed: Vec<NeededEdit>,
    /// Program interpreter.
    pub interpreter: Option<String>,
    /// Only files that link, open or call the driver.
    pub for_driver: bool,
    /// Print what files say; no edits.
    pub print: bool,
    /// Plan and print, write nothing.
    pub check: bool,
    /// Where the result goes, instead of in place of the file.
    pub output: Option<PathBuf>,
}

/// What happens to the search path before driver profiles are added. Entries may hold several
/// directories, joined by colons.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum PathRequest {
    /// It stays.
    #[default]
    Keep,
    /// Exactly these directories.
    Set(Vec<String>),
    /// These directories as well.
    Add(Vec<String>),
    /// It goes.
    Remove,
}

/// What is wanted of every file.
pub(super) struct Intent {
    start: Start,
    front: Vec<String>,
    back: Vec<String>,
    tag: Option<PathTag>,
    /// The other edits.
    rest: Edits,
    /// What was left out, in words.
    pub(super) notes: Vec<String>,
}

enum Start {
    Own,
    Empty,
    Remove,
}

impl PatchRequest {
    fn edits_path(&self) -> bool {
        self.path != PathRequest::Keep || self.tag.is_some() || !self.profiles.is_empty()
    }

    /// Whether anything is to be changed.
    pub fn edits(&self) -> bool {
        self.edits_path() || self.soname.is_some() || !self.needed.is_empty() || self.interpreter.is_some()
    }

    /// The request as one intent.
    ///
    /// # Errors
    /// It contradicts itself, or asks for what breaks on other machines.
    pub(super) fn intent(&self, drivers: &Drivers) -> Result<Intent> {
        if self.path == PathRequest::Remove && (self.tag.is_some() || !self.profiles.is_empty()) {
            return Err(Error::usage("a search path that is removed has no tag and no driver directories")
                .hint("`--set-runpath` with the directories that shall remain"));
        }
        self.check_names()?;
        let rest = Edits {
            search_path: None,
            soname: self.soname.clone(),
            needed: self.needed.clone(),
            interpreter: self.interpreter.clone(),
        };
        // Contradictions are the call's, not a file's: found before any file is touched.
        let any = State { interpreter: Some(String::new()), ..State::default() };
        any.after(&rest).map_err(|error| Error::usage(error.to_string()))?;
        let mut notes = Vec::new();
        let (start, own) = match &self.path {
            PathRequest::Keep => (Start::Own, Vec::new()),
            PathRequest::Add(asked) => (Start::Own, self.directories(asked, drivers, &mut notes)?),
            PathRequest::Set(asked) => (Start::Empty, self.directories(asked, drivers, &mut notes)?),
            PathRequest::Remove => (Start::Remove, Vec::new()),
        };
        let mut intent = Intent { start, front: Vec::new(), back: own, tag: self.tag, rest, notes };
        for (name, place) in &self.profiles {
            let found = profile(name, drivers, &mut intent.notes)?;
            match place {
                Place::Append => intent.back.extend(found),
                Place::Prepend => intent.front.extend(found),
            }
        }
        (intent.front, intent.back) = (search_path(&intent.front, drivers), search_path(&intent.back, drivers));
        if matches!(intent.start, Start::Empty) && intent.front.is_empty() && intent.back.is_empty() {
            return Err(Error::usage("no directory remains for the search path").hint("`--remove-runpath` removes it"));
        }
        Ok(intent)
    }

    /// The directories of `asked` that may enter a search path.
    fn directories(&self, asked: &[String], drivers: &Drivers, notes: &mut Vec<String>) -> Result<Vec<String>> {
        let mut directories = Vec::new();
        for directory in asked.iter().flat_map(|entry| entry.split(':')) {
            if !self.allowed(directory)
                && let Some((reason, hint)) = objection(directory, drivers)
            {
                return Err(Error::usage(reason).hint(hint));
            }
            if search_path(&[directory.to_owned()], drivers).is_empty() {
                notes.push(format!("left out {directory}: the loader searches it anyway, after the search path"));
            } else {
                directories.push(directory.to_owned());
            }
        }
        Ok(directories)
    }

    fn check_names(&self) -> Result<()> {
        let fresh = self.needed.iter().filter_map(|edit| match edit {
            NeededEdit::Add(name) | NeededEdit::Replace { to: name, .. } => Some(name),
            NeededEdit::Remove(_) => None,
        });
        for name in fresh.chain(&self.soname) {
            if name.contains('/') && !self.allowed(name) {
                return Err(Error::usage(format!("`{name}` is a path: other machines do not have it"))
                    .hint("give the file name, which the loader looks for in the search path"));
            }
        }
        match &self.interpreter {
            Some(path) if !path.starts_with('/') && !self.allowed(path) => {
                Err(Error::usage(format!("the interpreter `{path}` depends on the current directory"))
                    .hint("give an absolute path, such as /lib64/ld-linux-x86-64.so.2"))
            }
            _ => Ok(()),
        }
    }

    fn allowed(&self, what: &str) -> bool {
        !what.is_empty() && self.allow.iter().any(|allowed| allowed.trim_end_matches('/') == what.trim_end_matches('/'))
    }
}

/// The directories of a driver profile that may enter a search path.
fn profile(name: &str, drivers: &Drivers, notes: &mut Vec<String>) -> Result<Vec<String>> {
    if drivers.get(name).is_none() {
        let known: Vec<&str> = drivers.iter().map(|profile| profile.name()).collect();
        return Err(Error::usage(format!("no driver profile `{name}`")).hint(format!("known are {}", known.join(", "))));
    }
    let directories = drivers.runpath([name]);
    if directories.is_empty() {
        notes.push(format!("driver profile `{name}` adds nothing: the loader searches its directories anyway"));
    }
    Ok(directories)
}

impl Intent {
    /// The edits of a file that says `state`. `named` is a file that the user named, not one found in
    /// a directory: of the latter, only executables get an interpreter.
    pub(super) fn edits(&self, state: &State, named: bool) -> Edits {
        let mut edits = Edits { search_path: self.search_path(state), ..self.rest.clone() };
        if !named && state.interpreter.is_none() {
            edits.interpreter = None;
        }
        edits
    }

    fn search_path(&self, state: &State) -> Option<SearchPathEdit> {
        let now = if state.runpath.is_none() && state.rpath.is_some() { PathTag::Rpath } else { PathTag::Runpath };
        let tag = self.tag.unwrap_or(now);
        let own = match self.start {
            Start::Remove => return Some(SearchPathEdit::Remove),
            Start::Empty => Vec::new(),
            Start::Own => {
                let text = state.runpath.as_deref().or(state.rpath.as_deref()).unwrap_or_default();
                text.split(':').filter(|part| !part.is_empty()).map(String::from).collect()
            }
        };
        let fresh = |directories: &[String], there: &[String]| -> Vec<String> {
            directories.iter().filter(|directory| !there.contains(directory)).cloned().collect()
        };
        let mut directories = fresh(&self.front, &own);
        let nothing_in_front = directories.is_empty();
        let start_is_own = matches!(self.start, Start::Own);
        directories.extend(own);
        let back = fresh(&self.back, &directories);
        if start_is_own && nothing_in_front && back.is_empty() && tag == now {
            return None;
        }
        directories.extend(back);
        Some(SearchPathEdit::Set { directories, tag })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Data;
    use crate::manifest::Manifests;

    fn intent(request: &PatchRequest) -> Result<Intent> {
        request.intent(&Manifests::load(&Data::at("no such directory")).unwrap().drivers)
    }

    fn words(list: &[&str]) -> Vec<String> {
        list.iter().map(ToString::to_string).collect()
    }

    fn after(request: &PatchRequest, runpath: Option<&str>, rpath: Option<&str>) -> (Option<String>, Option<String>) {
        let state = State { runpath: runpath.map(String::from), rpath: rpath.map(String::from), ..State::default() };
        let state = state.after(&intent(request).unwrap().edits(&state, true)).unwrap();
        (state.runpath, state.rpath)
    }

    #[test]
    fn directories_and_profiles_find_their_places() {
        let mut request = PatchRequest {
            path: PathRequest::Set(words(&["$ORIGIN:$ORIGIN/../lib"])),
            profiles: vec![("wsl".into(), Place::Append), ("nixos".into(), Place::Prepend)],
            ..PatchRequest::default()
        };
        let all = "/run/opengl-driver/lib:$ORIGIN:$ORIGIN/../lib:/usr/lib/wsl/lib";
        assert_eq!(after(&request, Some("/old"), None), (Some(all.into()), None));
        request.path = PathRequest::Add(words(&["$ORIGIN"]));
        let (path, tag) = after(&request, None, Some("/old"));
        assert_eq!((path, tag.as_deref()), (None, Some("/run/opengl-driver/lib:/old:$ORIGIN:/usr/lib/wsl/lib")));
        assert_eq!(after(&request, Some(all), None).0.as_deref(), Some(all), "what is there is not added");
        let tag = PatchRequest { tag: Some(PathTag::Rpath), ..PatchRequest::default() };
        assert_eq!(after(&tag, Some("/a::/b"), None), (None, Some("/a:/b".into())));
        assert_eq!(after(&tag, None, None), (None, None));
        assert_eq!(after(&PatchRequest::default(), Some("/a::/b"), None).0.as_deref(), Some("/a::/b"));
    }

    #[test]
    fn what_the_loader_searches_anyway_never_enters() {
        let mut request = PatchRequest {
            profiles: vec![("conventional".into(), Place::Append)],
            path: PathRequest::Add(words(&["/usr/lib64/", "$ORIGIN"])),
            ..PatchRequest::default()
        };
        assert_eq!(after(&request, None, None).0.as_deref(), Some("$ORIGIN"));
        assert_eq!(intent(&request).unwrap().notes.len(), 2);
        request.path = PathRequest::Set(words(&["/usr/lib64"]));
        assert!(intent(&request).is_err(), "setting nothing is not asked for");
    }

    #[test]
    fn what_breaks_elsewhere_is_refused_unless_it_is_named() {
        let mut request =
            PatchRequest { path: PathRequest::Set(words(&["$ORIGIN:/opt/site/lib"])), ..PatchRequest::default() };
        assert!(intent(&request).is_err());
        request.allow = words(&["/opt/site/lib/"]);
        assert_eq!(after(&request, None, None).0.as_deref(), Some("$ORIGIN:/opt/site/lib"));
        let needed = |edit| PatchRequest { needed: vec![edit], ..PatchRequest::default() };
        assert!(intent(&needed(NeededEdit::Add("/home/me/libx.so".into()))).is_err());
        assert!(intent(&needed(NeededEdit::Remove("/home/me/libx.so".into()))).is_ok());
        let interpreter = PatchRequest { interpreter: Some("ld.so".into()), ..PatchRequest::default() };
        assert!(intent(&interpreter).is_err());
    }

    #[test]
    fn contradictions_are_the_calls() {
        let remove = PatchRequest {
            path: PathRequest::Remove,
            profiles: vec![("wsl".into(), Place::Append)],
            ..PatchRequest::default()
        };
        let twice = PatchRequest {
            needed: vec![NeededEdit::Add("a".into()), NeededEdit::Remove("a".into())],
            ..PatchRequest::default()
        };
        let unknown = PatchRequest { profiles: vec![("nix".into(), Place::Append)], ..PatchRequest::default() };
        for request in [remove, twice, unknown] {
            let error = intent(&request).err().unwrap();
            assert_eq!(error.kind(), crate::error::ErrorKind::Usage, "{error}");
        }
    }
}
