// What a backend is given and what it gives back.
#pragma once
#include <string>
#include <vector>

#include "connect.h"
#include "error.h"
#include "network.h"

namespace volley {

enum class Accumulate { Fixed, Float, None };
const char *accumulate_name(Accumulate a);  // also the name of the directory of its kernels

struct Outcome {
  std::string backend, device, device_code, reason;
  std::vector<volley_spike> spikes;  // sorted by step, population, neuron
  u64 synapses = 0;
  double build_seconds = 0.0, run_seconds = 0.0;
};

// Turns slots, which a backend reports in ascending order within a step, into spikes.
class Recorder {
 public:
  explicit Recorder(const Network &net);
  void add(u32 step, u32 slot, std::vector<volley_spike> &spikes) const;

 private:
  const Network &net_;
  std::vector<u32> population_;  // of each group of 32 slots
};

Outcome run_cpu(const Network &net, u64 seed, Accumulate accumulate, int threads);

// `only` is the one device code that may be used ("compute_75"), empty for the best.
// Throws Error with VOLLEY_NO_DEVICE while nothing has been simulated and the CPU could take over.
Outcome run_cuda(const Network &net, u64 seed, Accumulate accumulate, int device, const std::string &only);

// Likewise, by shaders ("vulkan1.1"). `only_gpu` passes over processors that compute in the place of a GPU, and takes the
// first GPU whatever `device` says.
Outcome run_vulkan(const Network &net, u64 seed, Accumulate accumulate, int device, bool only_gpu,
                   const std::string &only);

double now_seconds();  // monotonic

}  // namespace volley
