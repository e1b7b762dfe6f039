//! One kernel step: one compiler call, one file.

use std::path::Path;

use super::nvcc::same_source_path;
use super::toolset::Toolset;
use crate::error::{Error, Result};
use crate::fs;
use crate::process::Call;
use crate::target::KernelTarget;

/// The compiler call that makes `output` of `source`. The working directory is the source root, so
/// that no path of this machine is spelled in a command that could leave it in its output.
pub(super) fn call(
    tools: &Toolset,
    source_root: &Path,
    source: &str,
    target: KernelTarget,
    args: &[String],
    output: &Path,
    work: &Path,
) -> Result<Call> {
    let nvcc = tools.nvcc.as_ref().ok_or_else(|| Error::bug(format!("no nvcc to compile {source} for {target}")))?;
    let mut call = tools.call(nvcc, work)?.dir(source_root).args(args.iter().cloned());
    if let Some(cxx) = &tools.nvcc_cxx {
        call = call.args(["-ccbin", fs::utf8(cxx)?]);
    }
    Ok(call.args(same_source_path(source)).args(["-o", fs::utf8(output)?, source]))
}
