//! Reads all manifests.

use super::{
    Capabilities, Contracts, CudaReleases, Debian, Drivers, EnvironmentMarks, ForeignPackages, GlibcLevels, Loaders,
    MemoryModel, Redistribution, SpirvEnvironments, TimeModel, Vendor,
};
use crate::data::Data;
use crate::error::Result;

/// All manifests that the recipe, the chain and the lints need. The toolchain's own pins are read there.
#[derive(Debug, Clone)]
pub struct Manifests {
    /// Compute capabilities.
    pub capabilities: Capabilities,
    /// CUDA releases.
    pub cuda: CudaReleases,
    /// The vendor's libraries.
    pub vendor: Vendor,
    /// manylinux levels.
    pub glibc: GlibcLevels,
    /// Driver profiles.
    pub drivers: Drivers,
    /// Which relocatable device code may be linked together.
    pub contracts: Contracts,
    /// What devices take SPIR-V.
    pub spirv: SpirvEnvironments,
    /// Memory that steps take.
    pub memory: MemoryModel,
    /// Time that steps take.
    pub time: TimeModel,
    /// Loader profiles, and names that are opened at run time.
    pub loaders: Loaders,
    /// Packages of Debian.
    pub debian: Debian,
    /// What may be passed on.
    pub redistribution: Redistribution,
    /// Variables and marks of kinds of machines.
    pub environment: EnvironmentMarks,
    /// What packages of others bring and may take for granted.
    pub foreign: ForeignPackages,
}

impl Manifests {
    /// Reads them from `data`.
    ///
    /// # Errors
    /// A file cannot be read, or is wrong: the message names file, line and column.
    pub fn load(data: &Data) -> Result<Self> {
        let capabilities = Capabilities::load(data)?;
        let cuda = CudaReleases::load(data)?;
        Ok(Self {
            capabilities,
            cuda,
            vendor: Vendor::load(data)?,
            glibc: GlibcLevels::load(data)?,
            drivers: Drivers::load(data)?,
            contracts: Contracts::load(data)?,
            spirv: SpirvEnvironments::load(data)?,
            memory: MemoryModel::load(data)?,
            time: TimeModel::load(data)?,
            loaders: Loaders::load(data)?,
            debian: Debian::load(data)?,
            redistribution: Redistribution::load(data)?,
            environment: EnvironmentMarks::load(data)?,
            foreign: ForeignPackages::load(data)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(path: &str, text: &str) -> String {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(path);
        fs_err::create_dir_all(file.parent().unwrap()).unwrap();
        fs_err::write(file, text).unwrap();
        Manifests::load(&Data::at(dir.path())).unwrap_err().to_string()
    }

    #[test]
    fn the_embedded_manifests_are_right() {
        let manifests = Manifests::load(&Data::at("no such directory")).unwrap();
        assert!(manifests.capabilities.iter().count() > 15);
    }

    #[test]
    fn a_wrong_file_is_named_with_line_and_column() {
        insta::assert_snapshot!(
            broken("manifests/capabilities.toml", "edition = 1\n[[capability]]\nname = \"9.0x\"\n"),
            @"manifests/capabilities.toml:3:8: `9.0x` is not a compute capability such as 9.0, 9.0a or 10.0f"
        );
        insta::assert_snapshot!(
            broken("manifests/glibc.toml", "edition = 1\n[[level]]\nname = \"a\"\nglib = \"2.17\"\n"),
            @"manifests/glibc.toml:4:1: unknown field `glib`, expected one of `name`, `alias`, `glibc`, `glibcxx`, `cxxabi`, `gcc`"
        );
        insta::assert_snapshot!(
            broken("manifests/drivers.toml", "edition = 2\nprofile = []\nstubs = { directories = [] }\ncompat = { directories = [] }\n"),
            @"manifests/drivers.toml: edition 2 is not known; this simpack reads edition 1"
        );
        insta::assert_snapshot!(broken("manifests/cuda.toml", "edition = \n"), @"manifests/cuda.toml:1:11: string values must be quoted, expected literal string");
    }

    #[test]
    fn contradictions_inside_a_file_are_found() {
        let text = "edition = 1\n[[capability]]\nname = \"9.0\"\narchitecture = \"Hopper\"\nmin-cuda = \"12.0\"\nmax-cuda = \"11.0\"\n";
        insta::assert_snapshot!(broken("manifests/capabilities.toml", text), @"manifests/capabilities.toml:3:8: `9.0` has max-cuda 11.0 below min-cuda 12.0");
        let text = "edition = 1\n[[capability]]\nname = \"9.0\"\narchitecture = \"Hopper\"\nmin-cuda = \"12.0\"\nfamily = [\"9.9\"]\nf-since = \"12.0\"\n";
        insta::assert_snapshot!(broken("manifests/capabilities.toml", text), @"manifests/capabilities.toml:3:8: `9.0` needs both `f-since` and a `family` that lists itself, or neither");
        let text = "edition = 1\nmajor = []\n[[release]]\nversion = \"13.0\"\nptx-isa = \"9\"\n";
        insta::assert_snapshot!(broken("manifests/cuda.toml", text), @"manifests/cuda.toml:5:11: `9` is not a PTX ISA version such as 9.0");
        let text = "edition = 1\nlibrary = []\nruntime = []\n[[driver]]\nfile = \"libcuda.so[\"\nreason = \"x\"\n";
        insta::assert_snapshot!(broken("manifests/vendor.toml", text), @"manifests/vendor.toml:5:8: error parsing glob 'libcuda.so[': unclosed character class; missing ']'");
    }
}
