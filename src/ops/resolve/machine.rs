//! The machine that a call asks about: its files, its loader, its processor.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use crate::container::{self, Form, Limits};
use crate::data::Data;
use crate::elf::resolve::{Cpu, Environment, Loader, Opened, Rejection, Tree, read_object};
use crate::elf::{Image, is_elf};
use crate::error::{Error, Result};
use crate::fs::Root;
use crate::manifest::{Drivers, LoaderProfile, Loaders, Vendor};
use crate::probe::this_cpu;

use super::assumed::Assumed;
use super::request::ResolveRequest;

/// The lists that a call needs: not all manifests, since a call is short.
pub(super) struct Lists {
    pub(super) loaders: Loaders,
    pub(super) drivers: Drivers,
    pub(super) vendor: Vendor,
}

impl Lists {
    pub(super) fn load(data: &Data) -> Result<Self> {
        Ok(Self { loaders: Loaders::load(data)?, drivers: Drivers::load(data)?, vendor: Vendor::load(data)? })
    }
}

/// The machine of a call: its files, and the loaders that its files named so far.
pub(super) struct Machine<'a> {
    request: &'a ResolveRequest,
    lists: &'a Lists,
    root: Rc<Root>,
    /// By path and `e_machine`: a loader's file is read once, however many files name it.
    found: RefCell<HashMap<(String, u16), Loader>>,
}

impl<'a> Machine<'a> {
    pub(super) fn new(request: &'a ResolveRequest, lists: &'a Lists) -> Result<Self> {
        let root = match &request.root {
            Some(root) => Root::at(root)?,
            None => Root::machine(),
        };
        Ok(Self { request, lists, root: Rc::new(root), found: RefCell::default() })
    }

    /// The loader at a path, as far as the machine's files and the profile say.
    fn loader(&self, profile: &LoaderProfile, interpreter: &str, machine: u16) -> Loader {
        let key = (interpreter.to_owned(), machine);
        let mut found = self.found.borrow_mut();
        let read = || {
            let mut loader = profile.loader(machine);
            loader.cpu = match self.request.cpu_level {
                Some(level) => Cpu::x86_64(level),
                None => this_cpu(),
            };
            // A profile without the machine's files: what this machine's loader says would be wrong there.
            let foreign = self.request.profile.is_some() && self.request.root.is_none();
            if foreign {
                if profile.name() != "nixos" {
                    loader.configure(&*self.root);
                }
            } else if !loader.find(&*self.root, interpreter) {
                interpreter.clone_into(&mut loader.path);
                loader.configure(&*self.root);
            }
            loader
        };
        found.entry(key).or_insert_with(read).clone()
    }
}

/// What a call asks about.
pub(super) struct Asked {
    pub(super) tree: Assumed,
    pub(super) loader: Loader,
    pub(super) environment: Environment,
    /// Path of the file as the machine sees it.
    pub(super) file: String,
}

/// Puts together files, loader and environment for one file.
pub(super) fn asked(machine: &Machine<'_>, file: &str) -> Result<Asked> {
    let Machine { request, lists, root, .. } = machine;
    let path = place(root, request, file)?;
    let opened = match Tree::open(&**root, &path) {
        Opened::File(file) => file,
        Opened::Absent => return Err(Error::file(file, "there is no such file")),
        Opened::Denied => return Err(Error::file(file, "permission denied")),
        Opened::Directory => return Err(Error::file(file, "it is a directory").hint("name a program or a library")),
        Opened::Failed(reason) => return Err(Error::file(file, reason)),
    };
    let bytes = opened.bytes();
    let processor = processor(file, bytes)?;
    let object = read_object(bytes, processor).map_err(|why| match why {
        Rejection::Fatal(why) => Error::incomplete(file, why),
        Rejection::Class | Rejection::Machine => Error::file(file, "no loader takes it"),
    })?;
    let profile = profile(request, &lists.loaders)?;
    let secure = request.secure || ((opened.setuid || opened.setgid) && object.soname.is_none());
    let interpreter = object.interpreter.filter(|_| request.profile.is_none() && request.libc.is_none());
    let interpreter = interpreter.unwrap_or_else(|| profile.interpreter.clone());
    let loader = machine.loader(profile, &interpreter, processor);
    let mut environment = Environment {
        library_path: request.library_path.clone(),
        preload: request.preload.clone(),
        directory: request.directory.clone(),
        secure,
    };
    if environment.library_path.is_none() && !profile.library_path.is_empty() {
        environment.library_path = Some(profile.library_path.join(":"));
    }
    drop(opened);
    let tree = Assumed::new(root.clone(), processor, profile.driver.as_deref(), &lists.loaders, &lists.drivers);
    Ok(Asked { tree, loader, environment, file: path })
}

/// The processor of a program or library.
///
/// # Errors
/// It is something else, or damaged.
fn processor(file: &str, bytes: &[u8]) -> Result<u16> {
    if bytes.is_empty() {
        return Err(Error::incomplete(file, "the file is empty"));
    }
    if is_elf(bytes) {
        let image = Image::segments_only(bytes).map_err(|error| Error::incomplete(file, error))?;
        return Ok(image.header.machine.0);
    }
    let Some(form) = Form::of_name(file) else {
        return Err(Error::file(file, "not an ELF file").hint("name a program or a library"));
    };
    // Whether it is whole is the first thing to know about a package, here as elsewhere.
    let mut damage = None;
    let quota = Limits::USUAL.quota(bytes.len() as u64);
    let read = container::read(form, bytes, &quota, &mut |entry| {
        damage = damage.take().or(entry.err().map(|error| error.to_string()));
        Ok(())
    });
    match damage.or(read.err().map(|stop| stop.to_string())) {
        Some(damage) => Err(Error::incomplete(file, damage)),
        None => Err(Error::usage(format!("{file} is a package, and resolve asks about a program or a library")).hint(
            "unpack or install it and name a file of it; `simpack inspect` and `simpack verify` look into packages",
        )),
    }
}

fn profile<'a>(request: &ResolveRequest, loaders: &'a Loaders) -> Result<&'a LoaderProfile> {
    let name = request.profile.as_deref().or(request.libc.as_deref().filter(|libc| *libc == "musl"));
    let name = name.unwrap_or("conventional");
    loaders.get(name).ok_or_else(|| {
        let known: Vec<&str> = loaders.profiles().map(LoaderProfile::name).collect();
        Error::usage(format!("no profile `{name}`")).hint(format!("known are {}", known.join(", ")))
    })
}

/// The file as the machine sees it: below a root, an absolute path counts from there first.
fn place(root: &Root, request: &ResolveRequest, file: &str) -> Result<String> {
    let Some(directory) = &request.root else {
        return Ok(if file.starts_with('/') { file.to_owned() } else { format!("{}/{file}", request.directory) });
    };
    if file.starts_with('/') && root.open(file).is_ok() {
        return Ok(file.to_owned());
    }
    root.inside(std::path::Path::new(file)).ok_or_else(|| {
        Error::file(file, format!("it is not below {}", directory.display()))
            .hint("name it by its path on this machine, or as a program below the root sees it")
    })
}
