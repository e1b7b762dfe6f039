//! The resolved recipe: everything checked once, trusted from here on.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::component::{Component, ComponentKind, HostVariant, Need};
use super::host::HostToolchain;
use super::kernels::{DeviceCompiler, HostStructures, KernelForm, KernelGroup, UNNAMED_VARIANT, program_of_machine};
use super::places::Places;
use super::settings::{CpuLevel, DriverPolicy, LintSettings, PackageSettings};
use super::smoke::Smoke;
use super::source::Source;
use super::test::Test;
use crate::arch::{CudaVersion, KernelAbiTag, KernelTarget, Platform, Version};
use crate::gpu::{KernelSignature, kernel_abi_tag};

/// A resolved recipe: one platform, one CUDA release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Recipe {
    /// Simulator's name; every derived name starts with it.
    pub name: String,
    /// Simulator's version.
    pub version: Version,
    /// SPDX expression.
    pub license: String,
    /// One line.
    pub summary: String,
    /// Home page, if there is one.
    pub homepage: Option<String>,
    /// Licence texts, relative to the source; those at its top without.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub licence_files: Vec<String>,
    /// Directory of the recipe on this machine. Never part of a key or an output.
    #[serde(skip)]
    pub dir: PathBuf,
    /// Where the source is.
    pub source: Source,
    /// Platform of the host part.
    pub platform: Platform,
    /// CUDA release that compiles the kernels.
    pub cuda: CudaVersion,
    /// Where its compiler comes from. A directory of this machine is part of no key and no output.
    #[serde(skip)]
    pub cuda_toolchain: CudaToolchain,
    /// Host compiler that the CUDA compiler calls, as a command; found when absent.
    #[serde(skip)]
    pub cuda_cxx: Option<String>,
    /// Targets of the kernel groups: SASS ascending, then PTX ascending; then versions of Vulkan for shaders, ascending.
    /// What no CUDA release compiles is a target of the recipe's own release alone.
    pub targets: Vec<KernelTarget>,
    /// How the host part is compiled.
    pub host: HostToolchain,
    /// The lowest processor that the host part is for; unsaid, nothing is promised of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default)]
    pub cpu: Option<CpuLevel>,
    /// Channels of the packages that builds need, the first counts most: addresses, or directories relative to the
    /// recipe's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub channels: Vec<String>,
    /// Components in the order of [`ComponentKind`]; at most one of a kind.
    pub components: Vec<Component>,
    /// Kernel groups, sorted by name.
    pub groups: Vec<KernelGroup>,
    /// Driver directories in RUNPATHs.
    pub driver: DriverPolicy,
    /// Lint levels and waivers.
    pub lint: LintSettings,
    /// Settings of package formats.
    pub package: PackageSettings,
    /// The simulator's smoke test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smoke: Option<Smoke>,
    /// Upstream's own tests, sorted by name. They judge packages, and are no part of what these are made from.
    #[serde(skip)]
    pub tests: Vec<Test>,
    /// Where it says what packages are judged by: no part of what it asks for.
    #[serde(skip)]
    pub places: Places,
}

impl Recipe {
    /// The component of a kind.
    pub fn component(&self, kind: ComponentKind) -> Option<&Component> {
        self.components.iter().find(|component| component.kind == kind)
    }

    /// The tools of its build systems that simpack pins, sorted.
    pub fn build_tools(&self) -> BTreeSet<&'static str> {
        let builds = self.components.iter().filter_map(|component| component.build.as_ref());
        builds.flat_map(|build| build.driver.system().pinned()).copied().collect()
    }

    /// What the builds of its components need of others, sorted: all of a host variant, or of those without, are given
    /// the same.
    pub fn needs(&self) -> BTreeMap<Option<HostVariant>, BTreeSet<Need>> {
        let mut needs: BTreeMap<_, BTreeSet<Need>> = BTreeMap::new();
        for build in self.components.iter().flat_map(Component::builds) {
            needs.entry(build.host).or_default().extend(build.spec.needs);
        }
        needs
    }

    /// Host variants that a component's packages are made in, the default first: its own, or those of the builds that
    /// make its files where it has none of its own. None where there is one package of it.
    pub fn variants_of(&self, kind: ComponentKind) -> Vec<HostVariant> {
        match (kind, self.variant_source(kind)) {
            (ComponentKind::Meta | ComponentKind::Kernels, _) | (_, None) => Vec::new(),
            (_, Some(component)) => component.host_variants(),
        }
    }

    /// The component whose builds make the files of another one, and so its variants: itself, or core.
    pub fn variant_source(&self, kind: ComponentKind) -> Option<&Component> {
        let own = self.component(kind).filter(|component| component.build.is_some());
        own.or_else(|| self.component(ComponentKind::Core))
    }

    /// Whether a variant of a component is the one that people get who ask for none.
    pub fn is_default_variant(&self, kind: ComponentKind, host: &HostVariant) -> bool {
        self.variant_source(kind).and_then(Component::default_variant).as_ref() == Some(host)
    }

    /// Whether the module for Python is not built where these components are asked for, by their names: it is none of them,
    /// and none is built against it. All are asked for where none is named.
    pub fn leaves_out_python(&self, components: &[String]) -> bool {
        let is_asked = |name: &String| *name == ComponentKind::Python.to_string();
        let builds = self.components.iter().filter_map(|component| component.build.as_ref());
        let is_taken = builds.flat_map(|build| &build.against).any(|kind| *kind == ComponentKind::Python);
        !(components.is_empty() || components.iter().any(is_asked) || is_taken)
    }

    /// All declared kernels of all groups, sorted by name.
    pub fn kernels(&self) -> Vec<KernelSignature> {
        let mut kernels: Vec<_> = self.groups.iter().flat_map(|group| group.table.iter().cloned()).collect();
        kernels.sort();
        kernels.dedup();
        kernels
    }

    /// Shaders that promise the same bits on every device, by variant: names of their kernels.
    pub fn exact(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for group in &self.groups {
            for variant in &group.exact {
                let names = group.table.iter().map(|kernel| kernel.name.clone());
                found.entry(variant.clone()).or_default().extend(names);
            }
        }
        found
    }

    /// The form of its kernel groups for a target: shaders may stand beside kernels of CUDA, all of which have one form.
    pub fn form_of(&self, target: KernelTarget) -> Option<KernelForm> {
        let mut forms = self.groups.iter().map(|group| group.form);
        forms.find(|form| form.is_cuda() != target.is_shader())
    }

    /// Whether the build of core puts the shaders into core: all groups of them or none.
    pub fn embeds_shaders(&self) -> bool {
        self.groups.iter().any(|group| group.embed)
    }

    /// Whether code for a target is in core, and in no package of its own.
    pub fn is_embedded(&self, target: KernelTarget) -> bool {
        target.is_shader() && self.embeds_shaders()
    }

    /// Whether there are packages of device code.
    pub fn ships_kernels(&self) -> bool {
        self.groups.iter().any(|group| !group.embed)
    }

    /// Whether device code is compiled by a CUDA release.
    pub fn is_cuda(&self) -> bool {
        self.groups.iter().any(|group| group.form.is_cuda())
    }

    /// The kernel ABI tag that ties kernels to core; none when the recipe declares no kernels.
    pub fn kernel_abi_tag(&self) -> Option<KernelAbiTag> {
        let has_table = self.groups.iter().any(|group| group.form.has_table());
        has_table.then(|| kernel_abi_tag(&self.kernels()))
    }

    /// Whether libraries ship whole, cut to one capability in each package: then core is tied to them by the
    /// simulator's version, and cannot be kept free of device code.
    pub fn is_sliced(&self) -> bool {
        self.groups.iter().any(|group| group.form.is_exclusive())
    }

    /// Variants that the host part is built for, the first of them as it ships: those of libraries that ship cut. One
    /// unnamed without any.
    pub fn cut_variants(&self) -> Vec<&str> {
        let cut = self.groups.iter().filter(|group| group.form.compiler() == DeviceCompiler::HostBuilds);
        let named = cut.flat_map(|group| &group.variants).filter(|variant| !variant.choice.is_empty());
        let mut names: Vec<&str> = named.map(|variant| variant.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        if names.is_empty() { vec![UNNAMED_VARIANT] } else { names }
    }

    /// File name of the plug-in library for a target.
    pub fn plugin(&self, target: KernelTarget) -> String {
        format!("lib{}-kernels-{target}.so", self.name)
    }
}

impl Recipe {
    /// The groups whose structures the host says.
    pub fn host_structures(&self) -> impl Iterator<Item = (&KernelGroup, &HostStructures)> {
        self.groups.iter().filter_map(|group| Some((group, group.host_structures.as_ref()?)))
    }

    /// The commands of kernel groups whose program is one of the machine's, with that program's name.
    pub fn commands_of_machine(&self) -> impl Iterator<Item = (&str, &[String])> {
        let generators = self.groups.iter().filter_map(|group| group.generator.as_ref());
        let generators = generators.map(|generator| generator.command.as_slice());
        let structures = self.host_structures().filter_map(|(_, structures)| structures.command());
        generators.chain(structures).filter_map(|command| Some((program_of_machine(command)?, command)))
    }

    /// Whether the host compiler is called for headers.
    pub fn compiles_headers(&self) -> bool {
        self.host_structures().any(|(_, structures)| structures.command().is_none())
    }
}

impl Recipe {
    /// Whether what ships cut is for GPUs alone: there is no package of it for machines without one.
    pub fn needs_gpu(&self) -> bool {
        self.groups.iter().any(|group| group.gpu_only)
    }

    /// Products of the CUDA toolkit that what compiles device code is given, by their names among the vendor's.
    pub fn toolkit_libraries(&self) -> BTreeSet<&str> {
        let compiles = |component: &&Component| {
            let runs = component.build.as_ref().is_some_and(|build| !build.driver.system().tools().is_empty());
            self.is_cuda() && (runs || component.kind == ComponentKind::Kernels)
        };
        let used = self.components.iter().filter(compiles).flat_map(|component| &component.uses);
        used.filter_map(|used| used.library.as_deref()).collect()
    }
}

/// Where the compiler of a CUDA release comes from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum CudaToolchain {
    /// Pinned wheels.
    #[default]
    Pinned,
    /// The machine's own: `CUDA_HOME`, else `PATH`.
    System,
    /// A directory that holds `bin/nvcc`.
    Directory(PathBuf),
}
