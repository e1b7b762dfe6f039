//! Slices files one after another; every slice is whole or not there.

use std::collections::BTreeSet;

use super::report::{FileReport, SliceReport};
use super::request::SliceRequest;
use super::{file, package};
use crate::data::Data;
use crate::error::{Error, Result};
use crate::manifest::Manifests;
use crate::ui::Ui;

/// Slices; answers the exit code: 1 when a slice was refused because kernels would lose their code, 6
/// when a file failed; the others are done.
///
/// # Errors
/// The request asks for something impossible.
pub fn run(request: &SliceRequest, ui: &Ui) -> Result<u8> {
    let manifests = Manifests::load(&Data::here())?;
    check(request, &manifests)?;
    let mut files = Vec::new();
    let bar = ui.steps("slice", request.files.len() as u64);
    let announce = |report: &FileReport| ui.say(report.plan_text());
    for path in &request.files {
        bar.set_message(path.display().to_string());
        match package::is_package(path) {
            true => files.extend(package::slice(path, request, &manifests, &announce)),
            false => files.extend(file::slice(path, request, &manifests, &announce)),
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    let report = SliceReport::new(files);
    if !ui.json(&report)? {
        ui.say(report.text());
        report.errors().for_each(|error| ui.error(error));
    }
    Ok(report.exit_code())
}

fn check(request: &SliceRequest, manifests: &Manifests) -> Result<()> {
    for capability in &request.ask.capabilities {
        if manifests.capabilities.get(capability.plain()).is_none() {
            return Err(Error::usage(format!("unknown capability `{capability}`"))
                .hint("`simpack check` lists those of a CUDA release, such as 8.6, 9.0 and 12.0"));
        }
    }
    let mut names = BTreeSet::new();
    for path in &request.files {
        let name = path.file_name().ok_or_else(|| Error::usage(format!("{} is not a file", path.display())))?;
        if !names.insert(name) {
            return Err(Error::usage(format!("two files of the name {}", name.to_string_lossy()))
                .hint("slice them into different directories by `--output`"));
        }
    }
    Ok(())
}
