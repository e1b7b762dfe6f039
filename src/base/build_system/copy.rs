//! No build system: files are installed as they are.

use std::collections::BTreeMap;

use super::{BuildSystem, DriverMistake, DriverWord, HostBuild, HostTools};
use crate::error::Result;
use crate::fs;
use crate::process::Call;

pub(super) struct Copy;

impl BuildSystem for Copy {
    fn tools(&self) -> &'static [&'static str] {
        &[]
    }

    fn mistakes(&self, targets: usize, options: &[&str]) -> Vec<DriverMistake> {
        let mistake = |at| DriverMistake {
            at,
            message: "driver `copy` runs nothing: it has neither targets nor options",
            hint: "choose the files with `inputs`",
        };
        (0..targets).map(DriverWord::Target).chain((0..options.len()).map(DriverWord::Option)).map(mistake).collect()
    }

    fn calls(&self, step: &HostBuild<'_>, _tools: &dyn HostTools) -> Result<Vec<Call>> {
        fs::copy_tree(step.source, &step.tree.join("share").join(step.name), &BTreeMap::new())?;
        Ok(Vec::new())
    }
}
