#include "backend.h"

#include <chrono>

namespace volley {

const char *accumulate_name(Accumulate a) {
  switch (a) {
    case Accumulate::Fixed: return "fixed";
    case Accumulate::Float: return "float";
    case Accumulate::None: return "none";
  }
  return "";
}

Recorder::Recorder(const Network &net) : net_(net) {
  for (size_t p = 0; p < net.populations.size(); ++p)
    population_.resize(population_.size() + (net.populations[p].size + 31) / 32, static_cast<u32>(p));
}

void Recorder::add(u32 step, u32 slot, std::vector<volley_spike> &spikes) const {
  const u32 p = population_[slot / 32];
  spikes.push_back({step, p, slot - net_.populations[p].first});
}

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace volley
