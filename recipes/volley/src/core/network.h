// A network as the backends see it: numbers in steps and float32, populations laid out in slots.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "volley_shared.h"

namespace volley {

using u32 = vu32;
using u64 = vu64;
using i64 = vi64;

// A uniform distribution over [low, low + span), one value when span is 0.
struct Uniform {
  float low = 0.0f;
  float span = 0.0f;
};

// Neuron equations that the user wrote; compiled by libvolley_rtc.
struct Model {
  std::string name;
  std::vector<std::string> states;
  std::vector<std::pair<std::string, float>> parameters;
  std::string update, threshold, reset;
};

struct Population {
  std::string name;
  u32 size = 0;
  u32 first = 0;   // first slot, a multiple of 32 so that no two populations share a word of spike bits
  int model = -1;  // index into Network::models, -1 = built-in leaky integrate-and-fire
  VolleyLif lif{};
  VolleyDrive drive{};                                     // same as lif.drive
  std::vector<Uniform> init;                               // per state variable; LIF has one, v
  std::vector<std::pair<std::string, float>> parameters;   // user models: the model's, overridden
};

struct Projection {
  u32 from = 0, to = 0;  // populations
  bool fixed_indegree = true;
  u32 indegree = 0;
  u64 threshold = 0;  // pairwise: connect when a 32-bit draw is below, floor(p * 2^32)
  Uniform weight;     // mV
  u32 delay_min = 1, delay_max = 1;  // steps
};

struct Network {
  std::string name;
  double dt = 0.1;  // ms
  u32 steps = 0;
  u64 seed = 0;
  u32 slots = 0;      // all populations, each padded to a multiple of 32
  u32 max_delay = 1;  // steps
  std::vector<Population> populations;
  std::vector<Projection> projections;
  std::vector<Model> models;

  bool has_user_models() const {
    for (const Population &p : populations)
      if (p.model >= 0) return true;
    return false;
  }
};

// Reads and checks a network file. Throws Error (VOLLEY_INVALID) as "name:line: what".
Network read_network(const std::string &text, const std::string &name);

// exp(-dt / tau) in double, rounded once to float32.
float decay_factor(double dt, double tau);

}  // namespace volley
