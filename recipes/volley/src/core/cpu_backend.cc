// The CPU backend. Each thread owns a range of slots: it updates those neurons and writes only their inputs, so
// no sum is shared, nothing is atomic, and every variant gives the same spikes with any number of threads.
#include <algorithm>
#include <cmath>
#include <thread>

#include "backend.h"
#include "barrier.h"

namespace volley {

namespace {

inline i64 to_cell(float w, i64) { return std::llrint(w * VOLLEY_FIXED_ONE); }
inline float to_cell(float w, float) { return w; }
inline float from_cell(i64 sum) { return volley_from_fixed(sum); }
inline float from_cell(float sum) { return sum; }

template <class Cell>
class Simulation {
 public:
  Simulation(const Network &net, const Synapses &synapses, u64 seed, bool gather, unsigned threads)
      : net_(net), synapses_(synapses), gather_(gather), slots_(net.max_delay + 1), stride_(net.slots),
        words_(net.slots / 32), barrier_(threads), recorder_(net) {
    v_.assign(stride_, 0.0f);
    g_exc_.assign(stride_, 0.0f);
    g_inh_.assign(stride_, 0.0f);
    hold_.assign(stride_, 0);
    ring_.assign(static_cast<size_t>(gather ? 1 : slots_) * 2 * stride_, Cell(0));
    if (gather) history_.assign(static_cast<size_t>(slots_) * words_, 0);
    for (u32 p = 0; p < net.populations.size(); ++p) {
      const Population &pop = net.populations[p];
      const u64 key = volley_key(seed, VOLLEY_STREAM_INIT, p * 256);
      for (u32 i = 0; i < pop.size; ++i)
        v_[pop.first + i] = pop.init[0].low + pop.init[0].span * volley_unit(volley_draw(key, i));
      drive_keys_.push_back(volley_key(seed, VOLLEY_STREAM_DRIVE, p));
    }
    for (unsigned t = 0; t < threads; ++t) {  // whole words of spike bits belong to one thread
      Part part;
      part.begin = static_cast<u32>(static_cast<u64>(words_) * t / threads * 32);
      part.end = static_cast<u32>(static_cast<u64>(words_) * (t + 1) / threads * 32);
      parts_.push_back(std::move(part));
    }
  }

  std::vector<volley_spike> run() {
    std::vector<std::thread> others;
    for (size_t t = 1; t < parts_.size(); ++t) others.emplace_back([this, t] { work(parts_[t]); });
    work(parts_[0]);
    for (std::thread &t : others) t.join();
    return merge();
  }

 private:
  struct Part {
    u32 begin = 0, end = 0;             // slots
    std::vector<u32> spiking[2];        // of this step and, while others still read it, of the last
    std::vector<volley_spike> spikes;   // everything this part ever did
  };

  void work(Part &part) {
    for (u32 step = 0; step < net_.steps; ++step) {
      update(part, step);
      barrier_.wait();  // one is enough: spiking[] alternates, and the rest is read by its owner alone
      if (gather_) {
        collect(part, step);
      } else {
        deliver(part, step);
      }
    }
  }

  void update(Part &part, u32 step) {
    std::vector<u32> &spiking = part.spiking[step & 1];
    spiking.clear();
    Cell *exc = ring_.data() + static_cast<size_t>(gather_ ? 0 : step % slots_) * 2 * stride_;
    Cell *inh = exc + stride_;
    u32 *bits = gather_ ? history_.data() + static_cast<size_t>(step % slots_) * words_ : nullptr;
    if (bits) std::fill(bits + part.begin / 32, bits + part.end / 32, 0u);
    for (size_t p = 0; p < net_.populations.size(); ++p) {
      const Population &pop = net_.populations[p];
      const u32 end = std::min(part.end, pop.first + pop.size);
      for (u32 n = std::max(part.begin, pop.first); n < end; ++n) {
        float in_exc = from_cell(exc[n]), in_inh = from_cell(inh[n]);
        exc[n] = inh[n] = Cell(0);
        const u32 events = volley_drive_count(&pop.lif.drive, drive_keys_[p], step, n - pop.first);
        volley_drive_add(&pop.lif.drive, events, &in_exc, &in_inh);
        if (!volley_lif_step(&pop.lif, in_exc, in_inh, &v_[n], &g_exc_[n], &g_inh_[n], &hold_[n])) continue;
        spiking.push_back(n);
        if (bits) bits[n / 32] |= 1u << (n % 32);
        recorder_.add(step, n, part.spikes);
      }
    }
  }

  // Scatter: every spike of the step, in ascending order, to those of its targets that this part owns.
  void deliver(Part &part, u32 step) {
    for (const Part &from : parts_) {
      for (u32 source : from.spiking[step & 1]) {
        const u32 *row = synapses_.peer.data() + synapses_.offsets[source];
        const u32 *row_end = synapses_.peer.data() + synapses_.offsets[source + 1];
        const u32 *target = parts_.size() == 1 ? row : std::lower_bound(row, row_end, part.begin);
        for (; target != row_end && *target < part.end; ++target) {
          const size_t k = static_cast<size_t>(target - synapses_.peer.data());
          const float w = synapses_.weight[k];
          const size_t slot = (step % slots_ + synapses_.delay[k]) % slots_;
          ring_[(slot * 2 + (w >= 0.0f ? 0 : 1)) * stride_ + *target] += to_cell(w, Cell(0));
        }
      }
    }
  }

  // Gather: every owned target over its incoming synapses. The sums have the shape that the GPU's warps give
  // them, 32 partial sums added in a tree, so that float32 rounds alike.
  void collect(Part &part, u32 step) {
    const u32 now = (step + 1) % slots_;
    for (u32 target = part.begin; target < part.end; ++target) {
      float exc[32] = {}, inh[32] = {};
      const u64 begin = synapses_.offsets[target], end = synapses_.offsets[target + 1];
      for (u64 k = begin; k < end; ++k) {
        const u32 source = synapses_.peer[k], late = synapses_.delay[k];
        const u32 slot = now >= late ? now - late : now + slots_ - late;
        if (!((history_[static_cast<size_t>(slot) * words_ + source / 32] >> (source % 32)) & 1u)) continue;
        const float w = synapses_.weight[k];
        float *sum = (w >= 0.0f ? exc : inh) + (k - begin) % 32;
        *sum = *sum + w;
      }
      for (u32 reach = 16; reach > 0; reach /= 2) {
        for (u32 lane = 0; lane < reach; ++lane) {
          exc[lane] = exc[lane] + exc[lane + reach];
          inh[lane] = inh[lane] + inh[lane + reach];
        }
      }
      ring_[target] = static_cast<Cell>(exc[0]);
      ring_[stride_ + target] = static_cast<Cell>(inh[0]);
    }
  }

  std::vector<volley_spike> merge() {
    if (parts_.size() == 1) return std::move(parts_[0].spikes);
    std::vector<volley_spike> all;
    std::vector<size_t> at(parts_.size(), 0);
    for (u32 step = 0; step < net_.steps; ++step) {
      for (size_t t = 0; t < parts_.size(); ++t) {
        const std::vector<volley_spike> &own = parts_[t].spikes;
        for (; at[t] < own.size() && own[at[t]].step == step; ++at[t]) all.push_back(own[at[t]]);
      }
    }
    return all;
  }

  const Network &net_;
  const Synapses &synapses_;
  const bool gather_;
  const u32 slots_, stride_, words_;  // ring slots, neurons with padding, words of spike bits
  std::vector<float> v_, g_exc_, g_inh_;
  std::vector<u32> hold_;
  std::vector<Cell> ring_;      // as on the device: [slot][receptor][neuron]
  std::vector<u32> history_;    // [slot][word], gather only
  std::vector<u64> drive_keys_;
  std::vector<Part> parts_;
  Barrier barrier_;
  Recorder recorder_;
};

}  // namespace

Outcome run_cpu(const Network &net, u64 seed, Accumulate accumulate, int threads) {
  for (const Population &p : net.populations)
    if (p.model >= 0)
      throw no_device("population `" + p.name + "` uses the model `" + net.models[static_cast<size_t>(p.model)].name +
                      "`: user models need CUDA and NVRTC, the CPU backend has only `lif`");
  unsigned n = threads > 0 ? static_cast<unsigned>(threads) : std::max(1u, std::thread::hardware_concurrency());
  n = std::min(n, net.slots / 32);
  Outcome out;
  out.backend = "cpu";
  out.device = std::to_string(n) + (n == 1 ? " thread" : " threads");
  const double begin = now_seconds();
  Synapses synapses = connect_by_target(net, seed);
  const bool gather = accumulate == Accumulate::None;
  if (!gather) synapses = transpose(synapses, net.slots);
  out.synapses = synapses.count();
  const double built = now_seconds();
  if (accumulate == Accumulate::Fixed) {
    out.spikes = Simulation<i64>(net, synapses, seed, gather, n).run();
  } else {
    out.spikes = Simulation<float>(net, synapses, seed, gather, n).run();
  }
  out.build_seconds = built - begin;
  out.run_seconds = now_seconds() - built;
  return out;
}

}  // namespace volley
