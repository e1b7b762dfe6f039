//! `simpack slice`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::arch::Capability;
use crate::error::Result;
use crate::gpu::slice::{FreedSpace, LtoRule, PtxRule, SliceSpec};
use crate::ops::slice::{self, SliceRequest};
use crate::ui::Ui;

/// What becomes of PTX.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PtxArg {
    /// Stays where a capability has no machine code
    Needed,
    /// All of it stays, beside the machine code
    Keep,
    /// Goes, even where nothing else is there
    Drop,
    /// Only PTX stays
    Only,
}

/// What becomes of LTO-IR.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LtoArg {
    /// Stays where a capability has no machine code
    Needed,
    /// All of it stays
    Keep,
    /// Goes, even where nothing else is there
    Drop,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Keeps, per container, the code that a GPU of each capability would take: exact machine code, else that
of a lower minor, of its family, or PTX. The rest leaves the file in whole pages; everything outside
the device code keeps its address. The result is read back before it counts. Kernels that would lose
code that the fat file has are named, and nothing is written then. What stays, goes and is lost is said
before anything is written.

A wheel stays a wheel: its RECORD is written again, and a local version says what it holds. pip and uv
sort a local version above the plain one, so each slice has a directory of its own, for --find-links. A
.conda package stays one: paths.json is written again, its build string says what it holds, and a dependency on
__cuda_arch where it runs. Of a directory every file is sliced that can be, and the rest is copied.

Exit codes: 0 done, 1 kernels would lose their code, 2 impossible command line, 6 a file failed

Examples:
  simpack slice libsim.so --capability 9.0               into sliced/libsim.so
  simpack slice libsim.so --capability 7.5,8.6 --ptx keep --output out
  simpack slice libsim.so --capability 8.0,9.0 --per-capability
  simpack slice libsim.so --capability 9.0 --dry-run     what would stay and go
  simpack slice libkernels.a kernel.o --capability 8.0
  simpack slice sim-1.0-py3-none-linux_x86_64.whl --capability 9.0
                                                         into sliced/sm_90/sim-1.0+sm90-py3-none-...
  simpack slice sim-1.0-h1_0.conda --capability 9.0      into sim-1.0-sm90_h1_0.conda
  simpack slice prefix/ --capability 9.0                 into sliced/prefix")]
pub(in crate::cli) struct SliceArgs {
    /// Library, executable, object, static archive, wheel, .conda package, or directory
    #[arg(value_name = "FILE|DIR", required = true)]
    files: Vec<PathBuf>,

    /// GPUs to keep code for, such as 9.0, 9.0a or 10.0f; separate several by commas
    #[arg(long, short, value_name = "CAPABILITY", value_delimiter = ',', required = true)]
    capability: Vec<Capability>,

    /// PTX
    #[arg(long, value_enum, default_value = "needed")]
    ptx: PtxArg,

    /// LTO-IR
    #[arg(long, value_enum, default_value = "needed")]
    lto: LtoArg,

    /// A slice of its own for each capability, in a directory of its own
    #[arg(long)]
    per_capability: bool,

    /// Directory for the slices
    #[arg(long, short, value_name = "DIR", default_value = "sliced")]
    output: PathBuf,

    /// Keep the size of the file: dropped code becomes zeros
    #[arg(long, conflicts_with = "sparse")]
    zero: bool,

    /// Keep the size of the file: dropped code becomes holes that take no room on the disk
    #[arg(long)]
    sparse: bool,

    /// Slice containers in ordinary data too, where nobody but their library knows how they are used
    #[arg(long)]
    deep: bool,

    /// Write slices in which kernels lose their code for a capability
    #[arg(long)]
    allow_missing: bool,

    /// What permits to pass on packages with slices of a vendor's libraries
    #[arg(long, value_name = "TEXT")]
    permission: Option<String>,

    /// Say what would stay, go and be lost, and write nothing
    #[arg(long)]
    dry_run: bool,
}

impl SliceArgs {
    /// Runs the verb; answers the exit code.
    pub(in crate::cli) fn run(self, ui: &Ui) -> Result<u8> {
        slice::run(&self.request(), ui)
    }

    fn request(self) -> SliceRequest {
        SliceRequest {
            files: self.files,
            ask: SliceSpec {
                capabilities: sorted(self.capability),
                ptx: match self.ptx {
                    PtxArg::Needed => PtxRule::Needed,
                    PtxArg::Keep => PtxRule::Keep,
                    PtxArg::Drop => PtxRule::Drop,
                    PtxArg::Only => PtxRule::Only,
                },
                lto: match self.lto {
                    LtoArg::Needed => LtoRule::Needed,
                    LtoArg::Keep => LtoRule::Keep,
                    LtoArg::Drop => LtoRule::Drop,
                },
                deep: self.deep,
            },
            per_capability: self.per_capability,
            output: self.output,
            room: match (self.zero, self.sparse) {
                (true, _) => FreedSpace::Zero,
                (_, true) => FreedSpace::Sparse,
                _ => FreedSpace::Cut,
            },
            allow_missing: self.allow_missing,
            permission: self.permission,
            dry_run: self.dry_run,
        }
    }
}

/// What a slice is called does not depend on the order of the command line.
fn sorted(mut capabilities: Vec<Capability>) -> Vec<Capability> {
    capabilities.sort_unstable();
    capabilities.dedup();
    capabilities
}
