//! A process that runs: what is mapped into it, and what brought each library.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::elf::resolve::{Loader, Object};
use crate::elf::{library_stem, soname_major};
use crate::fs::Root;
use crate::machine::{DriverRole, MappedLibrary, RunningProcess};
use crate::manifest::Manifests;

use super::search::{directory_of, library, name_of};

/// A library in the process.
struct Mapped {
    path: String,
    deleted: bool,
    object: Option<Object>,
}

impl Mapped {
    fn soname(&self) -> &str {
        self.object.as_ref().and_then(|object| object.soname.as_deref()).unwrap_or_else(|| name_of(&self.path))
    }
}

/// What copies of one library have in common, whatever a repair tool called them: stem and major, or the one name of
/// what has several. Python's modules share names and are no copies.
fn kind(soname: &str, manifests: &Manifests) -> Option<(String, Option<u32>)> {
    let (stem, major) = (library_stem(soname), soname_major(soname));
    match manifests.foreign.one_name(stem) {
        Some(name) => Some((name.to_owned(), None)),
        None => (stem.starts_with("lib") && major.is_some()).then(|| (stem.to_owned(), major)),
    }
}

/// Libraries that are mapped more than once, from several files.
fn copied(mapped: &[Mapped], manifests: &Manifests) -> BTreeSet<(String, Option<u32>)> {
    let mut seen = BTreeSet::new();
    let kinds = mapped.iter().filter_map(|it| kind(it.soname(), manifests));
    kinds.filter(|kind| !seen.insert(kind.clone())).collect()
}

/// Looks at a process of this machine.
pub(super) fn process(pid: u32, loader: &Loader, manifests: &Manifests) -> Result<RunningProcess, String> {
    let at = |file: &str| format!("/proc/{pid}/{file}");
    let read = |file: &str| {
        fs_err::read(at(file)).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => format!("there is no process {pid}"),
            std::io::ErrorKind::PermissionDenied => format!("process {pid} belongs to somebody else"),
            _ => error.to_string(),
        })
    };
    let maps = String::from_utf8_lossy(&read("maps")?).into_owned();
    let environ = read("environ").unwrap_or_default();
    let variable = |name: &str| {
        let mut all = environ.split(|byte| *byte == 0).map(String::from_utf8_lossy);
        all.find_map(|entry| Some(entry.strip_prefix(name)?.strip_prefix('=')?.to_owned()))
    };
    let program = fs_err::read_link(at("exe")).map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
    // The files as the process sees them; it may live in another root.
    let root = Root::at(Path::new(&at("root"))).unwrap_or_else(|_| Root::machine());
    let mapped: Vec<Mapped> = paths(&maps)
        .into_iter()
        .map(|(path, deleted)| Mapped {
            object: (!deleted).then(|| library(&root, &path, loader.machine)).flatten(),
            path,
            deleted,
        })
        .collect();
    let library_path = variable("LD_LIBRARY_PATH");
    let preload = variable("LD_PRELOAD");
    let mut libraries = Vec::new();
    let copied = copied(&mapped, manifests);
    for it in &mapped {
        let soname = it.soname().to_owned();
        let driver = manifests.vendor.driver(&soname).is_some();
        let is_known = driver || manifests.vendor.original(&soname).is_some() || soname == "libstdc++.so.6";
        let is_copied = kind(&soname, manifests).is_some_and(|kind| copied.contains(&kind));
        if !is_known && manifests.foreign.family(library_stem(&soname)).is_none() && !is_copied {
            continue;
        }
        let mut needed_by: Vec<String> = mapped
            .iter()
            .filter(|other| other.object.as_ref().is_some_and(|it| it.needs.iter().any(|(_, name)| *name == soname)))
            .map(|other| other.path.clone())
            .collect();
        needed_by.sort();
        let by = brought(&it.path, &soname, &mapped, loader, library_path.as_deref(), preload.as_deref(), &root);
        let role = driver.then(|| role(&root, &it.path, manifests, it.object.as_ref()));
        libraries.push(MappedLibrary {
            path: it.path.clone(),
            soname,
            by,
            needed_by,
            deleted: it.deleted,
            driver: role,
        });
    }
    libraries.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(RunningProcess { pid, program, libraries, mapped: mapped.len() })
}

/// Mapped files that are libraries, in the order of their addresses, with whether they were removed.
fn paths(maps: &str) -> Vec<(String, bool)> {
    let mut found: BTreeMap<String, bool> = BTreeMap::new();
    for line in maps.lines() {
        // Address, rights, offset, device, inode; the rest is the path.
        let Some(at) = line.find('/') else { continue };
        let (path, deleted) = match line[at..].strip_suffix(" (deleted)") {
            Some(path) => (path, true),
            None => (&line[at..], false),
        };
        if name_of(path).contains(".so") {
            found.insert(path.to_owned(), deleted);
        }
    }
    found.into_iter().collect()
}

fn role(root: &Root, path: &str, manifests: &Manifests, object: Option<&Object>) -> DriverRole {
    let directory = directory_of(path);
    let small = root.open(path).is_ok_and(|file| (file.bytes().len() as u64) < manifests.environment.stub_smaller_than);
    let versioned = name_of(path).rsplit(".so.").next().is_some_and(|rest| rest.contains('.'));
    if manifests.drivers.is_compat(directory) {
        DriverRole::Compat
    } else if manifests.drivers.is_stubs(directory)
        || (small && !versioned && name_of(path).starts_with("libcuda.") && object.is_some_and(|it| !it.calls_dlopen))
    {
        DriverRole::Stub
    } else {
        DriverRole::Real
    }
}

/// What leads to the directory of a library, in the order in which a loader would have tried.
fn brought(
    path: &str,
    soname: &str,
    mapped: &[Mapped],
    loader: &Loader,
    library_path: Option<&str>,
    preload: Option<&str>,
    root: &Root,
) -> String {
    let real = |path: &str| root.real(path).unwrap_or_else(|| path.to_owned());
    // A path of the maps has no links, those of variables may.
    let leads = |directory: &str| {
        !directory.is_empty()
            && (real(directory) == directory_of(path) || real(&format!("{directory}/{soname}")) == path)
    };
    let entries = |text: &str| text.split(':').map(str::to_owned).collect::<Vec<_>>();
    let expanded = |entry: &str, of: &str| {
        let origin = directory_of(of);
        entry.replace("${ORIGIN}", origin).replace("$ORIGIN", origin)
    };
    let own_path = |runpath: bool| {
        mapped.iter().find_map(|asking| {
            let object = asking.object.as_ref()?;
            let text = match runpath {
                true => object.runpath.as_ref(),
                false => object.rpath.as_ref().filter(|_| object.runpath.is_none()),
            }?;
            // RUNPATH serves what the object itself asks for; it may also open it by name.
            let asks = object.needs.iter().any(|(_, name)| name == soname) || object.calls_dlopen;
            let entry = entries(text).into_iter().find(|entry| asks && leads(&expanded(entry, &asking.path)))?;
            let tag = if runpath { "RUNPATH" } else { "RPATH" };
            Some(format!("{tag} {entry} of {}", name_of(&asking.path)))
        })
    };
    let preloaded = preload.is_some_and(|text| {
        text.split([':', ' ']).any(|entry| !entry.is_empty() && (real(entry) == path || entry == soname))
    });
    if preloaded {
        return "LD_PRELOAD".to_owned();
    }
    if let Some(rule) = own_path(false) {
        return rule;
    }
    let by_variable = library_path.and_then(|text| entries(text).into_iter().find(|entry| leads(entry)));
    if let Some(entry) = by_variable {
        return format!("LD_LIBRARY_PATH {entry}");
    }
    if let Some(rule) = own_path(true) {
        return rule;
    }
    let cached = loader
        .cache
        .as_ref()
        .is_some_and(|cache| cache.named(soname).any(|entry| entry.path == path || real(&entry.path) == path));
    if cached {
        return "ld.so.cache".to_owned();
    }
    match loader.directories.iter().find(|directory| leads(directory)) {
        Some(directory) => format!("default directory {directory}"),
        None => "opened by its path".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_name_each_library_once() {
        let maps = "\
7f0 r--p 0 08:01 1 /usr/lib/libc.so.6
7f1 r-xp 0 08:01 1 /usr/lib/libc.so.6
7f2 r--p 0 08:01 2 /opt/my libs/liba.so.1 (deleted)
7f3 rw-p 0 00:00 0 [heap]
7f4 r--p 0 08:01 3 /usr/bin/python3.11
";
        assert_eq!(
            paths(maps),
            [("/opt/my libs/liba.so.1".to_owned(), true), ("/usr/lib/libc.so.6".to_owned(), false)]
        );
    }
}
