#include "connect.h"

namespace volley {

namespace {

// The draws of one projection; `index` numbers its (possible) synapses.
struct Draws {
  u64 source, delay, weight;
  Draws(u64 seed, u32 projection)
      : source(volley_key(seed, VOLLEY_STREAM_SOURCE, projection)),
        delay(volley_key(seed, VOLLEY_STREAM_DELAY, projection)),
        weight(volley_key(seed, VOLLEY_STREAM_WEIGHT, projection)) {}
};

u64 below(u64 draw, u64 n) { return ((draw >> 32) * n) >> 32; }  // uniform in [0, n)

void append(Synapses &all, const Projection &j, const Draws &draws, u64 index, u32 source_slot) {
  const u64 choices = static_cast<u64>(j.delay_max) - j.delay_min + 1;
  all.peer.push_back(source_slot);
  all.delay.push_back(j.delay_min + static_cast<u32>(below(volley_draw(draws.delay, index), choices)));
  all.weight.push_back(j.weight.low + j.weight.span * volley_unit(volley_draw(draws.weight, index)));
}

}  // namespace

Synapses connect_by_target(const Network &net, u64 seed) {
  Synapses all;
  all.offsets.assign(static_cast<size_t>(net.slots) + 1, 0);
  std::vector<Draws> draws;
  u64 expected = 0;
  for (size_t p = 0; p < net.projections.size(); ++p) {
    draws.emplace_back(seed, static_cast<u32>(p));
    const Projection &j = net.projections[p];
    if (j.fixed_indegree) expected += static_cast<u64>(j.indegree) * net.populations[j.to].size;
  }
  all.peer.reserve(expected);
  all.delay.reserve(expected);
  all.weight.reserve(expected);
  for (size_t to = 0; to < net.populations.size(); ++to) {
    const Population &target = net.populations[to];
    const u32 end = (to + 1 < net.populations.size()) ? net.populations[to + 1].first : net.slots;
    for (u32 slot = target.first; slot < end; ++slot) {
      const u64 i = slot - target.first;
      for (size_t p = 0; i < target.size && p < net.projections.size(); ++p) {
        const Projection &j = net.projections[p];
        if (j.to != to) continue;
        const Population &source = net.populations[j.from];
        if (j.fixed_indegree) {  // with replacement: one pair may be joined more than once, and to itself
          for (u64 k = 0; k < j.indegree; ++k) {
            const u64 index = i * j.indegree + k;
            const u32 s = static_cast<u32>(below(volley_draw(draws[p].source, index), source.size));
            append(all, j, draws[p], index, source.first + s);
          }
        } else {
          for (u32 s = 0; s < source.size; ++s) {
            const u64 index = i * source.size + s;
            if ((volley_draw(draws[p].source, index) >> 32) < j.threshold)
              append(all, j, draws[p], index, source.first + s);
          }
        }
      }
      all.offsets[slot + 1] = all.peer.size();
    }
  }
  return all;
}

Synapses transpose(const Synapses &by_target, u32 slots) {
  Synapses out;
  out.offsets.assign(static_cast<size_t>(slots) + 1, 0);
  out.peer.resize(by_target.peer.size());
  out.weight.resize(by_target.peer.size());
  out.delay.resize(by_target.peer.size());
  for (u32 source : by_target.peer) ++out.offsets[source + 1];
  for (u32 s = 0; s < slots; ++s) out.offsets[s + 1] += out.offsets[s];
  std::vector<u64> at(out.offsets.begin(), out.offsets.end() - 1);
  for (u32 target = 0; target < slots; ++target) {
    for (u64 k = by_target.offsets[target]; k < by_target.offsets[target + 1]; ++k) {
      const u64 to = at[by_target.peer[k]]++;
      out.peer[to] = target;
      out.weight[to] = by_target.weight[k];
      out.delay[to] = by_target.delay[k];
    }
  }
  return out;
}

}  // namespace volley
