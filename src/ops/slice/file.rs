//! All slices of one file.

use std::collections::BTreeSet;
use std::path::Path;

use super::report::{Announce, FileReport, Outcome};
use super::request::SliceRequest;
use crate::error::{Error, ErrorKind, Result};
use crate::fs::Content;
use crate::gpu::slice::{SliceError, SliceSpec, plan};
use crate::manifest::Manifests;

/// All slices of one file.
pub(super) fn slice(
    path: &Path,
    request: &SliceRequest,
    manifests: &Manifests,
    announce: &Announce<'_>,
) -> Vec<FileReport> {
    let slice = |ask: SliceSpec| {
        let output = request.directory(&ask).join(path.file_name().unwrap_or_default());
        let mut report = FileReport::new(path, &output, &ask);
        match (FileJob { path, output: &output, ask: &ask }).run(request, manifests, announce, &mut report) {
            Ok(outcome) => report.outcome = outcome,
            Err(error) => report.fail(error),
        }
        report
    };
    request.asks().into_iter().map(slice).collect()
}

/// One slice of one file.
struct FileJob<'a> {
    path: &'a Path,
    output: &'a Path,
    ask: &'a SliceSpec,
}

impl FileJob<'_> {
    fn run(
        &self,
        request: &SliceRequest,
        manifests: &Manifests,
        announce: &Announce<'_>,
        report: &mut FileReport,
    ) -> Result<Outcome> {
        let Self { path, output, ask, .. } = *self;
        if let (Ok(from), Ok(to)) = (fs_err::canonicalize(path), fs_err::canonicalize(output))
            && from == to
        {
            let message = format!("{}: the slice would replace the original", path.display());
            return Err(Error::new(ErrorKind::Usage, message).hint("name another directory by `--output`"));
        }
        let content = Content::open(path)?;
        let plan = plan(content.bytes(), ask, request.room, manifests).map_err(|error| named(error, path))?;
        report.plan(&plan);
        announce(report);
        if (plan.loses() || plan.leaves_out(&BTreeSet::new())) && !request.allow_missing {
            return Ok(Outcome::Refused);
        }
        if request.dry_run {
            return Ok(Outcome::WouldWrite);
        }
        crate::slice::write_slice(path, output, &plan, request.room, ask, manifests)?;
        Ok(Outcome::Written)
    }
}

/// simpack's error about the file.
pub(super) fn named(error: SliceError, path: &Path) -> Error {
    match error {
        SliceError::Elf(error) => error.at(path),
        SliceError::Code(error) => error.at(path),
        SliceError::Nothing => Error::file(path, SliceError::Nothing)
            .hint("`--deep` also looks into ordinary data, where some vendor libraries keep theirs"),
    }
}
