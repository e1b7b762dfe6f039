#pragma once
#include "../shaders/shared.h"

#include <string>
#include <vector>

struct Network {
    std::vector<Neuron> neurons; // of all layers, one after the other
    std::vector<Pool> pools;
    std::vector<Synapse> synapses; // sorted by `receiver`
    std::vector<uint> offsets;     // of each neuron's synapses, and the end
};

/// The network of network.json; its synapses are drawn by a generator of its own, the same everywhere.
Network build();

/// Runs cycles on the processor, as the reference.
void run_on_cpu(Network &network, unsigned cycles);

/// Runs cycles on a Vulkan device, by its index, so many in each submission, by the shaders below `kernels` of a variant:
/// for exactly `target` (`vulkan1.2`), or the highest that the device takes and that is there. Answers which, or throws.
std::string run_on_vulkan(Network &network, unsigned cycles, unsigned at_once, unsigned device,
                          const std::string &kernels, const std::string &variant, const std::string &target);
