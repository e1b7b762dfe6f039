// Vulkan's loader, opened at run time, the devices that it knows, and what is made on one of them.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "vulkan_api.h"

namespace volley {

struct VulkanDevice {
  uint32_t index = 0;  // in the loader's list
  vk::PhysicalDevice handle = nullptr;
  std::string name;
  int minor = 0;        // of Vulkan 1.minor
  bool is_gpu = false;  // and no processor that computes in its place
  vk::PhysicalDeviceLimits limits{};
};

class VulkanDriver : public vk::Functions {
 public:
  // Opens the loader once per process. Throws Error (VOLLEY_NO_DEVICE) with the reason.
  static const VulkanDriver &get();

  std::string path;  // of the libvulkan.so.1 that was found
  std::vector<VulkanDevice> devices;

  // Throws Error (VOLLEY_NO_DEVICE) when there is no such device.
  const VulkanDevice &device(int ordinal) const;
  void check(vk::Result result, const std::string &what) const;  // throws Error (VOLLEY_FAILED)

 private:
  VulkanDriver();
};

struct VulkanBuffer {
  vk::Buffer buffer = nullptr;
  uint64_t bytes = 0;
  void *mapped = nullptr;  // of buffers that the host sees
};

struct VulkanKernel {
  vk::PipelineLayout layout = nullptr;
  vk::Pipeline pipeline = nullptr;
  vk::DescriptorSet set = nullptr;
  uint32_t push_bytes = 0;
};

// One device with a queue that computes; all that is made on it goes with it.
class VulkanSession {
 public:
  VulkanSession(const VulkanDriver &driver, const VulkanDevice &device);
  ~VulkanSession();
  VulkanSession(const VulkanSession &) = delete;
  VulkanSession &operator=(const VulkanSession &) = delete;

  // A buffer of zeros on the device. Throws VOLLEY_NO_DEVICE when the device binds none so large.
  VulkanBuffer buffer(uint64_t bytes, const char *what);
  VulkanBuffer buffer(const void *data, uint64_t bytes, const char *what);
  // A buffer that the device writes and the host reads.
  VulkanBuffer readback(uint64_t bytes);
  // `code` is the module, `from` names it in messages; `buffers` are bound at the bindings.
  VulkanKernel kernel(const std::string &code, const std::string &from,
                      const std::vector<std::pair<uint32_t, VulkanBuffer>> &buffers, uint32_t push_bytes);
  // Records commands, submits them and waits until they are done.
  void run(const std::function<void(vk::CommandBuffer)> &record, const std::string &what);
  void dispatch(vk::CommandBuffer commands, const VulkanKernel &kernel, const void *push, uint32_t groups) const;
  // What comes after sees what was written before, by shaders and by copies, on the device and on the host.
  void barrier(vk::CommandBuffer commands) const;

 private:
  VulkanBuffer make(uint64_t bytes, vk::Flags wanted, vk::Flags preferred, const char *what);

  const VulkanDriver &vk_;
  const VulkanDevice &of_;
  vk::Device device_ = nullptr;
  vk::Queue queue_ = nullptr;
  vk::CommandPool commands_ = nullptr;
  vk::CommandBuffer command_ = nullptr;
  vk::PhysicalDeviceMemoryProperties memory_{};
  std::vector<std::function<void()>> made_;  // in order; undone from the last
};

}  // namespace volley
