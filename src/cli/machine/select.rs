//! `simpack select`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};

use crate::arch::{Capability, CudaVersion};
use crate::error::{Error, Result};
use crate::ops::select::{self, FileFormat, Format, SelectRequest, VariantChoice};
use crate::ui::Ui;

/// Forms of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FormatArg {
    /// Verdicts and an install command
    Text,
    /// conda match specs, one a line
    Conda,
    /// A command of pip that installs the wheels of a directory
    Pip,
    /// The same as a command of uv
    Uv,
    /// Commands that unpack plain archives below $PREFIX
    Tar,
    /// A command of apt that installs packages of Debian
    Deb,
    /// A command of umoci that unpacks an image
    Oci,
    /// A pixi.toml, whose platform is the machine
    Pixi,
    /// A nix expression, for the directory of the overlay.nix that `simpack generate nix` writes
    Nix,
    /// As --json
    Json,
}

/// A version of Vulkan.
#[derive(Debug, Clone, Copy)]
struct VulkanVersion(u8, u8);

impl FromStr for VulkanVersion {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let numbers = text.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        numbers.map(|(major, minor)| Self(major, minor)).ok_or_else(|| format!("`{text}` is no version such as 1.3"))
    }
}

#[derive(Debug, Args)]
#[command(after_help = "\
The choice is that of the simulator's own loader: machine code of exactly the GPU, of a lower minor, of
its family, PTX that the driver can compile, else the CPU; shaders of the highest environment that a Vulkan
device takes and whose limits it offers. With a prefix and a channel together, what is
installed is compared with what there is.

Exit codes: 0 every GPU gets device code, 1 a GPU is left to the CPU, 2 nothing to select from, no such
machine, or no packages of that format, 6 a file cannot be read

Examples:
  simpack select                                     from dist/, for this machine
  simpack select --device 9.0                        from dist/, for an H100 and a new driver
  simpack select dist/ --device 8.6 --driver 550.54.14 --format conda
  simpack select --device 8.0 --device 8.9 --smallest
  simpack select ~/miniforge3/envs/sim dist/ --device 8.9   what would be better than what is installed
  simpack select --device cpu --format conda | xargs -d '\\n' conda install --channel dist/conda
  simpack select dist/ --device 9.0 --format pixi > pixi.toml   a workspace for an H100
  simpack select dist/ --format pip | sh              installs wheels into the environment that pip is of
  simpack select dist/ --replay login.json --format uv  for a machine that `simpack doctor --json` recorded
  simpack select dist/ --device 9.0 --format tar | PREFIX=/opt/volley sh
  simpack select --vulkan 1.2                        shaders for a device of Vulkan 1.2
  simpack select --variant mpi=openmpi --variant python=3.12
  simpack select --device 12.0 --cuda 13.0 --json")]
pub(in crate::cli) struct SelectArgs {
    /// Directory of packages, channel, installed prefix, or kernel packages [default: dist]
    #[arg(value_name = "DIST|PREFIX|PACKAGE")]
    paths: Vec<PathBuf>,

    /// Compute capability of a GPU of the machine, or `cpu` for a machine without; once for each GPU [default: the
    /// GPUs of this machine]
    #[arg(long, value_name = "X.Y")]
    device: Vec<String>,

    /// Version of Vulkan of a device of the machine; once for each device. No limit of it is known: --replay knows them
    #[arg(long, value_name = "X.Y", conflicts_with = "replay")]
    vulkan: Vec<VulkanVersion>,

    /// Select for the machine of this record, which `simpack doctor --json` printed
    #[arg(long, value_name = "FILE", conflicts_with = "device")]
    replay: Option<PathBuf>,

    /// The driver's number, as nvidia-smi shows it [default: this machine's, with --device one that is new enough]
    #[arg(long, value_name = "NUMBER", conflicts_with = "cuda")]
    driver: Option<String>,

    /// The CUDA version that the driver supports
    #[arg(long, value_name = "X.Y")]
    cuda: Option<CudaVersion>,

    /// Host variant in the place of the default one, such as mpi=openmpi; python=3.12 brings the module for that Python.
    /// Once for each choice
    #[arg(long, value_name = "AXIS=VALUE")]
    variant: Vec<VariantChoice>,

    /// Take the fewest packages that serve all GPUs, not the best for each
    #[arg(long)]
    smallest: bool,

    /// Form of the answer
    #[arg(long, value_enum, default_value = "text")]
    format: FormatArg,
}

impl SelectArgs {
    /// Runs the verb; answers the exit code.
    pub(in crate::cli) fn run(self, ui: &Ui) -> Result<u8> {
        let mut devices: Vec<Capability> = Vec::new();
        for text in &self.device {
            if text == "cpu" {
                continue;
            }
            let capability: Capability = text.parse().map_err(|message: String| {
                Error::usage(message).hint("an H100 is 9.0, an RTX 4090 is 8.9; `--device cpu` has no GPU")
            })?;
            devices.push(capability);
        }
        if self.device.iter().any(|text| text == "cpu") && self.device.len() > 1 {
            return Err(Error::usage("`--device cpu` is a machine without GPUs and cannot be combined with others"));
        }
        let request = SelectRequest {
            paths: self.paths,
            devices: (!self.device.is_empty()).then_some(devices),
            vulkan: self.vulkan.into_iter().map(|VulkanVersion(major, minor)| (major, minor)).collect(),
            driver: self.driver,
            cuda: self.cuda,
            replay: self.replay,
            smallest: self.smallest,
            variants: self.variant,
            program: Some(crate::cli::OWN_PROGRAM.into()),
            format: match self.format {
                FormatArg::Text => Format::Text,
                FormatArg::Conda => Format::Conda,
                FormatArg::Pip => Format::Pip,
                FormatArg::Uv => Format::Uv,
                FormatArg::Tar => Format::Files(FileFormat::Tar),
                FormatArg::Deb => Format::Files(FileFormat::Deb),
                FormatArg::Oci => Format::Files(FileFormat::Oci),
                FormatArg::Pixi => Format::Pixi,
                FormatArg::Nix => Format::Nix,
                FormatArg::Json => Format::Json,
            },
        };
        select::run(&request, ui)
    }
}
