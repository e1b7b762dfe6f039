//! A workspace of pixi, whose platform is a machine ("The Pixi Manifest", workspace and dependencies).

use std::collections::BTreeMap;

use serde::Serialize;

use super::Wanted;
use crate::arch::{Capability, CudaVersion};
use crate::error::{Error, Result};

/// The first pixi that knows platforms with virtual packages, and `__cuda_arch` among them.
const OLDEST: &str = ">=0.71";
/// What the vendor's libraries come from.
const PUBLIC: &str = "conda-forge";
/// The only platform that packages are for.
const SUBDIR: &str = "linux-64";

/// `pixi.toml`.
#[derive(Debug, Clone, Serialize)]
pub struct PixiManifest {
    workspace: Workspace,
    dependencies: BTreeMap<String, Dependency>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Workspace {
    name: String,
    requires_pixi: &'static str,
    channels: Vec<String>,
    platforms: [Platform; 1],
}

#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
enum Platform {
    Plain(&'static str),
    Named { name: String, platform: &'static str, cuda: Cuda },
}

#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
enum Cuda {
    Driver(String),
    DriverAndGpu { driver: String, arch: String },
}

#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
enum Dependency {
    Version(String),
    Build { version: String, build: String },
}

impl PixiManifest {
    /// A workspace with packages of these channels for a machine whose driver runs a CUDA version, and whose lowest GPU
    /// has a capability.
    pub fn new(
        name: String,
        mut channels: Vec<String>,
        driver: Option<CudaVersion>,
        lowest: Option<Capability>,
    ) -> Self {
        channels.push(PUBLIC.to_owned());
        let named = |name: String, cuda| Platform::Named { name, platform: SUBDIR, cuda };
        let platform = match (driver.map(|driver| driver.to_string()), lowest) {
            (Some(driver), Some(lowest)) => named(
                format!("{SUBDIR}-cuda-{}", lowest.number()),
                Cuda::DriverAndGpu { driver, arch: lowest.to_string() },
            ),
            (Some(driver), None) => named(format!("{SUBDIR}-cuda"), Cuda::Driver(driver)),
            (None, _) => Platform::Plain(SUBDIR),
        };
        let workspace = Workspace { name, requires_pixi: OLDEST, channels, platforms: [platform] };
        Self { workspace, dependencies: BTreeMap::new() }
    }

    /// Adds what a match spec asks for.
    ///
    /// # Errors
    /// It is none, or names no package.
    pub fn add(&mut self, spec: &str) -> Result<()> {
        let wanted = Wanted::read(spec).map_err(|why| Error::usage(format!("`{spec}` is no match spec: {why}")))?;
        let name = wanted.name().ok_or_else(|| Error::usage(format!("`{spec}` names no package")))?.to_owned();
        let version = wanted.version().unwrap_or_else(|| "*".to_owned());
        let dependency = match wanted.build() {
            Some(build) => Dependency::Build { version, build: build.to_owned() },
            None => Dependency::Version(version),
        };
        self.dependencies.insert(name, dependency);
        Ok(())
    }

    /// Its text.
    ///
    /// # Errors
    /// It does not print.
    pub fn text(&self) -> Result<String> {
        toml::to_string(self).map_err(|error| Error::bug("a workspace of pixi does not print").because(error))
    }
}
