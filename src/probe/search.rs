//! What the loader finds for a name that a program opens.

use crate::elf::resolve::{
    Candidate, Environment, Loader, Open, OpenFile, Opened, Outcome, Process, Source, Tree, library_named, read_object,
};
use crate::fs::Root;
use crate::manifest::{LoaderProfile, Manifests};

/// A path that no machine has: the program that asks.
const PROGRAM: &str = "/.program-that-asks";

/// Files of a machine, and a program without search paths of its own.
struct Asking<'a> {
    root: &'a Root,
    program: Vec<u8>,
}

impl Tree for Asking<'_> {
    fn open(&self, path: &str) -> Opened<'_> {
        match path {
            PROGRAM => Opened::File(OpenFile {
                id: (u64::MAX, u64::MAX),
                setuid: false,
                setgid: false,
                source: Source::Bytes(Box::new(self.program.as_slice())),
            }),
            path => Tree::open(self.root, path),
        }
    }

    fn is_directory(&self, path: &str) -> bool {
        Tree::is_directory(self.root, path)
    }

    fn real(&self, path: &str) -> Option<String> {
        match path {
            PROGRAM => Some(PROGRAM.to_owned()),
            path => Tree::real(self.root, path),
        }
    }
}

/// Where the loader of aarch64 lies (its ABI says so, whatever the distribution).
const AARCH64: &str = "/lib/ld-linux-aarch64.so.1";

/// `e_machine` of the programs of the machine whose files these are: told by its loader; where both are there, or none,
/// that of this program.
fn machine(root: &Root) -> u16 {
    let of = |aarch64: bool| if aarch64 { object::elf::EM_AARCH64.0 } else { object::elf::EM_X86_64.0 };
    match (root.exists(AARCH64), root.exists("/lib64/ld-linux-x86-64.so.2")) {
        (true, false) => of(true),
        (false, true) => of(false),
        _ => of(std::env::consts::ARCH == "aarch64"),
    }
}

/// A profile as it is on a processor: its directories bear the name of x86-64.
fn of_machine(profile: &LoaderProfile, machine: u16) -> Loader {
    let mut loader = profile.loader(machine);
    loader.cpu = super::this_cpu();
    if machine == object::elf::EM_AARCH64.0 {
        let renamed = |text: &String| text.replace("x86_64-linux-gnu", "aarch64-linux-gnu");
        loader.directories = loader.directories.iter().map(renamed).collect();
        loader.lib = renamed(&loader.lib);
        if profile.interpreter.contains("/ld-linux-") {
            AARCH64.clone_into(&mut loader.path);
        }
    }
    loader
}

/// The loader of the machine whose files these are.
pub(super) fn loader(root: &Root, manifests: &Manifests) -> Option<Loader> {
    let machine = machine(root);
    for name in ["conventional", "musl"] {
        let mut loader = of_machine(manifests.loaders.get(name)?, machine);
        let path = loader.path.clone();
        // NixOS has a file there, too, which only says that programs need a wrapper.
        if !root.exists("/etc/NIXOS") && loader.find(root, &path) {
            return Some(loader);
        }
    }
    let nixos = root.exists("/etc/NIXOS");
    let mut loader = of_machine(manifests.loaders.get(if nixos { "nixos" } else { "conventional" })?, machine);
    if !nixos {
        loader.configure(root);
    }
    Some(loader)
}

/// Every file that the search for a name meets and would take, in its order; of several names of one file the first.
pub(super) fn search(root: &Root, loader: &Loader, environment: &Environment, name: &str) -> Vec<Candidate> {
    let asking = Asking { root, program: library_named("program-that-asks", loader.machine) };
    let Ok(mut process) = Process::start(&asking, loader, environment, PROGRAM) else { return Vec::new() };
    let link = process.open(&Open { from: 0, name: name.to_owned() });
    let mut resolution = process.finish();
    if link >= resolution.links.len() {
        return Vec::new();
    }
    let taken = |candidate: &Candidate| matches!(candidate.outcome, Outcome::Wins | Outcome::Shadowed | Outcome::Same);
    let mut candidates = resolution.links.swap_remove(link).candidates;
    candidates.retain(taken);
    candidates
}

/// The SONAME of a file and the versions it defines, if a loader of this machine takes it.
pub(super) fn library(root: &Root, path: &str, machine: u16) -> Option<crate::elf::resolve::Object> {
    let file = root.open(path).ok()?;
    read_object(file.bytes(), machine).ok()
}

/// The directory part of a path.
pub(super) fn directory_of(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some(("", _)) => "/",
        Some((directory, _)) => directory,
        None => "",
    }
}

/// The last part of a path.
pub(super) fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
