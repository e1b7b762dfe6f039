//! `simpack generate`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::config;
use crate::error::Result;
use crate::generate::Target;
use crate::ops::generate::{GenerateRequest, TableRequest, generate, table};
use crate::ui::Ui;

#[derive(Debug, Subcommand)]
#[command(after_help = "\
The texts follow from the recipe alone, so they can be committed: `--check` says whether they are current.
With `--dist dist` they follow from what was built, too: libraries, link names, lowest releases.
What they build runs the simulator's own build system and nvcc; simpack is not one of their build dependencies.
Templates lie below templates/generate; files there override those inside simpack.

Examples:
  simpack generate conda recipes/volley             into recipes/volley/packaging/conda
  simpack generate nix recipes/volley --output nix/volley
  simpack generate nix recipes/volley --output nix/volley --check      (for CI)
  simpack generate conda recipes/volley --dist dist            after `simpack build recipes/volley`
  simpack generate github recipes/volley            into .github/workflows")]
pub(in crate::cli) enum GenerateCommand {
    /// A recipe of rattler-build with variants, and conda-forge.yml
    #[command(after_help = "\
Exit codes: 0 done, 3 the recipe is wrong, 8 with --check: a file is not current

Examples:
  simpack generate conda recipes/volley
  simpack generate conda recipes/volley --check
  rattler-build build --recipe recipes/volley/packaging/conda/recipe.yaml")]
    Conda(GenerateArgs),
    /// A flake, an overlay and a package in the style of nixpkgs
    #[command(after_help = "\
Exit codes: 0 done, 3 the recipe is wrong, 8 with --check: a file is not current

Examples:
  simpack generate nix recipes/volley --output nix/volley
  simpack generate nix recipes/volley --output nix/volley --check
  nix build ./nix/volley#volley-sm_90")]
    Nix(GenerateArgs),
    /// A CMake config package with one target a component
    #[command(after_help = "\
Exit codes: 0 done, 3 the recipe is wrong, 8 with --check: a file is not current

Examples:
  simpack generate cmake recipes/volley
  simpack generate cmake recipes/volley --output cmake --check")]
    Cmake(GenerateArgs),
    /// Files of pkg-config, one a component
    #[command(after_help = "\
Exit codes: 0 done, 3 the recipe is wrong, 8 with --check: a file is not current

Examples:
  simpack generate pkgconfig recipes/volley
  simpack generate pkgconfig recipes/volley --output pkgconfig --check")]
    Pkgconfig(GenerateArgs),
    /// A workflow of GitHub that builds the matrix and verifies the packages
    #[command(after_help = "\
Exit codes: 0 done, 3 the recipe is wrong, 8 with --check: a file is not current

Examples:
  simpack generate github recipes/volley
  simpack generate github recipes/volley --check")]
    Github(GenerateArgs),
    /// A package of Spack, with `cuda_arch` for the GPUs
    #[command(after_help = "\
Exit codes: 0 done, 3 the recipe is wrong, 8 with --check: a file is not current

Examples:
  simpack generate spack recipes/volley --output ~/repo/packages/volley
  spack install volley +cuda cuda_arch=90
  simpack generate spack recipes/volley --check")]
    Spack(GenerateArgs),
    /// Easyconfigs of EasyBuild, one a CUDA release
    #[command(after_help = "\
Exit codes: 0 done, 3 the recipe is wrong, 8 with --check: a file is not current

Examples:
  simpack generate easybuild recipes/volley
  eb recipes/volley/packaging/easybuild/*.eb --robot --cuda-compute-capabilities=9.0
  simpack generate easybuild recipes/volley --check")]
    Easybuild(GenerateArgs),
    /// A page in Markdown about the kernels: parameters, buffers, structures
    #[command(after_help = "\
Exit codes: 0 done, 3 the recipe is wrong or has no kernel table, 8 with --check: the page is not current

Examples:
  simpack generate docs recipes/volley              into recipes/volley/packaging/docs
  simpack generate docs recipes/strata --output doc
  simpack generate docs recipes/strata --output doc --check      (for CI)")]
    Docs(GenerateArgs),
    /// The structures of kernel tables, as the host has them
    #[command(after_help = "\
Kernel groups name headers of the host, or a command that prints its structures: [kernels.NAME.structures].
What differs is written into the [[struct]]s of their tables; comments and all else stay as they are.

Exit codes: 0 done, 3 the recipe is wrong, 5 the host's structures cannot be read, 8 with --check: a table is not current

Examples:
  simpack generate table recipes/strata
  simpack generate table recipes/strata --check     (for CI)")]
    Table(TableArgs),
}

#[derive(Debug, Args)]
pub(in crate::cli) struct TableArgs {
    /// Recipe: a directory, a file, or a name below recipes/ [default: that of the current directory]
    recipe: Option<String>,

    /// Write nothing; show how the tables differ from the host, and fail when they do
    #[arg(long)]
    check: bool,

    /// Directory of logs and intermediate files
    #[arg(long, value_name = "DIR", default_value = "target/simpack")]
    work: PathBuf,

    /// Use no network: what the host part is compiled by must be in the cache
    #[arg(long)]
    offline: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct GenerateArgs {
    /// Recipe: a directory, a file, or a name below recipes/ [default: that of the current directory]
    recipe: Option<String>,

    /// Directory of the files [default: packaging/TARGET beside the recipe, .github/workflows for github]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,

    /// Write nothing; show how the files differ from what would be written, and fail when they do
    #[arg(long)]
    check: bool,

    /// Take what a build of the recipe left there into account: libraries and link names that are really there, and the
    /// lowest releases that the code's symbols ask for. Without, texts follow from the recipe alone, and are compared
    /// with what `dist` would say, if it is there
    #[arg(long, value_name = "DIR")]
    dist: Option<PathBuf>,

    /// Use no network: a source that is elsewhere must be in the cache
    #[arg(long)]
    offline: bool,
}

impl GenerateCommand {
    /// Runs the verb; answers the exit code.
    pub(in crate::cli) fn run(self, ui: &Ui) -> Result<u8> {
        let (target, args) = match self {
            Self::Conda(args) => (Target::Conda, args),
            Self::Nix(args) => (Target::Nix, args),
            Self::Cmake(args) => (Target::Cmake, args),
            Self::Pkgconfig(args) => (Target::Pkgconfig, args),
            Self::Github(args) => (Target::Github, args),
            Self::Spack(args) => (Target::Spack, args),
            Self::Easybuild(args) => (Target::Easybuild, args),
            Self::Docs(args) => (Target::Docs, args),
            Self::Table(TableArgs { recipe, check, work, offline }) => {
                let offline = offline || config::current().is_on("offline");
                return table(&TableRequest { recipe, check, offline, work }, ui);
            }
        };
        let request = GenerateRequest {
            target,
            recipe: args.recipe,
            output: args.output,
            check: args.check,
            dist: args.dist,
            offline: args.offline || config::current().is_on("offline"),
        };
        generate(&request, ui)
    }
}
