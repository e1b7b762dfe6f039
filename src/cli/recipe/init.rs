//! `simpack init`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::data::Data;
use crate::error::{Error, Result};
use crate::ops::init::{InitRequest, Project, Sample, Shape, Start, init};
use crate::ui::Ui;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simpack init mysim                  a recipe that builds, in recipes/mysim
  simpack init mysim --dir .          in the current directory, beside what it has
  simpack init mysim --shape spirv    with compute shaders for Vulkan in the place of kernels for CUDA
  simpack init --here                 a recipe for the project in the current directory
  simpack init --here --shape cubin --compiled build/kernels
                                      with a kernel table drafted from compiled code")]
pub(in crate::cli) struct InitArgs {
    /// Name of the simulator: lower-case letters, digits, `-` and `_` [with --here: the project's own]
    #[arg(required_unless_present = "here")]
    name: Option<String>,

    /// Directory of the new recipe [default: recipes/NAME; with --here: the current directory]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,

    /// Write a recipe for the project that is there: reads CMakeLists.txt, a Makefile or an installed
    /// tree, and what was compiled before; runs nothing
    #[arg(long)]
    here: bool,

    /// How kernels ship: in files of their own (cubin), within libraries that are cut to one capability
    /// each (slice, with --here), or as shaders for Vulkan (spirv, of a sample) [default: cubin; with
    /// --here: as the project compiles them]
    #[arg(long, value_name = "SHAPE")]
    shape: Option<ShapeArg>,

    /// Compiled code that lies elsewhere: a library, device code, an installed tree
    #[arg(long, value_name = "PATH", requires = "here")]
    compiled: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ShapeArg {
    Cubin,
    Slice,
    Spirv,
}

impl InitArgs {
    pub(in crate::cli) fn run(self, ui: &Ui) -> Result<u8> {
        let Self { name, dir, here, shape, compiled } = self;
        let start = match (name, here) {
            (Some(name), false) => Start::Sample(name, sample(shape)?),
            (name, _) => Start::Here(Project { name, shape: drafted(shape)?, compiled }),
        };
        init(&InitRequest { dir, start }, &Data::here(), ui)
    }
}

fn sample(shape: Option<ShapeArg>) -> Result<Sample> {
    match shape {
        None | Some(ShapeArg::Cubin) => Ok(Sample::Cubin),
        Some(ShapeArg::Spirv) => Ok(Sample::Spirv),
        Some(ShapeArg::Slice) => Err(Error::usage("there is no sample of shape `slice`")
            .hint("`simpack init --here --shape slice` writes a recipe for a project that is there")),
    }
}

fn drafted(shape: Option<ShapeArg>) -> Result<Option<Shape>> {
    match shape {
        None => Ok(None),
        Some(ShapeArg::Cubin) => Ok(Some(Shape::Cubin)),
        Some(ShapeArg::Slice) => Ok(Some(Shape::Slice)),
        Some(ShapeArg::Spirv) => Err(Error::usage("no recipe of shape `spirv` is drafted for a project that is there")
            .hint("`simpack init NAME --shape spirv` starts a sample whose recipe shows all that shaders need")),
    }
}
