// The synapses of a network, drawn from its seed, as compressed rows.
#pragma once
#include <vector>

#include "network.h"

namespace volley {

// Row r holds entries offsets[r] .. offsets[r + 1]. By target, peers are sources; by source, targets.
struct Synapses {
  std::vector<u64> offsets;
  std::vector<u32> peer;     // slot
  std::vector<float> weight; // mV
  std::vector<u32> delay;    // steps
  u64 count() const { return peer.size(); }
};

// Rows are targets; within a row: projections in file order, then the order of drawing.
Synapses connect_by_target(const Network &net, u64 seed);

// The same synapses with sources as rows; within a row, targets ascend.
Synapses transpose(const Synapses &by_target, u32 slots);

}  // namespace volley
