// The CUDA backend: everything stays on the device; the host launches two or three kernels per step and fetches
// the spikes, one bit per neuron and step, a chunk of steps at a time.
#include <algorithm>
#include <memory>

#include "backend.h"
#include "cuda_driver.h"
#include "kernel_store.h"
#include "rtc_loader.h"
#include "volley/rtc.h"

namespace volley {

namespace {

// What table.toml states about VolleyLif, and what the generated models rely on.
static_assert(sizeof(VolleyLif) == 100 && alignof(VolleyLif) == 4, "table.toml declares this layout");
static_assert(sizeof(VolleyDrive) == 72 && alignof(VolleyDrive) == 4, "rtc.h declares this layout");

constexpr unsigned block = 128;                    // threads; synapse.cu states the same in VOLLEY_BLOCK
constexpr u64 chunk_bytes = 32u << 20;             // spike bits that wait on the device

class Context {
 public:
  Context(const CudaDriver &cu, CUdevice device) : cu_(cu), device_(device) {
    CUresult r = cu.cuDevicePrimaryCtxRetain(&context_, device);
    if (r != 0) throw no_device("no context on the GPU: " + cu.error(r));
    r = cu.cuCtxPushCurrent(context_);
    if (r != 0) {
      cu.cuDevicePrimaryCtxRelease(device);
      throw no_device("the GPU's context cannot be used: " + cu.error(r));
    }
  }
  ~Context() {
    CUcontext old = nullptr;
    cu_.cuCtxPopCurrent(&old);
    cu_.cuDevicePrimaryCtxRelease(device_);
  }
  Context(const Context &) = delete;
  Context &operator=(const Context &) = delete;

 private:
  const CudaDriver &cu_;
  CUdevice device_;
  CUcontext context_ = nullptr;
};

class Module {
 public:
  // `image` is a cubin or PTX text; `from` names it in messages.
  Module(const CudaDriver &cu, const std::string &image, const std::string &from) : cu_(cu), from_(from) {
    char log[4096] = {};
    int options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
    // A std::string ends in a zero byte, which PTX needs.
    const CUresult r = cu.cuModuleLoadDataEx(&module_, image.c_str(), 2, options, values);
    log[sizeof log - 1] = '\0';
    if (r != 0)
      throw no_device("the driver does not load " + from + ": " + cu.error(r) + (log[0] ? std::string("\n") + log : ""));
  }
  ~Module() { cu_.cuModuleUnload(module_); }
  Module(const Module &) = delete;
  Module &operator=(const Module &) = delete;

  CUfunction function(const char *name) const {
    CUfunction f = nullptr;
    const CUresult r = cu_.cuModuleGetFunction(&f, module_, name);
    if (r != 0) throw no_device(std::string("kernel ") + name + " is not in " + from_ + ": " + cu_.error(r));
    return f;
  }

 private:
  const CudaDriver &cu_;
  std::string from_;
  CUmodule module_ = nullptr;
};

class Memory {
 public:
  Memory(const CudaDriver &cu, u64 bytes, const char *what) : cu_(cu), bytes_(std::max<u64>(bytes, 4)) {
    cu.check(cu.cuMemAlloc(&at_, bytes_), std::string("allocating ") + std::to_string(bytes_) + " bytes on the GPU for " + what);
    const CUresult r = cu.cuMemsetD8(at_, 0, bytes_);
    if (r != 0) {
      cu.cuMemFree(at_);
      cu.check(r, "cuMemsetD8");
    }
  }
  template <class T>
  Memory(const CudaDriver &cu, const std::vector<T> &values, const char *what)
      : Memory(cu, values.size() * sizeof(T), what) {
    if (!values.empty()) cu.check(cu.cuMemcpyHtoD(at_, values.data(), values.size() * sizeof(T)), "cuMemcpyHtoD");
  }
  ~Memory() { cu_.cuMemFree(at_); }
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;

  CUdeviceptr at(u64 offset = 0) const { return at_ + offset; }

 private:
  const CudaDriver &cu_;
  u64 bytes_;
  CUdeviceptr at_ = 0;
};

// The code of one run: the modules of the kernel package and one per population with a user model.
struct Code {
  std::unique_ptr<Module> neuron, synapse;
  std::vector<std::unique_ptr<Module>> models;
  CUfunction init = nullptr, update = nullptr, deliver = nullptr;
  std::vector<CUfunction> model_update;  // per population, null for built-in ones
  std::string notes;
};

Code load_code(const CudaDriver &cu, const CudaDevice &device, const Network &net, Accumulate accumulate,
               const DeviceCode &choice) {
  Code code;
  const auto load = [&](const char *unit) {
    const std::string file = code_file(accumulate, choice, unit);
    return std::make_unique<Module>(cu, read_file(file), file);
  };
  code.neuron = load("neuron");
  code.synapse = load("synapse");
  code.init = code.neuron->function("volley_neuron_init");
  code.update = code.neuron->function("volley_neuron_update");
  code.deliver = code.synapse->function("volley_synapse_deliver");
  const std::string arch = "sm_" + std::to_string(device.capability.major) + std::to_string(device.capability.minor);
  for (const Population &p : net.populations) {
    code.model_update.push_back(nullptr);
    if (p.model < 0) continue;
    const CompiledModel compiled = compile_model(net, p, accumulate, arch);
    code.models.push_back(std::make_unique<Module>(cu, compiled.cubin, "the compiled model of `" + p.name + "`"));
    code.model_update.back() = code.models.back()->function(VOLLEY_RTC_KERNEL);
    if (code.notes.find(compiled.message) == std::string::npos) code.notes += "; user models by " + compiled.message;
  }
  return code;
}

class Simulation {
 public:
  Simulation(const CudaDriver &cu, const CudaDevice &device, const Code &code, const Network &net,
             const Synapses &synapses, u64 seed, Accumulate accumulate)
      : cu_(cu), code_(code), net_(net), recorder_(net), gather_(accumulate == Accumulate::None),
        stride_(net.slots), words_(net.slots / 32), ring_slots_(gather_ ? 1 : net.max_delay + 1),
        chunk_(static_cast<u32>(std::min<u64>(std::max<u64>(chunk_bytes / (u64{words_} * 4), 1), 1000))),
        history_slots_(chunk_ + net.max_delay + 1), synapse_count_(synapses.count()),
        blocks_(static_cast<unsigned>(device.multiprocessors) * 16),
        offsets_(cu, synapses.offsets, "row offsets"), peer_(cu, synapses.peer, "synapses"),
        weight_(cu, synapses.weight, "weights"), delay_(cu, synapses.delay, "delays"),
        v_(cu, u64{stride_} * 4, "membrane potentials"), g_exc_(cu, u64{stride_} * 4, "currents"),
        g_inh_(cu, u64{stride_} * 4, "currents"), hold_(cu, u64{stride_} * 4, "refractory counters"),
        states_(cu, u64{stride_} * 4 * most_states(net), "model states"),
        ring_(cu, u64{ring_slots_} * 2 * stride_ * (accumulate == Accumulate::Fixed ? 8 : 4), "the delay ring"),
        history_(cu, u64{history_slots_} * words_ * 4, "spike history"),
        spike_list_(cu, u64{stride_} * 4, "the spike list"), spike_counts_(cu, u64{chunk_} * 4, "spike counts") {
    for (u32 p = 0; p < net.populations.size(); ++p) {
      drive_keys_.push_back(volley_key(seed, VOLLEY_STREAM_DRIVE, p));
      init(p, seed);
    }
    cu.check(cu.cuCtxSynchronize(), "initialising the neurons");
  }

  std::vector<volley_spike> run() {
    std::vector<volley_spike> spikes;
    for (u32 begin = 0; begin < net_.steps;) {
      const u32 end = begin + std::min(chunk_, net_.steps - begin);
      cu_.check(cu_.cuMemsetD8Async(spike_counts_.at(), 0, u64{chunk_} * 4, nullptr), "clearing the spike counts");
      for (u32 step = begin; step < end; ++step) {
        for (size_t p = 0; p < net_.populations.size(); ++p) update(p, step, step - begin);
        if (synapse_count_ > 0) deliver(step, step - begin);
      }
      fetch(begin, end, spikes);
      begin = end;
    }
    return spikes;
  }

 private:
  static u64 most_states(const Network &net) {
    size_t most = 0;
    for (const Population &p : net.populations)
      if (p.model >= 0) most = std::max(most, p.init.size());
    return most;
  }

  void launch(CUfunction f, unsigned blocks, void **parameters, const char *what) {
    cu_.check(cu_.cuLaunchKernel(f, blocks, 1, 1, block, 1, 1, 0, nullptr, parameters, nullptr), what);
  }
  static unsigned blocks_for(u32 threads) { return (threads + block - 1) / block; }

  void init(u32 p, u64 seed) {
    const Population &pop = net_.populations[p];
    for (u32 s = 0; s < pop.init.size(); ++s) {
      CUdeviceptr state = pop.model < 0 ? v_.at() : states_.at(u64{s} * stride_ * 4);
      u64 key = volley_key(seed, VOLLEY_STREAM_INIT, p * 256 + s);
      u32 first = pop.first, count = pop.size;
      float low = pop.init[s].low, span = pop.init[s].span;
      void *parameters[] = {&state, &key, &first, &count, &low, &span};
      launch(code_.init, blocks_for(count), parameters, "volley_neuron_init");
    }
  }

  void update(size_t p, u32 step, u32 in_chunk) {
    const Population &pop = net_.populations[p];
    CUdeviceptr v = v_.at(), g_exc = g_exc_.at(), g_inh = g_inh_.at(), hold = hold_.at(), ring = ring_.at();
    CUdeviceptr bits = history_.at(u64{step % history_slots_} * words_ * 4);
    CUdeviceptr list = spike_list_.at(), spike_count = spike_counts_.at(u64{in_chunk} * 4), states = states_.at();
    u64 drive_key = drive_keys_[p];
    u32 first = pop.first, count = pop.size, slot = step % ring_slots_, stride = stride_, now = step;
    if (pop.model < 0) {
      VolleyLif lif = pop.lif;
      void *parameters[] = {&v, &g_exc, &g_inh, &hold, &ring, &bits, &list, &spike_count,
                            &drive_key, &first, &count, &slot, &stride, &now, &lif};
      launch(code_.update, blocks_for(count), parameters, "volley_neuron_update");
    } else {
      VolleyDrive drive = pop.drive;
      void *parameters[] = {&states, &ring, &bits, &list, &spike_count, &drive_key,
                            &first, &count, &slot, &stride, &now, &drive};
      launch(code_.model_update[p], blocks_for(count), parameters, VOLLEY_RTC_KERNEL);
    }
  }

  void deliver(u32 step, u32 in_chunk) {
    CUdeviceptr offsets = offsets_.at(), peer = peer_.at(), weight = weight_.at(), delay = delay_.at();
    CUdeviceptr history = history_.at(), list = spike_list_.at(), ring = ring_.at();
    CUdeviceptr spike_count = spike_counts_.at(u64{in_chunk} * 4);
    u32 rows = stride_, stride = stride_, ring_slots = ring_slots_, history_slots = history_slots_, now = step;
    void *parameters[] = {&offsets, &peer, &weight, &delay, &history, &list, &spike_count,
                          &ring, &rows, &stride, &ring_slots, &history_slots, &now};
    // Gather: a warp per row. Scatter: a block per spike, and nobody knows on the host how many there are.
    const unsigned wanted = gather_ ? blocks_for(u32{32} * std::min(rows, 1u << 24)) : rows;
    launch(code_.deliver, std::min(blocks_, wanted), parameters, "volley_synapse_deliver");
  }

  // Waits for the chunk and reads its rows of the history, in two pieces where the ring wraps.
  void fetch(u32 begin, u32 end, std::vector<volley_spike> &spikes) {
    bits_.resize(u64{end - begin} * words_);
    for (u32 step = begin; step < end;) {
      const u32 slot = step % history_slots_;
      const u32 rows = std::min(end - step, history_slots_ - slot);
      cu_.check(cu_.cuMemcpyDtoH(bits_.data() + u64{step - begin} * words_, history_.at(u64{slot} * words_ * 4),
                                 u64{rows} * words_ * 4),
                "running steps " + std::to_string(begin) + " to " + std::to_string(end));
      step += rows;
    }
    for (u32 step = begin; step < end; ++step) {
      const u32 *row = bits_.data() + u64{step - begin} * words_;
      for (u32 w = 0; w < words_; ++w)
        for (u32 rest = row[w]; rest != 0; rest &= rest - 1)
          recorder_.add(step, w * 32 + static_cast<u32>(__builtin_ctz(rest)), spikes);
    }
  }

  const CudaDriver &cu_;
  const Code &code_;
  const Network &net_;
  Recorder recorder_;
  const bool gather_;
  const u32 stride_, words_, ring_slots_;
  const u32 chunk_, history_slots_;  // the history holds a chunk and, for gathering, the longest delay before it
  const u64 synapse_count_;
  const unsigned blocks_;
  Memory offsets_, peer_, weight_, delay_, v_, g_exc_, g_inh_, hold_, states_, ring_, history_, spike_list_, spike_counts_;
  std::vector<u64> drive_keys_;
  std::vector<u32> bits_;
};

}  // namespace

Outcome run_cuda(const Network &net, u64 seed, Accumulate accumulate, int ordinal, const std::string &only) {
  const CudaDriver &cu = CudaDriver::get();
  const CudaDevice device = cuda_device(cu, ordinal);
  std::vector<DeviceCode> installed = available_code(accumulate);
  if (!only.empty())
    installed.erase(std::remove_if(installed.begin(), installed.end(),
                                   [&](const DeviceCode &code) { return code.target() != only; }),
                    installed.end());
  const Selection selection = select_code(device.capability, cu.version, installed);
  if (!selection.found) {
    const std::string gpu = device.name + " (" + device.capability.text() + ")";
    if (selection.trace.empty())
      throw no_device("no `" + std::string(accumulate_name(accumulate)) + "` kernels " +
                      (only.empty() ? "" : "`" + only + "` ") + "are installed in " + kernel_root() + " for " + gpu + other_tags_note());
    throw no_device(selection.summary);
  }
  const Context context(cu, device.handle);
  const Code code = load_code(cu, device, net, accumulate, selection.choice);
  Outcome out;
  out.backend = "cuda";
  out.device = device.name + " (" + device.capability.text() + ")";
  out.device_code = "cuda" + std::to_string(selection.choice.cuda_major) + "/" + accumulate_name(accumulate) + "/" +
                    selection.choice.target();
  out.reason = selection.summary + stale_note() + code.notes;
  const double begin = now_seconds();
  Synapses synapses = connect_by_target(net, seed);
  if (accumulate != Accumulate::None) synapses = transpose(synapses, net.slots);
  out.synapses = synapses.count();
  const double built = now_seconds();
  out.spikes = Simulation(cu, device, code, net, synapses, seed, accumulate).run();
  out.build_seconds = built - begin;
  out.run_seconds = now_seconds() - built;
  return out;
}

}  // namespace volley
