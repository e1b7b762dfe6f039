//! GNU make.

use std::path::Path;

use super::{BuildSystem, HostBuild, HostTools, PREFIX};
use crate::error::{Error, Result};
use crate::fs;
use crate::process::Call;

pub(super) struct Make;

impl BuildSystem for Make {
    fn tools(&self) -> &'static [&'static str] {
        &["c++", "make"]
    }

    fn jobserver(&self) -> Option<&'static str> {
        Some("make")
    }

    fn has_install_target(&self) -> bool {
        true
    }

    fn calls(&self, step: &HostBuild<'_>, tools: &dyn HostTools) -> Result<Vec<Call>> {
        if fs::utf8(step.work)?.contains(char::is_whitespace) {
            return Err(Error::build(format!(
                "make cannot work in {}: it takes the name apart at the space",
                step.work.display()
            ))
            .hint("name a directory without spaces in --work"));
        }
        let options = step.options(PREFIX, tools)?.into_iter();
        let mut options: Vec<String> = options.map(|(name, value)| format!("{name}={value}")).collect();
        options.push(format!("PREFIX={PREFIX}"));
        options.push(format!("DESTDIR={}", fs::utf8(step.dest)?));
        let base = tools.call(Path::new("make"))?.dir(step.source);
        let base = match tools.share(&base)? {
            Some(shared) => shared,
            None => base.arg(format!("-j{}", step.jobs)),
        };
        let base = base.args(options);
        let mut calls = vec![base.clone().args(step.targets.iter().cloned())];
        if !step.installs {
            calls.push(base.arg("install"));
        }
        Ok(calls)
    }
}
