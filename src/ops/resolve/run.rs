//! One call: each file's process, what is wrong with it, and how that is printed.

use super::declared::Declared;
use super::drawing::{dot, svg};
use super::lints::{ProcessFacts, registry};
use super::machine::{Asked, Lists, Machine, asked};
use super::report::{Answer, Answers, text, tree};
use super::request::ResolveRequest;
use crate::data::Data;
use crate::elf::resolve::{Libc, Open, Process, Resolution, file_name};
use crate::error::{DENIED, Error, Result};
use crate::fs::write_atomic;
use crate::lint::Settings;
use crate::manifest::opened;
use crate::report::{Incomplete, Report, TextOptions};
use crate::ui::Ui;

/// Answers; the exit code is 1 when a program would not start or load what it must not, 7 when a package's
/// manifest could not be read.
///
/// # Errors
/// A file is not there or no loader takes it; the request contradicts itself.
pub fn run(request: &ResolveRequest, ui: &Ui) -> Result<u8> {
    if request.svg.is_some() && request.files.len() != 1 {
        return Err(Error::usage("--svg is for one file").hint("name exactly one file"));
    }
    if request.libc.is_some() && request.profile.is_some() {
        return Err(Error::usage("--libc and --profile both say whose rules hold").hint("leave one of them out"));
    }
    let data = Data::here();
    let lists = Lists::load(&data)?;
    let machine = Machine::new(request, &lists)?;
    let registry = registry(&data)?;
    let settings = request.levels.iter().fold(Settings::default(), |settings, (id, level)| settings.level(id, *level));
    let settings = registry.resolve(settings)?;
    let mut done: Vec<(Asked, Resolution, Report)> = Vec::new();
    for file in &request.files {
        let mut asked = asked(&machine, file)?;
        if request.libc.as_deref() == Some("glibc") {
            asked.loader.libc = Libc::Glibc;
        }
        let (resolution, incomplete) =
            process(request, &lists, &asked).map_err(|refusal| Error::file(file, refusal))?;
        let system = ["/lib", "/lib64", "/usr/lib", "/usr/lib64"].map(str::to_owned).to_vec();
        let facts = ProcessFacts {
            file: asked.file.clone(),
            system: asked.loader.directories.iter().cloned().chain(system).collect(),
            resolution,
            environment: asked.environment.clone(),
            lists: &lists,
        };
        let report = registry.run(&facts, &settings, vec![asked.file.clone()], incomplete);
        done.push((asked, facts.resolution, report));
    }
    if let (Some(picture), Some((_, resolution, _))) = (&request.svg, done.first()) {
        write_atomic(picture, svg(&dot(resolution))?.as_bytes())?;
        ui.note(format!("wrote {}", picture.display()));
    }
    let answers = done.iter().map(|(asked, resolution, report)| Answer::new(asked, resolution, report)).collect();
    if !ui.json(&Answers::new(answers))? {
        done.iter().for_each(|(asked, resolution, report)| ui.say(words(request, asked, resolution, report)));
    }
    // Denied findings outweigh what could not be examined, as in one report.
    let codes: Vec<u8> = done.iter().map(|(_, _, report)| report.exit_code()).collect();
    Ok(if codes.contains(&DENIED) { DENIED } else { codes.into_iter().max().unwrap_or(0) })
}

fn words(request: &ResolveRequest, asked: &Asked, resolution: &Resolution, report: &Report) -> String {
    match (request.dot, request.tree) {
        (true, _) => dot(resolution),
        (false, true) => tree(resolution),
        (false, false) => {
            let options = TextOptions { noun: "file", ..TextOptions::default() };
            format!("{}{}", text(asked, resolution), report.text(options))
        }
    }
}

/// The process: what is needed, then what is opened, until nothing new is opened.
fn process(
    request: &ResolveRequest,
    lists: &Lists,
    asked: &Asked,
) -> Result<(Resolution, Vec<Incomplete>), crate::elf::resolve::Refusal> {
    let mut process = Process::start(&asked.tree, &asked.loader, &asked.environment, &asked.file)?;
    for name in &request.dlopen {
        process.open(&Open { from: 0, name: name.clone() });
    }
    let mut declared = Declared::new(asked.tree.root());
    let mut looked = 0;
    while request.find_opened && looked < process.objects().len() {
        let object = &process.objects()[looked];
        let mut names = Vec::new();
        if object.calls_dlopen && object.id.is_some() {
            let own = object.soname.clone().unwrap_or_else(|| file_name(&object.path).to_owned());
            if let Some(content) = process.content(looked) {
                names = opened(content, &own, &lists.loaders, &lists.vendor);
            }
        }
        if object.calls_dlopen && object.id.is_some() {
            names.extend(
                declared.names(&object.path).into_iter().filter(|name| !names.contains(name)).collect::<Vec<_>>(),
            );
        }
        for name in names {
            process.open(&Open { from: looked, name });
        }
        looked += 1;
    }
    Ok((process.finish(), declared.incomplete()))
}
