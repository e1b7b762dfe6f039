//! What the real loader does: its own account of every search, and the files in a process.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use simpack::elf::resolve::{Cpu, End, Environment, Loader, NeedKind, Open, Process, Resolution, Rule};
use simpack::fs::Root;
use simpack::process::retry_text_busy;

/// glibc's loader on x86-64.
pub const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";

/// How a file is loaded.
#[derive(Debug, Clone, Default)]
pub struct Setting {
    pub library_path: Option<String>,
    pub preload: Option<String>,
    pub directory: PathBuf,
    /// Root of all paths, when it is not this machine's.
    pub root: Option<PathBuf>,
}

/// One search: the name, and the file that answered.
pub type Answer = (String, Option<String>);

/// This machine's loader, or the one below a root.
pub fn loader(root: &Root) -> Loader {
    let mut loader = Loader::glibc(62, &[]);
    loader.cpu = cpu();
    assert!(loader.find(root, LOADER), "no loader");
    loader
}

/// The processor, as the program under test sees it.
fn cpu() -> Cpu {
    simpack::ops::resolve::this_cpu()
}

impl Setting {
    pub fn in_directory(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), ..Self::default() }
    }

    fn files(&self) -> Root {
        self.root.as_ref().map_or_else(Root::machine, |root| Root::at(root).unwrap())
    }

    fn environment(&self) -> Environment {
        Environment {
            library_path: self.library_path.clone(),
            preload: self.preload.clone(),
            directory: if self.root.is_some() { "/".to_owned() } else { self.directory.to_str().unwrap().to_owned() },
            secure: false,
        }
    }

    /// What simpack says.
    pub fn ours(&self, loader: &Loader, file: &str, opens: &[&str]) -> Result<Resolution, String> {
        let (tree, environment) = (self.files(), self.environment());
        let mut process = Process::start(&tree, loader, &environment, file).map_err(|refusal| refusal.to_string())?;
        for name in opens {
            process.open(&Open { from: 0, name: (*name).to_owned() });
        }
        Ok(process.finish())
    }

    /// The loader's account: each search in order, and its list. A library is given to the loader.
    pub fn theirs(&self, file: &str, program: bool) -> Account {
        let mut command = Command::new(if program { file } else { LOADER });
        if !program {
            command.arg(file);
        }
        command.env_clear().env("LD_DEBUG", "libs").env("LD_TRACE_LOADED_OBJECTS", "1").current_dir(&self.directory);
        command.envs(self.library_path.iter().map(|path| ("LD_LIBRARY_PATH", path)));
        command.envs(self.preload.iter().map(|name| ("LD_PRELOAD", name)));
        if let Some(root) = &self.root {
            enter(&mut command, root);
        }
        let output = retry_text_busy(|| command.output()).unwrap();
        Account {
            searches: searches(&String::from_utf8_lossy(&output.stderr)),
            list: listed(&String::from_utf8_lossy(&output.stdout)),
            ended: !output.status.success(),
            said: last_words(&String::from_utf8_lossy(&output.stderr)),
        }
    }
}

/// What the loader says it did.
#[derive(Debug)]
pub struct Account {
    pub searches: Vec<Answer>,
    pub list: BTreeSet<String>,
    /// It gave up.
    pub ended: bool,
    pub said: String,
}

/// Makes the command start below another root, with a user namespace where that needs one.
pub fn enter(command: &mut Command, root: &Path) {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::process::CommandExt;
    let root = std::ffi::CString::new(root.as_os_str().as_bytes()).unwrap();
    command.current_dir("/");
    // SAFETY: only system calls between fork and exec, over memory that was made before.
    unsafe {
        command.pre_exec(move || {
            let outside = libc::geteuid() != 0 && libc::unshare(libc::CLONE_NEWUSER) != 0;
            if outside || libc::chroot(root.as_ptr()) != 0 || libc::chdir(c"/".as_ptr()) != 0 {
                return Err(std::io::Error::last_os_error());
            }
            Ok(())
        });
    }
}

fn last_words(log: &str) -> String {
    log.lines().rev().find(|line| line.contains("error while loading")).unwrap_or_default().to_owned()
}

/// Searches in a log of `LD_DEBUG=libs`, with the last file that was tried.
fn searches(log: &str) -> Vec<Answer> {
    let mut found: Vec<Answer> = Vec::new();
    let mut tried: Option<String> = None;
    let mut open = false;
    for line in log.lines() {
        let Some((id, text)) = line.split_once(':') else { continue };
        if !id.trim().bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        let text = text.trim();
        if let Some(rest) = text.strip_prefix("find library=") {
            close(&mut found, &mut open, &mut tried);
            found.push((rest.split(" [").next().unwrap().to_owned(), None));
            open = true;
        } else if let Some(path) = text.strip_prefix("trying file=") {
            tried = Some(path.to_owned());
        }
    }
    close(&mut found, &mut open, &mut tried);
    found
}

fn close(found: &mut [Answer], open: &mut bool, tried: &mut Option<String>) {
    if *open && let Some(last) = found.last_mut() {
        last.1 = tried.take();
    }
    *open = false;
}

/// simpack's answers in the form of the loader's account.
pub fn answers(resolution: &Resolution) -> Vec<Answer> {
    let searched = resolution.links.iter().filter(|link| {
        link.kind != NeedKind::Dlopen
            && !link.name.contains('/')
            && !matches!(link.by, Some(Rule::Loaded | Rule::Loader | Rule::Path))
    });
    searched
        .map(|link| {
            let winner = link
                .candidates
                .iter()
                .find(|candidate| matches!(candidate.outcome, simpack::elf::resolve::Outcome::Wins));
            (link.name.clone(), winner.map(|candidate| candidate.path.clone()))
        })
        .collect()
}

/// What differs, in words: the searches in order, then the list with what is missing.
pub fn differences(theirs: &Account, ours: &Resolution) -> Vec<String> {
    let mine = answers(ours);
    let mut found = Vec::new();
    let ends = ours.links.iter().position(|link| {
        matches!(link.end, End::Fatal { .. }) && matches!(link.kind, NeedKind::Needed | NeedKind::Filter)
    });
    if ends.is_some() != theirs.ended {
        found.push(format!("the loader gives up: {} ({}), simpack: {}", theirs.ended, theirs.said, ends.is_some()));
    }
    for (index, (name, path)) in theirs.searches.iter().enumerate() {
        let Some((our_name, our_path)) = mine.get(index) else {
            found.push(format!("the loader searches {name}, simpack does not"));
            break;
        };
        // Where nothing is found the log ends with the last place; the list below says the rest.
        if our_name != name || (our_path.is_some() && our_path != path) {
            found.push(format!("search {index}: the loader {name} {path:?}, simpack {our_name} {our_path:?}"));
            break;
        }
    }
    if theirs.ended {
        return found;
    }
    if mine.len() > theirs.searches.len() {
        found.push(format!("simpack searches {:?} too", &mine[theirs.searches.len()..]));
    }
    let list: BTreeSet<String> = ours
        .links
        .iter()
        .filter(|link| link.kind != NeedKind::Dlopen && !link.name.contains('/'))
        .filter_map(|link| match &link.end {
            // A library of that very name in the current directory is listed without an arrow.
            End::Found { object, new: true } => Some(&ours.objects[*object].path)
                .filter(|path| **path != link.name)
                .map(|path| format!("{} => {path}", link.name)),
            End::Missing if link.kind != NeedKind::Preload => Some(format!("{} => not found", link.name)),
            _ => None,
        })
        .collect();
    found.extend(theirs.list.symmetric_difference(&list).map(|line| format!("only one lists {line}")));
    found
}

/// Lines `name => path` and `name => not found` of the loader's list.
fn listed(text: &str) -> BTreeSet<String> {
    text.lines()
        .filter_map(|line| {
            let (name, rest) = line.trim().split_once(" => ")?;
            (!name.contains('/')).then(|| format!("{name} => {}", rest.split(" (0x").next().unwrap_or(rest)))
        })
        .collect()
}
