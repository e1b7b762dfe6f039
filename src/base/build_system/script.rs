//! A shell script of the source.

use std::path::Path;

use super::{BuildSystem, DriverMistake, DriverWord, HostBuild, HostTools};
use crate::error::{Error, Result};
use crate::fs;
use crate::process::Call;

pub(super) struct Script;

impl BuildSystem for Script {
    fn tools(&self) -> &'static [&'static str] {
        &["c++"]
    }

    fn mistakes(&self, targets: usize, _options: &[&str]) -> Vec<DriverMistake> {
        let mistake = DriverMistake {
            at: DriverWord::Driver,
            message: "driver `script` needs one target: the script's file name",
            hint: "add targets = [\"build.sh\"]",
        };
        if targets == 1 { Vec::new() } else { vec![mistake] }
    }

    fn calls(&self, step: &HostBuild<'_>, tools: &dyn HostTools) -> Result<Vec<Call>> {
        let script = step.targets.first().ok_or_else(|| Error::bug("a script build without its script"))?;
        let tree = fs::utf8(step.tree)?;
        let mut call = tools.call(Path::new("/bin/sh"))?.dir(step.source).args(["-eu", script.as_str()]);
        for (name, value) in step.options(tree, tools)? {
            call = call.env(name.clone(), value);
        }
        Ok(vec![call.env("PREFIX", tree).env("JOBS", step.jobs.to_string())])
    }
}
