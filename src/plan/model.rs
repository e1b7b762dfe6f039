//! The values of a plan.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::KeyPart;
use crate::arch::{CudaVersion, KernelAbiTag, KernelCompiler, KernelTarget, Platform, Version, VersionPolicy};
use crate::build_system::BuildDriver;
use crate::bundle::{BundleManifest, Dependency, MANIFEST_SCHEMA, Provenance, ToolVersion};
use crate::fs::Digest;
use crate::layout::Structure;
use crate::recipe::{
    Component, ComponentKind, HostType, HostVariant, Install, KernelForm, LayoutSource, Recipe, Soname,
};

/// Version of the plan's JSON schema.
pub const PLAN_SCHEMA: u32 = 1;

/// Name among the tools of the manifests and templates that the user put before the embedded ones.
pub const DATA: &str = "data";

/// What planning needs to know of the world, gathered beforehand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanInputs {
    /// Every file of the source, `/`-joined below its root, with its digest.
    pub sources: BTreeMap<String, Digest>,
    /// Those of them that count only where the `inputs` of a build name them.
    pub left_out: BTreeSet<String>,
    /// Directories of the source that hold nothing.
    pub empty_directories: BTreeSet<String>,
    /// Tools of each CUDA release by name (`nvcc`, `c++`, `cmake`, `ninja`), as they enter keys and provenance.
    pub tools: BTreeMap<CudaVersion, BTreeMap<String, ToolVersion>>,
    /// Seconds since 1970 that stand in for every time stamp.
    pub source_date_epoch: u64,
    /// Components whose own build compiles device code, and must be told for which capabilities.
    pub cuda_builds: BTreeSet<ComponentKind>,
    /// What builds of each host variant, and those without, are given of others, by what they enter keys as: `package hdf5`.
    pub dependencies: BTreeMap<Option<HostVariant>, Vec<KeyPart>>,
    /// Libraries of the machine with their versions, by their names in pkg-config.
    pub system: BTreeMap<String, String>,
}

/// The whole job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct BuildPlan {
    /// Always [`PLAN_SCHEMA`].
    pub schema: u32,
    /// Simulator's name.
    pub simulator: String,
    /// Its version.
    pub version: Version,
    /// Platform of the host part.
    pub platform: Platform,
    /// CUDA release that the host part is built for, and kernels of it.
    pub cuda: CudaVersion,
    /// The tag that ties kernels to core.
    pub kernel_abi: Option<KernelAbiTag>,
    /// Tools that the steps of the host part and of this release use.
    pub tools: BTreeMap<String, ToolVersion>,
    /// The other releases that kernels are built by.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub others: Vec<PlannedRelease>,
    /// Steps in a fixed order; no step needs a later one.
    pub steps: Vec<Step>,
    /// Bundles that the outputs are staged into.
    pub bundles: Vec<PlannedBundle>,
}

/// Another CUDA release of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct PlannedRelease {
    /// The release.
    pub cuda: CudaVersion,
    /// Tools that its steps use.
    pub tools: BTreeMap<String, ToolVersion>,
}

impl BuildPlan {
    /// Tools that the steps of a release use; those of the host part where something belongs to none.
    pub fn tools_of(&self, cuda: Option<CudaVersion>) -> &BTreeMap<String, ToolVersion> {
        let other = self.others.iter().find(|release| Some(release.cuda) == cuda);
        other.map_or(&self.tools, |release| &release.tools)
    }

    /// Directory of a bundle beside the others: packages of several releases, and of several host variants, share names.
    pub fn directory(&self, bundle: &PlannedBundle) -> String {
        let mut named = self.bundles.iter().filter(|other| other.package == bundle.package);
        let is_several = named.any(|other| other.cuda != bundle.cuda);
        let cuda = bundle.cuda.filter(|_| is_several).map(|cuda| format!("-cuda{cuda}"));
        let host = bundle.host.as_ref().map(|host| format!("-{}", host.word()));
        format!("{}{}{}", bundle.package, cuda.unwrap_or_default(), host.unwrap_or_default())
    }
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Step {
    /// Unique in the plan, stable between runs: `host core`, `kernels/neuron.cu sm_90 (fixed)`.
    pub id: String,
    /// Component it belongs to.
    pub component: ComponentKind,
    /// CUDA release that it belongs to; none for what all releases share.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cuda: Option<CudaVersion>,
    /// Host variant that it builds; none of a component without.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub host: Option<HostVariant>,
    /// Digest over `parts`.
    pub key: Digest,
    /// What the key is made of.
    pub parts: Vec<KeyPart>,
    /// Key of what is known before the compiler says which headers it read; lists of headers are
    /// recorded under it. None for steps whose inputs are all declared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direct: Option<Digest>,
    /// What to do.
    pub action: Action,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Action {
    /// Builds and installs a host component into a tree.
    Host {
        /// Build system.
        driver: BuildDriver,
        /// Directory of its top file below the source root; empty for the root.
        source: String,
        /// Options; `{prefix}` and `{jobs}` are still to be replaced.
        options: BTreeMap<String, String>,
        /// Make targets, or the script's file name.
        targets: Vec<String>,
        /// What is installed of what was built; by the build itself where empty.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        install: Vec<Install>,
        /// SONAMEs of libraries whose build gives them none.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        sonames: Vec<Soname>,
        /// The one target whose plug-in library it builds.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        target: Option<KernelTarget>,
        /// Whether it is given the packages that the lock holds for builds.
        #[serde(skip_serializing_if = "std::ops::Not::not", default)]
        dependencies: bool,
        /// The variant of the libraries that ship cut, where it builds one.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        variant: Option<String>,
        /// Ids of the steps that compile the shaders that it embeds: it begins when they have ended.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        shaders: Vec<String>,
        /// Ids of the steps that build what it is built against: it begins when they have ended.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        against: Vec<String>,
    },
    /// Runs what writes translation units, and compares what it writes with those in the source.
    Generate {
        /// Program and arguments.
        command: Vec<String>,
        /// Translation units below the source root.
        sources: Vec<String>,
    },
    /// Asks the host how structures lie, and compares them with those of the kernel table.
    Structures {
        /// Name of the kernel group.
        group: String,
        /// What says how they lie.
        source: LayoutSource,
        /// The types.
        types: Vec<HostType>,
        /// The structures as the table has them, with those that they hold.
        declared: Vec<Structure>,
    },
    /// Compiles one translation unit for one target and variant into one file.
    Kernel {
        /// What compiles it.
        #[serde(skip_serializing_if = "is_nvcc", default)]
        compiler: KernelCompiler,
        /// Translation unit below the source root.
        source: String,
        /// Target.
        target: KernelTarget,
        /// Variant's directory name.
        variant: String,
        /// Compiler arguments, without the host compiler, the output and the source.
        args: Vec<String>,
        /// Path of the output below the prefix.
        output: String,
    },
}

fn is_nvcc(compiler: &KernelCompiler) -> bool {
    *compiler == KernelCompiler::Nvcc
}

impl Step {
    /// The one target whose device code the step makes.
    pub fn target(&self) -> Option<KernelTarget> {
        match &self.action {
            Action::Kernel { target, .. } => Some(*target),
            Action::Host { target, .. } => *target,
            Action::Generate { .. } | Action::Structures { .. } => None,
        }
    }

    /// Whether what it makes is what people get who ask for no host variant.
    pub fn is_default_variant(&self, recipe: &Recipe) -> bool {
        self.host.as_ref().is_none_or(|host| recipe.is_default_variant(self.component, host))
    }

    /// Whether it builds another variant of libraries that ship cut than the one whose host part ships: nothing but
    /// these libraries is taken from it.
    pub fn is_other_variant(&self, recipe: &Recipe) -> bool {
        let own = recipe.cut_variants().first().copied();
        matches!(&self.action, Action::Host { variant: Some(variant), .. } if Some(variant.as_str()) != own)
    }
}

/// A bundle that the build leaves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedBundle {
    /// Package name.
    pub package: String,
    /// Component.
    pub component: ComponentKind,
    /// CUDA release of the kernels, or that rtc is for; none for what all releases share.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cuda: Option<CudaVersion>,
    /// Host variant; none of what there is once.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub host: Option<HostVariant>,
    /// Kernel target.
    pub target: Option<KernelTarget>,
}

impl PlannedBundle {
    /// What its manifest says before anything is built: no files, no dependencies, and a digest of its name in the
    /// place of what it was made from.
    pub fn manifest(&self, recipe: &Recipe) -> BundleManifest {
        let component = recipe.component(self.component);
        let has_host_code = match self.component {
            ComponentKind::Core | ComponentKind::Python => component.is_none_or(|it| !it.is_for_every_python()),
            ComponentKind::Rtc | ComponentKind::Dev | ComponentKind::Static => true,
            ComponentKind::Kernels => {
                let form = self.target.and_then(|target| recipe.form_of(target));
                form.is_some_and(KernelForm::has_host_code)
            }
            ComponentKind::Source | ComponentKind::Meta => false,
        };
        BundleManifest {
            schema: MANIFEST_SCHEMA,
            package: self.package.clone(),
            simulator: recipe.name.clone(),
            version: recipe.version,
            component: self.component,
            policy: component.map_or(VersionPolicy::Major, |component| component.policy),
            platform: has_host_code.then_some(recipe.platform),
            target: self.target,
            cuda: self.cuda,
            host: self.host.clone(),
            kernel_abi: None,
            kernels: Vec::new(),
            exact: BTreeMap::new(),
            needs: BTreeMap::new(),
            embedded: Vec::new(),
            glibc: None,
            uses: component.into_iter().flat_map(Component::used_by_packages).map(Dependency::from).collect(),
            dependencies: BTreeSet::new(),
            conditions: Vec::new(),
            exports: Vec::new(),
            license: None,
            licences: BTreeMap::new(),
            opens: component.map(|component| component.opens.clone()).unwrap_or_default(),
            outside: Vec::new(),
            waivers: recipe.lint.waivers.iter().filter(|waiver| waiver.is_over(&self.package)).cloned().collect(),
            artifacts: Vec::new(),
            smoke: None,
            compile: component.and_then(|component| component.compile.clone()),
            device_sources: None,
            as_wheel: false,
            provenance: Provenance::fixed(Digest::of(self.package.as_bytes())),
        }
    }
}

/// Directory below the prefix that holds the device code of one variant and target; the
/// simulator's loader looks there, beside its core library.
pub fn kernel_dir(recipe: &Recipe, tag: &KernelAbiTag, variant: &str, target: KernelTarget) -> String {
    let family = if target.is_shader() { "spirv".to_owned() } else { format!("cuda{}", recipe.cuda.major) };
    format!("lib/{}/kernels/{tag}/{family}/{variant}/{target}", recipe.name)
}
