// Vulkan's functions come out of the loader that is opened when one is wanted.
#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

#include "strata.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <iterator>
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

    // `index` is that of the loader's list.
    explicit Vulkan(uint32_t index) {
        void *library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
        if (!library) throw std::runtime_error(dlerror());
        load = reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"));
        VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO};
        application.apiVersion = VK_API_VERSION_1_3;
        VkInstanceCreateInfo create{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
        create.pApplicationInfo = &application;
        must(get<PFN_vkCreateInstance>("vkCreateInstance")(&create, nullptr, &instance), "vkCreateInstance");
        uint32_t count = index + 1;
        std::vector<VkPhysicalDevice> all(count);
        VkResult result =
            get<PFN_vkEnumeratePhysicalDevices>("vkEnumeratePhysicalDevices")(instance, &count, all.data());
        if ((result != VK_SUCCESS && result != VK_INCOMPLETE) || count <= index)
            throw std::runtime_error("no Vulkan device " + std::to_string(index));
        physical = all[index];
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

// A buffer at its binding, as the kernel table declares it.
struct Bound {
    uint32_t binding;
    Buffer buffer;
};

// A shader with its buffers, and how many invocations it runs over.
struct Kernel {
    VkPipelineLayout layout;
    VkPipeline pipeline;
    VkDescriptorSet set;
    uint32_t count;

    Kernel(const Vulkan &vk, const std::string &file, const std::vector<Bound> &buffers, uint32_t push_bytes, uint32_t over)
        : count(over) {
        std::ifstream in(file, std::ios::binary);
        std::vector<char> code{std::istreambuf_iterator<char>(in), {}};
        if (code.empty()) throw std::runtime_error("cannot read " + file);
        VkShaderModuleCreateInfo create{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
        std::vector<uint32_t> words(code.size() / 4);
        std::memcpy(words.data(), code.data(), words.size() * 4);
        create.codeSize = words.size() * 4;
        create.pCode = words.data();
        VkShaderModule module;
        must(vk.get<PFN_vkCreateShaderModule>("vkCreateShaderModule")(vk.device, &create, nullptr, &module), file.c_str());

        std::vector<VkDescriptorSetLayoutBinding> bindings;
        for (const Bound &bound : buffers)
            bindings.push_back({bound.binding, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
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
        for (const Bound &bound : buffers) {
            VkDescriptorBufferInfo whole{bound.buffer.buffer, 0, VK_WHOLE_SIZE};
            VkWriteDescriptorSet write{VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
            write.dstSet = set;
            write.dstBinding = bound.binding;
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
        if (std::ifstream(variant_dir + "/" + name + "/pool_" + LAYERS[0].name + ".spv")) return name;
    }
    std::string wanted = target.empty() ? "any version of Vulkan" : target;
    throw std::runtime_error("no shaders for " + wanted + " in " + variant_dir + " that " + vk.properties.deviceName +
                             " takes" + stale(variant_dir));
}

} // namespace

std::string run_on_vulkan(Network &network, unsigned cycles, unsigned at_once, unsigned device,
                          const std::string &kernels, const std::string &variant, const std::string &target) {
    Vulkan vk(device);
    std::string name = choose(vk, kernels + "/" + variant, target);
    std::string dir = kernels + "/" + variant + "/" + name + "/";
    Buffer neurons = vk.buffer(network.neurons.data(), network.neurons.size() * sizeof(Neuron));
    Buffer pools = vk.buffer(network.pools.data(), network.pools.size() * sizeof(Pool));
    Buffer synapses = vk.buffer(network.synapses.data(), network.synapses.size() * sizeof(Synapse));
    Buffer offsets = vk.buffer(network.offsets.data(), network.offsets.size() * sizeof(uint));
    std::vector<Kernel> phases[3];
    for (const Layer &layer : LAYERS) {
        auto file = [&](const char *phase) { return dir + phase + "_" + layer.name + ".spv"; };
        phases[0].emplace_back(vk, file("pool"), std::vector<Bound>{{0, neurons}, {1, pools}}, sizeof(uint), layer.pools);
        phases[1].emplace_back(vk, file("integrate"), std::vector<Bound>{{0, neurons}, {1, pools}}, sizeof(uint),
                               layer.neurons);
        phases[2].emplace_back(vk, file("deliver"), std::vector<Bound>{{0, neurons}, {2, synapses}, {3, offsets}},
                               sizeof(uint), layer.neurons);
    }

    VkCommandPoolCreateInfo create{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    create.queueFamilyIndex = vk.family;
    VkCommandPool pool;
    must(vk.get<PFN_vkCreateCommandPool>("vkCreateCommandPool")(vk.device, &create, nullptr, &pool), "vkCreateCommandPool");
    VkQueue queue;
    vk.get<PFN_vkGetDeviceQueue>("vkGetDeviceQueue")(vk.device, vk.family, 0, &queue);
    auto bind = vk.get<PFN_vkCmdBindPipeline>("vkCmdBindPipeline");
    auto bind_sets = vk.get<PFN_vkCmdBindDescriptorSets>("vkCmdBindDescriptorSets");
    auto push_constants = vk.get<PFN_vkCmdPushConstants>("vkCmdPushConstants");
    auto dispatch = vk.get<PFN_vkCmdDispatch>("vkCmdDispatch");
    auto barrier = vk.get<PFN_vkCmdPipelineBarrier>("vkCmdPipelineBarrier");
    // Several submissions wait in the queue at once: the device has work while the host records.
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
        for (uint cycle = done; cycle < done + now; ++cycle) {
            for (const std::vector<Kernel> &phase : phases) {
                for (const Kernel &kernel : phase) {
                    bind(commands, VK_PIPELINE_BIND_POINT_COMPUTE, kernel.pipeline);
                    bind_sets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, kernel.layout, 0, 1, &kernel.set, 0, nullptr);
                    push_constants(commands, kernel.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof cycle, &cycle);
                    dispatch(commands, (kernel.count + WORKGROUP - 1) / WORKGROUP, 1, 1);
                }
                // Layers of a phase do not meet; the next phase reads what all have written, in the next submission, too.
                VkMemoryBarrier memory{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
                memory.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
                memory.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_HOST_READ_BIT;
                barrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                        VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &memory, 0, nullptr, 0,
                        nullptr);
            }
        }
        must(vk.get<PFN_vkEndCommandBuffer>("vkEndCommandBuffer")(commands), "vkEndCommandBuffer");
        VkSubmitInfo submit{VK_STRUCTURE_TYPE_SUBMIT_INFO};
        submit.commandBufferCount = 1;
        submit.pCommandBuffers = &commands;
        must(vk.get<PFN_vkQueueSubmit>("vkQueueSubmit")(queue, 1, &submit, VK_NULL_HANDLE), "vkQueueSubmit");
        done += now;
    }
    must(vk.get<PFN_vkQueueWaitIdle>("vkQueueWaitIdle")(queue), "vkQueueWaitIdle");
    std::memcpy(network.neurons.data(), neurons.mapped, network.neurons.size() * sizeof(Neuron));
    return name;
}
