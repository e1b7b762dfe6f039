//! Which shaders a Vulkan device takes: those of its own version of Vulkan and of every lower one, as far as they need no
//! more than it offers.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::distribution::{Distribution, ShaderPackage};
use crate::arch::KernelTarget;
use crate::gpu::ShaderNeeds;
use crate::machine::VulkanDevice;
use crate::manifest::SpirvEnvironments;

/// What one Vulkan device runs of a simulator's shaders.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct ShaderFit {
    /// The loader's index of the device.
    pub index: u32,
    /// Product name.
    pub name: String,
    /// Highest environment that it takes; none where its version of Vulkan is below all that are known.
    pub takes: Option<KernelTarget>,
    /// Package of the shaders that it runs of what is installed, or of all when nothing is installed.
    pub runs: Option<String>,
    /// Their environment.
    pub target: Option<KernelTarget>,
    /// Whether they are in core, and in no package of their own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub embedded: bool,
    /// Why it runs none.
    pub why_not: Option<String>,
    /// Package of a higher environment that it takes, too, and that is not installed.
    pub better: Option<String>,
    /// Variants of what is there that need more than the device offers, and what.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub lacking: BTreeMap<String, Vec<String>>,
    /// Variants of what it runs that it takes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<String>,
}

impl ShaderFit {
    /// The best package for the device, installed or not.
    pub fn best(&self) -> Option<&String> {
        self.better.as_ref().or(self.runs.as_ref())
    }

    /// The same, where it is one beside core.
    pub fn beside_core(&self) -> Option<&String> {
        if self.embedded { None } else { self.best() }
    }

    /// `shaders vulkan1.1; it takes vulkan1.3: install volley-shaders-vulkan1.3`.
    pub fn words(&self) -> String {
        let runs = match (self.target, &self.why_not) {
            (Some(target), _) if self.embedded => format!("shaders {target}, embedded in core"),
            (Some(target), _) => format!("shaders {target}"),
            (None, why) => format!("CPU: {}", why.as_deref().unwrap_or("no shaders are installed")),
        };
        let better = match (self.takes, &self.better) {
            (Some(takes), Some(better)) => format!("; it takes {takes}: install {better}"),
            _ => String::new(),
        };
        // Where it runs none, what is lacking is the reason.
        let lacking = self.lacking.iter().filter(|_| self.target.is_some());
        let lacking: String =
            lacking.map(|(variant, lacks)| format!("; not `{variant}`, which needs {}", lacks.join(" and "))).collect();
        let fitting = match self.variants.as_slice() {
            [] => String::new(),
            _ if lacking.is_empty() => String::new(),
            [one] => format!(": `{one}` runs here"),
            some => format!(": `{}` run here", some.join("` and `")),
        };
        format!("{runs}{lacking}{fitting}{better}")
    }
}

/// Every Vulkan device against the shaders of a simulator; nothing for a simulator without.
pub fn shader_fits(
    devices: &[VulkanDevice],
    distribution: &Distribution,
    environments: &SpirvEnvironments,
) -> Vec<ShaderFit> {
    if distribution.shaders.is_empty() {
        return Vec::new();
    }
    let is_installed = distribution.is_installed();
    let one = |(device, index): (&VulkanDevice, u32)| {
        let version = device.version();
        let taken = |target: KernelTarget| match (target, version) {
            (KernelTarget::Vulkan(major, minor), Some(version)) => (major, minor) <= version,
            _ => false,
        };
        let takes = environments.iter().filter_map(|it| it.target()).filter(|it| taken(*it)).max();
        let offered = Offered::of(device, environments, takes);
        let lacking = |shaders: &ShaderPackage| offered.lacking(&shaders.needs);
        let sound = |shaders: &&ShaderPackage| {
            let some_variant = shaders.needs.is_empty() || lacking(shaders).len() < shaders.needs.len();
            taken(shaders.target) && distribution.refuses(shaders).is_none() && some_variant
        };
        let best = |all: &mut dyn Iterator<Item = &'_ ShaderPackage>| all.max_by_key(|it| it.target).cloned();
        let possible = best(&mut distribution.shaders.iter().filter(sound));
        let there = |shaders: &&ShaderPackage| shaders.installed || !is_installed;
        let now = best(&mut distribution.shaders.iter().filter(there).filter(sound));
        let better = possible.filter(|it| now.as_ref().is_none_or(|now| now.target < it.target));
        // Of what it runs; where it runs nothing, of what it would if it offered more.
        let would_run = distribution.shaders.iter().filter(there).filter(|it| taken(it.target));
        let lacking = now.as_ref().or(would_run.max_by_key(|it| it.target)).map(lacking).unwrap_or_default();
        let why_not = || {
            let objection = distribution.shaders.iter().filter(there).find_map(|it| distribution.refuses(it));
            let first = lacking.iter().next();
            let beyond = first.map(|(variant, lacks)| format!("`{variant}` needs {}", lacks.join(" and ")));
            objection.or(beyond).unwrap_or_else(|| {
                match distribution.shaders.iter().filter(there).map(|it| it.target).min() {
                    Some(KernelTarget::WebGpu) => {
                        "its shaders are for WebGPU, by which the simulator finds devices itself".to_owned()
                    }
                    Some(lowest) => format!("its Vulkan {} is below {lowest}", device.api),
                    None => "no shaders are installed".to_owned(),
                }
            })
        };
        ShaderFit {
            index,
            name: device.name.clone(),
            takes,
            why_not: now.is_none().then(why_not),
            target: now.as_ref().map(|it| it.target),
            embedded: now.as_ref().is_some_and(|it| it.embedded),
            variants: now
                .iter()
                .flat_map(|it| it.needs.keys())
                .filter(|it| !lacking.contains_key(*it))
                .cloned()
                .collect(),
            runs: now.map(|it| it.package),
            better: better.map(|it| it.package),
            lacking,
        }
    };
    devices.iter().zip(0..).map(one).collect()
}

/// What a device offers.
struct Offered<'a> {
    device: &'a VulkanDevice,
    /// Capabilities that every device of its version has.
    always: &'a [String],
}

impl<'a> Offered<'a> {
    fn of(device: &'a VulkanDevice, environments: &'a SpirvEnvironments, takes: Option<KernelTarget>) -> Self {
        let always = takes.and_then(|target| environments.of(target)).map(|it| it.capabilities.as_slice());
        Self { device, always: always.unwrap_or_default() }
    }

    /// The variants that need more than the device offers, each with what it lacks.
    fn lacking(&self, needs: &BTreeMap<String, ShaderNeeds>) -> BTreeMap<String, Vec<String>> {
        let found = needs.iter().map(|(variant, needs)| (variant.clone(), self.lacks(needs)));
        found.filter(|(_, lacks)| !lacks.is_empty()).collect()
    }

    /// What the needs are beyond, in words: `AtomicFloat32AddEXT`, `384 invocations in a work group (256 offered)`. What
    /// nobody asked the device for is not held against it.
    fn lacks(&self, needs: &ShaderNeeds) -> Vec<String> {
        let device = self.device;
        let compute = device.compute.as_ref();
        let refused = |name: &&String| {
            let has = compute.and_then(|compute| compute.capabilities.get(*name));
            has == Some(&false) && !self.always.contains(name)
        };
        let mut found: Vec<String> = needs.capabilities.iter().filter(refused).cloned().collect();
        let mut compare = |needed: u64, offered: Option<u64>, what: &str| {
            if let Some(offered) = offered.filter(|offered| needed > *offered) {
                found.push(format!("{needed} {what} ({offered} offered)"));
            }
        };
        let of = |limit: fn(&crate::machine::VulkanCompute) -> u32| compute.map(|it| u64::from(limit(it)));
        compare(
            needs.work_group_invocations,
            Some(device.work_group_invocations.into()),
            "invocations in a work group",
        );
        let axes = compute.map(|it| it.work_group_size);
        for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
            let what = format!("invocations of a work group in {name}");
            compare(needs.work_group_size[axis].into(), axes.map(|size| size[axis].into()), &what);
        }
        compare(needs.shared_memory, Some(device.shared_memory.into()), "bytes that a work group shares");
        compare(needs.storage_buffers, of(|it| it.storage_buffers), "storage buffers in a shader");
        compare(needs.descriptor_sets, of(|it| it.descriptor_sets), "descriptor sets");
        compare(needs.push_constants, of(|it| it.push_constants), "bytes of push constants");
        compare(needs.storage_buffer_range, Some(device.storage_buffer_range), "bytes in a storage buffer");
        compare(needs.uniform_buffer_range, of(|it| it.uniform_buffer_range), "bytes in a uniform buffer");
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Data;
    use crate::machine::VulkanKind;
    use crate::manifest::Manifests;

    fn device(api: &str) -> VulkanDevice {
        VulkanDevice {
            name: format!("Vulkan {api}"),
            kind: VulkanKind::Discrete,
            api: api.to_owned(),
            storage_buffer_range: 1 << 27,
            work_group_count: [65_535; 3],
            work_group_invocations: 1024,
            shared_memory: 32_768,
            heaps: Vec::new(),
            compute: None,
        }
    }

    fn package(target: &str, installed: bool) -> ShaderPackage {
        ShaderPackage {
            package: format!("sim-shaders-{target}"),
            version: "1.0.0".parse().unwrap(),
            target: target.parse().unwrap(),
            kernel_abi: None,
            needs: BTreeMap::new(),
            embedded: false,
            installed,
            problem: None,
        }
    }

    #[test]
    fn a_device_runs_the_highest_that_it_takes() {
        let manifests = Manifests::load(&Data::at("no such directory")).unwrap();
        let found = |api: &str, shaders: &[(&str, bool)]| {
            let mut distribution = Distribution::empty("sim");
            distribution.shaders = shaders.iter().map(|(target, installed)| package(target, *installed)).collect();
            let fit = shader_fits(&[device(api)], &distribution, &manifests.spirv).remove(0);
            let text = |target: Option<KernelTarget>| target.map_or("none".to_owned(), |target| target.to_string());
            let rest = [fit.better, fit.why_not].into_iter().flatten().collect::<Vec<_>>().join(", ");
            format!("takes {}, runs {}; {rest}", text(fit.takes), text(fit.target))
        };
        let offered = [("vulkan1.1", false), ("vulkan1.3", false)];
        assert_eq!(found("1.3.280", &offered), "takes vulkan1.3, runs vulkan1.3; ");
        assert_eq!(found("1.2.100", &offered), "takes vulkan1.2, runs vulkan1.1; ");
        assert_eq!(found("1.4.300", &offered), "takes vulkan1.3, runs vulkan1.3; ");
        assert_eq!(found("1.0.3", &offered), "takes vulkan1.0, runs none; its Vulkan 1.0.3 is below vulkan1.1");
        assert_eq!(found("nonsense", &offered), "takes none, runs none; its Vulkan nonsense is below vulkan1.1");
        // Nothing here knows what a device takes of WebGPU: its shaders are never chosen before those for Vulkan.
        let webgpu = [("webgpu", false), ("vulkan1.1", false)];
        assert_eq!(found("1.3.280", &webgpu), "takes vulkan1.3, runs vulkan1.1; ");
        assert_eq!(found("1.0.3", &webgpu), "takes vulkan1.0, runs none; its Vulkan 1.0.3 is below vulkan1.1");
        assert_eq!(
            found("1.3.280", &webgpu[..1]),
            "takes vulkan1.3, runs none; its shaders are for WebGPU, by which the simulator finds devices itself"
        );
        let installed = [("vulkan1.1", true), ("vulkan1.3", false)];
        assert_eq!(found("1.3.280", &installed), "takes vulkan1.3, runs vulkan1.1; sim-shaders-vulkan1.3");
        assert_eq!(found("1.2.100", &installed), "takes vulkan1.2, runs vulkan1.1; ");
    }

    /// A simulator with a variant for all devices, and one that needs more than some have.
    fn of_two(device: &VulkanDevice, limit: impl Fn(&mut ShaderNeeds)) -> ShaderFit {
        let manifests = Manifests::load(&Data::at("no such directory")).unwrap();
        let shader = |name: &str| name.to_owned();
        let plain = ShaderNeeds { capabilities: [shader("Shader")].into(), ..ShaderNeeds::default() };
        let mut wide = plain.clone();
        limit(&mut wide);
        let mut distribution = Distribution::empty("sim");
        let needs = BTreeMap::from([("fixed".to_owned(), plain), ("float".to_owned(), wide)]);
        distribution.shaders = vec![ShaderPackage { needs, ..package("vulkan1.1", true) }];
        shader_fits(std::slice::from_ref(device), &distribution, &manifests.spirv).remove(0)
    }

    #[test]
    fn what_a_variant_needs_is_held_against_the_device() {
        let mut gpu = device("1.3.0");
        let capabilities = [("AtomicFloat32AddEXT", false), ("Int64", true), ("VulkanMemoryModel", false)];
        let capabilities = capabilities.map(|(name, has)| (name.to_owned(), has)).into();
        gpu.compute = Some(crate::machine::VulkanCompute {
            work_group_size: [1024, 1024, 64],
            push_constants: 128,
            descriptor_sets: 4,
            storage_buffers: 8,
            uniform_buffer_range: 65_536,
            subgroup_size: 8,
            capabilities,
        });
        let told = |limit: &dyn Fn(&mut ShaderNeeds)| {
            let fit = of_two(&gpu, limit);
            assert_eq!(fit.runs.as_deref(), Some("sim-shaders-vulkan1.1"), "`fixed` runs everywhere");
            (fit.variants.join(" "), fit.lacking.into_values().flatten().collect::<Vec<_>>().join(", "))
        };
        let both = ("fixed float".to_owned(), String::new());
        let needs = |name: &'static str| {
            move |needs: &mut ShaderNeeds| {
                needs.capabilities.insert(name.to_owned());
            }
        };
        assert_eq!(told(&needs("Int64")), both);
        assert_eq!(told(&needs("CooperativeMatrixKHR")), both, "nobody asked");
        assert_eq!(told(&needs("VulkanMemoryModel")), both, "every device of Vulkan 1.3 has it");
        assert_eq!(told(&needs("AtomicFloat32AddEXT")), ("fixed".to_owned(), "AtomicFloat32AddEXT".to_owned()));
        let said = |limit: &dyn Fn(&mut ShaderNeeds)| told(limit).1;
        assert_eq!(said(&|it| it.storage_buffers = 9), "9 storage buffers in a shader (8 offered)");
        assert_eq!(said(&|it| it.work_group_invocations = 1025), "1025 invocations in a work group (1024 offered)");
        assert_eq!(said(&|it| it.work_group_size = [1, 1, 65]), "65 invocations of a work group in z (64 offered)");
        assert_eq!(said(&|it| it.shared_memory = 40_000), "40000 bytes that a work group shares (32768 offered)");
        assert_eq!(said(&|it| it.push_constants = 129), "129 bytes of push constants (128 offered)");
        assert_eq!(said(&|it| it.descriptor_sets = 5), "5 descriptor sets (4 offered)");
        assert_eq!(said(&|it| it.uniform_buffer_range = 65_537), "65537 bytes in a uniform buffer (65536 offered)");
        let range = (1 << 27) + 4;
        assert_eq!(
            said(&|it| it.storage_buffer_range = range),
            "134217732 bytes in a storage buffer (134217728 offered)"
        );
        // What an earlier simpack recorded says nothing of features.
        let old = of_two(&device("1.3.0"), |needs| {
            needs.capabilities.insert("AtomicFloat32AddEXT".to_owned());
        });
        assert!(old.lacking.is_empty());
    }

    #[test]
    fn a_device_that_takes_no_variant_runs_nothing_and_says_why() {
        let manifests = Manifests::load(&Data::at("no such directory")).unwrap();
        let mut distribution = Distribution::empty("sim");
        let wide = ShaderNeeds { work_group_invocations: 2048, ..ShaderNeeds::default() };
        let needs = BTreeMap::from([("fixed".to_owned(), wide)]);
        distribution.shaders = vec![ShaderPackage { needs, ..package("vulkan1.1", true) }];
        let fit = shader_fits(&[device("1.3.0")], &distribution, &manifests.spirv).remove(0);
        assert_eq!((fit.runs, fit.target), (None, None));
        assert_eq!(fit.why_not.unwrap(), "`fixed` needs 2048 invocations in a work group (1024 offered)");
    }
}
