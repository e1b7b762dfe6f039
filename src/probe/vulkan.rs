//! Vulkan devices, through the machine's Vulkan loader.

use std::collections::BTreeMap;

use ash::vk;

use crate::machine::{Vulkan, VulkanCompute, VulkanDevice, VulkanKind};

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
    // A loader of Vulkan 1.0 takes no later version, and says none.
    // SAFETY: the function is the loader's own.
    let version = unsafe { entry.try_enumerate_instance_version() }.ok().flatten().unwrap_or(vk::API_VERSION_1_0);
    let application = vk::ApplicationInfo::default().api_version(version.min(vk::API_VERSION_1_3));
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
                let (features, subgroups) = optional(&instance, *device, version.min(properties.api_version));
                described(&properties, &memory, features, subgroups)
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

/// A device's optional features as capabilities of SPIR-V, and the size of its subgroups; what a version of Vulkan does
/// not know, a device of that version does not have.
///
/// # Safety
/// The device is the instance's, which is made for `version` or a later one.
unsafe fn optional(
    instance: &ash::Instance,
    device: vk::PhysicalDevice,
    version: u32,
) -> (BTreeMap<String, bool>, u32) {
    // SAFETY: as above; every structure lives until after the call that fills it, and says its own type.
    unsafe {
        let core = instance.get_physical_device_features(device);
        let mut found = vec![
            (core.shader_float64, "Float64"),
            (core.shader_int64, "Int64"),
            (core.shader_int16, "Int16"),
            (core.shader_storage_image_extended_formats, "StorageImageExtendedFormats"),
            (core.shader_storage_image_read_without_format, "StorageImageReadWithoutFormat"),
            (core.shader_storage_image_write_without_format, "StorageImageWriteWithoutFormat"),
            (core.shader_storage_buffer_array_dynamic_indexing, "StorageBufferArrayDynamicIndexing"),
            (core.shader_uniform_buffer_array_dynamic_indexing, "UniformBufferArrayDynamicIndexing"),
        ];
        let mut subgroups = vk::PhysicalDeviceSubgroupProperties::default();
        if version >= vk::API_VERSION_1_1 {
            let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut subgroups);
            instance.get_physical_device_properties2(device, &mut properties);
            let mut storage16 = vk::PhysicalDevice16BitStorageFeatures::default();
            let mut pointers = vk::PhysicalDeviceVariablePointersFeatures::default();
            // A driver passes over structures that it does not know.
            let mut vulkan12 = vk::PhysicalDeviceVulkan12Features::default();
            let mut vulkan13 = vk::PhysicalDeviceVulkan13Features::default();
            let mut atomics = vk::PhysicalDeviceShaderAtomicFloatFeaturesEXT::default();
            let mut features = vk::PhysicalDeviceFeatures2::default()
                .push_next(&mut storage16)
                .push_next(&mut pointers)
                .push_next(&mut vulkan12)
                .push_next(&mut vulkan13)
                .push_next(&mut atomics);
            instance.get_physical_device_features2(device, &mut features);
            let of_64 = vulkan12.shader_buffer_int64_atomics;
            let add_32 = atomics.shader_buffer_float32_atomic_add;
            let add_64 = atomics.shader_buffer_float64_atomic_add;
            found.extend([
                (storage16.storage_buffer16_bit_access, "StorageBuffer16BitAccess"),
                (storage16.uniform_and_storage_buffer16_bit_access, "UniformAndStorageBuffer16BitAccess"),
                (storage16.storage_push_constant16, "StoragePushConstant16"),
                (pointers.variable_pointers_storage_buffer, "VariablePointersStorageBuffer"),
                (pointers.variable_pointers, "VariablePointers"),
                (vulkan12.storage_buffer8_bit_access, "StorageBuffer8BitAccess"),
                (vulkan12.uniform_and_storage_buffer8_bit_access, "UniformAndStorageBuffer8BitAccess"),
                (vulkan12.shader_int8, "Int8"),
                (vulkan12.shader_float16, "Float16"),
                (of_64, "Int64Atomics"),
                (vulkan12.vulkan_memory_model, "VulkanMemoryModel"),
                (vulkan12.vulkan_memory_model_device_scope, "VulkanMemoryModelDeviceScope"),
                (vulkan12.buffer_device_address, "PhysicalStorageBufferAddresses"),
                (vulkan12.runtime_descriptor_array, "RuntimeDescriptorArray"),
                (vulkan13.shader_integer_dot_product, "DotProduct"),
                (vulkan13.shader_integer_dot_product, "DotProductInputAll"),
                (vulkan13.shader_integer_dot_product, "DotProductInput4x8Bit"),
                (vulkan13.shader_integer_dot_product, "DotProductInput4x8BitPacked"),
                (add_32, "AtomicFloat32AddEXT"),
                (add_64, "AtomicFloat64AddEXT"),
            ]);
        }
        let in_compute = subgroups.supported_stages.contains(vk::ShaderStageFlags::COMPUTE);
        let operations = subgroups.supported_operations;
        let subgroup = |flag, name| (vk::Bool32::from(in_compute && operations.contains(flag)), name);
        found.extend([
            subgroup(vk::SubgroupFeatureFlags::BASIC, "GroupNonUniform"),
            subgroup(vk::SubgroupFeatureFlags::VOTE, "GroupNonUniformVote"),
            subgroup(vk::SubgroupFeatureFlags::ARITHMETIC, "GroupNonUniformArithmetic"),
            subgroup(vk::SubgroupFeatureFlags::BALLOT, "GroupNonUniformBallot"),
            subgroup(vk::SubgroupFeatureFlags::SHUFFLE, "GroupNonUniformShuffle"),
            subgroup(vk::SubgroupFeatureFlags::SHUFFLE_RELATIVE, "GroupNonUniformShuffleRelative"),
            subgroup(vk::SubgroupFeatureFlags::CLUSTERED, "GroupNonUniformClustered"),
            subgroup(vk::SubgroupFeatureFlags::QUAD, "GroupNonUniformQuad"),
        ]);
        let named = found.into_iter().map(|(has, name)| (name.to_owned(), has == vk::TRUE));
        (named.collect(), subgroups.subgroup_size)
    }
}

fn described(
    properties: &vk::PhysicalDeviceProperties,
    memory: &vk::PhysicalDeviceMemoryProperties,
    capabilities: BTreeMap<String, bool>,
    subgroup_size: u32,
) -> VulkanDevice {
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
        compute: Some(VulkanCompute {
            work_group_size: limits.max_compute_work_group_size,
            push_constants: limits.max_push_constants_size,
            descriptor_sets: limits.max_bound_descriptor_sets,
            storage_buffers: limits.max_per_stage_descriptor_storage_buffers,
            uniform_buffer_range: limits.max_uniform_buffer_range,
            subgroup_size,
            capabilities,
        }),
    }
}
