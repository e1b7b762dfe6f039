//! One call: find the packages, check what they ask for, compile what is not there.

use std::path::PathBuf;

use super::compilers::{self, CudaCompilers};
use super::gpus::capabilities;
use super::installed::{self, Installed};
use super::kept::{Kept, New, Record};
use super::model::ModelCompilers;
use super::place::Place;
use super::report::{Compiled, Item, State};
use super::request::CompileRequest;
use super::{kernels, model};
use crate::arch::{Capability, CudaVersion};
use crate::data::Data;
use crate::error::{Error, Result};
use crate::fs;
use crate::manifest::Manifests;
use crate::process::IsolationKind;
use crate::ui::Ui;

/// Version of the JSON form.
const SCHEMA: u32 = 1;

/// Compiles; answers the exit code.
///
/// # Errors
/// Nothing that is installed compiles here, a compiler does not fit, a package is damaged, or something does not compile.
pub fn compile(request: &CompileRequest, ui: &Ui) -> Result<u8> {
    let root = request.into.clone().map_or_else(fs::compiled_dir, Ok)?;
    let compiled = Kept::with(&root, |kept| {
        let directory = kept.root.display().to_string();
        let mut compiled =
            Compiled { schema: SCHEMA, directory, gpus: Vec::new(), items: Vec::new(), notes: Vec::new() };
        if request.list {
            compiled.items = kept.list()?;
            compiled.items.retain(|item| request.simulator.as_ref().is_none_or(|name| item.simulator == *name));
        } else if request.clean {
            compiled.items = kept.clean(request.simulator.as_deref())?;
        } else {
            all(request, kept, &mut compiled, ui)?;
        }
        Ok(compiled)
    })?;
    if !ui.json(&compiled)? {
        ui.say(compiled.text());
    }
    Ok(0)
}

fn all(request: &CompileRequest, kept: &Kept, compiled: &mut Compiled, ui: &Ui) -> Result<()> {
    let manifests = Manifests::load(&Data::here())?;
    let mut packages = installed::find(&request.prefixes, ui)?;
    packages.retain(|one| request.simulator.as_ref().is_none_or(|name| one.manifest.simulator == *name));
    if packages.is_empty() {
        return Err(Error::usage("nothing that is installed there compiles on this machine").hint(
            "install the package NAME-source or NAME-rtc of a simulator; `simpack doctor` lists what is installed",
        ));
    }
    for package in &packages {
        package.check()?;
    }
    compiled.gpus = capabilities(request, &manifests)?.into_iter().collect();
    if compiled.gpus.is_empty() {
        let hint = "nothing is compiled for GPUs; `--capability 9.0` names one";
        compiled.notes.push(format!("no GPU that runs CUDA was found: {hint}"));
    }
    let session = Session { request, kept, manifests: &manifests, gpus: compiled.gpus.clone(), ui };
    let (mut models, mut patterns) = (0, Vec::new());
    for package in &packages {
        if let Some(sources) = package.manifest.device_sources.as_ref().filter(|_| !session.gpus.is_empty()) {
            let found = session.cuda(package, Some(sources.cuda))?;
            for &gpu in &session.gpus {
                let new = kernels::planned(package, sources, gpu, &found)?;
                compiled.items.push(session.settle(package, new, Some(&found), None, |place, new| {
                    kernels::make((package, sources), (gpu, &found), (place, request.jobs), kept, new)
                })?);
            }
        }
        if let Some(compile) = &package.manifest.compile {
            patterns.push(format!("{} ({})", package.manifest.package, compile.inputs.join(", ")));
            let dir = request.dir.clone().unwrap_or_else(|| PathBuf::from("."));
            let Some(found) = model::find(&dir, compile)? else { continue };
            models += 1;
            let host = compilers::host(&package.name(), compile)?;
            let for_gpus = !compile.cuda.is_empty() && !session.gpus.is_empty();
            let cuda = for_gpus.then(|| session.cuda(package, package.manifest.cuda)).transpose()?;
            let with = ModelCompilers { host, cuda: cuda.as_ref().map(|cuda| (cuda, session.gpus.as_slice())) };
            let new = model::planned(package, compile, &found, &with, kept)?;
            compiled.items.push(session.settle(package, new, cuda.as_ref(), Some(&with.host.cxx), |place, new| {
                model::make((package, compile), (&found, &with), (place, request.jobs), kept, new)
            })?);
        }
    }
    if models == 0 {
        let none = |dir: &PathBuf| format!("{} holds nothing to compile", dir.display());
        match (&request.dir, patterns.is_empty()) {
            (Some(dir), true) => return Err(Error::usage(format!("no package compiles what is in {}", dir.display()))),
            (Some(dir), false) => {
                return Err(patterns.into_iter().fold(Error::usage(none(dir)), |error, one| error.detail(one)));
            }
            (None, false) => compiled.notes.push(format!("no model is here: {}", patterns.join("; "))),
            (None, true) => {}
        }
    }
    Ok(())
}

/// What all packages of a call share.
struct Session<'a> {
    request: &'a CompileRequest,
    kept: &'a Kept,
    manifests: &'a Manifests,
    gpus: Vec<Capability>,
    ui: &'a Ui,
}

impl Session<'_> {
    fn cuda(&self, package: &Installed, shipped: Option<CudaVersion>) -> Result<CudaCompilers> {
        let with = (self.request, self.manifests, self.ui);
        compilers::cuda(&package.name(), shipped, self.gpus.iter().copied(), with)
    }

    /// Makes what is not there.
    fn settle(
        &self,
        package: &Installed,
        new: New,
        cuda: Option<&CudaCompilers>,
        cxx: Option<&PathBuf>,
        make: impl FnOnce(&Place<'_>, New) -> Result<Record>,
    ) -> Result<Item> {
        if let Some(record) = self.kept.current(&new)? {
            return Ok(self.kept.item(record, State::Current));
        }
        if self.request.dry_run {
            return Ok(Item {
                path: self.kept.place(&new).display().to_string(),
                package: new.package,
                simulator: new.simulator,
                version: new.version,
                what: new.what,
                name: new.name,
                state: State::Planned,
                compilers: new.compilers,
                sets: new.sets,
                seconds: 0.0,
            });
        }
        let scratch = self.kept.scratch()?;
        let programs = cuda.into_iter().flat_map(|cuda| [&cuda.toolchain.nvcc, &cuda.cxx.cxx]).chain(cxx).cloned();
        let (seen, mode) = (package.seen()?, self.request.sandbox);
        let place = Place::new(scratch.path(), &package.prefix, seen, programs.collect(), mode)?;
        let isolation = place.isolation();
        let text = format!("programs of {} run {}", package.manifest.package, isolation.describe());
        match isolation.kind() {
            IsolationKind::None => self.ui.warning(text),
            _ => self.ui.note(format!("  {text}")),
        }
        let record = make(&place, new)?;
        Ok(self.kept.item(record, State::Compiled))
    }
}
