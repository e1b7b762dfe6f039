//! `simpack inspect`.

use std::path::PathBuf;

use clap::Args;

use crate::error::Result;
use crate::ops::inspect::{self, InspectRequest};
use crate::ui::Ui;

#[derive(Debug, Args)]
#[command(after_help = "\
Read are ELF files, static archives, fatbins, cubins, PTX, LTO-IR, SPIR-V and HIP bundles, also inside
wheels, .conda, .tar.zst, .tar.gz, .tar.bz2, .tar and .zip. Nothing is unpacked to disk, nothing is run.
The table counts pieces of device code; with --kernels it names each kernel and where it is missing.

Exit codes: 0 everything was examined, 2 no such path, 6 a path cannot be read,
7 something could not be examined

Examples:
  simpack inspect lib/libvolley.so.1                device code, SONAME, needs, glibc floor
  simpack inspect --kernels kernels/sm_90/step.cubin   registers, memory, parameter layouts
  simpack inspect dist/                             every package; which target lacks which code
  simpack inspect --kernels='*gemm*' libsim.so      only the kernels of these names
  simpack inspect --deep firmware.bin               containers anywhere in a file
  simpack inspect --json --kernels dist/ > code.json")]
pub(in crate::cli) struct InspectArgs {
    /// File, directory or package
    #[arg(value_name = "FILE|DIR|PACKAGE", required = true)]
    paths: Vec<PathBuf>,

    /// Search all bytes for containers, not only the data of files that name CUDA
    #[arg(long)]
    deep: bool,

    /// Unpack the code and read its kernels; with a pattern only those whose symbol or name in words it matches: a
    /// part of it, or a glob
    #[arg(long, value_name = "PATTERN", num_args = 0..=1, require_equals = true, default_missing_value = "*")]
    kernels: Option<String>,
}

impl InspectArgs {
    /// Runs the verb; answers the exit code.
    pub(in crate::cli) fn run(self, ui: &Ui) -> Result<u8> {
        inspect::run(&InspectRequest { paths: self.paths, deep: self.deep, kernels: self.kernels }, ui)
    }
}
