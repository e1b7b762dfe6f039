// The Vulkan backend: as the CUDA backend everything stays on the device; the host records a chunk of steps, submits it,
// and fetches the spikes, one bit per neuron and step.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "backend.h"
#include "kernel_store.h"
#include "vulkan_driver.h"

namespace volley {

namespace {

// What vulkan/table.toml declares of the buffers' elements and of the push constants.
struct PopulationRecord {
  VolleyLif lif;
  u32 key_low, key_high, first, count;
};
struct NeuronRecord {
  float v, g_exc, g_inh;
  u32 hold;
};
struct SynapseRecord {
  u32 peer, delay, low, high;
};
static_assert(sizeof(PopulationRecord) == 116 && sizeof(NeuronRecord) == 16 && sizeof(SynapseRecord) == 16,
              "vulkan/table.toml declares this layout");
struct StepPush {
  u32 population, step, slot, stride, bits, counter, list;
};
struct DeliverPush {
  u32 rows, stride, ring_slots, history_slots, step, counter, list;
};

constexpr u32 block = 128;                 // invocations of a work group in both shaders
constexpr u32 most_groups = 2048;          // of a delivery, whose work groups go on to further spikes or rows
constexpr u32 few_groups = 32;             // the same on a processor, which pays for each
constexpr u64 chunk_bytes = 8u << 20;      // spike bits that wait on the device
constexpr u32 most_steps = 200;            // of a submission: a device may end what takes it for seconds

// What the records of the device hold of the network's synapses.
std::vector<SynapseRecord> records(const Synapses &synapses, bool gather) {
  std::vector<SynapseRecord> all(synapses.count());
  for (size_t k = 0; k < all.size(); ++k) {
    const float w = synapses.weight[k];
    u64 cell = 0;
    if (gather) {
      u32 bits;
      std::memcpy(&bits, &w, sizeof bits);
      cell = bits;
    } else {
      cell = static_cast<u64>(std::llrint(w * VOLLEY_FIXED_ONE));
    }
    all[k] = {synapses.peer[k], synapses.delay[k], static_cast<u32>(cell), static_cast<u32>(cell >> 32)};
  }
  return all;
}

class Simulation {
 public:
  Simulation(const VulkanDriver &driver, const VulkanDevice &device, const std::string &code, const Network &net,
             const Synapses &synapses, u64 seed, Accumulate accumulate)
      : vk_(driver), session_(driver, device), net_(net), recorder_(net), gather_(accumulate == Accumulate::None),
        stride_(net.slots), words_(net.slots / 32), ring_slots_(gather_ ? 1 : net.max_delay + 1),
        chunk_(static_cast<u32>(std::min<u64>(std::max<u64>(chunk_bytes / (u64{words_} * 4), 1), most_steps))),
        history_slots_(chunk_ + net.max_delay + 1), counters_(u64{history_slots_} * words_), list_(counters_ + chunk_),
        synapse_count_(synapses.count()),
        groups_(std::min(device.limits.maxComputeWorkGroupCount[0], device.is_gpu ? most_groups : few_groups)),
        most_neurons_(u64{device.limits.maxComputeWorkGroupCount[0]} * block) {
    std::vector<PopulationRecord> populations;
    std::vector<NeuronRecord> neurons(stride_);
    for (u32 p = 0; p < net.populations.size(); ++p) {
      const Population &pop = net.populations[p];
      if (pop.size > most_neurons_)
        throw no_device("population `" + pop.name + "` is larger than " + device.name + " takes at a time");
      const u64 drive = volley_key(seed, VOLLEY_STREAM_DRIVE, p), init = volley_key(seed, VOLLEY_STREAM_INIT, p * 256);
      populations.push_back({pop.lif, static_cast<u32>(drive), static_cast<u32>(drive >> 32), pop.first, pop.size});
      for (u32 i = 0; i < pop.size; ++i)
        neurons[pop.first + i].v = pop.init[0].low + pop.init[0].span * volley_unit(volley_draw(init, i));
    }
    const std::vector<u32> offsets(synapses.offsets.begin(), synapses.offsets.end());
    const VulkanBuffer of_populations = upload(populations, "populations");
    const VulkanBuffer of_neurons = upload(neurons, "neurons");
    const u64 cells = u64{ring_slots_} * 2 * stride_;
    const VulkanBuffer ring = session_.buffer(cells * (gather_ ? 4 : 8), "sums of input");
    spikes_ = session_.buffer((list_ + stride_) * 4, "spikes");
    const VulkanBuffer of_offsets = upload(offsets, "row offsets");
    const VulkanBuffer of_synapses = upload(records(synapses, gather_), "synapses");
    fetched_ = session_.readback(u64{chunk_} * words_ * 4);
    step_ = kernel(code, "neuron_step", {{0, of_populations}, {1, of_neurons}, {2, ring}, {3, spikes_}}, sizeof(StepPush));
    deliver_ = kernel(code, "synapse_deliver", {{2, ring}, {3, spikes_}, {4, of_offsets}, {5, of_synapses}},
                      sizeof(DeliverPush));
  }

  std::vector<volley_spike> run() {
    std::vector<volley_spike> spikes;
    for (u32 begin = 0; begin < net_.steps;) {
      const u32 end = begin + std::min(chunk_, net_.steps - begin);
      const auto record = [&](vk::CommandBuffer commands) {
        vk_.CmdFillBuffer(commands, spikes_.buffer, counters_ * 4, u64{chunk_} * 4, 0);
        for (const vk::BufferCopy &piece : pieces(begin, end))
          vk_.CmdFillBuffer(commands, spikes_.buffer, piece.srcOffset, piece.size, 0);
        session_.barrier(commands);
        for (u32 step = begin; step < end; ++step) one_step(commands, step, step - begin);
        const std::vector<vk::BufferCopy> rows = pieces(begin, end);
        vk_.CmdCopyBuffer(commands, spikes_.buffer, fetched_.buffer, static_cast<uint32_t>(rows.size()), rows.data());
      };
      session_.run(record, "running steps " + std::to_string(begin) + " to " + std::to_string(end));
      read(begin, end, spikes);
      begin = end;
    }
    return spikes;
  }

 private:
  template <class T>
  VulkanBuffer upload(const std::vector<T> &values, const char *what) {
    return session_.buffer(values.data(), values.size() * sizeof(T), what);
  }

  VulkanKernel kernel(const std::string &directory, const char *name,
                      const std::vector<std::pair<uint32_t, VulkanBuffer>> &buffers, uint32_t push_bytes) {
    const std::string file = directory + "/" + name + ".spv";
    return session_.kernel(read_file(file), file, buffers, push_bytes);
  }

  void one_step(vk::CommandBuffer commands, u32 step, u32 in_chunk) {
    const u32 counter = static_cast<u32>(counters_ + in_chunk), list = static_cast<u32>(list_);
    for (u32 p = 0; p < net_.populations.size(); ++p) {
      const StepPush push{p, step, step % ring_slots_, stride_, step % history_slots_ * words_, counter, list};
      session_.dispatch(commands, step_, &push, (net_.populations[p].size + block - 1) / block);
    }
    session_.barrier(commands);
    if (synapse_count_ == 0) return;
    const DeliverPush push{stride_, stride_, ring_slots_, history_slots_, step, counter, list};
    session_.dispatch(commands, deliver_, &push, std::min(groups_, gather_ ? (stride_ + block - 1) / block : stride_));
    session_.barrier(commands);
  }

  // The chunk's rows of the history, two pieces where the ring wraps, and where they are copied to.
  std::vector<vk::BufferCopy> pieces(u32 begin, u32 end) const {
    const u64 row = u64{words_} * 4;
    std::vector<vk::BufferCopy> found;
    for (u32 step = begin; step < end;) {
      const u32 slot = step % history_slots_, rows = std::min(end - step, history_slots_ - slot);
      found.push_back({slot * row, (step - begin) * row, rows * row});
      step += rows;
    }
    return found;
  }

  void read(u32 begin, u32 end, std::vector<volley_spike> &spikes) {
    const u32 *bits = static_cast<const u32 *>(fetched_.mapped);
    for (u32 step = begin; step < end; ++step)
      for (u32 w = 0; w < words_; ++w)
        for (u32 rest = bits[u64{step - begin} * words_ + w]; rest != 0; rest &= rest - 1)
          recorder_.add(step, w * 32 + static_cast<u32>(__builtin_ctz(rest)), spikes);
  }

  const VulkanDriver &vk_;
  VulkanSession session_;
  const Network &net_;
  Recorder recorder_;
  const bool gather_;
  const u32 stride_, words_, ring_slots_;
  const u32 chunk_, history_slots_;  // the history holds a chunk and, for gathering, the longest delay before it
  const u64 counters_, list_;        // where counts and the list of spikes begin behind the history, in words
  const u64 synapse_count_;
  const u32 groups_;
  const u64 most_neurons_;
  VulkanBuffer spikes_, fetched_;
  VulkanKernel step_, deliver_;
};

}  // namespace

Outcome run_vulkan(const Network &net, u64 seed, Accumulate accumulate, int ordinal, bool only_gpu,
                   const std::string &only) {
  const std::string root = kernel_root(), variant = accumulate_name(accumulate);
  if (net.has_user_models()) throw no_device("user models need CUDA and NVRTC, Vulkan has only `lif`");
  std::vector<int> installed = installed_shaders(root, accumulate);  // ascending
  if (!only.empty())
    installed.erase(std::remove_if(installed.begin(), installed.end(),
                                   [&](int minor) { return shader_target(minor) != only; }),
                    installed.end());
  if (installed.empty())
    throw no_device("no `" + variant + "` shaders " + (only.empty() ? "" : "`" + only + "` ") + "are installed in " +
                    root + "/spirv" + other_tags_note());
  const VulkanDriver &driver = VulkanDriver::get();
  if (only_gpu && std::none_of(driver.devices.begin(), driver.devices.end(), [](const VulkanDevice &d) { return d.is_gpu; }))
    throw no_device("Vulkan has no GPU");
  const VulkanDevice *device = nullptr;
  if (only_gpu) {
    for (const VulkanDevice &one : driver.devices)
      if (!device && one.is_gpu) device = &one;
  } else {
    device = &driver.device(ordinal);
  }
  const auto taken = std::find_if(installed.rbegin(), installed.rend(), [&](int minor) { return minor <= device->minor; });
  if (taken == installed.rend())
    throw no_device(device->name + " has Vulkan 1." + std::to_string(device->minor) + ", and the lowest shaders are " +
                    shader_target(installed.front()));
  Outcome out;
  out.backend = "vulkan";
  out.device = device->name + " (Vulkan 1." + std::to_string(device->minor) + ")";
  out.device_code = "spirv/" + variant + "/" + shader_target(*taken);
  out.reason = shader_target(*taken) + ": the highest that is installed and that the device takes";
  const double begin = now_seconds();
  Synapses synapses = connect_by_target(net, seed);
  const bool gather = accumulate == Accumulate::None;
  if (!gather) synapses = transpose(synapses, net.slots);
  out.synapses = synapses.count();
  if (out.synapses > 0xffffffffu) throw no_device("more synapses than the shaders count: 2^32 - 1");
  const double built = now_seconds();
  out.spikes = Simulation(driver, *device, root + "/" + out.device_code, net, synapses, seed, accumulate).run();
  out.build_seconds = built - begin;
  out.run_seconds = now_seconds() - built;
  return out;
}

}  // namespace volley
