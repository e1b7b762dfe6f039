// Vulkan's functions come out of the loader that is opened when one is wanted.
#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

#include "network.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <stdexcept>

namespace {

void must(VkResult result, const char *what) {
    if (result != VK_SUCCESS) throw std::runtime_error(std::string(what) + " failed: VkResult " + std::to_string(result));
}

struct Buffer {
    VkBuffer buffer;
    VkDeviceMemory memory;
    void *mapped;
};

// One device, and everything made on it: released when the program ends.
struct Vulkan {
    PFN_vkGetInstanceProcAddr load;
    VkInstance instance = VK_NULL_HANDLE;
    VkPhysicalDevice physical;
    VkPhysicalDeviceProperties properties;
    VkDevice device;
    uint32_t family = 0;

    template <typename F> F get(const char *name) const {
        auto found = reinterpret_cast<F>(load(instance, name));
        if (!found) throw std::runtime_error(std::string("the Vulkan loader has no ") + name);
        return found;
    }

    Vulkan() {
        void *library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
        if (!library) throw std::runtime_error(dlerror());
        load = reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"));
        VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO};
        application.apiVersion = VK_API_VERSION_1_3;
        VkInstanceCreateInfo create{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
        create.pApplicationInfo = &application;
        must(get<PFN_vkCreateInstance>("vkCreateInstance")(&create, nullptr, &instance), "vkCreateInstance");
        uint32_t count = 1;
        VkResult result =
            get<PFN_vkEnumeratePhysicalDevices>("vkEnumeratePhysicalDevices")(instance, &count, &physical);
        if ((result != VK_SUCCESS && result != VK_INCOMPLETE) || count == 0) throw std::runtime_error("no Vulkan device");
        get<PFN_vkGetPhysicalDeviceProperties>("vkGetPhysicalDeviceProperties")(physical, &properties);
        find_family();
        float priority = 1;
        VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
        queue.queueFamilyIndex = family;
        queue.queueCount = 1;
        queue.pQueuePriorities = &priority;
        VkDeviceCreateInfo make{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
        make.queueCreateInfoCount = 1;
        make.pQueueCreateInfos = &queue;
        must(get<PFN_vkCreateDevice>("vkCreateDevice")(physical, &make, nullptr, &device), "vkCreateDevice");
    }

    void find_family() {
        auto ask = get<PFN_vkGetPhysicalDeviceQueueFamilyProperties>("vkGetPhysicalDeviceQueueFamilyProperties");
        uint32_t count = 0;
        ask(physical, &count, nullptr);
        std::vector<VkQueueFamilyProperties> all(count);
        ask(physical, &count, all.data());
        while (family < count && !(all[family].queueFlags & VK_QUEUE_COMPUTE_BIT)) ++family;
        if (family == count) throw std::runtime_error("the device computes nothing");
    }

    Buffer buffer(const void *data, std::size_t bytes) {
        Buffer made;
        VkBufferCreateInfo create{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
        create.size = bytes;
        create.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
        must(get<PFN_vkCreateBuffer>("vkCreateBuffer")(device, &create, nullptr, &made.buffer), "vkCreateBuffer");
        VkMemoryRequirements needs;
        get<PFN_vkGetBufferMemoryRequirements>("vkGetBufferMemoryRequirements")(device, made.buffer, &needs);
        VkPhysicalDeviceMemoryProperties memory;
        get<PFN_vkGetPhysicalDeviceMemoryProperties>("vkGetPhysicalDeviceMemoryProperties")(physical, &memory);
        const VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
        uint32_t type = 0;
        auto fits = [&] {
            return (needs.memoryTypeBits >> type & 1) && (memory.memoryTypes[type].propertyFlags & wanted) == wanted;
        };
        while (type < memory.memoryTypeCount && !fits()) ++type;
        VkMemoryAllocateInfo allocate{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
        allocate.allocationSize = needs.size;
        allocate.memoryTypeIndex = type;
        must(get<PFN_vkAllocateMemory>("vkAllocateMemory")(device, &allocate, nullptr, &made.memory), "vkAllocateMemory");
        must(get<PFN_vkBindBufferMemory>("vkBindBufferMemory")(device, made.buffer, made.memory, 0), "vkBindBufferMemory");
        must(get<PFN_vkMapMemory>("vkMapMemory")(device, made.memory, 0, VK_WHOLE_SIZE, 0, &made.mapped), "vkMapMemory");
        std::memcpy(made.mapped, data, bytes);
        return made;
    }
};

// A shader with its buffers, as the kernel table declares it.
struct Kernel {
    VkPipelineLayout layout;
    VkPipeline pipeline;
    VkDescriptorSet set;

    Kernel(const Vulkan &vk, const std::string &file, const std::vector<Buffer> &buffers, uint32_t push_bytes) {
        std::vector<char> code = module_code(file);
        if (code.empty()) throw std::runtime_error("cannot read " + file);
        VkShaderModuleCreateInfo create{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
        std::vector<uint32_t> words(code.size() / 4);
        std::memcpy(words.data(), code.data(), words.size() * 4);
        create.codeSize = words.size() * 4;
        create.pCode = words.data();
        VkShaderModule module;
        must(vk.get<PFN_vkCreateShaderModule>("vkCreateShaderModule")(vk.device, &create, nullptr, &module), file.c_str());

        std::vector<VkDescriptorSetLayoutBinding> bindings;
        for (uint32_t at = 0; at < buffers.size(); ++at)
            bindings.push_back({at, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
        VkDescriptorSetLayoutCreateInfo sets{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
        sets.bindingCount = static_cast<uint32_t>(bindings.size());
        sets.pBindings = bindings.data();
        VkDescriptorSetLayout set_layout;
        must(vk.get<PFN_vkCreateDescriptorSetLayout>("vkCreateDescriptorSetLayout")(vk.device, &sets, nullptr, &set_layout),
             "vkCreateDescriptorSetLayout");
        VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, push_bytes};
        VkPipelineLayoutCreateInfo layouts{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
        layouts.setLayoutCount = 1;
        layouts.pSetLayouts = &set_layout;
        layouts.pushConstantRangeCount = 1;
        layouts.pPushConstantRanges = &range;
        must(vk.get<PFN_vkCreatePipelineLayout>("vkCreatePipelineLayout")(vk.device, &layouts, nullptr, &layout),
             "vkCreatePipelineLayout");
        VkComputePipelineCreateInfo compute{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
        compute.stage = {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO};
        compute.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
        compute.stage.module = module;
        compute.stage.pName = "main";
        compute.layout = layout;
        must(vk.get<PFN_vkCreateComputePipelines>("vkCreateComputePipelines")(vk.device, VK_NULL_HANDLE, 1, &compute,
                                                                            nullptr, &pipeline),
             "vkCreateComputePipelines");

        VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, static_cast<uint32_t>(buffers.size())};
        VkDescriptorPoolCreateInfo pools{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
        pools.maxSets = 1;
        pools.poolSizeCount = 1;
        pools.pPoolSizes = &size;
        VkDescriptorPool pool;
        must(vk.get<PFN_vkCreateDescriptorPool>("vkCreateDescriptorPool")(vk.device, &pools, nullptr, &pool),
             "vkCreateDescriptorPool");
        VkDescriptorSetAllocateInfo allocate{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
        allocate.descriptorPool = pool;
        allocate.descriptorSetCount = 1;
        allocate.pSetLayouts = &set_layout;
        must(vk.get<PFN_vkAllocateDescriptorSets>("vkAllocateDescriptorSets")(vk.device, &allocate, &set),
             "vkAllocateDescriptorSets");
        for (uint32_t at = 0; at < buffers.size(); ++at) {
            VkDescriptorBufferInfo whole{buffers[at].buffer, 0, VK_WHOLE_SIZE};
            VkWriteDescriptorSet write{VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
            write.dstSet = set;
            write.dstBinding = at;
            write.descriptorCount = 1;
            write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
            write.pBufferInfo = &whole;
            vk.get<PFN_vkUpdateDescriptorSets>("vkUpdateDescriptorSets")(vk.device, 1, &write, 0, nullptr);
        }
    }
};

// What is said of shaders for cores with other kernel tables: they lie beside those of this one, `kernels/TAG/spirv`.
std::string stale(const std::string &variant_dir) {
    namespace fs = std::filesystem;
    fs::path own = variant_dir;
    while (own.has_relative_path() && own.parent_path().filename() != "kernels") own = own.parent_path();
    if (own.parent_path().filename() != "kernels") return "";
    std::string others;
    std::error_code unreadable;
    for (const fs::directory_entry &entry : fs::directory_iterator(own.parent_path(), unreadable))
        if (entry.path() != own) others += " " + entry.path().filename().string();
    if (others.empty() || std::filesystem::exists(own)) return "";
    return "; shaders of another kernel ABI tag are there:" + others + ", and this program wants " + own.filename().string() +
           ": rebuild them";
}

// The highest version of Vulkan that the device has and the packages are made for, or the one that is asked for.
std::string choose(const Vulkan &vk, const std::string &variant_dir, const std::string &target) {
    uint32_t version = vk.properties.apiVersion;
    for (uint32_t minor = VK_API_VERSION_MINOR(version) + 1; minor-- > 0;) {
        std::string name = "vulkan1." + std::to_string(minor);
        if (!target.empty() && name != target) continue;
        if (!module_code(variant_dir + "/" + name + "/integrate.spv").empty()) return name;
    }
    std::string wanted = target.empty() ? "any version of Vulkan" : target;
    throw std::runtime_error("no shaders for " + wanted + " in " + variant_dir + " that " + vk.properties.deviceName +
                             " takes" + stale(variant_dir));
}

} // namespace

std::string run_on_vulkan(Network &network, unsigned cycles, unsigned at_once, const std::string &kernels,
                          const std::string &variant, const std::string &target) {
    Vulkan vk;
    std::string name = choose(vk, kernels + "/" + variant, target);
    std::string dir = kernels + "/" + variant + "/" + name + "/";
    Buffer cells = vk.buffer(network.cells.data(), network.cells.size() * sizeof(Cell));
    Buffer synapses = vk.buffer(network.synapses.data(), network.synapses.size() * sizeof(Synapse));
    Buffer offsets = vk.buffer(network.offsets.data(), network.offsets.size() * sizeof(uint));
    struct { uint count; float leak, threshold; } push{static_cast<uint>(network.cells.size()), LEAK, THRESHOLD};
    Kernel integrate(vk, dir + "integrate.spv", {cells}, sizeof push);
    Kernel deliver(vk, dir + "deliver.spv", {cells, synapses, offsets}, sizeof push.count);

    VkCommandPoolCreateInfo pools{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    pools.queueFamilyIndex = vk.family;
    VkCommandPool pool;
    must(vk.get<PFN_vkCreateCommandPool>("vkCreateCommandPool")(vk.device, &pools, nullptr, &pool), "vkCreateCommandPool");
    VkQueue queue;
    vk.get<PFN_vkGetDeviceQueue>("vkGetDeviceQueue")(vk.device, vk.family, 0, &queue);
    auto bind = vk.get<PFN_vkCmdBindPipeline>("vkCmdBindPipeline");
    auto bind_sets = vk.get<PFN_vkCmdBindDescriptorSets>("vkCmdBindDescriptorSets");
    auto push_constants = vk.get<PFN_vkCmdPushConstants>("vkCmdPushConstants");
    auto dispatch = vk.get<PFN_vkCmdDispatch>("vkCmdDispatch");
    auto barrier = vk.get<PFN_vkCmdPipelineBarrier>("vkCmdPipelineBarrier");
    for (unsigned done = 0; done < cycles;) {
        unsigned now = std::min(std::max(at_once, 1u), cycles - done);
        VkCommandBufferAllocateInfo allocate{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
        allocate.commandPool = pool;
        allocate.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
        allocate.commandBufferCount = 1;
        VkCommandBuffer commands;
        must(vk.get<PFN_vkAllocateCommandBuffers>("vkAllocateCommandBuffers")(vk.device, &allocate, &commands),
             "vkAllocateCommandBuffers");
        VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
        must(vk.get<PFN_vkBeginCommandBuffer>("vkBeginCommandBuffer")(commands, &begin), "vkBeginCommandBuffer");
        auto launch = [&](const Kernel &kernel, uint32_t bytes) {
            bind(commands, VK_PIPELINE_BIND_POINT_COMPUTE, kernel.pipeline);
            bind_sets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, kernel.layout, 0, 1, &kernel.set, 0, nullptr);
            push_constants(commands, kernel.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, bytes, &push);
            dispatch(commands, (push.count + 63) / 64, 1, 1);
            VkMemoryBarrier memory{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
            memory.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
            memory.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_HOST_READ_BIT;
            barrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                    VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &memory, 0, nullptr, 0, nullptr);
        };
        for (unsigned cycle = 0; cycle < now; ++cycle) {
            launch(integrate, sizeof push);
            launch(deliver, sizeof push.count);
        }
        must(vk.get<PFN_vkEndCommandBuffer>("vkEndCommandBuffer")(commands), "vkEndCommandBuffer");
        VkSubmitInfo submit{VK_STRUCTURE_TYPE_SUBMIT_INFO};
        submit.commandBufferCount = 1;
        submit.pCommandBuffers = &commands;
        must(vk.get<PFN_vkQueueSubmit>("vkQueueSubmit")(queue, 1, &submit, VK_NULL_HANDLE), "vkQueueSubmit");
        must(vk.get<PFN_vkQueueWaitIdle>("vkQueueWaitIdle")(queue), "vkQueueWaitIdle");
        done += now;
    }
    std::memcpy(network.cells.data(), cells.mapped, network.cells.size() * sizeof(Cell));
    return name;
}
