// Vulkan as far as volley uses it: own prototypes, so that the library is built without Vulkan's headers and runs without
// a loader. Names and values as in vulkan_core.h, members in its order; tests/volley holds the sizes against it.
#pragma once
#include <cstddef>
#include <cstdint>

namespace volley {
namespace vk {

using Flags = uint32_t;
using DeviceSize = uint64_t;
using Result = int32_t;
using Instance = struct Instance_T *;
using PhysicalDevice = struct PhysicalDevice_T *;
using Device = struct Device_T *;
using Queue = struct Queue_T *;
using CommandBuffer = struct CommandBuffer_T *;
using Buffer = struct Buffer_T *;
using DeviceMemory = struct DeviceMemory_T *;
using ShaderModule = struct ShaderModule_T *;
using Pipeline = struct Pipeline_T *;
using PipelineLayout = struct PipelineLayout_T *;
using DescriptorSetLayout = struct DescriptorSetLayout_T *;
using DescriptorPool = struct DescriptorPool_T *;
using DescriptorSet = struct DescriptorSet_T *;
using CommandPool = struct CommandPool_T *;
using Function = void (*)();

enum : int32_t {
  SUCCESS = 0,
  INCOMPLETE = 5,
  STRUCTURE_TYPE_APPLICATION_INFO = 0,
  STRUCTURE_TYPE_INSTANCE_CREATE_INFO = 1,
  STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO = 2,
  STRUCTURE_TYPE_DEVICE_CREATE_INFO = 3,
  STRUCTURE_TYPE_SUBMIT_INFO = 4,
  STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO = 5,
  STRUCTURE_TYPE_BUFFER_CREATE_INFO = 12,
  STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO = 16,
  STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO = 18,
  STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO = 29,
  STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO = 30,
  STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO = 32,
  STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO = 33,
  STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO = 34,
  STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET = 35,
  STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO = 39,
  STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO = 40,
  STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO = 42,
  STRUCTURE_TYPE_MEMORY_BARRIER = 46,
  PHYSICAL_DEVICE_TYPE_CPU = 4,
  DESCRIPTOR_TYPE_STORAGE_BUFFER = 7,
  PIPELINE_BIND_POINT_COMPUTE = 1
};

enum : Flags {
  QUEUE_COMPUTE_BIT = 2,
  MEMORY_PROPERTY_DEVICE_LOCAL_BIT = 1,
  MEMORY_PROPERTY_HOST_VISIBLE_BIT = 2,
  MEMORY_PROPERTY_HOST_COHERENT_BIT = 4,
  MEMORY_PROPERTY_HOST_CACHED_BIT = 8,
  BUFFER_USAGE_TRANSFER_SRC_BIT = 1,
  BUFFER_USAGE_TRANSFER_DST_BIT = 2,
  BUFFER_USAGE_STORAGE_BUFFER_BIT = 0x20,
  SHADER_STAGE_COMPUTE_BIT = 0x20,
  PIPELINE_STAGE_COMPUTE_SHADER_BIT = 0x800,
  PIPELINE_STAGE_TRANSFER_BIT = 0x1000,
  PIPELINE_STAGE_HOST_BIT = 0x4000,
  ACCESS_SHADER_READ_BIT = 0x20,
  ACCESS_SHADER_WRITE_BIT = 0x40,
  ACCESS_TRANSFER_READ_BIT = 0x800,
  ACCESS_TRANSFER_WRITE_BIT = 0x1000,
  ACCESS_HOST_READ_BIT = 0x2000,
  COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT = 1
};

constexpr uint32_t API_VERSION_1_1 = 1u << 22 | 1u << 12;

struct ApplicationInfo {
  int32_t sType = STRUCTURE_TYPE_APPLICATION_INFO;
  const void *pNext = nullptr;
  const char *pApplicationName = nullptr;
  uint32_t applicationVersion = 0;
  const char *pEngineName = nullptr;
  uint32_t engineVersion = 0, apiVersion = 0;
};
struct InstanceCreateInfo {
  int32_t sType = STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  const void *pNext = nullptr;
  Flags flags = 0;
  const ApplicationInfo *pApplicationInfo = nullptr;
  uint32_t enabledLayerCount = 0;
  const char *const *ppEnabledLayerNames = nullptr;
  uint32_t enabledExtensionCount = 0;
  const char *const *ppEnabledExtensionNames = nullptr;
};
// As far as they are read; the rest is `unread`.
struct PhysicalDeviceLimits {
  uint32_t before[7];
  uint32_t maxStorageBufferRange;
  uint8_t between[188];
  uint32_t maxComputeWorkGroupCount[3];
  alignas(8) uint8_t unread[272];
};
struct PhysicalDeviceProperties {
  uint32_t apiVersion, driverVersion, vendorID, deviceID;
  int32_t deviceType;
  char deviceName[256];
  uint8_t pipelineCacheUUID[16];
  alignas(8) PhysicalDeviceLimits limits;
  uint32_t sparseProperties[5];
};
struct QueueFamilyProperties {
  Flags queueFlags;
  uint32_t queueCount, timestampValidBits, minImageTransferGranularity[3];
};
struct MemoryType {
  Flags propertyFlags;
  uint32_t heapIndex;
};
struct MemoryHeap {
  DeviceSize size;
  Flags flags;
};
struct PhysicalDeviceMemoryProperties {
  uint32_t memoryTypeCount;
  MemoryType memoryTypes[32];
  uint32_t memoryHeapCount;
  MemoryHeap memoryHeaps[16];
};
struct DeviceQueueCreateInfo {
  int32_t sType = STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  const void *pNext = nullptr;
  Flags flags = 0;
  uint32_t queueFamilyIndex = 0, queueCount = 0;
  const float *pQueuePriorities = nullptr;
};
struct DeviceCreateInfo {
  int32_t sType = STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  const void *pNext = nullptr;
  Flags flags = 0;
  uint32_t queueCreateInfoCount = 0;
  const DeviceQueueCreateInfo *pQueueCreateInfos = nullptr;
  uint32_t enabledLayerCount = 0;
  const char *const *ppEnabledLayerNames = nullptr;
  uint32_t enabledExtensionCount = 0;
  const char *const *ppEnabledExtensionNames = nullptr;
  const void *pEnabledFeatures = nullptr;
};
struct BufferCreateInfo {
  int32_t sType = STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  const void *pNext = nullptr;
  Flags flags = 0;
  DeviceSize size = 0;
  Flags usage = 0;
  int32_t sharingMode = 0;
  uint32_t queueFamilyIndexCount = 0;
  const uint32_t *pQueueFamilyIndices = nullptr;
};
struct MemoryRequirements {
  DeviceSize size, alignment;
  uint32_t memoryTypeBits;
};
struct MemoryAllocateInfo {
  int32_t sType = STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  const void *pNext = nullptr;
  DeviceSize allocationSize = 0;
  uint32_t memoryTypeIndex = 0;
};
struct ShaderModuleCreateInfo {
  int32_t sType = STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  const void *pNext = nullptr;
  Flags flags = 0;
  size_t codeSize = 0;
  const uint32_t *pCode = nullptr;
};
struct DescriptorSetLayoutBinding {
  uint32_t binding;
  int32_t descriptorType;
  uint32_t descriptorCount;
  Flags stageFlags;
  const void *pImmutableSamplers;
};
struct DescriptorSetLayoutCreateInfo {
  int32_t sType = STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
  const void *pNext = nullptr;
  Flags flags = 0;
  uint32_t bindingCount = 0;
  const DescriptorSetLayoutBinding *pBindings = nullptr;
};
struct PushConstantRange {
  Flags stageFlags;
  uint32_t offset, size;
};
struct PipelineLayoutCreateInfo {
  int32_t sType = STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  const void *pNext = nullptr;
  Flags flags = 0;
  uint32_t setLayoutCount = 0;
  const DescriptorSetLayout *pSetLayouts = nullptr;
  uint32_t pushConstantRangeCount = 0;
  const PushConstantRange *pPushConstantRanges = nullptr;
};
struct PipelineShaderStageCreateInfo {
  int32_t sType = STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  const void *pNext = nullptr;
  Flags flags = 0, stage = 0;
  ShaderModule module = nullptr;
  const char *pName = nullptr;
  const void *pSpecializationInfo = nullptr;
};
struct ComputePipelineCreateInfo {
  int32_t sType = STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  const void *pNext = nullptr;
  Flags flags = 0;
  PipelineShaderStageCreateInfo stage;
  PipelineLayout layout = nullptr;
  Pipeline basePipelineHandle = nullptr;
  int32_t basePipelineIndex = 0;
};
struct DescriptorPoolSize {
  int32_t type;
  uint32_t descriptorCount;
};
struct DescriptorPoolCreateInfo {
  int32_t sType = STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
  const void *pNext = nullptr;
  Flags flags = 0;
  uint32_t maxSets = 0, poolSizeCount = 0;
  const DescriptorPoolSize *pPoolSizes = nullptr;
};
struct DescriptorSetAllocateInfo {
  int32_t sType = STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
  const void *pNext = nullptr;
  DescriptorPool descriptorPool = nullptr;
  uint32_t descriptorSetCount = 0;
  const DescriptorSetLayout *pSetLayouts = nullptr;
};
struct DescriptorBufferInfo {
  Buffer buffer;
  DeviceSize offset, range;
};
struct WriteDescriptorSet {
  int32_t sType = STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
  const void *pNext = nullptr;
  DescriptorSet dstSet = nullptr;
  uint32_t dstBinding = 0, dstArrayElement = 0, descriptorCount = 0;
  int32_t descriptorType = 0;
  const void *pImageInfo = nullptr;
  const DescriptorBufferInfo *pBufferInfo = nullptr;
  const void *pTexelBufferView = nullptr;
};
struct CommandPoolCreateInfo {
  int32_t sType = STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  const void *pNext = nullptr;
  Flags flags = 0;
  uint32_t queueFamilyIndex = 0;
};
struct CommandBufferAllocateInfo {
  int32_t sType = STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  const void *pNext = nullptr;
  CommandPool commandPool = nullptr;
  int32_t level = 0;
  uint32_t commandBufferCount = 0;
};
struct CommandBufferBeginInfo {
  int32_t sType = STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  const void *pNext = nullptr;
  Flags flags = 0;
  const void *pInheritanceInfo = nullptr;
};
struct MemoryBarrier {
  int32_t sType = STRUCTURE_TYPE_MEMORY_BARRIER;
  const void *pNext = nullptr;
  Flags srcAccessMask = 0, dstAccessMask = 0;
};
struct BufferCopy {
  DeviceSize srcOffset, dstOffset, size;
};
struct SubmitInfo {
  int32_t sType = STRUCTURE_TYPE_SUBMIT_INFO;
  const void *pNext = nullptr;
  uint32_t waitSemaphoreCount = 0;
  const void *pWaitSemaphores = nullptr;
  const Flags *pWaitDstStageMask = nullptr;
  uint32_t commandBufferCount = 0;
  const CommandBuffer *pCommandBuffers = nullptr;
  uint32_t signalSemaphoreCount = 0;
  const void *pSignalSemaphores = nullptr;
};

// (name without vk, result, parameters); what is null is the allocator everywhere.
#define VOLLEY_VULKAN_FUNCTIONS(F)                                                                                    \
  F(DestroyInstance, void, (Instance, const void *))                                                                  \
  F(EnumeratePhysicalDevices, Result, (Instance, uint32_t *, PhysicalDevice *))                                       \
  F(GetPhysicalDeviceProperties, void, (PhysicalDevice, PhysicalDeviceProperties *))                                  \
  F(GetPhysicalDeviceQueueFamilyProperties, void, (PhysicalDevice, uint32_t *, QueueFamilyProperties *))              \
  F(GetPhysicalDeviceMemoryProperties, void, (PhysicalDevice, PhysicalDeviceMemoryProperties *))                      \
  F(CreateDevice, Result, (PhysicalDevice, const DeviceCreateInfo *, const void *, Device *))                         \
  F(DestroyDevice, void, (Device, const void *))                                                                      \
  F(GetDeviceQueue, void, (Device, uint32_t, uint32_t, Queue *))                                                      \
  F(CreateBuffer, Result, (Device, const BufferCreateInfo *, const void *, Buffer *))                                 \
  F(DestroyBuffer, void, (Device, Buffer, const void *))                                                              \
  F(GetBufferMemoryRequirements, void, (Device, Buffer, MemoryRequirements *))                                        \
  F(AllocateMemory, Result, (Device, const MemoryAllocateInfo *, const void *, DeviceMemory *))                       \
  F(FreeMemory, void, (Device, DeviceMemory, const void *))                                                           \
  F(BindBufferMemory, Result, (Device, Buffer, DeviceMemory, DeviceSize))                                             \
  F(MapMemory, Result, (Device, DeviceMemory, DeviceSize, DeviceSize, Flags, void **))                                \
  F(CreateShaderModule, Result, (Device, const ShaderModuleCreateInfo *, const void *, ShaderModule *))               \
  F(DestroyShaderModule, void, (Device, ShaderModule, const void *))                                                  \
  F(CreateDescriptorSetLayout, Result,                                                                                \
    (Device, const DescriptorSetLayoutCreateInfo *, const void *, DescriptorSetLayout *))                             \
  F(DestroyDescriptorSetLayout, void, (Device, DescriptorSetLayout, const void *))                                    \
  F(CreatePipelineLayout, Result, (Device, const PipelineLayoutCreateInfo *, const void *, PipelineLayout *))         \
  F(DestroyPipelineLayout, void, (Device, PipelineLayout, const void *))                                              \
  F(CreateComputePipelines, Result,                                                                                   \
    (Device, void *, uint32_t, const ComputePipelineCreateInfo *, const void *, Pipeline *))                          \
  F(DestroyPipeline, void, (Device, Pipeline, const void *))                                                          \
  F(CreateDescriptorPool, Result, (Device, const DescriptorPoolCreateInfo *, const void *, DescriptorPool *))         \
  F(DestroyDescriptorPool, void, (Device, DescriptorPool, const void *))                                              \
  F(AllocateDescriptorSets, Result, (Device, const DescriptorSetAllocateInfo *, DescriptorSet *))                     \
  F(UpdateDescriptorSets, void, (Device, uint32_t, const WriteDescriptorSet *, uint32_t, const void *))               \
  F(CreateCommandPool, Result, (Device, const CommandPoolCreateInfo *, const void *, CommandPool *))                  \
  F(DestroyCommandPool, void, (Device, CommandPool, const void *))                                                    \
  F(ResetCommandPool, Result, (Device, CommandPool, Flags))                                                           \
  F(AllocateCommandBuffers, Result, (Device, const CommandBufferAllocateInfo *, CommandBuffer *))                     \
  F(BeginCommandBuffer, Result, (CommandBuffer, const CommandBufferBeginInfo *))                                      \
  F(EndCommandBuffer, Result, (CommandBuffer))                                                                        \
  F(CmdBindPipeline, void, (CommandBuffer, int32_t, Pipeline))                                                        \
  F(CmdBindDescriptorSets, void,                                                                                      \
    (CommandBuffer, int32_t, PipelineLayout, uint32_t, uint32_t, const DescriptorSet *, uint32_t, const uint32_t *))  \
  F(CmdPushConstants, void, (CommandBuffer, PipelineLayout, Flags, uint32_t, uint32_t, const void *))                 \
  F(CmdDispatch, void, (CommandBuffer, uint32_t, uint32_t, uint32_t))                                                 \
  F(CmdCopyBuffer, void, (CommandBuffer, Buffer, Buffer, uint32_t, const BufferCopy *))                               \
  F(CmdFillBuffer, void, (CommandBuffer, Buffer, DeviceSize, DeviceSize, uint32_t))                                   \
  F(CmdPipelineBarrier, void,                                                                                         \
    (CommandBuffer, Flags, Flags, Flags, uint32_t, const MemoryBarrier *, uint32_t, const void *, uint32_t,           \
     const void *))                                                                                                   \
  F(QueueSubmit, Result, (Queue, uint32_t, const SubmitInfo *, void *))                                               \
  F(QueueWaitIdle, Result, (Queue))

struct Functions {
#define VOLLEY_DECLARE(name, result, parameters) result(*name) parameters = nullptr;
  VOLLEY_VULKAN_FUNCTIONS(VOLLEY_DECLARE)
#undef VOLLEY_DECLARE
};

}  // namespace vk
}  // namespace volley
