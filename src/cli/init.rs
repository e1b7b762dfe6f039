//! `simpack init`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::data::Data;
use crate::error::Result;
use crate::ops::init::{InitRequest, Project, Shape, Start, init};
use crate::ui::Ui;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simpack init mysim                  a recipe that builds, in recipes/mysim
  simpack init mysim --dir .          in the current directory, beside what it has
  simpack init --here                 a recipe for the project in the current directory
  simpack init --here --shape cubin --compiled build/kernels
                                      with a kernel table drafted from compiled code")]
pub(super) struct InitArgs {
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

    /// How kernels ship: in files of their own (cubin), or within libraries that are cut to one
    /// capability each (slice) [default: as the project compiles them]
    #[arg(long, value_name = "SHAPE", requires = "here")]
    shape: Option<ShapeArg>,

    /// Compiled code that lies elsewhere: a library, device code, an installed tree
    #[arg(long, value_name = "PATH", requires = "here")]
    compiled: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ShapeArg {
    Cubin,
    Slice,
}

impl InitArgs {
    pub(super) fn run(self, ui: &Ui) -> Result<u8> {
        let Self { name, dir, here, shape, compiled } = self;
        let shape = shape.map(|shape| match shape {
            ShapeArg::Cubin => Shape::Cubin,
            ShapeArg::Slice => Shape::Slice,
        });
        let start = match name {
            Some(name) if !here => Start::Sample(name),
            name => Start::Here(Project { name, shape, compiled }),
        };
        init(&InitRequest { dir, start }, &Data::here(), ui)
    }
}
