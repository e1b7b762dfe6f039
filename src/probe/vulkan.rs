//! Vulkan devices, through the machine's Vulkan loader.

use ash::vk;

use crate::machine::{Vulkan, VulkanDevice, VulkanKind};

/// What the loader at a path says.
pub(super) fn ask(path: &str) -> Vulkan {
    let mut answer = Vulkan { loader: Some(path.to_owned()), ..Vulkan::default() };
    match devices(path) {
        Ok(devices) => answer.devices = devices,
        Err(reason) => answer.failure = Some(reason),
    }
    answer
}

fn devices(path: &str) -> Result<Vec<VulkanDevice>, String> {
    // SAFETY: it is the Vulkan loader that every program of this machine opens in the same way.
    let entry = unsafe { ash::Entry::load_from(path) }.map_err(|error| error.to_string())?;
    let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_0);
    let create = vk::InstanceCreateInfo::default().application_info(&application);
    // SAFETY: the structures above are complete and outlive the call.
    let instance = match unsafe { entry.create_instance(&create, None) } {
        Ok(instance) => instance,
        // A loader without any driver: no device, and nothing wrong.
        Err(vk::Result::ERROR_INCOMPATIBLE_DRIVER) => return Ok(Vec::new()),
        Err(error) => return Err(error.to_string()),
    };
    // SAFETY: the instance lives until it is destroyed below, after the last use of what it gave.
    let answer = unsafe {
        let listed = instance.enumerate_physical_devices().map_err(|error| error.to_string());
        let described = listed.map(|all| {
            let describe = |device: &vk::PhysicalDevice| {
                let properties = instance.get_physical_device_properties(*device);
                let memory = instance.get_physical_device_memory_properties(*device);
                described(&properties, &memory)
            };
            all.iter().map(describe).collect()
        });
        instance.destroy_instance(None);
        described
    };
    // Drivers of GPUs start threads of their own; their code stays.
    std::mem::forget(entry);
    answer
}

fn described(properties: &vk::PhysicalDeviceProperties, memory: &vk::PhysicalDeviceMemoryProperties) -> VulkanDevice {
    let limits = &properties.limits;
    let version = properties.api_version;
    let name = properties.device_name_as_c_str().map(|name| name.to_string_lossy().into_owned());
    let heaps = memory.memory_heaps_as_slice().iter();
    let mut heaps: Vec<u64> =
        heaps.filter(|heap| heap.flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL)).map(|heap| heap.size).collect();
    heaps.sort_by(|a, b| b.cmp(a));
    VulkanDevice {
        name: name.unwrap_or_default(),
        kind: match properties.device_type {
            vk::PhysicalDeviceType::DISCRETE_GPU => VulkanKind::Discrete,
            vk::PhysicalDeviceType::INTEGRATED_GPU => VulkanKind::Integrated,
            vk::PhysicalDeviceType::VIRTUAL_GPU => VulkanKind::Virtual,
            vk::PhysicalDeviceType::CPU => VulkanKind::Cpu,
            _ => VulkanKind::Other,
        },
        api: format!(
            "{}.{}.{}",
            vk::api_version_major(version),
            vk::api_version_minor(version),
            vk::api_version_patch(version)
        ),
        storage_buffer_range: limits.max_storage_buffer_range.into(),
        work_group_count: limits.max_compute_work_group_count,
        work_group_invocations: limits.max_compute_work_group_invocations,
        shared_memory: limits.max_compute_shared_memory_size,
        heaps,
    }
}
