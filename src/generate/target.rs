//! What texts are generated for.

use std::fmt;

/// What texts are generated for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// A recipe of rattler-build, with what conda-forge wants beside it.
    Conda,
    /// A flake, an overlay and a package in the style of nixpkgs.
    Nix,
    /// A CMake config package.
    Cmake,
    /// Files of pkg-config.
    Pkgconfig,
    /// A workflow of GitHub that builds the matrix.
    Github,
    /// A package of Spack.
    Spack,
    /// Easyconfigs of EasyBuild, one a CUDA release.
    Easybuild,
    /// A page in Markdown about the kernels: parameters, buffers, structures.
    Docs,
}

impl Target {
    /// All targets.
    pub const ALL: [Self; 8] =
        [Self::Conda, Self::Nix, Self::Cmake, Self::Pkgconfig, Self::Github, Self::Spack, Self::Easybuild, Self::Docs];

    /// Whether its texts name packages, so that the model needs them.
    pub fn names_packages(self) -> bool {
        self == Self::Conda
    }

    /// Whether its texts compile the device code themselves, without simpack.
    pub fn compiles(self) -> bool {
        matches!(self, Self::Conda | Self::Nix | Self::Spack | Self::Easybuild)
    }

    /// Whether its texts build what ships cut once for each target, and change sources as recipes do.
    pub fn builds_each(self) -> bool {
        matches!(self, Self::Conda | Self::Nix)
    }

    /// Whether its texts compile shaders: it has glslc among its packages.
    pub fn compiles_shaders(self) -> bool {
        matches!(self, Self::Conda | Self::Nix)
    }

    /// Whether its texts name an archive of a package index by address or file.
    pub fn fetches(self) -> bool {
        matches!(self, Self::Conda | Self::Nix | Self::Spack | Self::Easybuild)
    }

    /// Whether its texts follow from the recipe alone, whatever was built.
    pub fn follows_from_recipe(self) -> bool {
        matches!(self, Self::Github | Self::Docs)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Conda => "conda",
            Self::Nix => "nix",
            Self::Cmake => "cmake",
            Self::Pkgconfig => "pkgconfig",
            Self::Github => "github",
            Self::Spack => "spack",
            Self::Easybuild => "easybuild",
            Self::Docs => "docs",
        })
    }
}
