//! Patches files side by side: every file by itself, whole or not at all.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::OnceLock;

use object::elf;
use tempfile::TempPath;

use super::find::{Finding, Found, find};
use super::intent::{Intent, PatchRequest};
use super::report::{FileReport, Outcome, PatchReport};
use crate::data::Data;
use crate::elf::edit::Source;
use crate::elf::resolve::Loader;
use crate::elf::{ElfError, FileKind};
use crate::error::{Error, ErrorKind, Result};
use crate::fs::Root;
use crate::manifest::Manifests;
use crate::parallel::{side_by_side, threads};
use crate::patch::{Machine, Replacement, Subject, commit, driver_use, prepare, sweep, sweep_dir};
use crate::ui::Ui;

/// At most so many copies wait at a time to be put in their places.
const BATCH: usize = 4096;

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
    let finding = find(&request.paths)?;
    let single = matches!(finding.files.as_slice(), [Found { named: true, .. }]);
    if (request.output.is_some() || request.soname.is_some()) && !single {
        let (flag, why) = match &request.output {
            Some(_) => ("--output", "one file"),
            None => ("--set-soname", "one library: no two have the same name"),
        };
        return Err(Error::usage(format!("{flag} is for {why}")).hint("name exactly one file"));
    }
    intent.notes.iter().for_each(|note| ui.note(note));
    if request.edits() && !request.check {
        clean(&finding, request);
    }
    let (mut files, mut old, loader) = (Vec::new(), Vec::new(), OnceLock::new());
    for batch in finding.files.chunks(batch(finding.files.len())) {
        let worker =
            || Worker { request, intent: &intent, manifests: &manifests, loader: &loader, machine: OnceCell::new() };
        let looked = side_by_side(batch, threads(), worker, |worker, file| worker.one(file));
        files.extend(patched(looked, &mut old));
    }
    let report = PatchReport::new(request, files);
    if !ui.json(&report)? {
        ui.say(report.text());
        report.errors().for_each(|error| ui.error(error));
    }
    Ok(if report.totals.failed > 0 { ErrorKind::File.exit_code() } else { 0 })
}

/// Removes what killed runs left where this one writes.
fn clean(finding: &Finding, request: &PatchRequest) {
    finding.temporary.iter().for_each(|path| sweep(path));
    let named = finding.files.iter().filter(|file| file.named).map(|file| &*file.path);
    let parent =
        |path: &Path| path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned();
    let parents: BTreeSet<_> = named.chain(request.output.as_deref()).map(parent).collect();
    parents.iter().for_each(|dir| sweep_dir(dir));
}

/// A file that was looked at, and the copy that waits to take its place.
type Looked = (FileReport, Option<Replacement>);

/// Puts the copies in their places.
fn patched(looked: Vec<Option<Looked>>, old: &mut Vec<TempPath>) -> Vec<FileReport> {
    let (mut reports, replacements): (Vec<_>, Vec<_>) = looked.into_iter().flatten().unzip();
    let waiting: Vec<usize> =
        replacements.iter().enumerate().filter(|(_, it)| it.is_some()).map(|(index, _)| index).collect();
    let committed = commit(replacements.into_iter().flatten().collect());
    old.extend(committed.old);
    for (index, result) in waiting.into_iter().zip(committed.results) {
        if let Err(error) = result {
            reports[index].fail(error);
        }
    }
    reports
}

/// How many copies of `files` may wait: each holds a descriptor, of which a process has 1,024 if it asks for no more.
/// That many can be opened afterwards without waiting.
fn batch(files: usize) -> usize {
    // Each thread has a file, its copy and the directories it looks into.
    let others = 64 + threads() * (Machine::DIRECTORIES + 4);
    let most = BATCH.min(files);
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the place lives through the calls.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max.min((most + others) as u64).max(limit.rlim_cur);
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
            libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        }
    }
    let descriptors = usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX);
    let batch = descriptors.saturating_sub(others).clamp(64, BATCH);
    make_room((others + batch.min(files)).min(descriptors.saturating_sub(1)));
    batch
}

/// Makes the kernel's table of descriptors large enough for `last`. Each time the kernel makes it larger it waits until
/// no thread looks at the old one: six times for a thousand files, longer than all other work on them. Before there
/// are threads, there is no waiting.
fn make_room(last: usize) {
    let last = libc::c_int::try_from(last).unwrap_or(libc::c_int::MAX);
    // SAFETY: numbers only; the first descriptor is open in every Rust program, and the new one is nobody else's.
    unsafe {
        let there = libc::fcntl(0, libc::F_DUPFD_CLOEXEC, last);
        if there >= 0 {
            libc::close(there);
        }
    }
}

/// The loader of this machine, for libraries of its own kind.
fn own_loader(manifests: &Manifests) -> Loader {
    let machine = if cfg!(target_arch = "aarch64") { elf::EM_AARCH64 } else { elf::EM_X86_64 };
    let profile = manifests.loaders.get("conventional");
    let mut loader = profile.map_or_else(|| Loader::glibc(machine.0, &[]), |profile| profile.loader(machine.0));
    let path = loader.path.clone();
    loader.find(&Root::machine(), &path);
    loader
}

/// What a thread works with.
struct Worker<'a> {
    request: &'a PatchRequest,
    intent: &'a Intent,
    manifests: &'a Manifests,
    loader: &'a OnceLock<Loader>,
    /// This machine's libraries, once a file's search path changes.
    machine: OnceCell<Machine<'a>>,
}

impl Worker<'_> {
    /// Looks at one file; nothing for one in a directory that is not ELF.
    fn one(&self, file: &Found) -> Option<Looked> {
        let mut report = FileReport::new(&file.path);
        let subject = match file.named {
            true => Subject::open(&file.path).map(Some),
            false => Subject::open_elf(&file.path),
        };
        let looked = match subject {
            Ok(None) => return None,
            Ok(Some(subject)) => self.examine(&subject, file.named, &mut report),
            Err(error) => Err(error),
        };
        let mut replacement = None;
        match looked {
            Ok((outcome, copy)) => (report.outcome, replacement) = (outcome, copy),
            Err(error) => report.fail(error),
        }
        Some((report, replacement))
    }

    fn examine(
        &self,
        subject: &Subject,
        named: bool,
        report: &mut FileReport,
    ) -> Result<(Outcome, Option<Replacement>)> {
        let request = self.request;
        let wrong = |error: ElfError| error.at(subject.path());
        let source = subject.source()?;
        if !named && let Some(reason) = not_concerned(&source) {
            report.reason = Some(reason.to_owned());
            return Ok((Outcome::LeftOut, None));
        }
        if request.for_driver || request.print {
            report.driver = driver_use(&source, &self.manifests.loaders, &self.manifests.vendor).map_err(wrong)?;
        }
        if request.for_driver && report.driver.is_none() {
            report.reason = Some("it does not look for the driver".to_owned());
            return Ok((Outcome::LeftOut, None));
        }
        if !request.edits() {
            report.state = Some(source.state);
            return Ok((Outcome::Shown, None));
        }
        let edits = self.intent.edits(&source.state, named);
        let plan = subject.plan(&source, &edits)?;
        report.plan(&plan);
        if edits.search_path.is_some() && !plan.is_empty() {
            let after = source.state.after(&edits).map_err(wrong)?;
            report.lost = self.machine().lost(subject, &source.state, &after);
        }
        let outcome = match (plan.is_empty(), request.check) {
            (true, _) => Outcome::Unchanged,
            (false, true) => Outcome::WouldChange,
            (false, false) => Outcome::Changed,
        };
        let output = match &request.output {
            _ if request.check => None,
            Some(output) => Some(output.as_path()),
            None => (!plan.is_empty()).then(|| subject.path()),
        };
        Ok((outcome, output.map(|output| prepare(subject, output, &plan)).transpose()?))
    }

    fn machine(&self) -> &Machine<'_> {
        self.machine.get_or_init(|| Machine::new(self.loader.get_or_init(|| own_loader(self.manifests))))
    }
}

/// Why a file found in a directory has nothing that could be patched: no loader ever searches for it.
fn not_concerned(source: &Source<'_>) -> Option<&'static str> {
    match source.kind() {
        FileKind::Object => Some("it is not linked yet"),
        FileKind::StaticPie => Some("it is a static-pie executable: the loader never searches for it"),
        FileKind::Other(_) => Some("it is neither a library nor an executable"),
        _ if source.dynamic.is_none() => Some("it is static: the loader never searches for it"),
        FileKind::Executable | FileKind::PieExecutable | FileKind::Library => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_descriptors_is_made_large_first() {
        let batch = batch(700);
        assert!(batch >= 64);
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let size = status.lines().find_map(|line| line.strip_prefix("FDSize:")).unwrap();
        assert!(size.trim().parse::<usize>().unwrap() > batch.min(700), "{size} for {batch}");
    }
}
