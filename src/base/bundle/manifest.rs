//! `simpack.json`: what a bundle holds, for whom it is, and where it comes from.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Condition, Dependency, EmbeddedShaders, Inventory, OutsideLibrary, schema};
use crate::arch::{CudaVersion, GlibcVersion, KernelAbiTag, KernelTarget, Platform, Version, VersionPolicy};
use crate::elf::Facts;
use crate::error::Result;
use crate::fs::Digest;
use crate::gpu::{DeviceCode, KernelSignature, ShaderNeeds};
use crate::recipe::{Compile, ComponentKind, HostVariant, KernelForm, KernelGroup, SITE_PACKAGES, Smoke, Waiver};

/// A bundle on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle {
    /// Root of the staged tree (the prefix).
    pub root: PathBuf,
    /// What it is. In the tree it lies at [`BundleManifest::path`].
    pub manifest: BundleManifest,
    /// What is known of its files.
    pub files: Inventory,
}

impl Bundle {
    /// A bundle of whose files nothing is known yet.
    pub fn new(root: PathBuf, manifest: BundleManifest) -> Self {
        Self { root, manifest, files: Inventory::default() }
    }

    /// The digest of its file at `path`.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn digest(&self, path: &str) -> Result<Digest> {
        self.files.digest(&self.root, path)
    }

    /// The device code of its files, as whoever examined them found it.
    ///
    /// # Errors
    /// A file cannot be read, or is damaged.
    pub fn device_code(&self) -> Result<Vec<Arc<DeviceCode>>> {
        let is_file = |artifact: &&Artifact| matches!(artifact.kind, ArtifactKind::File { .. });
        let files = self.manifest.artifacts.iter().filter(is_file);
        files.map(|artifact| self.device_code_of(&artifact.path)).collect()
    }

    /// The device code of its file at `path`.
    ///
    /// # Errors
    /// It cannot be read, or is damaged.
    pub fn device_code_of(&self, path: &str) -> Result<Arc<DeviceCode>> {
        self.files.file(path).device_of(&self.root.join(path))
    }

    /// What the host's ELF files among its artifacts say of themselves, with their paths.
    ///
    /// # Errors
    /// One cannot be read, or its tables are damaged.
    pub fn host_facts(&self) -> Result<Vec<(String, Arc<Facts>)>> {
        let mut found = Vec::new();
        for Artifact { path, kind } in &self.manifest.artifacts {
            if let ArtifactKind::File { .. } = kind
                && let Some(facts) = self.files.file(path).host_of(&self.root.join(path))?
            {
                found.push((path.clone(), facts));
            }
        }
        Ok(found)
    }
}

/// The content of `simpack.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct BundleManifest {
    /// Always `MANIFEST_SCHEMA`: an earlier schema is read as this one.
    #[serde(deserialize_with = "schema::schema")]
    pub schema: u32,
    /// Package name: `volley-core`, `volley-kernels-sm_90`.
    pub package: String,
    /// Simulator's name.
    pub simulator: String,
    /// Simulator's version.
    pub version: Version,
    /// Which component.
    pub component: ComponentKind,
    /// What the version promises.
    pub policy: VersionPolicy,
    /// Platform; none for files that hold no host code (`noarch`).
    pub platform: Option<Platform>,
    /// Kernel target of a kernel bundle.
    pub target: Option<KernelTarget>,
    /// CUDA release that compiled the kernels, or that rtc was written for.
    pub cuda: Option<CudaVersion>,
    /// Host variant that it was built as; none of what there is once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostVariant>,
    /// Kernel ABI tag: core embeds it, kernels match it.
    pub kernel_abi: Option<KernelAbiTag>,
    /// Declared kernels of a kernel bundle, and those of core whose code it embeds, sorted by name.
    pub kernels: Vec<KernelSignature>,
    /// Shaders that promise the same bits on every device, by variant: names of their kernels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub exact: BTreeMap<String, BTreeSet<String>>,
    /// What shaders need of a device, by variant; read from the modules when the bundle is sealed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub needs: BTreeMap<String, ShaderNeeds>,
    /// Shaders that the build of core put into its files, by environment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub embedded: Vec<EmbeddedShaders>,
    /// Glibc that the host code needs: computed from its symbol versions.
    pub glibc: Option<GlibcVersion>,
    /// Dependencies outside the distribution that the recipe declares.
    #[serde(deserialize_with = "schema::uses")]
    pub uses: Vec<Dependency>,
    /// All that the package depends on; empty before it is packed, and of packages with schema 1.
    #[serde(default)]
    pub dependencies: BTreeSet<Dependency>,
    /// What it asks of the machine; empty as the dependencies are.
    #[serde(default)]
    pub conditions: Vec<Condition>,
    /// What packages that are built against it depend on; empty as the dependencies are.
    #[serde(default)]
    pub exports: Vec<Dependency>,
    /// SPDX expression of the licence; none before it is packed, and of packages with schema 1.
    #[serde(default)]
    pub license: Option<String>,
    /// Digests of the licence texts that the package brings, by file name.
    #[serde(default)]
    pub licences: BTreeMap<String, Digest>,
    /// Libraries that its code opens at run time, by the names it passes to `dlopen`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub opens: Vec<String>,
    /// Libraries that its files need out of what its build was given: packages of channels, libraries of the machine.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub outside: Vec<OutsideLibrary>,
    /// Findings over it that its recipe accepts.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub waivers: Vec<Waiver>,
    /// Every file and link, sorted by path, without this manifest itself.
    pub artifacts: Vec<Artifact>,
    /// The simulator's smoke test, in core's manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smoke: Option<Smoke>,
    /// How `simpack compile` compiles what users write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compile: Option<Compile>,
    /// Kernel groups whose sources it holds, for `simpack compile`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_sources: Option<DeviceSources>,
    /// Whether it is that of a wheel: the prefix is a directory of `site-packages`, beside which lie vendor libraries, and modules for
    /// every Python, which only the wheel's own list names.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub as_wheel: bool,
    /// Where it comes from.
    pub provenance: Provenance,
}

impl BundleManifest {
    /// What kernels ship as in it; none when it holds none. Kernels without host code have no platform, and libraries
    /// that launch their own kernels no kernel ABI.
    pub fn form(&self) -> Option<KernelForm> {
        let target = self.target.filter(|_| self.component == ComponentKind::Kernels)?;
        Some(match (self.platform, &self.kernel_abi, target) {
            (Some(_), Some(_), _) => KernelForm::Library,
            (Some(_), None, _) => KernelForm::Slice,
            (None, _, target) if target.is_shader() => KernelForm::Spirv,
            (None, ..) => KernelForm::Cubin,
        })
    }

    /// The declared kernels that code for its target holds. The tag is over all that core launches, so the table of a
    /// simulator with shaders and kernels of CUDA has both in each package.
    pub fn own_kernels(&self) -> impl Iterator<Item = &KernelSignature> {
        // Tables of packages that were made before did not say which are shaders: all were of one kind.
        let says = self.kernels.iter().any(|kernel| kernel.shader);
        let is_shader = self.target.is_some_and(KernelTarget::is_shader);
        self.kernels.iter().filter(move |kernel| !says || kernel.shader == is_shader)
    }

    /// Whether it holds whole libraries that were cut to its target, host code and all.
    pub fn is_slice(&self) -> bool {
        self.form() == Some(KernelForm::Slice)
    }

    /// Whether it holds modules that every Python takes, which installers put into the Python of an environment.
    pub fn is_for_every_python(&self) -> bool {
        self.artifacts.iter().any(|artifact| self.module(&artifact.path).is_some())
    }

    /// The path of a module for every Python below the directory of modules, wherever an installer has that; none for
    /// any other path.
    pub fn module<'a>(&self, path: &'a str) -> Option<&'a str> {
        path.strip_prefix(SITE_PACKAGES).filter(|_| self.platform.is_none())
    }

    /// Path of the manifest inside the tree: one a package, so that installed packages never clash.
    pub fn path(&self) -> String {
        format!("share/simpack/{}/simpack.json", self.package)
    }

    /// Path of the bill of materials, which is written when the package is.
    pub fn sbom_path(&self) -> String {
        format!("share/simpack/{}/sbom.cdx.json", self.package)
    }
}

/// Kernel groups that are compiled from files of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct DeviceSources {
    /// Directory below the prefix that their paths are relative to.
    pub directory: String,
    /// The groups, sorted by name, all of the form `cubin`.
    pub groups: Vec<KernelGroup>,
    /// CUDA release that compiled the packages of kernels: nvcc of another major version is refused.
    pub cuda: CudaVersion,
    /// Tag over all kernels of the simulator: core looks for device code in a directory of that name.
    pub kernel_abi: KernelAbiTag,
}

/// One file or link of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Artifact {
    /// `/`-joined path below the prefix.
    pub path: String,
    /// What it is.
    #[serde(flatten)]
    pub kind: ArtifactKind,
}

/// A file with its digest, or a link.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum ArtifactKind {
    /// A regular file.
    File {
        /// SHA-256.
        sha256: Digest,
        /// Bytes.
        size: u64,
        /// Owner's execute bit.
        executable: bool,
    },
    /// A symbolic link and its text.
    Link {
        /// The text.
        to: String,
    },
}

/// Where a bundle comes from: nothing here depends on directory, user, host or time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Provenance {
    /// simpack's own version.
    pub simpack: String,
    /// Digest over the resolved recipe without its list of targets.
    pub recipe: Digest,
    /// Digest over the content keys of the steps that made the files.
    pub plan: Digest,
    /// Tools by name, with version and, for pinned ones, digest.
    pub tools: BTreeMap<String, ToolVersion>,
    /// Files of the source that the device code was compiled from, with their digests.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub sources: BTreeMap<String, Digest>,
    /// Seconds since 1970 that stand in for every time stamp.
    pub source_date_epoch: u64,
}

/// 1980-01-01 in seconds since 1970: the earliest time that a zip, and so a wheel or a `.conda`, can hold.
pub const EARLIEST: u64 = 315_532_800;

impl Provenance {
    /// Of what no step made: it follows from what `digest` covers alone, whichever simpack writes it and whenever.
    pub fn fixed(digest: Digest) -> Self {
        Self {
            simpack: String::new(),
            recipe: digest,
            plan: digest,
            tools: BTreeMap::new(),
            sources: BTreeMap::new(),
            source_date_epoch: EARLIEST,
        }
    }
}

/// A tool's version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct ToolVersion {
    /// Version text.
    pub version: String,
    /// Digest of the pinned wheel it came from; of a compiler of shaders that of its program.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sha256: Option<Digest>,
}
