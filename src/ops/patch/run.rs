//! Patches files side by side: every file by itself, whole or not at all.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::find::{Found, find};
use super::intent::{Intent, PatchRequest};
use super::report::{FileReport, Outcome, PatchReport};
use crate::data::Data;
use crate::elf::{Dynamic, ElfError, FileKind, Image};
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::Manifests;
use crate::patch::{Subject, driver_use, write_patched, write_patched_to};
use crate::ui::Ui;

/// Patches; answers the exit code: 0, or 6 when a file failed and the others are done.
///
/// # Errors
/// The request contradicts itself, asks for what breaks on other machines, or names what is not there.
pub fn run(request: &PatchRequest, ui: &Ui) -> Result<u8> {
    if !request.edits() && !request.print && !request.for_driver {
        return Err(Error::usage("nothing to change")
            .hint("name an edit, such as `--set-runpath '$ORIGIN'`, or `--print` to see what files say"));
    }
    let manifests = Manifests::load(&Data::here())?;
    let intent = request.intent(&manifests.drivers)?;
    let files = find(&request.paths)?;
    let single = matches!(files.as_slice(), [Found { named: true, .. }]);
    if (request.output.is_some() || request.soname.is_some()) && !single {
        let (flag, why) = match &request.output {
            Some(_) => ("--output", "one file"),
            None => ("--set-soname", "one library: no two have the same name"),
        };
        return Err(Error::usage(format!("{flag} is for {why}")).hint("name exactly one file"));
    }
    intent.notes.iter().for_each(|note| ui.note(note));
    let report = PatchReport::new(request, all(&files, |file| one(file, request, &intent, &manifests)));
    if !ui.json(&report)? {
        ui.say(report.text());
        report.errors().for_each(|error| ui.error(error));
    }
    Ok(if report.totals.failed > 0 { ErrorKind::File.exit_code() } else { 0 })
}

/// Threads for each processor: most of the time a file waits until its bytes are on the disk, and the
/// file system takes many such waits together.
const WAITING: usize = 8;

/// Results of `work` over all files, in their order.
fn all(files: &[Found], work: impl Fn(&Found) -> FileReport + Sync) -> Vec<FileReport> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, FileReport)>> = Mutex::new(Vec::new());
    let worker = || {
        while let Some((index, file)) = take(files, &next) {
            let report = work(file);
            done.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push((index, report));
        }
    };
    let threads = (WAITING * std::thread::available_parallelism().map_or(1, usize::from)).min(files.len());
    std::thread::scope(|scope| {
        // This thread works too.
        for _ in 1..threads {
            scope.spawn(worker);
        }
        worker();
    });
    let mut done = done.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, report)| report).collect()
}

fn take<'a>(files: &'a [Found], next: &AtomicUsize) -> Option<(usize, &'a Found)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    Some((index, files.get(index)?))
}

fn one(file: &Found, request: &PatchRequest, intent: &Intent, manifests: &Manifests) -> FileReport {
    let mut report = FileReport::new(&file.path);
    match examine(file, request, intent, manifests, &mut report) {
        Ok(outcome) => report.outcome = outcome,
        Err(error) => report.fail(error),
    }
    report
}

fn examine(
    file: &Found,
    request: &PatchRequest,
    intent: &Intent,
    manifests: &Manifests,
    report: &mut FileReport,
) -> Result<Outcome> {
    let subject = Subject::open(&file.path)?;
    if !file.named
        && let Some(reason) = not_concerned(subject.bytes()).map_err(|error| error.at(&file.path))?
    {
        report.reason = Some(reason.to_owned());
        return Ok(Outcome::LeftOut);
    }
    if request.for_driver || request.print {
        report.driver = driver_use(subject.bytes(), &manifests.vendor).map_err(|error| error.at(&file.path))?;
    }
    if request.for_driver && report.driver.is_none() {
        report.reason = Some("it does not look for the driver".to_owned());
        return Ok(Outcome::LeftOut);
    }
    let state = subject.state()?;
    if !request.edits() {
        report.state = Some(state);
        return Ok(Outcome::Shown);
    }
    let plan = subject.plan(&intent.edits(&state, file.named))?;
    report.plan(&plan);
    match (request.check, &request.output) {
        (true, _) if plan.is_empty() => return Ok(Outcome::Unchanged),
        (true, _) => return Ok(Outcome::WouldChange),
        (false, Some(output)) => write_patched_to(&file.path, output, &plan)?,
        (false, None) if plan.is_empty() => {}
        (false, None) => write_patched(&file.path, &plan)?,
    }
    Ok(if plan.is_empty() { Outcome::Unchanged } else { Outcome::Changed })
}

/// Why a file found in a directory has nothing that could be patched: no loader ever searches for it.
fn not_concerned(bytes: &[u8]) -> Result<Option<&'static str>, ElfError> {
    let image = Image::parse(bytes)?;
    let dynamic = Dynamic::parse(&image)?;
    Ok(match FileKind::of(&image, dynamic.as_ref()) {
        FileKind::Object => Some("it is not linked yet"),
        FileKind::StaticPie => Some("it is a static-pie executable: the loader never searches for it"),
        FileKind::Other(_) => Some("it is neither a library nor an executable"),
        _ if dynamic.is_none() => Some("it is static: the loader never searches for it"),
        FileKind::Executable | FileKind::PieExecutable | FileKind::Library => None,
    })
}
