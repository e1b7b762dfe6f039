//! One kernel step: one compiler call, one file, and the headers that it was made of.

use std::path::{Path, PathBuf};

use super::engine::BuildOptions;
use super::headers::{Surroundings, read_by};
use super::isolation::outside_links;
use super::nvcc::{LIST, list_of_read, same_source_path};
use super::toolset::{Toolset, temporary};
use crate::error::{Error, Result};
use crate::fs;
use crate::plan::{Action, Step};
use crate::process::Call;

/// What a kernel step is called with.
pub(super) struct KernelStep<'a> {
    pub step: &'a Step,
    /// Root of the source tree.
    pub root: &'a Path,
    /// Empty directory of this step.
    pub work: &'a Path,
    pub options: &'a BuildOptions,
}

impl KernelStep<'_> {
    /// Directory of what is made.
    pub(super) fn made(&self) -> PathBuf {
        self.work.join("made")
    }

    /// Where the preprocessor lists what it read: in the call's directory of temporary files.
    fn list(&self) -> PathBuf {
        temporary(self.work).join(LIST)
    }

    /// The compiler call. The working directory is the source root, so that no path of this machine is
    /// spelled in a command that could leave it in its output.
    pub(super) fn call(&self, tools: &Toolset) -> Result<Call> {
        let Action::Kernel { source, target, args, .. } = &self.step.action else {
            return Err(Error::bug(format!("{} is no kernel step", self.step.id)));
        };
        let nvcc =
            tools.nvcc.as_ref().ok_or_else(|| Error::bug(format!("no nvcc to compile {source} for {target}")))?;
        let mut call = tools.call(nvcc, self.work)?.dir(self.root).args(args.iter().cloned());
        if let Some(cxx) = &tools.nvcc_cxx {
            call = call.args(["-ccbin", fs::utf8(cxx)?]);
        }
        fs_err::create_dir_all(self.made())?;
        let output = self.made().join(super::step::cached_name(self.step));
        let call = call.args(same_source_path(source));
        let call = call.args(list_of_read(fs::utf8(&self.list())?));
        let call = call.args(["-o", fs::utf8(&output)?, source]);
        let mut seen = outside_links(self.root, &self.options.sources)?;
        seen.insert(self.root.to_owned());
        Ok(call.within(self.options.isolation.sandbox(self.work, seen, [])?))
    }

    /// The step with the key that the headers give it, when its file is made.
    ///
    /// # Errors
    /// It left other files than the one it declares; it read what is not in the source.
    pub(super) fn finish(&self) -> Result<Step> {
        let name = super::step::cached_name(self.step);
        if let Some(other) = fs::walk(&self.made())?.into_iter().find(|entry| entry.path != name) {
            return Err(Error::build(format!("{} leaves {}, which it does not declare", self.step.id, other.path))
                .detail(format!("declared: {name}"))
                .hint("look for a flag of the kernel group that keeps or writes files"));
        }
        let (Action::Kernel { source, .. }, Some(direct)) = (&self.step.action, self.step.direct) else {
            return Err(Error::bug(format!("{} is no kernel step", self.step.id)));
        };
        let BuildOptions { sources, isolation, headers, .. } = self.options;
        let place = Surroundings { root: self.root, sources, isolation, store: headers };
        let (list, sought) = read_by(source, &self.list(), &place)?;
        self.options.headers.record(direct, &list, &sought);
        Ok(self.step.clone().settled(&list))
    }
}
