//! The machine that a call asks about: its files, its loader, its processor.

use crate::elf::resolve::{Cpu, Environment, Loader, Opened, Tree, read_object};
use crate::elf::{ElfError, Image};
use crate::error::{Error, Result};
use crate::fs::Root;
use crate::manifest::{LoaderProfile, Manifests};
use crate::probe::this_cpu;

use super::assumed::Assumed;
use super::run::ResolveRequest;

/// What a call asks about.
pub(super) struct Asked {
    pub(super) tree: Assumed,
    pub(super) loader: Loader,
    pub(super) environment: Environment,
    /// Path of the file as the machine sees it.
    pub(super) file: String,
}

/// Puts together files, loader and environment for one file.
pub(super) fn asked(request: &ResolveRequest, manifests: &Manifests, file: &str) -> Result<Asked> {
    let root = match &request.root {
        Some(root) => Root::at(root)?,
        None => Root::machine(),
    };
    let path = place(&root, request, file)?;
    let opened = match Tree::open(&root, &path) {
        Opened::File(file) => file,
        Opened::Absent => return Err(Error::file(file, "there is no such file")),
        Opened::Denied => return Err(Error::file(file, "permission denied")),
        Opened::Directory => return Err(Error::file(file, "it is a directory").hint("name a program or a library")),
        Opened::Failed(reason) => return Err(Error::file(file, reason)),
    };
    let bytes: &[u8] = (*opened.content).as_ref();
    let wrong = |error: ElfError| error.at(std::path::Path::new(file));
    let machine = Image::segments_only(bytes).map_err(wrong)?.header.machine.0;
    let object = read_object(bytes, machine).map_err(|_| Error::file(file, "no loader takes it"))?;
    let profile = profile(request, manifests)?;
    let mut loader = profile.loader(machine);
    loader.cpu = this_cpu();
    if let Some(level) = request.cpu_level {
        loader.cpu = Cpu::x86_64(level);
    }
    let interpreter = object.interpreter.filter(|_| request.profile.is_none() && request.libc.is_none());
    let interpreter = interpreter.unwrap_or_else(|| profile.interpreter.clone());
    // A profile without the machine's files: what this machine's loader says would be wrong there.
    let foreign = request.profile.is_some() && request.root.is_none();
    if foreign {
        if profile.name() != "nixos" {
            loader.configure(&root);
        }
    } else if !loader.find(&root, &interpreter) {
        interpreter.clone_into(&mut loader.path);
        loader.configure(&root);
    }
    let secure = request.secure || ((opened.setuid || opened.setgid) && object.soname.is_none());
    drop(opened);
    let mut environment = Environment {
        library_path: request.library_path.clone(),
        preload: request.preload.clone(),
        directory: request.directory.clone(),
        secure,
    };
    if environment.library_path.is_none() && !profile.library_path.is_empty() {
        environment.library_path = Some(profile.library_path.join(":"));
    }
    let tree = Assumed::new(root, machine, profile.driver.as_deref(), manifests);
    Ok(Asked { tree, loader, environment, file: path })
}

fn profile<'a>(request: &ResolveRequest, manifests: &'a Manifests) -> Result<&'a LoaderProfile> {
    let name = request.profile.as_deref().or(request.libc.as_deref().filter(|libc| *libc == "musl"));
    let name = name.unwrap_or("conventional");
    manifests.loaders.get(name).ok_or_else(|| {
        let known: Vec<&str> = manifests.loaders.profiles().map(LoaderProfile::name).collect();
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
