//! Slicing a wheel: its files one by one, then the wheel around them; whole or not there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::report::{FileReport, Outcome};
use super::run::{SliceRequest, named};
use crate::error::{Error, ErrorKind, Result};
use crate::fs::Content;
use crate::gpu::slice::{PtxRule, SliceAsk, SliceError, plan};
use crate::manifest::Manifests;
use crate::slice::{Member, Wheel, wheel_name, write_slice};

/// Slices the wheel at `path` into `dir`; a report for every file that holds device code.
pub(super) fn slice(
    path: &Path,
    dir: &Path,
    ask: &SliceAsk,
    request: &SliceRequest,
    manifests: &Manifests,
) -> Vec<FileReport> {
    let mut reports = Vec::new();
    if let Err(error) = work(path, dir, ask, request, manifests, &mut reports) {
        reports.retain(|report: &FileReport| report.outcome == Outcome::Refused);
        let mut report = FileReport::new(path, dir, ask);
        report.fail(error);
        reports.push(report);
    }
    reports
}

fn work(
    path: &Path,
    dir: &Path,
    ask: &SliceAsk,
    request: &SliceRequest,
    manifests: &Manifests,
    reports: &mut Vec<FileReport>,
) -> Result<()> {
    let build = build_tag(ask);
    let output = dir.join(wheel_name(path, &build)?);
    let mut wheel = Wheel::open(path)?;
    fs_err::create_dir_all(if request.dry_run { Path::new(".") } else { dir })?;
    let scratch = match request.dry_run {
        true => tempfile::tempdir()?,
        false => tempfile::Builder::new().prefix(".simpack-").tempdir_in(dir)?,
    };
    let mut sliced: BTreeMap<String, PathBuf> = BTreeMap::new();
    for (index, member) in wheel.members(scratch.path())?.into_iter().enumerate() {
        let place = scratch.path().join(format!("slice-{index}"));
        let Some(report) = one(path, &output, &member, &place, ask, request, manifests)? else { continue };
        if report.outcome == Outcome::Written {
            sliced.insert(member.name, place);
        }
        reports.push(report);
    }
    if reports.is_empty() {
        return Err(named(SliceError::Nothing, path));
    }
    if reports.iter().any(|report| report.outcome != Outcome::Written) {
        // One file that is refused refuses the wheel.
        let refused = reports.iter().any(|report| report.outcome == Outcome::Refused);
        let written = reports.iter_mut().filter(|report| refused && report.outcome == Outcome::Written);
        written.for_each(|report| report.outcome = Outcome::WouldWrite);
        return Ok(());
    }
    wheel.write(&sliced, &build, &output)
}

fn one(
    path: &Path,
    output: &Path,
    member: &Member,
    place: &Path,
    ask: &SliceAsk,
    request: &SliceRequest,
    manifests: &Manifests,
) -> Result<Option<FileReport>> {
    let content = Content::open(&member.file)?;
    let plan = match plan(content.bytes(), ask, request.room, manifests) {
        Ok(plan) if plan.is_empty() => return Ok(None),
        Ok(plan) => plan,
        Err(SliceError::Nothing) => return Ok(None),
        Err(error) => return Err(named(error, &path.join(&member.name))),
    };
    let name = member.name.rsplit('/').next().unwrap_or_default();
    if let (Some(library), None) = (manifests.vendor.library(name), &request.permission) {
        return Err(Error::new(
            ErrorKind::Usage,
            format!(
                "{}: {} is a vendor's library ({}), and a package of its slice is passed on",
                path.display(),
                name,
                library.conda
            ),
        )
        .hint("name what permits that by `--permission TEXT`, or slice the library itself for your own use"));
    }
    let mut report = FileReport::new(&path.join(&member.name), output, ask);
    report.plan(&plan);
    report.outcome = match (plan.losses.is_empty() || request.allow_missing, request.dry_run) {
        (false, _) => Outcome::Refused,
        (true, true) => Outcome::WouldWrite,
        (true, false) => {
            write_slice(&member.file, place, &plan, request.room, ask, manifests)?;
            Outcome::Written
        }
    };
    Ok(Some(report))
}

/// `0sm80.sm90`, `0ptx90`: begins with a digit, as the rule wants (PEP 427), and sorts by capability.
fn build_tag(ask: &SliceAsk) -> String {
    let kind = if ask.ptx == PtxRule::Only { "ptx" } else { "sm" };
    let mut names: Vec<String> =
        ask.capabilities.iter().map(|capability| format!("{kind}{}", &capability.sm()[3..])).collect();
    if ask.ptx == PtxRule::Keep {
        names.push("ptx".to_owned());
    }
    format!("0{}", names.join("."))
}
