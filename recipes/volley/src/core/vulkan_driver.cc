#include "vulkan_driver.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include "error.h"

namespace volley {

namespace {

constexpr uint64_t staging_bytes = 16u << 20;

vk::Instance create_instance(vk::Function (*address)(vk::Instance, const char *)) {
  using Create = vk::Result (*)(const vk::InstanceCreateInfo *, const void *, vk::Instance *);
  const auto create = reinterpret_cast<Create>(address(nullptr, "vkCreateInstance"));
  if (!create) throw no_device("the Vulkan loader has no vkCreateInstance");
  vk::ApplicationInfo application;
  application.pApplicationName = "volley";
  application.apiVersion = vk::API_VERSION_1_1;
  vk::InstanceCreateInfo info;
  info.pApplicationInfo = &application;
  vk::Instance instance = nullptr;
  const vk::Result r = create(&info, nullptr, &instance);
  if (r != vk::SUCCESS) throw no_device("no instance of Vulkan 1.1: VkResult " + std::to_string(r));
  return instance;
}

}  // namespace

const VulkanDriver &VulkanDriver::get() {
  static const VulkanDriver driver;
  return driver;
}

VulkanDriver::VulkanDriver() {
  void *library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) throw no_device(std::string("no Vulkan loader: ") + dlerror());
  using Address = vk::Function (*)(vk::Instance, const char *);
  const auto address = reinterpret_cast<Address>(dlsym(library, "vkGetInstanceProcAddr"));
  if (!address) throw no_device("libvulkan.so.1 has no vkGetInstanceProcAddr");
  Dl_info info;
  if (dladdr(reinterpret_cast<void *>(address), &info) && info.dli_fname) path = info.dli_fname;
  const vk::Instance instance = create_instance(address);  // lives as long as the process
#define VOLLEY_LOAD(name, result, parameters)                                \
  name = reinterpret_cast<decltype(name)>(address(instance, "vk" #name));    \
  if (!name) throw no_device("the Vulkan loader has no vk" #name);
  VOLLEY_VULKAN_FUNCTIONS(VOLLEY_LOAD)
#undef VOLLEY_LOAD
  uint32_t count = 0;
  vk::Result r = EnumeratePhysicalDevices(instance, &count, nullptr);
  std::vector<vk::PhysicalDevice> all(count);
  if (r == vk::SUCCESS && count > 0) r = EnumeratePhysicalDevices(instance, &count, all.data());
  if (r != vk::SUCCESS && r != vk::INCOMPLETE) throw no_device("no Vulkan device: VkResult " + std::to_string(r));
  for (uint32_t i = 0; i < count; ++i) {
    vk::PhysicalDeviceProperties properties;
    GetPhysicalDeviceProperties(all[i], &properties);
    VulkanDevice device;
    device.index = i;
    device.handle = all[i];
    device.name = properties.deviceName;
    device.minor = static_cast<int>(properties.apiVersion >> 12 & 0x3ff);
    device.is_gpu = properties.deviceType != vk::PHYSICAL_DEVICE_TYPE_CPU;
    device.limits = properties.limits;
    devices.push_back(device);
  }
}

const VulkanDevice &VulkanDriver::device(int ordinal) const {
  if (ordinal < 0 || static_cast<size_t>(ordinal) >= devices.size())
    throw no_device("no Vulkan device " + std::to_string(ordinal) + ": there are " + std::to_string(devices.size()));
  return devices[static_cast<size_t>(ordinal)];
}

void VulkanDriver::check(vk::Result result, const std::string &what) const {
  if (result != vk::SUCCESS) throw failed(what + ": VkResult " + std::to_string(result));
}

VulkanSession::VulkanSession(const VulkanDriver &driver, const VulkanDevice &device) : vk_(driver), of_(device) {
  uint32_t count = 0, family = 0;
  vk_.GetPhysicalDeviceQueueFamilyProperties(of_.handle, &count, nullptr);
  std::vector<vk::QueueFamilyProperties> families(count);
  vk_.GetPhysicalDeviceQueueFamilyProperties(of_.handle, &count, families.data());
  while (family < count && !(families[family].queueFlags & vk::QUEUE_COMPUTE_BIT)) ++family;
  if (family == count) throw no_device(of_.name + " has no queue that computes");
  vk_.GetPhysicalDeviceMemoryProperties(of_.handle, &memory_);
  const float priority = 1.0f;
  vk::DeviceQueueCreateInfo queue;
  queue.queueFamilyIndex = family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  vk::DeviceCreateInfo create;
  create.queueCreateInfoCount = 1;
  create.pQueueCreateInfos = &queue;
  const vk::Result r = vk_.CreateDevice(of_.handle, &create, nullptr, &device_);
  if (r != vk::SUCCESS) throw no_device(of_.name + " cannot be used: VkResult " + std::to_string(r));
  vk_.GetDeviceQueue(device_, family, 0, &queue_);
  vk::CommandPoolCreateInfo pool;
  pool.queueFamilyIndex = family;
  vk::Result made = vk_.CreateCommandPool(device_, &pool, nullptr, &commands_);
  vk::CommandBufferAllocateInfo allocate;
  allocate.commandPool = commands_;
  allocate.commandBufferCount = 1;
  if (made == vk::SUCCESS) made = vk_.AllocateCommandBuffers(device_, &allocate, &command_);
  if (made != vk::SUCCESS) {
    if (commands_) vk_.DestroyCommandPool(device_, commands_, nullptr);
    vk_.DestroyDevice(device_, nullptr);
    throw no_device(of_.name + " takes no commands: VkResult " + std::to_string(made));
  }
}

VulkanSession::~VulkanSession() {
  vk_.QueueWaitIdle(queue_);
  for (; !made_.empty(); made_.pop_back()) made_.back()();
  vk_.DestroyCommandPool(device_, commands_, nullptr);
  vk_.DestroyDevice(device_, nullptr);
}

VulkanBuffer VulkanSession::make(uint64_t bytes, vk::Flags wanted, vk::Flags preferred, const char *what) {
  const std::string size = std::to_string(bytes) + " bytes for " + what;
  VulkanBuffer made;
  made.bytes = bytes;
  vk::BufferCreateInfo create;
  create.size = bytes;
  create.usage = vk::BUFFER_USAGE_STORAGE_BUFFER_BIT | vk::BUFFER_USAGE_TRANSFER_SRC_BIT | vk::BUFFER_USAGE_TRANSFER_DST_BIT;
  vk_.check(vk_.CreateBuffer(device_, &create, nullptr, &made.buffer), "a buffer of " + size);
  made_.push_back([this, made] { vk_.DestroyBuffer(device_, made.buffer, nullptr); });
  vk::MemoryRequirements needs;
  vk_.GetBufferMemoryRequirements(device_, made.buffer, &needs);
  const auto find = [&](vk::Flags flags) {
    uint32_t type = 0;
    while (type < memory_.memoryTypeCount &&
           !((needs.memoryTypeBits >> type & 1u) && (memory_.memoryTypes[type].propertyFlags & flags) == flags))
      ++type;
    return type;
  };
  vk::MemoryAllocateInfo allocate;
  allocate.allocationSize = needs.size;
  allocate.memoryTypeIndex = find(wanted | preferred);
  if (allocate.memoryTypeIndex == memory_.memoryTypeCount) allocate.memoryTypeIndex = find(wanted);
  if (allocate.memoryTypeIndex == memory_.memoryTypeCount) throw failed("no memory of the device suits " + size);
  vk::DeviceMemory memory = nullptr;
  vk_.check(vk_.AllocateMemory(device_, &allocate, nullptr, &memory), "allocating " + size);
  // Before its memory the buffer goes.
  made_.back() = [this, made, memory] {
    vk_.DestroyBuffer(device_, made.buffer, nullptr);
    vk_.FreeMemory(device_, memory, nullptr);
  };
  vk_.check(vk_.BindBufferMemory(device_, made.buffer, memory, 0), "binding " + size);
  if (wanted & vk::MEMORY_PROPERTY_HOST_VISIBLE_BIT)
    vk_.check(vk_.MapMemory(device_, memory, 0, ~vk::DeviceSize{0}, 0, &made.mapped), "mapping " + size);
  return made;
}

VulkanBuffer VulkanSession::buffer(uint64_t bytes, const char *what) {
  bytes = (std::max<uint64_t>(bytes, 4) + 3) / 4 * 4;
  if (bytes > of_.limits.maxStorageBufferRange)
    throw no_device(std::string(what) + " take " + std::to_string(bytes) + " bytes, and " + of_.name +
                    " binds at most " + std::to_string(of_.limits.maxStorageBufferRange) + " at a time");
  const VulkanBuffer made = make(bytes, 0, vk::MEMORY_PROPERTY_DEVICE_LOCAL_BIT, what);
  run([&](vk::CommandBuffer commands) { vk_.CmdFillBuffer(commands, made.buffer, 0, made.bytes, 0); }, what);
  return made;
}

VulkanBuffer VulkanSession::buffer(const void *data, uint64_t bytes, const char *what) {
  const VulkanBuffer made = buffer(bytes, what);
  if (bytes == 0) return made;
  const vk::Flags host = vk::MEMORY_PROPERTY_HOST_VISIBLE_BIT | vk::MEMORY_PROPERTY_HOST_COHERENT_BIT;
  const VulkanBuffer staging = make(std::min(bytes, staging_bytes), host, 0, "copies to the device");
  for (uint64_t at = 0; at < bytes; at += staging.bytes) {
    const vk::BufferCopy piece{0, at, std::min(staging.bytes, bytes - at)};
    std::memcpy(staging.mapped, static_cast<const char *>(data) + at, piece.size);
    run([&](vk::CommandBuffer commands) { vk_.CmdCopyBuffer(commands, staging.buffer, made.buffer, 1, &piece); }, what);
  }
  made_.back()();
  made_.pop_back();
  return made;
}

VulkanBuffer VulkanSession::readback(uint64_t bytes) {
  const vk::Flags host = vk::MEMORY_PROPERTY_HOST_VISIBLE_BIT | vk::MEMORY_PROPERTY_HOST_COHERENT_BIT;
  return make(bytes, host, vk::MEMORY_PROPERTY_HOST_CACHED_BIT, "copies to the host");
}

VulkanKernel VulkanSession::kernel(const std::string &code, const std::string &from,
                                   const std::vector<std::pair<uint32_t, VulkanBuffer>> &buffers, uint32_t push_bytes) {
  const auto check = [&](vk::Result r, const char *what) {
    if (r != vk::SUCCESS) throw no_device(std::string(what) + " for " + from + ": VkResult " + std::to_string(r));
  };
  VulkanKernel made;
  made.push_bytes = push_bytes;
  std::vector<uint32_t> words(code.size() / 4);
  std::memcpy(words.data(), code.data(), words.size() * 4);
  vk::ShaderModuleCreateInfo create;
  create.codeSize = words.size() * 4;
  create.pCode = words.data();
  vk::ShaderModule module = nullptr;
  check(vk_.CreateShaderModule(device_, &create, nullptr, &module), "no module");
  made_.push_back([this, module] { vk_.DestroyShaderModule(device_, module, nullptr); });

  std::vector<vk::DescriptorSetLayoutBinding> bindings;
  for (const auto &bound : buffers)
    bindings.push_back({bound.first, vk::DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, vk::SHADER_STAGE_COMPUTE_BIT, nullptr});
  const uint32_t count = static_cast<uint32_t>(bindings.size());
  vk::DescriptorSetLayoutCreateInfo sets;
  sets.bindingCount = count;
  sets.pBindings = bindings.data();
  vk::DescriptorSetLayout set_layout = nullptr;
  check(vk_.CreateDescriptorSetLayout(device_, &sets, nullptr, &set_layout), "no layout of buffers");
  made_.push_back([this, set_layout] { vk_.DestroyDescriptorSetLayout(device_, set_layout, nullptr); });
  const vk::PushConstantRange range{vk::SHADER_STAGE_COMPUTE_BIT, 0, push_bytes};
  vk::PipelineLayoutCreateInfo layouts;
  layouts.setLayoutCount = 1;
  layouts.pSetLayouts = &set_layout;
  layouts.pushConstantRangeCount = 1;
  layouts.pPushConstantRanges = &range;
  check(vk_.CreatePipelineLayout(device_, &layouts, nullptr, &made.layout), "no layout");
  made_.push_back([this, made] { vk_.DestroyPipelineLayout(device_, made.layout, nullptr); });
  vk::ComputePipelineCreateInfo compute;
  compute.stage.stage = vk::SHADER_STAGE_COMPUTE_BIT;
  compute.stage.module = module;
  compute.stage.pName = "main";
  compute.layout = made.layout;
  check(vk_.CreateComputePipelines(device_, nullptr, 1, &compute, nullptr, &made.pipeline), "no pipeline");
  made_.push_back([this, made] { vk_.DestroyPipeline(device_, made.pipeline, nullptr); });

  const vk::DescriptorPoolSize size{vk::DESCRIPTOR_TYPE_STORAGE_BUFFER, count};
  vk::DescriptorPoolCreateInfo pools;
  pools.maxSets = 1;
  pools.poolSizeCount = 1;
  pools.pPoolSizes = &size;
  vk::DescriptorPool pool = nullptr;
  check(vk_.CreateDescriptorPool(device_, &pools, nullptr, &pool), "no place for buffers");
  made_.push_back([this, pool] { vk_.DestroyDescriptorPool(device_, pool, nullptr); });
  vk::DescriptorSetAllocateInfo allocate;
  allocate.descriptorPool = pool;
  allocate.descriptorSetCount = 1;
  allocate.pSetLayouts = &set_layout;
  check(vk_.AllocateDescriptorSets(device_, &allocate, &made.set), "no set of buffers");
  for (const auto &bound : buffers) {
    const vk::DescriptorBufferInfo whole{bound.second.buffer, 0, bound.second.bytes};
    vk::WriteDescriptorSet write;
    write.dstSet = made.set;
    write.dstBinding = bound.first;
    write.descriptorCount = 1;
    write.descriptorType = vk::DESCRIPTOR_TYPE_STORAGE_BUFFER;
    write.pBufferInfo = &whole;
    vk_.UpdateDescriptorSets(device_, 1, &write, 0, nullptr);
  }
  return made;
}

void VulkanSession::run(const std::function<void(vk::CommandBuffer)> &record, const std::string &what) {
  vk_.check(vk_.ResetCommandPool(device_, commands_, 0), what);
  vk::CommandBufferBeginInfo begin;
  begin.flags = vk::COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  vk_.check(vk_.BeginCommandBuffer(command_, &begin), what);
  record(command_);
  barrier(command_);
  vk_.check(vk_.EndCommandBuffer(command_), what);
  vk::SubmitInfo submit;
  submit.commandBufferCount = 1;
  submit.pCommandBuffers = &command_;
  vk_.check(vk_.QueueSubmit(queue_, 1, &submit, nullptr), what);
  vk_.check(vk_.QueueWaitIdle(queue_), what);
}

void VulkanSession::dispatch(vk::CommandBuffer commands, const VulkanKernel &kernel, const void *push,
                             uint32_t groups) const {
  vk_.CmdBindPipeline(commands, vk::PIPELINE_BIND_POINT_COMPUTE, kernel.pipeline);
  vk_.CmdBindDescriptorSets(commands, vk::PIPELINE_BIND_POINT_COMPUTE, kernel.layout, 0, 1, &kernel.set, 0, nullptr);
  vk_.CmdPushConstants(commands, kernel.layout, vk::SHADER_STAGE_COMPUTE_BIT, 0, kernel.push_bytes, push);
  vk_.CmdDispatch(commands, groups, 1, 1);
}

void VulkanSession::barrier(vk::CommandBuffer commands) const {
  vk::MemoryBarrier memory;
  memory.srcAccessMask = vk::ACCESS_SHADER_WRITE_BIT | vk::ACCESS_TRANSFER_WRITE_BIT;
  memory.dstAccessMask = vk::ACCESS_SHADER_READ_BIT | vk::ACCESS_SHADER_WRITE_BIT | vk::ACCESS_TRANSFER_READ_BIT |
                         vk::ACCESS_TRANSFER_WRITE_BIT | vk::ACCESS_HOST_READ_BIT;
  const vk::Flags device = vk::PIPELINE_STAGE_COMPUTE_SHADER_BIT | vk::PIPELINE_STAGE_TRANSFER_BIT;
  vk_.CmdPipelineBarrier(commands, device, device | vk::PIPELINE_STAGE_HOST_BIT, 0, 1, &memory, 0, nullptr, 0, nullptr);
}

}  // namespace volley
