//! Which shaders a Vulkan device takes: those of its own version of Vulkan and of every lower one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::distribution::{Distribution, ShaderPackage};
use crate::arch::KernelTarget;
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
    /// Why it runs none.
    pub why_not: Option<String>,
    /// Package of a higher environment that it takes, too, and that is not installed.
    pub better: Option<String>,
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
        let sound = |shaders: &&ShaderPackage| taken(shaders.target) && distribution.refuses(shaders).is_none();
        let best = |all: &mut dyn Iterator<Item = &'_ ShaderPackage>| all.max_by_key(|it| it.target).cloned();
        let possible = best(&mut distribution.shaders.iter().filter(sound));
        let there = |shaders: &&ShaderPackage| shaders.installed || !is_installed;
        let now = best(&mut distribution.shaders.iter().filter(there).filter(sound));
        let better = possible.filter(|it| now.as_ref().is_none_or(|now| now.target < it.target));
        let why_not = || {
            let objection = distribution.shaders.iter().filter(there).find_map(|it| distribution.refuses(it));
            objection.unwrap_or_else(|| match distribution.shaders.iter().filter(there).map(|it| it.target).min() {
                Some(lowest) => format!("its Vulkan {} is below {lowest}", device.api),
                None => "no shaders are installed".to_owned(),
            })
        };
        ShaderFit {
            index,
            name: device.name.clone(),
            takes,
            why_not: now.is_none().then(why_not),
            target: now.as_ref().map(|it| it.target),
            runs: now.map(|it| it.package),
            better: better.map(|it| it.package),
        }
    };
    devices.iter().zip(0..).map(one).collect()
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
        }
    }

    fn package(target: &str, installed: bool) -> ShaderPackage {
        ShaderPackage {
            package: format!("sim-shaders-{target}"),
            version: "1.0.0".parse().unwrap(),
            target: target.parse().unwrap(),
            kernel_abi: None,
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
        let installed = [("vulkan1.1", true), ("vulkan1.3", false)];
        assert_eq!(found("1.3.280", &installed), "takes vulkan1.3, runs vulkan1.1; sim-shaders-vulkan1.3");
        assert_eq!(found("1.2.100", &installed), "takes vulkan1.2, runs vulkan1.1; ");
    }
}
